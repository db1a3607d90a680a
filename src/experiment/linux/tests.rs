//! What Linux says that it counts.

use super::*;
use crate::experiment::Untestable;
use crate::os::perf::{Pmu, probe};

#[test]
fn a_quantity_is_counted_or_says_why_not() {
    let (counting, counted) = Counting::probe(&Place::here());
    assert_eq!(counting.answers().count(), Quantity::ALL.len());
    for (quantity, answer) in counting.answers() {
        let listed = counted.iter().any(|(known, _)| *known == quantity);
        assert_eq!(answer.is_ok(), listed, "{quantity}: {answer:?}");
    }
    match probe() {
        Pmu::Available => assert!(counting.event(Quantity::Cycles).is_ok()),
        Pmu::Refused(refusal) => {
            let Untestable(why) = counting.event(Quantity::Cycles).unwrap_err();
            assert_eq!(why, format!("cycles: {}", reason(&refusal)));
        }
    }
}

#[test]
fn a_setting_that_forbids_counting_is_named_with_its_mend() {
    let why = reason(&Refusal::Paranoid(Some(4)));
    assert!(
        why.contains("kernel.perf_event_paranoid=4 forbids it"),
        "{why}"
    );
    assert!(why.contains("sysctl kernel.perf_event_paranoid=1"), "{why}");
    let why = reason(&Refusal::NoPmu);
    assert_eq!(why, "the kernel sees no PMU on this CPU");
}
