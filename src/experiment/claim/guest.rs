//! Questions that a virtual machine cannot decide.

use crate::experiment::{Evidence, Judged, Untestable, Verdict, noted};

/// A judgement that holds only if no other guest uses the last level. In a virtual machine, other
/// guests may have filled it meanwhile, so `does not hold` becomes inconclusive.
///
/// # Errors
/// If there is no judgement.
pub(crate) fn unless_strangers(e: &Evidence<'_>, judged: Judged) -> Judged {
    let judgement = judged?;
    if judgement.verdict != Verdict::DoesNotHold || !e.machine.calibration.is_guest() {
        return Ok(judgement);
    }
    let mut open = noted(
        Ok(judgement),
        "in a virtual machine, other guests may have used the last level meanwhile",
    )?;
    open.verdict = Verdict::Inconclusive;
    Ok(open)
}

/// Checks that the system reports processors and caches as the hardware has them.
///
/// # Errors
/// In a virtual machine, where the host chooses what the system reports.
pub(crate) fn told_by_hardware(e: &Evidence<'_>) -> Result<(), Untestable> {
    match e.machine.calibration.is_guest() {
        true => Err(Untestable::because(
            "this is a virtual machine, whose host chooses what CPUID and the system report",
        )),
        false => Ok(()),
    }
}
