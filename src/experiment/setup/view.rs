//! Pages at two addresses: code that is patched through one of them, data that is read at both.

// Vouches for pages that it has just mapped, and for the code written there.
#![allow(unsafe_code)]

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{Patch, Synonym};
use crate::mem::{LINE, PAGE, Region};
use crate::os::Alias;
use crate::os::code::View;

/// `mov eax, 7; ret`.
const FUNCTION: [u8; 6] = [0xB8, 7, 0, 0, 0, 0xC3];

/// What is written before each call of a function of six bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Patched {
    /// The number that the function returns, in the middle of its code.
    Code,
    /// A byte behind it in the same line, which is never executed.
    SameLine,
    /// A byte of the same page, half a page further.
    SamePage,
    /// A byte of the next page.
    OtherPage,
}

impl Patched {
    /// Where the byte lies from the start of the function.
    const fn offset(self) -> usize {
        match self {
            Patched::Code => 1,
            Patched::SameLine => LINE / 2,
            Patched::SamePage => PAGE / 2,
            Patched::OtherPage => PAGE,
        }
    }
}

/// A function that is called after each write of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PatchSetup {
    /// What is written.
    pub patched: Patched,
}

impl Setup for PatchSetup {
    /// A line, of which nothing is used: the code has pages of its own.
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let mut pages = Alias::new(2 * PAGE, View::Code).map_err(Untestable::because)?;
        pages.write(0, &FUNCTION);
        let memory = (pages, self.patched);
        // SAFETY: the first view is writable; the byte is the low one of the number that the
        // function returns, or no part of it, so that it stays a function whatever is written.
        let patch = unsafe {
            Patch::new(
                memory,
                |(pages, patched)| pages.first().wrapping_add(patched.offset()),
                |(pages, _)| pages.function(0),
            )
        };
        Ok(Subject::Steady {
            kernel: Box::new(patch),
            lap: 1,
        })
    }
}

/// A line that is read at one address, or at two in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SynonymSetup {
    /// At two.
    pub two: bool,
}

impl Setup for SynonymSetup {
    /// A line, of which nothing is used: the data has a page of its own.
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let page = Alias::new(PAGE, View::Data).map_err(Untestable::because)?;
        let first = page.first();
        let second = if self.two { page.second() } else { first };
        // SAFETY: both views show the same page, which is this setup's own and lives as long as
        // the kernel.
        let synonym = unsafe { Synonym::new(page, first, second) };
        Ok(Subject::Steady {
            kernel: Box::new(synonym),
            lap: 2,
        })
    }
}
