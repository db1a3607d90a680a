//! The shortest way through a function of this program, in instructions: what it takes where no
//! counter is there to be read.

use std::collections::{HashMap, VecDeque};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};

/// Bytes of a function that are decoded at most.
const REACH: usize = 4096;

/// How many instructions the shortest way from the start of the code to a `ret` has that executes
/// `mnemonic` so many `times`, and calls nothing. `None` if there is none.
pub fn shortest(code: &[u8], address: u64, mnemonic: Mnemonic, times: usize) -> Option<usize> {
    let code = &code[..code.len().min(REACH)];
    let decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let at: HashMap<u64, Instruction> = decoder.into_iter().map(|i| (i.ip(), i)).collect();
    let mut found: HashMap<(u64, usize), usize> = HashMap::from([((address, 0), 0)]);
    let mut open = VecDeque::from([(address, 0)]);
    while let Some(place @ (ip, before)) = open.pop_front() {
        let steps = found[&place] + 1;
        let Some(instruction) = at.get(&ip) else {
            continue;
        };
        let done = before + usize::from(instruction.mnemonic() == mnemonic);
        let next = match instruction.flow_control() {
            FlowControl::Return if done == times => return Some(steps),
            FlowControl::Next => vec![instruction.next_ip()],
            FlowControl::UnconditionalBranch => vec![instruction.near_branch_target()],
            FlowControl::ConditionalBranch => {
                vec![instruction.next_ip(), instruction.near_branch_target()]
            }
            _ => continue,
        };
        for ip in next {
            found.entry((ip, done)).or_insert_with(|| {
                open.push_back((ip, done));
                steps
            });
        }
    }
    None
}
