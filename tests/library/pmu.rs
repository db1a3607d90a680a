//! Events by name, and programming the counters of a made-up CPU.

automod::dir!("tests/library/pmu");

use linefill::pmu::Microarch;

/// The core with this name, which has events.
fn microarch(name: &str) -> Microarch {
    Microarch::named(name).expect("a core with events")
}
