//! Decodes optimised code of this program in memory, for tests that builds without optimisation do not have.
#![cfg(not(debug_assertions))]

use std::collections::BTreeMap;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};

/// Longer than any decoded function, and shorter than the program text that follows it.
const LONGEST: u64 = 4096;

/// The instructions of a function by address, as far as its entry reaches them.
pub struct Code {
    pub entry: u64,
    pub instructions: BTreeMap<u64, Instruction>,
}

impl Code {
    /// The function at `entry`.
    pub fn of(entry: usize) -> Self {
        // SAFETY: the test program's text is mapped readable. Far more than `LONGEST` bytes of it follow
        // `entry`, because libstd and libtest are linked after the test's own functions.
        let bytes = unsafe { std::slice::from_raw_parts(entry as *const u8, LONGEST as usize) };
        let entry = entry as u64;
        let mut instructions = BTreeMap::new();
        let mut open = vec![entry];
        while let Some(at) = open.pop() {
            if instructions.contains_key(&at) || !(entry..entry + LONGEST).contains(&at) {
                continue;
            }
            let rest = &bytes[(at - entry) as usize..];
            let mut decoder = Decoder::with_ip(64, rest, at, DecoderOptions::NONE);
            let instruction = decoder.decode();
            // The bytes after a call that never returns may be anything.
            if instruction.is_invalid() {
                continue;
            }
            instructions.insert(at, instruction);
            open.extend(next(&instruction));
        }
        Code { entry, instructions }
    }
}

/// The addresses of the instructions that may follow an instruction.
pub fn next(instruction: &Instruction) -> Vec<u64> {
    match instruction.flow_control() {
        FlowControl::UnconditionalBranch => vec![instruction.near_branch_target()],
        FlowControl::ConditionalBranch => {
            vec![instruction.next_ip(), instruction.near_branch_target()]
        }
        FlowControl::Return | FlowControl::IndirectBranch | FlowControl::Exception => vec![],
        _ => vec![instruction.next_ip()],
    }
}
