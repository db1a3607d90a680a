//! The shortest path through a function of this program, in instructions: an estimate of its cost on machines
//! that cannot read a counter.

use std::collections::{HashMap, VecDeque};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};

/// The maximum number of bytes of a function that are decoded.
const REACH: usize = 4096;

/// The number of instructions on the shortest path from the start of the code to a `ret` that executes
/// `mnemonic` exactly `times` times and contains no call. `None` if there is no such path.
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
