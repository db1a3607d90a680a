//! Hands cases to the check, and findings to the caller.

use crate::kernel::verify::check::{Built, Case, Difference, Mismatch, Parts, Pattern, WithKernel};
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

    /// Checks one kernel on `cases`, each of which `build` makes a kernel of and hands on. Stops at
    /// the first that fails, and reports.
    pub(crate) fn check<C>(
        &mut self,
        name: &'static str,
        cases: impl IntoIterator<Item = C>,
        build: impl Fn(&C, Region<'_>, WithKernel<'_>) -> Built,
    ) {
        self.check_each(name, cases, |parts, case| {
            parts.check(&Pattern(&case, &build))
        });
    }

    /// The same of cases that say more than how they are built.
    pub(crate) fn check_cases<C: Case>(
        &mut self,
        name: &'static str,
        cases: impl IntoIterator<Item = C>,
    ) {
        self.check_each(name, cases, |parts, case| parts.check(&case));
    }

    fn check_each<C>(
        &mut self,
        name: &'static str,
        cases: impl IntoIterator<Item = C>,
        check: impl Fn(&mut Parts<'m>, C) -> Result<(), Difference>,
    ) {
        let result = cases
            .into_iter()
            .enumerate()
            .try_for_each(|(number, case)| {
                let found = match &mut self.parts {
                    Some(parts) => check(parts, case),
                    None => Err(Difference::NotBuilt),
                };
                found.map_err(|difference| Mismatch {
                    case: number,
                    difference,
                })
            });
        (self.report)(name, result);
    }
}
