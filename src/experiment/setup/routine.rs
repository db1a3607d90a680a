//! Code made at run time.

// Vouches for the code that it has just written.
#![allow(unsafe_code)]

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::Routine;
use crate::mem::{LINE, Region};
use crate::os::{Code, Pages};
use crate::pattern::Listing;

/// Code, repeated. An operation is a round through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RoutineSetup {
    /// What a round executes.
    pub listing: Listing,
}

impl Setup for RoutineSetup {
    /// A line, of which nothing is used: the code has executable memory of its own.
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let listing = self.listing;
        let code = Code::new(listing.bytes(), Pages::Base, |bytes| listing.write(bytes))
            .map_err(Untestable::because)?;
        // SAFETY: the listing was written to the start of the code, which stays executable and
        // unchanged for as long as it lives.
        let routine = unsafe { Routine::new(code, |code| code.function(0), listing) };
        Ok(Subject::Steady {
            kernel: Box::new(routine),
            lap: 1,
        })
    }
}
