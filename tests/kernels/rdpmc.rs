//! The cost of reading a counter without a system call, in instructions of the optimised code. Builds without
//! optimisation have nothing to count.
#![cfg(all(feature = "std", not(debug_assertions)))]

use std::collections::BTreeSet;

use super::in_place::{Code, next};
use iced_x86::{FlowControl, Mnemonic};
use linefill::os::perf::Counter;
use linefill::pmu::{Cpu, Page};

impl Code {
    /// The maximum number of instructions on a path from the entry to a return that executes `rdpmc` exactly
    /// `reads` times. A path passes no instruction twice, because a loop repeats only if the kernel wrote to
    /// the page meanwhile. A path contains no call, because a call leads to `read(2)`.
    fn most(&self, reads: u32) -> Option<usize> {
        self.path(self.entry, reads, &mut BTreeSet::new())
    }

    fn path(&self, at: u64, reads: u32, before: &mut BTreeSet<u64>) -> Option<usize> {
        let instruction = self.instructions.get(&at)?;
        let flow = instruction.flow_control();
        if matches!(flow, FlowControl::Call | FlowControl::IndirectCall) {
            return None;
        }
        let reads = match instruction.mnemonic() {
            Mnemonic::Rdpmc => reads.checked_sub(1)?,
            _ => reads,
        };
        if flow == FlowControl::Return {
            return (reads == 0).then_some(1);
        }
        if !before.insert(at) {
            return None;
        }
        let paths = next(instruction).into_iter().map(|next| self.path(next, reads, before));
        let most = paths.flatten().max();
        before.remove(&at);
        most.map(|rest| rest + 1)
    }
}

#[test]
fn reading_a_page_takes_few_instructions() {
    #[inline(never)]
    extern "C" fn read(page: &Page, into: &mut u64) -> bool {
        // SAFETY: the function is decoded, but never called.
        unsafe { page.read(&Cpu) }.is_ok_and(|reading| {
            *into = reading.value;
            true
        })
    }
    let most = Code::of(read as *const () as usize).most(1);
    println!("a page: {most:?} instructions");
    assert!(most.is_some_and(|most| most <= 50), "{most:?}");
}

#[test]
fn a_scope_takes_few_instructions() {
    #[inline(never)]
    extern "C" fn scope(counter: &Counter, into: &mut u64) -> bool {
        counter.scope(|| ()).is_ok_and(|((), reading)| {
            *into = reading.value;
            true
        })
    }
    let most = Code::of(scope as *const () as usize).most(2);
    println!("a scope: {most:?} instructions");
    assert!(most.is_some_and(|most| most <= 110), "{most:?}");
}
