//! The hardware prefetchers' switches.

use super::{Check, Observed, Subject};
use crate::os::msr::MsrError;
use crate::os::prefetchers::{Refused, look};
use crate::os::root::Root;

pub(super) fn switches(root: &Root, cpu: usize, observed: &Observed) -> Check {
    let subject = Subject {
        name: "prefetchers",
        why: "The speed of sequential walks depends on the hardware prefetchers: with one \
              switched off, the times differ from those of other machines of the kind.",
    };
    let setting = match look(root, cpu, observed.switches) {
        Ok(setting) => setting,
        Err(Refused::Register(error)) => {
            let mend = mend(&error, cpu);
            return subject.unknown(error, mend);
        }
        Err(refused) => return subject.unknown(refused, "look in the firmware's settings"),
    };
    let (switches, value) = (setting.switches, setting.value);
    if switches.off(value).next().is_none() {
        return subject.good(setting);
    }
    let number = switches.register;
    let mend = format!(
        "sudo wrmsr -p {cpu} {number:#x} {:#x}",
        value & !switches.mask()
    );
    subject.warn(setting, mend)
}

/// How the register can be had after all.
fn mend(error: &MsrError, cpu: usize) -> String {
    match error {
        MsrError::Missing(_) => "sudo modprobe msr, then run doctor as root; a kernel without \
                                 modules or a guest may have none"
            .to_owned(),
        MsrError::Denied(_) => {
            format!("run doctor as root, or read it yourself: sudo rdmsr -p {cpu} REGISTER")
        }
        MsrError::Refused { .. } => "look in the firmware's settings".to_owned(),
    }
}
