//! Lines that are flushed.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::cpu::Features;
use crate::kernel::{FlushLines, FlushWay, Form, all};
use crate::mem::{LINE, Region};

struct FlushCase {
    lines: usize,
    way: FlushWay,
    form: Form,
}

impl Case for FlushCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let (region, _) = memory.split(self.lines * LINE)?;
        then(&mut FlushLines::new(region, self.way).by(self.form));
        Some(())
    }

    fn twin(&self, _: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut done = 0;
        then(&mut |operations| {
            done = all::flush::flush(done, operations);
            done
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn flushes(&mut self, features: Features) {
        for (name, way) in [
            ("linefill_flush", Some(FlushWay::Ordered)),
            (
                "linefill_flush_opt",
                features.clflushopt().map(FlushWay::Unordered),
            ),
            ("linefill_flush_back", features.clwb().map(FlushWay::Back)),
        ] {
            let Some(way) = way else {
                continue;
            };
            let of = |form| [1, 2, 100].map(|lines| FlushCase { lines, way, form });
            self.check(name, Form::ALL.into_iter().flat_map(of));
        }
    }
}
