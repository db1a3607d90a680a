//! Walks with the hardware prefetchers switched off.

use super::WalkSetup;
use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{Access, Kernel, Work};
use crate::mem::Region;
use crate::os::prefetchers::{Off, Ready};

/// A walk during which the prefetchers of its CPU are off, if this process may switch them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SwitchedOffSetup {
    /// The walk.
    pub walk: WalkSetup,
}

impl Setup for SwitchedOffSetup {
    fn bytes(&self) -> usize {
        self.walk.bytes()
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        // First, because it fails in most places, and laying the walk out takes its time.
        let ready = Ready::here().map_err(Untestable::because)?;
        let Subject::Steady { kernel, lap } = self.walk.prepare(region, context)? else {
            return Err(Untestable::because(
                "a walk is measured in its steady state",
            ));
        };
        let off = ready.switch_off().map_err(Untestable::because)?;
        let kernel = Box::new(WhileOff { kernel, _off: off });
        Ok(Subject::Steady { kernel, lap })
    }
}

/// A kernel, and the switch that is put back when it is done.
struct WhileOff<'m> {
    kernel: Box<dyn Kernel + 'm>,
    _off: Off,
}

impl Kernel for WhileOff<'_> {
    fn run(&mut self, operations: u64) -> u64 {
        self.kernel.run(operations)
    }

    fn work(&self) -> Work {
        self.kernel.work()
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        self.kernel.trace(operations, sink);
    }
}
