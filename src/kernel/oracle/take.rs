//! Lines that are written, nobody else holding them. With others it takes threads.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{Fetched, TakeLines, TakeWay, all};
use crate::mem::Region;

struct TakeCase {
    lines: usize,
    way: TakeWay,
    fetched: Fetched,
}

impl Case for TakeCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let words = memory.into_atomics();
        then(&mut TakeLines::new(
            words,
            self.lines,
            self.way,
            self.fetched,
        )?);
        Some(())
    }

    fn twin(&self, mut memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let (lines, mut done) = (self.lines as u64, 0);
        then(&mut |operations| {
            let next = all::take::take(&mut memory, lines, self.way, done, operations);
            done += operations;
            next
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn takes(&mut self) {
        use Fetched::{Not, ToRead, ToWrite};
        use TakeWay::{Add, Store};
        for (name, way, fetched) in [
            ("linefill_take_store", Store, Not),
            ("linefill_take_store_t0", Store, ToRead),
            ("linefill_take_store_w", Store, ToWrite),
            ("linefill_take_add", Add, Not),
            ("linefill_take_add_t0", Add, ToRead),
            ("linefill_take_add_w", Add, ToWrite),
        ] {
            let case = |lines| TakeCase {
                lines,
                way,
                fetched,
            };
            self.check(name, [1, 2, 64, 512].map(case));
        }
    }
}
