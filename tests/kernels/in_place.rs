//! Optimised code of this program, decoded where it lies.

// Each test binary uses a part of this.
#![allow(dead_code)]

use std::collections::BTreeMap;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};

/// Longer than any function that is decoded, shorter than the program text behind it.
const LONGEST: u64 = 4096;

/// A function's instructions by their addresses: those that its entry leads to.
pub struct Code {
    pub entry: u64,
    pub instructions: BTreeMap<u64, Instruction>,
}

impl Code {
    /// The function at `entry`.
    pub fn of(entry: usize) -> Self {
        // SAFETY: the test program's text is mapped readable, and `entry` lies far more than
        // `LONGEST` bytes before its end: libstd and libtest are linked behind the test's own
        // functions.
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
            // Behind a call that never returns lies whatever comes next.
            if instruction.is_invalid() {
                continue;
            }
            instructions.insert(at, instruction);
            open.extend(next(&instruction));
        }
        Code {
            entry,
            instructions,
        }
    }
}

/// Where an instruction leads.
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
