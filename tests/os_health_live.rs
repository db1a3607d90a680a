//! What `doctor` finds on the machine that runs the tests, whatever it is.
#![cfg(feature = "std")]

use linefill::os::Root;
use linefill::os::health::{State, examine};

#[test]
fn this_machine_is_examined_without_a_change() {
    let checks = examine(&Root::live(), 0);
    assert!(checks.len() >= 19);
    for check in checks {
        assert!(
            !check.found.is_empty() && !check.why.is_empty(),
            "{check:?}"
        );
        assert_eq!(
            check.mend.is_empty(),
            check.state == State::Good,
            "{check:?}"
        );
    }
}
