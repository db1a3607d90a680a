//! One access a page.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{Form, Reach, Translate, all};
use crate::mem::{LINE, PAGE, Region};

struct TranslateCase {
    reach: Reach,
    pages: usize,
    form: Form,
}

impl Case for TranslateCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let translate = Translate::new(memory, self.reach, self.pages).ok()?;
        then(&mut translate.by(self.form));
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
            Form::ALL.into_iter().flat_map(move |form| {
                let of = move |reach| [1, 2, 16].map(|pages| TranslateCase { reach, pages, form });
                reaches.iter().copied().flat_map(of)
            })
        };
        self.check("linefill_translate_load", cases(&[Reach::Load]));
        let prefetches = cases(&[Reach::Prefetch, Reach::PrefetchNull]);
        self.check("linefill_translate_prefetch", prefetches);
    }
}
