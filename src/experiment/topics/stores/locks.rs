//! Beyond Drepper 6.2.1: locked instructions across two lines.

use crate::experiment::prelude::*;
use crate::kernel::LockAdd;

pub(crate) static ALL: &[Experiment] = &[SPLIT_LOCKS];

const SERIES: &str = "locked addition of 8 bytes";

/// The last offset at which 8 bytes lie in one line.
const LAST: usize = LINE - 8;

/// The offset at which a line boundary halves the 8 bytes.
const HALF: usize = LINE - 4;

const SPLIT_LOCKS: Experiment = Experiment {
    id: "X7",
    name: "split-locks",
    title: "Locked additions across two lines",
    question: "What does a locked addition cost if its word crosses a line boundary?",
    source: "Beyond Drepper 6.2.1 on alignment: `lock xadd`; Intel SDM volume 3, \"Bus Locking\"; \
             Linux, Documentation/arch/x86/buslock.rst",
    about: "Within a line, the core locks only this line during the addition, and the offset of \
            the word should not matter. If the word lies in two lines, the core cannot lock both. \
            Instead it locks the bus: all memory traffic stops, also that of other cores, for \
            hundreds or thousands of cycles. Kernels and hypervisors may therefore trap such an \
            access. The test makes it only where neither the kernel nor a hypervisor traps it.",
    plot: Some(Plot::cycles(
        Axis::linear("offset of the word in the line, bytes"),
        Axis::log("time"),
    )),
    cases: |machine| {
        let offsets: Vec<usize> = if machine.full {
            (0..LINE).collect()
        } else {
            vec![0, 1, LAST / 2 + 1, LAST, LAST + 1, HALF, LINE - 1]
        };
        offsets.into_iter().map(|at| Case::new(SERIES, at as f64, LockSetup { at })).collect()
    },
    claims: &[
        measured(
            "X7.1",
            ours("whether a locked word must be aligned within its line"),
            "within a line, a misaligned locked addition takes less than 1.1 times as long as an \
             aligned one",
            |e| {
                let aligned = e.at(SERIES, 0.0)?;
                let odd = ratio(e.at(SERIES, 1.0), &aligned)?;
                let last = ratio(e.at(SERIES, LAST as f64), aligned)?;
                at_most("misaligned over aligned", odd.most(last), 1.1)
            },
        ),
        measured(
            "X7.2",
            ours("the cost of the bus lock, which kernels try to avoid"),
            "a locked addition across two lines takes more than 10 times as long as in one line",
            |e| {
                let aligned = e.at(SERIES, 0.0)?;
                let split = ratio(e.at(SERIES, HALF as f64), aligned)?;
                at_least("across two lines over aligned", split, 10.0)
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Set-up of locked additions to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockSetup {
    /// Byte offset of the word of 8 bytes.
    pub at: usize,
}

impl Setup for LockSetup {
    fn bytes(&self) -> usize {
        self.at + 8
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let allowed =
            if self.at % LINE + 8 > LINE { Some(context.host.split_locks()?) } else { None };
        let lock = LockAdd::new(region, self.at, allowed)?;
        Ok(Workload::steady(lock, 1))
    }
}
