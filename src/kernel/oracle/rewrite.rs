//! Stores to one word.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::cpu::Features;
use crate::kernel::{Form, Rewrite, RewriteWay, all};
use crate::mem::Region;

struct RewriteCase(RewriteWay, Form);

impl Case for RewriteCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut Rewrite::new(memory, self.0).by(self.1));
        Some(())
    }

    fn twin(&self, mut memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut count = 0;
        then(&mut |operations| {
            count = all::rewrite::rewrite(&mut memory, count, operations);
            count
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn rewrites(&mut self, features: Features) {
        let cases = |way| Form::ALL.map(|form| RewriteCase(way, form));
        self.check("linefill_rewrite", cases(RewriteWay::Back));
        if let Some(clwb) = features.clwb() {
            self.check("linefill_rewrite_through", cases(RewriteWay::Through(clwb)));
        }
        self.check("linefill_rewrite_stream", cases(RewriteWay::NonTemporal));
    }
}
