//! What a virtual machine cannot decide.

use crate::experiment::{Evidence, Judged, Untestable, Verdict, noted};

/// A judgement that rests on the last level being this machine's own. In a virtual machine strangers
/// may have filled it meanwhile, so that a no decides nothing.
///
/// # Errors
/// If there is none.
pub(crate) fn unless_strangers(e: &Evidence<'_>, judged: Judged) -> Judged {
    let judgement = judged?;
    if judgement.verdict != Verdict::DoesNotHold || !e.machine.calibration.is_guest() {
        return Ok(judgement);
    }
    let mut open = noted(
        Ok(judgement),
        "in a virtual machine others may have had the last level meanwhile",
    )?;
    open.verdict = Verdict::Inconclusive;
    Ok(open)
}

/// Whether the system's word on processors and caches is that of the hardware.
///
/// # Errors
/// In a virtual machine, whose host chooses what it is told.
pub(crate) fn told_by_hardware(e: &Evidence<'_>) -> Result<(), Untestable> {
    match e.machine.calibration.is_guest() {
        true => Err(Untestable::because(
            "this is a virtual machine, which is told what its host chooses",
        )),
        false => Ok(()),
    }
}
