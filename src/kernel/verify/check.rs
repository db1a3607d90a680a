//! Compares one kernel with its reference implementation.

use crate::kernel::{Access, Kernel, Kind, Work};
use crate::mem::Region;
use crate::pattern::Rng;
use core::ops::Range;

/// Bytes of memory that most cases work in.
pub(crate) const PART: usize = 128 * 1024;

/// Bytes of memory that the largest case works in: a tensor whose dimensions are constants in the code.
pub(crate) const LARGEST: usize = 5 * 1024 * 1024;

/// Operations of the successive portions: none, one, few, and enough to go round most patterns.
const PORTIONS: [u64; 9] = [1, 0, 2, 3, 5, 64, 257, 1000, 1];

/// How a kernel and its reference disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The index of the case among the kernel's cases, from 0.
    pub case: usize,
    /// The difference.
    pub difference: Difference,
}

/// The difference between a kernel and its reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// The region is too small, or the pattern was rejected: nothing was checked.
    NotBuilt,
    /// The returned values differ.
    Checksum {
        /// The index of the portion, from 0.
        portion: usize,
        /// The value that the kernel returned.
        kernel: u64,
        /// The value that the reference returned.
        reference: u64,
    },
    /// A byte of the memory differs after the run.
    Byte {
        /// Offset of the byte from the start of the memory.
        offset: usize,
        /// The byte that the kernel left.
        kernel: u8,
        /// The byte that the reference left.
        reference: u8,
    },
    /// The trace of a portion does not match the work declared for it.
    Declared {
        /// The index of the portion, from 0.
        portion: usize,
        /// The declared work.
        declared: Work,
        /// The traced work.
        traced: Work,
    },
    /// The trace reports an access outside the memory.
    Outside(Access),
    /// A portion returned a different value when every other portion was traced.
    Place {
        /// The index of the portion, from 0.
        portion: usize,
        /// The value returned when all portions were run.
        run: u64,
        /// The value returned when every other portion was traced.
        traced: u64,
    },
}

messages! { Mismatch:
    Mismatch { case, difference } => ("case {case}: {difference:?}");
}

/// A kernel on one pattern, and its reference: by default the kernel's own model.
pub(crate) trait Case {
    /// Bytes of memory that the case works in: whole lines, at most [`LARGEST`].
    fn bytes(&self) -> usize {
        PART
    }

    /// Builds the pattern in `memory` and passes the kernel to `then`.
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built;

    /// Builds the same pattern in `memory` and passes the reference to `then`: a function that does a
    /// number of operations and returns their checksum.
    fn reference(&self, memory: Region<'_>, then: WithReference<'_>) -> Built {
        self.kernel(memory, &mut |kernel| {
            then(&mut |operations| kernel.trace(operations, &mut |_| {}))
        })
    }

    /// The part of the memory that the kernel uses as scratch and a plain reference implementation does not; not compared.
    fn scratch(&self) -> Range<usize> {
        0..0
    }
}

/// A case, and the function that builds its kernel.
pub(crate) struct Pattern<'a, C, B>(pub C, pub &'a B);

impl<C, B: Fn(&C, Region<'_>, WithKernel<'_>) -> Built> Case for Pattern<'_, C, B> {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        (self.1)(&self.0, memory, then)
    }
}

/// The callback that receives a kernel.
pub(crate) type WithKernel<'a> = &'a mut dyn FnMut(&mut dyn Kernel) -> Built;

/// The callback that receives a reference.
pub(crate) type WithReference<'a> = &'a mut dyn FnMut(&mut dyn FnMut(u64) -> u64) -> Built;

/// `None` if the pattern was rejected.
pub(crate) type Built = Option<()>;

/// The memory that a case works in, its initial contents, and a copy of it as the kernel left it.
pub(crate) struct Parts<'m> {
    memory: Region<'m>,
    first: Region<'m>,
    left: Region<'m>,
}

impl<'m> Parts<'m> {
    /// Number of parts.
    pub(crate) const COUNT: usize = 3;

    /// Divides `region` into parts; returns `None` if it is too small.
    pub(crate) fn new(region: Region<'m>) -> Option<Self> {
        let (memory, rest) = region.split(LARGEST)?;
        let (mut first, left) = rest.split(LARGEST)?;
        if left.len() < LARGEST {
            return None;
        }
        // Known bytes that a wrong kernel is unlikely to produce by chance.
        let mut rng = Rng::new(7);
        for word in first.bytes_mut().chunks_exact_mut(8) {
            word.copy_from_slice(&rng.bits().to_ne_bytes());
        }
        Some(Parts { memory, first, left })
    }

    /// Returns the memory of a case with its initial contents.
    fn fresh(&mut self, case: &dyn Case) -> Region<'_> {
        let bytes = case.bytes();
        let memory = &mut self.memory.bytes_mut()[..bytes];
        memory.copy_from_slice(&self.first.bytes()[..bytes]);
        Region::new(memory).expect("a case works in at least a line")
    }

    pub(crate) fn check(&mut self, case: &dyn Case) -> Result<(), Difference> {
        let proofs = self.run_kernel(case)?;
        let bytes = case.bytes();
        self.left.bytes_mut()[..bytes].copy_from_slice(&self.memory.bytes()[..bytes]);
        self.run_reference(case, &proofs)?;
        self.compare(bytes, &case.scratch())?;
        self.trace(case, &proofs)
    }

    fn run_kernel(&mut self, case: &dyn Case) -> Result<[u64; PORTIONS.len()], Difference> {
        let mut proofs = [0; PORTIONS.len()];
        case.kernel(self.fresh(case), &mut |kernel| {
            proofs = PORTIONS.map(|operations| kernel.run(operations));
            Some(())
        })
        .ok_or(Difference::NotBuilt)?;
        Ok(proofs)
    }

    fn run_reference(&mut self, case: &dyn Case, proofs: &[u64]) -> Result<(), Difference> {
        let mut result = Ok(());
        case.reference(self.fresh(case), &mut |reference| {
            for (portion, (&kernel, operations)) in proofs.iter().zip(PORTIONS).enumerate() {
                let reference = reference(operations);
                if reference != kernel && result.is_ok() {
                    result = Err(Difference::Checksum { portion, kernel, reference });
                }
            }
            Some(())
        })
        .ok_or(Difference::NotBuilt)?;
        result
    }

    fn compare(&self, bytes: usize, scratch: &Range<usize>) -> Result<(), Difference> {
        let (kernel, reference) = (&self.left.bytes()[..bytes], &self.memory.bytes()[..bytes]);
        if kernel == reference {
            return Ok(());
        }
        let mut pairs = kernel.iter().zip(reference).enumerate();
        let differ = |(offset, (kernel, reference)): &(usize, (&u8, &u8))| {
            kernel != reference && !scratch.contains(offset)
        };
        match pairs.find(differ) {
            None => Ok(()),
            Some((offset, (&kernel, &reference))) => {
                Err(Difference::Byte { offset, kernel, reference })
            }
        }
    }

    /// Traces every other portion and runs the others. No checksum may change.
    fn trace(&mut self, case: &dyn Case, proofs: &[u64]) -> Result<(), Difference> {
        let mut result = Ok(());
        case.kernel(self.fresh(case), &mut |kernel| {
            for (portion, (&run, operations)) in proofs.iter().zip(PORTIONS).enumerate() {
                let found = match portion % 2 {
                    1 => trace_portion(kernel, case.bytes(), portion, operations),
                    _ => Ok(kernel.run(operations)),
                };
                let found = found.and_then(|traced| match traced == run {
                    true => Ok(()),
                    false => Err(Difference::Place { portion, run, traced }),
                });
                result = result.and(found);
            }
            Some(())
        })
        .ok_or(Difference::NotBuilt)?;
        result
    }
}

/// Traces a portion, compares the trace with the kernel's declaration, and returns the checksum.
fn trace_portion(
    kernel: &mut dyn Kernel,
    bytes: usize,
    portion: usize,
    operations: u64,
) -> Result<u64, Difference> {
    let mut traced = Work::default();
    let mut result = Ok(());
    let proof = kernel.trace(operations, &mut |access| {
        if access.offset > bytes || access.bytes as usize > bytes - access.offset {
            result = Err(Difference::Outside(access));
        }
        match access.kind {
            Kind::Load => {
                traced.loads += 1;
                traced.bytes_read += access.bytes;
            }
            Kind::Store | Kind::NonTemporalStore => {
                traced.stores += 1;
                traced.bytes_written += access.bytes;
            }
            Kind::Prefetch => {}
        }
    });
    let declared = Work {
        // A trace reports no arithmetic and no instructions.
        flops: 0,
        instructions: 0,
        ..kernel.work().times(operations as u32)
    };
    if traced != declared {
        result = result.and(Err(Difference::Declared { portion, declared, traced }));
    }
    result.map(|()| proof)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;

    /// The fault that a test kernel has.
    #[derive(Clone, Copy, PartialEq)]
    enum Fault {
        None,
        Refuses,
        Returns,
        Writes,
        Declares,
        TracesOutside,
        TracesTooFar,
    }

    /// Counts its operations in byte 64.
    struct Counter<'m>(Region<'m>, Fault);

    impl Kernel for Counter<'_> {
        fn run(&mut self, operations: u64) -> u64 {
            let count = &mut self.0.bytes_mut()[64];
            *count = count.wrapping_add(operations as u8);
            let count = *count;
            if self.1 == Fault::Writes {
                self.0.bytes_mut()[PART - 1] = 1;
            }
            u64::from(count) ^ u64::from(self.1 == Fault::Returns)
        }

        fn work(&self) -> Work {
            Work {
                loads: 1,
                stores: u32::from(self.1 != Fault::Declares),
                bytes_read: 1,
                bytes_written: 1,
                ..Work::default()
            }
        }

        fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
            let offset = if self.1 == Fault::TracesOutside { PART } else { 64 };
            for _ in 0..operations {
                sink(Access::load(offset, 1));
                sink(Access::store(offset, 1));
            }
            let far = u64::from(self.1 == Fault::TracesTooFar);
            let count = &mut self.0.bytes_mut()[64];
            *count = count.wrapping_add((operations + far) as u8);
            u64::from(*count)
        }
    }

    impl Case for Fault {
        fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
            if *self == Fault::Refuses {
                return None;
            }
            then(&mut Counter(memory, *self))
        }

        fn reference(&self, memory: Region<'_>, then: WithReference<'_>) -> Built {
            let mut counter = Counter(memory, Fault::None);
            then(&mut |operations| counter.run(operations))
        }
    }

    fn found(fault: Fault) -> Result<(), Difference> {
        let mut bytes = vec![0; Parts::COUNT * LARGEST + 64];
        let region = Region::new(&mut bytes).unwrap();
        Parts::new(region).unwrap().check(&fault)
    }

    #[test]
    fn a_kernel_like_its_reference_passes() {
        assert_eq!(found(Fault::None), Ok(()));
    }

    #[test]
    fn every_fault_is_found_and_named() {
        let difference = |fault| found(fault).unwrap_err();
        assert_eq!(difference(Fault::Refuses), Difference::NotBuilt);
        assert!(matches!(difference(Fault::Returns), Difference::Checksum { portion: 0, .. }));
        assert!(matches!(
            difference(Fault::Writes),
            Difference::Byte { offset, kernel: 1, .. } if offset == PART - 1
        ));
        assert!(matches!(difference(Fault::Declares), Difference::Declared { .. }));
        assert!(matches!(
            difference(Fault::TracesOutside),
            Difference::Outside(Access { offset: PART, .. })
        ));
        assert!(matches!(difference(Fault::TracesTooFar), Difference::Place { portion: 1, .. }));
    }
}
