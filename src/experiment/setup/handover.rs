//! Code, or data, that another core modifies while this one executes it.

// Vouches for code that another thread writes to.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::Handover;
use crate::mem::{LINE, PAGE, Region};
use crate::os::code::View;
use crate::os::{Alias, Partner};

/// Where `mov eax, imm32; ret` begins, so that its number lies at a multiple of 4 and is stored
/// whole: whoever executes it meanwhile finds the old number or the new, and a `mov` in any case.
const MOVE: usize = 3;

/// The number in it.
const NUMBER: usize = MOVE + 1;

/// Numbers that a thread on another core writes, one at a time and when asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandoverSetup {
    /// Into the code of the function that is called until it returns the number; else into a
    /// word that the function reads, on another page.
    pub into_code: bool,
    /// The CPU of that thread; none if there is no second core.
    pub other: Option<usize>,
}

/// What both threads know.
struct Shared {
    pages: Alias,
    /// On a line of its own.
    asked: Asked,
    /// Where the number is written.
    number: usize,
}

#[repr(align(128))]
struct Asked(AtomicU32);

/// The other thread, ended before the pages go, and what it shares with this one.
struct Exchange {
    _partner: Partner,
    shared: Arc<Shared>,
    entry: usize,
}

impl Setup for HandoverSetup {
    /// A line, of which nothing is used: the code has pages of its own.
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let other = self.other.ok_or_else(|| {
            Untestable("this takes two cores, and this process may use one alone".to_owned())
        })?;
        let mut pages = Alias::new(2 * PAGE, View::Code).map_err(Untestable::because)?;
        let (entry, number) = if self.into_code {
            pages.write(MOVE, &[0xB8, 0, 0, 0, 0, 0xC3]); // mov eax, 0; ret
            (MOVE, NUMBER)
        } else {
            let [a, b, c, d] = (PAGE as u32 - 6).to_le_bytes();
            pages.write(0, &[0x8B, 0x05, a, b, c, d, 0xC3]); // mov eax, [rip + distance]; ret
            (0, PAGE)
        };
        let shared = Arc::new(Shared {
            pages,
            asked: Asked(AtomicU32::new(0)),
            number,
        });
        let theirs = Arc::clone(&shared);
        let mut done = 0;
        let partner = Partner::start(other, move || {
            let asked = theirs.asked.0.load(Ordering::Acquire);
            if asked != done {
                let number = theirs.pages.word(theirs.number);
                number.store(asked, Ordering::Release);
                done = asked;
            }
        });
        let exchange = Exchange {
            _partner: partner.map_err(Untestable::because)?,
            shared,
            entry,
        };
        // SAFETY: the function returns the number that the other thread stores, which is whole
        // whenever it is read or fetched, and it stores what it is asked for. Nobody serialises
        // this thread in between: stores to code become visible to other cores as those to data
        // do, only later (AMD's manual, volume 2, 7.6.1, on asynchronous modification by a single
        // aligned store; Intel leaves the time open, volume 3, "Cross-Modifying Code").
        let handover = unsafe {
            Handover::new(
                exchange,
                |exchange| &exchange.shared.asked.0,
                |exchange| exchange.shared.pages.function(exchange.entry),
            )
        };
        Ok(Subject::Steady {
            kernel: Box::new(handover),
            lap: 1,
        })
    }
}
