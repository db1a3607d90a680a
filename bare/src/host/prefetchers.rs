//! The prefetchers, switched with the register from the table of cores.

use alloc::boxed::Box;

use linefill::cpu::{Identity, PrefetchSwitches};
use linefill::host::{Guard, Lack, Prefetchers};
use linefill::pmu::{Cpu, MsrPort};

/// The switches of a register that may be written.
#[derive(Debug)]
pub struct Ready(PrefetchSwitches);

impl Ready {
    /// The register of this CPU.
    ///
    /// # Errors
    /// If the ring is not 0, in a virtual machine, where the register may be missing, and on a CPU whose
    /// register is unknown or not announced.
    pub fn here(ring: u16) -> Result<Self, Lack> {
        if ring != 0 {
            return Err(Lack::refused(format_args!(
                "prefetchers are switched in ring 0, and this is ring {ring}"
            )));
        }
        let identity = Identity::detect();
        if let Some(name) = identity.hypervisor_name() {
            return Err(Lack::refused(format_args!(
                "the prefetchers are the host's: this is a virtual machine of {name}"
            )));
        }
        identity.prefetchers().map(Ready).map_err(|reason| {
            Lack::refused(format_args!(
                "no register is known that switches the prefetchers of this CPU off: {reason}"
            ))
        })
    }
}

impl Prefetchers for Ready {
    fn switch_off(self: Box<Self>) -> Result<Box<dyn Guard>, Lack> {
        let Ready(switches) = *self;
        let register = switches.register;
        // SAFETY: this is ring 0 of a CPU that has the register, and no other code writes it.
        let (before, found) = unsafe {
            let before = Cpu.read(register);
            Cpu.write(register, before | switches.mask());
            (before, Cpu.read(register))
        };
        let off = Off { register, before };
        match found == before | switches.mask() {
            true => Ok(Box::new(off)),
            false => Err(Lack::refused(format_args!(
                "register {register:#x} holds {found:#x} after the prefetchers were switched off"
            ))),
        }
    }
}

/// Prefetchers that are off until this is dropped.
#[derive(Debug)]
struct Off {
    register: u32,
    before: u64,
}

impl Guard for Off {}

impl Drop for Off {
    fn drop(&mut self) {
        // SAFETY: as in `switch_off`; the register held this value before.
        unsafe { Cpu.write(self.register, self.before) };
    }
}
