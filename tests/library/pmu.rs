//! Events by name, and counters that are programmed on a CPU that is made up.

automod::dir!("tests/library/pmu");

use linefill::pmu::Microarch;

/// The core whose events go by this name.
fn microarch(name: &str) -> Microarch {
    Microarch::named(name).expect("a core with events")
}
