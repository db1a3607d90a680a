//! One access a page.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{Reach, Translate, all};
use crate::mem::{LINE, PAGE, Region};

struct TranslateCase {
    reach: Reach,
    pages: usize,
}

impl Case for TranslateCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut Translate::new(memory, self.reach, self.pages).ok()?);
        Some(())
    }

    fn twin(&self, _: Region<'_>, then: WithTwin<'_>) -> Built {
        let (stride, span) = (PAGE + LINE, self.pages * PAGE);
        let mut place = 0;
        then(&mut |operations| {
            place = all::translate::translate(place, stride, span, operations);
            place as u64
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn translations(&mut self) {
        let cases = |reaches: &'static [Reach]| {
            let of = |reach| [1, 2, 16].map(|pages| TranslateCase { reach, pages });
            reaches.iter().copied().flat_map(of)
        };
        self.check("linefill_translate_load", cases(&[Reach::Load]));
        let prefetches = cases(&[Reach::Prefetch, Reach::PrefetchNull]);
        self.check("linefill_translate_prefetch", prefetches);
    }
}
