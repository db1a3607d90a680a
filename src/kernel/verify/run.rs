//! Hands cases to the check, and findings to the caller.

use crate::kernel::verify::check::{Case, Difference, Mismatch, Parts};
use crate::mem::Region;

/// Hands the cases to the check and its findings to the caller.
pub(crate) struct Oracle<'m, 'r> {
    parts: Option<Parts<'m>>,
    report: &'r mut dyn FnMut(&'static str, Result<(), Mismatch>),
}

impl<'m, 'r> Oracle<'m, 'r> {
    pub(crate) fn new(
        region: Region<'m>,
        report: &'r mut dyn FnMut(&'static str, Result<(), Mismatch>),
    ) -> Self {
        Oracle {
            parts: Parts::new(region),
            report,
        }
    }

    /// Checks the cases of one kernel up to the first that fails, and reports.
    pub(crate) fn check<C: Case>(
        &mut self,
        name: &'static str,
        cases: impl IntoIterator<Item = C>,
    ) {
        let result = cases.into_iter().enumerate().try_for_each(|(case, built)| {
            let found = match &mut self.parts {
                Some(parts) => parts.check(&built),
                None => Err(Difference::NotBuilt),
            };
            found.map_err(|difference| Mismatch { case, difference })
        });
        (self.report)(name, result);
    }
}
