//! Walks with prefetches.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::ring::{PADDED, RingCase};
use super::run::Oracle;
use crate::cpu::Hint;
use crate::kernel::{Ahead, Form, Pace, PrefetchWalk, all};
use crate::mem::Region;

struct PrefetchCase {
    ring: RingCase,
    ahead: Option<Ahead>,
    work: u32,
    pace: Pace,
    form: Form,
}

impl Case for PrefetchCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let ring = self.ring.build(memory)?;
        let walk = PrefetchWalk::new(ring, self.ahead, self.work, self.pace).ok()?;
        then(&mut walk.by(self.form));
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut ring = self.ring.build(memory)?;
        if let Some(ahead) = self.ahead {
            let word = usize::from(ring.layout().pointer_offset() == 0);
            ring.link_ahead(word, ahead.elements).ok()?;
        }
        then(&mut |operations| {
            all::prefetch::prefetch(&mut ring, operations);
            ring.offset(ring.cursor()) as u64
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn prefetches(&mut self) {
        for (hint, overlapped, serial) in [
            (
                None,
                "linefill_prefetch_none",
                "linefill_prefetch_none_serial",
            ),
            (
                Some(Hint::T0),
                "linefill_prefetch_t0",
                "linefill_prefetch_t0_serial",
            ),
            (
                Some(Hint::T1),
                "linefill_prefetch_t1",
                "linefill_prefetch_t1_serial",
            ),
            (
                Some(Hint::T2),
                "linefill_prefetch_t2",
                "linefill_prefetch_t2_serial",
            ),
            (
                Some(Hint::Nta),
                "linefill_prefetch_nta",
                "linefill_prefetch_nta_serial",
            ),
            (
                Some(Hint::Write),
                "linefill_prefetch_w",
                "linefill_prefetch_w_serial",
            ),
        ] {
            for (name, pace) in [(overlapped, Pace::Overlapped), (serial, Pace::Serial)] {
                let cases = |form| {
                    PADDED
                        .into_iter()
                        .enumerate()
                        .map(move |(index, ring)| PrefetchCase {
                            ring,
                            ahead: hint.map(|hint| Ahead {
                                hint,
                                elements: index,
                            }),
                            // Both ends of the dial, and what lies between.
                            work: [0, 1, 53, 255, 256][index % 5],
                            pace,
                            form,
                        })
                };
                self.check(name, Form::ALL.into_iter().flat_map(cases));
            }
        }
    }
}
