//! Drepper 3.3.5 and 3.4.1: one page at two addresses, and code that modifies itself.

// The unsafe calls rely on pages that were just mapped, and on the code just written there.
#![allow(unsafe_code)]

use crate::experiment::prelude::*;
use crate::experiment::topics::hierarchy::replacement;
use crate::host::{Alias, Guard, View};
use crate::kernel::{Handover, PageAlias, Patch};
use crate::pmu::Quantity;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};

pub(crate) static ALL: &[Experiment] = &[SYNONYMS, SELF_MODIFYING];

/// The place of every case on the axis: only the series varies.
const HERE: f64 = 1.0;

const ONE: &str = "a line at one address";
const TWO: &str = "a line at two addresses in turn";

const SYNONYMS: Experiment = Experiment {
    id: "D32",
    name: "drepper-3.3.5-details",
    title: "One physical page at two addresses, and the replacement of lines",
    question: "Is memory slower to read if it is mapped at two addresses, and which line does a \
               full set of L1d evict?",
    source: "Drepper 3.3.5: L1 is indexed by virtual addresses, so a page should not be mapped at \
             two of them; the levels beyond use physical addresses; replacement is LRU",
    about: "The first part reads a line at one virtual address, or at two virtual addresses of the \
            same physical page in turn. If the ways of L1d are no larger than a page, both \
            addresses select the same set, and L1d finds the line under both. For this reason, L1d \
            has grown by ways. AMD's CPUs, since Zen, predict the way by a hash of the linear \
            address, and each line stores one hash. A read at another address counts as a miss: \
            the core finds the line by its physical address and replaces the hash, at every change \
            of address. The second part times sequences of loads of one set, and compares the \
            times with the misses under each known replacement policy. LRU becomes expensive with \
            many ways, so many CPUs approximate it. Sequences that tell policies apart are known \
            for sets of 8 and 12 ways.",
    seen: &[seen(
        "Zen 4",
        "Each sequence of loads of one set takes the time that tree-PLRU predicts.",
    )],
    plot: Some(Plot::bars(
        Axis::linear("what is read"),
        Axis::linear("time of a dependent load"),
        Unit::CoreCycles,
    )),
    cases: |machine| {
        let views = [(ONE, false), (TWO, true)]
            .map(|(series, two)| Case::new(series, HERE, SynonymSetup { two }).in_turn());
        views.into_iter().chain(replacement::cases(machine)).collect()
    },
    claims: &[
        // The first level is tagged by virtual addresses: do not map one physical location at two
        // of them.
        measured(
            "D32.1",
            drepper("3.3.5"),
            "a line read at two virtual addresses in turn takes at least 10 % longer per load than \
             a line read at one address",
            |e| at_least("two addresses over one", ratio(e.at(TWO, HERE), e.at(ONE, HERE)), 1.1),
        )
        .holding("L1d depends on the virtual address, as the document says.")
        .failing("L1d finds a line under all its addresses."),
        replacement::LRU,
    ],
    ..Experiment::PLAIN
};

const PATCHES: [(&str, Patched); 4] = [
    ("its own code", Patched::Code),
    ("data in its line", Patched::SameLine),
    ("data in its page", Patched::SamePage),
    ("data in another page", Patched::OtherPage),
];

/// The series of numbers that another core writes and this core waits for, and whether they are
/// written into code.
const HANDOVERS: [(&str, bool); 2] =
    [("another core, into code", true), ("another core, into data", false)];

const SELF_MODIFYING: Experiment = Experiment {
    id: "D34",
    name: "drepper-3.4.1-smc",
    title: "Code that modifies itself",
    question: "How much does it cost to write a byte of a function before each call of the \
               function?",
    source: "Drepper 3.4.1: self-modifying code empties the pipeline and the cache of decoded \
             instructions, and should be avoided",
    about: "The test stores a byte and calls a function, again and again. The byte is part of the \
            function's code, or data in the same line, in the same page or in another page. The \
            CPU compares the physical address of every store with the lines that it executes; if \
            they match, it must discard work and fetch the code again. The test writes code \
            through a second mapping, because no page is ever both writable and executable. A CPU \
            may compare whole lines or whole pages, so stores to data near code can be as slow as \
            stores to the code. In the last two series, another core writes a number into code or \
            into data, and the time includes the transfer of the line between the cores.",
    plot: Some(Plot::bars(
        Axis::linear("what is written"),
        Axis::log("time of a store and a call"),
        Unit::CoreCycles,
    )),
    cases: |machine| {
        let two = machine.cpu_order.two_cores().ok();
        let other = two.map(|[_, other]| other);
        PATCHES
            .map(|(series, patched)| Case::new(series, HERE, PatchSetup { patched }))
            .into_iter()
            .chain(HANDOVERS.map(|(series, into_code)| {
                Case::new(series, HERE, HandoverSetup { into_code, other }).in_turn()
            }))
            .collect()
    },
    events: &[Quantity::SelfModifying],
    claims: &[
        // A changed instruction that is in the pipeline already makes the processor throw away a
        // lot of work.
        measured(
            "D34.1",
            drepper("3.4.1"),
            "a store into a function and a call of it take more than 20 times as long as a store \
             to data in another page and the call",
            |e| {
                let slower = ratio(e.at(PATCHES[0].0, HERE), e.at(PATCHES[3].0, HERE))?;
                at_least("its own code over data", slower, 20.0)
            },
        )
        .failing("The core starts again quickly after a store into its code."),
        measured(
            "D34.2",
            ours("L1i tracks lines, not instructions, so stores to data near code may be slow"),
            "a store to data in the line of the running code costs as much as a store to the code \
             itself, within 25 %",
            |e| {
                let code = e.at(PATCHES[0].0, HERE)?;
                let line = ratio(e.at(PATCHES[1].0, HERE), code)?;
                let what = "data in its line over its own code";
                all_of([at_least(what, line, 0.75), at_most(what, line, 1.25)])
            },
        ),
        measured(
            "D34.3",
            ours("the document modifies code on one processor; this claim is about two cores"),
            "a number that another core writes into running code takes at least 1.5 times as long \
             to arrive as a number written into data",
            |e| {
                let slower = paired(e, HANDOVERS[0].0, HANDOVERS[1].0, Range::at(HERE))?;
                at_least("into code over into data", slower, 1.5)
            },
        )
        .failing(
            "The transfer of the line takes most of the time. Fetching the code again adds little \
             to it.",
        ),
        // Modern processors have counters for self-modifying code, by which programs with such code are easy to
        // recognise. The thresholds are ours.
        counted(
            "D34.4",
            drepper("3.4.1"),
            "the CPU's counter of self-modifying code counts at least 0.5 events per store into a \
             function and call of it, and fewer than 0.05 per store to data in another page and \
             call",
            |e| {
                let events =
                    |patch: usize| e.count(PATCHES[patch].0, HERE, Quantity::SelfModifying);
                all_of([
                    at_least("events per store into its own code", events(0), 0.5),
                    at_most("per store to data in another page", events(3), 0.05),
                ])
            },
        )
        .failing("The counter does not tell self-modifying code from other code here."),
    ],
    ..Experiment::PLAIN
};

/// `mov eax, 7; ret`.
const FUNCTION: [u8; 6] = [0xB8, 7, 0, 0, 0, 0xC3];

/// The byte that is written before each call of a six-byte function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Patched {
    /// The number that the function returns, in the middle of its code.
    Code,
    /// A byte behind the function in the same line, which is never executed.
    SameLine,
    /// A byte of the same page, half a page from the start of the function.
    SamePage,
    /// A byte of the next page.
    OtherPage,
}

impl Patched {
    /// Returns the offset of the byte from the start of the function.
    const fn offset(self) -> usize {
        match self {
            Patched::Code => 1,
            Patched::SameLine => LINE / 2,
            Patched::SamePage => PAGE / 2,
            Patched::OtherPage => PAGE,
        }
    }
}

/// Set-up of a function that is called after each write of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PatchSetup {
    pub patched: Patched,
}

impl Setup for PatchSetup {
    /// Returns a line, which is not used: the code has its own pages.
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let mut pages = context.host.alias(2 * PAGE, View::Code)?;
        pages.write(0, &FUNCTION);
        let memory = (pages, self.patched);
        // SAFETY: the first view is writable. The byte is the low byte of the number that the
        // function returns, or no part of the function, so the code remains a function whatever is
        // written.
        let patch = unsafe {
            Patch::new(
                memory,
                |(pages, patched)| pages.first().wrapping_add(patched.offset()),
                |(pages, _)| pages.function(0),
            )
        };
        Ok(Workload::steady(patch, 1))
    }
}

/// Set-up of a line that is read at one address, or at two in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SynonymSetup {
    pub two: bool,
}

impl Setup for SynonymSetup {
    /// Returns a line, which is not used: the data has its own page.
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let page = context.host.alias(PAGE, View::Data)?;
        let first = page.first();
        let second = if self.two { page.second() } else { first };
        // SAFETY: both views show the same page, which belongs to this set-up and lives as long as
        // the kernel.
        let synonym = unsafe { PageAlias::new(page, first, second) };
        Ok(Workload::steady(synonym, 2))
    }
}

/// Offset of `mov eax, imm32; ret`. Its number lies at a multiple of 4 and is stored whole: a core
/// that executes the code meanwhile finds the old number or the new one, and a `mov` in any case.
const MOVE: usize = 3;

/// Set-up of numbers that a thread on another core writes, one at a time and on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandoverSetup {
    /// Whether a number is written into the code of the function that is called until it returns
    /// the number. Otherwise it is written into a word that the function reads, on another page.
    pub into_code: bool,
    /// The CPU of the writing thread; `None` if there is no second core.
    pub other: Option<usize>,
}

/// The state that both threads share.
struct Shared {
    pages: Box<dyn Alias>,
    /// The number that is asked for, on separate lines.
    asked: Asked,
    /// Offset of the written number in the pages.
    number: usize,
}

#[repr(align(128))]
struct Asked(AtomicU32);

/// The other thread, which ends before the pages are freed, and the state shared with it.
struct Exchange {
    _background: Box<dyn Guard>,
    shared: Arc<Shared>,
    entry: usize,
}

impl Setup for HandoverSetup {
    /// Returns a line, which is not used: the code has its own pages.
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let other = self.other.ok_or_else(|| {
            Untestable("the test needs two cores, and this process may use only one".to_owned())
        })?;
        let mut pages = context.host.alias(2 * PAGE, View::Code)?;
        let (entry, number) = if self.into_code {
            pages.write(MOVE, &[0xB8, 0, 0, 0, 0, 0xC3]); // mov eax, 0; ret
            (MOVE, MOVE + 1)
        } else {
            let [a, b, c, d] = (PAGE as u32 - 6).to_le_bytes();
            pages.write(0, &[0x8B, 0x05, a, b, c, d, 0xC3]); // mov eax, [rip + distance]; ret
            (0, PAGE)
        };
        let shared = Arc::new(Shared { pages, asked: Asked(AtomicU32::new(0)), number });
        let theirs = Arc::clone(&shared);
        let mut done = 0;
        let step = move || {
            let asked = theirs.asked.0.load(Ordering::Acquire);
            if asked != done {
                let number = theirs.pages.word(theirs.number);
                number.store(asked, Ordering::Release);
                done = asked;
            }
        };
        let background = context.host.background_thread(other, Box::new(step));
        let exchange = Exchange { _background: background?, shared, entry };
        // SAFETY: the function returns the number that the other thread stores. The number is whole
        // whenever it is read or fetched, and the other thread stores what it is asked for. Nothing
        // serialises this thread in between: stores to code become visible to other cores as stores
        // to data do, only later (AMD's manual, volume 2, 7.6.1, on asynchronous modification by a
        // single aligned store; Intel leaves the time open, volume 3, "Cross-Modifying Code").
        let handover = unsafe {
            Handover::new(
                exchange,
                |exchange| &exchange.shared.asked.0,
                |exchange| exchange.shared.pages.function(exchange.entry),
            )
        };
        Ok(Workload::steady(handover, 1))
    }
}
