//! One access a page.

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{Reach, Translate};
use crate::mem::{PAGE, Region};

/// Pages, and what is done in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TranslateSetup {
    /// The access.
    pub reach: Reach,
    /// How many pages, a power of two.
    pub pages: usize,
}

impl Setup for TranslateSetup {
    fn bytes(&self) -> usize {
        self.pages * PAGE
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let translate =
            Translate::new(region, self.reach, self.pages).map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(translate),
            // As many steps of a page and a line come by every page once and more.
            lap: self.pages as u64,
        })
    }
}
