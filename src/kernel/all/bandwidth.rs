//! The twin of [`Bandwidth`](crate::kernel::Bandwidth).

use crate::kernel::Motion;
use crate::kernel::bandwidth::{BLOCK, TAIL};
use crate::mem::{LINE, Region};

/// Moves `blocks` blocks, of which the first is number `done` since the beginning, in run number
/// `run`; returns what proves it. The order of the accesses inside a block shows nowhere.
pub fn bandwidth(region: &mut Region<'_>, motion: Motion, run: u64, done: u64, blocks: u64) -> u64 {
    let span = if motion.halves() {
        region.len() / 2
    } else {
        region.len()
    };
    let round = (span / BLOCK) as u64;
    let mut sum = 0;
    for number in done..done + blocks {
        let place = (number % round) as usize * BLOCK;
        let block = place..place + BLOCK;
        match motion {
            Motion::Read => sum = words(region, block.end - TAIL, TAIL),
            Motion::ReadHalves => {
                let last = block.end - LINE;
                sum = words(region, last, LINE).wrapping_add(words(region, span + last, LINE));
            }
            Motion::Write | Motion::WriteNonTemporal | Motion::RepStosb => {
                region.bytes_mut()[block].fill(run as u8);
            }
            Motion::Update => {
                for word in block.step_by(8) {
                    region.set_word(word, region.word(word).wrapping_add(1));
                }
            }
            Motion::Copy | Motion::CopyNonTemporal | Motion::RepMovsb => {
                region.bytes_mut().copy_within(block, span + place);
            }
        }
    }
    match motion.reads_alone() {
        true => sum,
        false => (done + blocks) % round * BLOCK as u64,
    }
}

/// The wrapping sum of the words in `bytes` bytes from `from` on.
fn words(region: &Region<'_>, from: usize, bytes: usize) -> u64 {
    (from..from + bytes)
        .step_by(8)
        .fold(0, |sum, word| region.word(word).wrapping_add(sum))
}
