//! How often lines that are used all the time have to come from memory all the same.

// Flushes a line of a ring by address.
#![allow(unsafe_code)]

use core::hint::black_box;

use crate::cpu::{clflush, mfence};
use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{Kernel, Step, Walk};
use crate::mem::{LINE, Region};
use crate::pattern::{Layout, Order, Ring};
use crate::time::{start, stop};

/// A hot ring in L1d or L2, steps along which alternate with other lines that stream past. What is counted
/// is steps that take longer by more than half of a miss to memory, over the lines of the ring: how
/// often each line was lost. Steps are timed one by one: several hits in the last level together look
/// like a miss to memory. They are few, since each may be interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RetainSetup {
    /// Bytes that stream past, round and round.
    pub stream: usize,
    /// Bytes that stream past in all.
    pub total: usize,
    /// Decides the order of the ring, and tells repetitions apart.
    pub seed: u64,
}

/// Lines of the ring: a page of them, an eighth of the smallest L1d.
const HOT: usize = 64;

/// Lines that stream past between two steps: in a lap of the ring 64 KiB, one or less in each set of
/// any L2.
const BETWEEN: usize = 16;

/// Steps by which the time of a miss is found.
const TRIALS: usize = 51;

impl Setup for RetainSetup {
    fn bytes(&self) -> usize {
        HOT * LINE + self.stream
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let parts = region.split(HOT * LINE);
        let (hot, mut stream) =
            parts.ok_or_else(|| Untestable("no room for lines that stream past".to_owned()))?;
        let order = Order::Random { seed: self.seed };
        let ring = Ring::new(hot, Layout::npad(7), HOT, order).map_err(Untestable::because)?;
        let mut walk = Walk::new(ring, Step::Follow).map_err(Untestable::because)?;
        // Pages that were never written may all be one page of zeroes.
        stream.bytes_mut().fill(1);

        black_box(walk.run(HOT as u64));
        let undisturbed = median(|| step(&mut walk));
        let missing = median(|| {
            black_box(walk.run(HOT as u64));
            let next = walk.ring().cursor();
            // SAFETY: the cursor is an address in the ring, which is mapped.
            unsafe { clflush(core::ptr::with_exposed_provenance(next)) };
            mfence();
            step(&mut walk)
        });
        if missing <= undisturbed {
            return Err(Untestable(format!(
                "a step takes {undisturbed} ticks, and {missing} to a flushed line"
            )));
        }
        let slow = undisturbed + (missing - undisturbed) / 2;

        let mut lost = 0_u32;
        let rounds = self.total.div_ceil(stream.len());
        for _ in 0..rounds {
            for lines in stream.bytes().chunks(BETWEEN * LINE) {
                for line in lines.iter().step_by(LINE) {
                    black_box(*line);
                }
                lost += u32::from(step(&mut walk) > slow);
            }
        }
        Ok(Subject::Count(f64::from(lost) / HOT as f64))
    }
}

/// Ticks of a step.
fn step(walk: &mut Walk<'_>) -> u64 {
    let begin = start();
    black_box(walk.run(1));
    stop() - begin
}

fn median(mut ticks: impl FnMut() -> u64) -> u64 {
    let mut all = [0; TRIALS];
    all.fill_with(&mut ticks);
    all.sort_unstable();
    all[TRIALS / 2]
}
