//! Code at every offset of a line: each copy exists, and all copies are the same.

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind};
use linefill::host::Code as _;
use linefill::kernel::{AlignCopies, CodeAlign, Kernel as _, Placed};
use linefill::mem::LINE;
use linefill::os::{Code, Pages};

use super::kernel::{Kernel, text};
use super::{Stated, stated};

pub const STATED: &[Stated] = &[
    stated("linefill_codealign_loop24", 0, 0, 0, 0),
    stated("linefill_codealign_loop48", 0, 0, 0, 0),
    stated("linefill_codealign_target", 0, 0, 0, 0),
];

const ALL: [(Placed, &str); 3] = [
    (Placed::Loop24, "linefill_codealign_loop24"),
    (Placed::Loop48, "linefill_codealign_loop48"),
    (Placed::Target, "linefill_codealign_target"),
];

/// The instructions of a round, in the order of execution.
fn round(code: &[Instruction], first: u64) -> Vec<Instruction> {
    let mut executed = Vec::new();
    let mut ip = first;
    loop {
        let instruction = *code.iter().find(|other| other.ip() == ip).unwrap();
        executed.push(instruction);
        ip = match instruction.flow_control() {
            FlowControl::Next => instruction.next_ip(),
            FlowControl::UnconditionalBranch => instruction.near_branch_target(),
            FlowControl::ConditionalBranch => {
                assert_eq!(instruction.near_branch_target(), first);
                return executed;
            }
            other => panic!("{instruction}: {other:?}"),
        };
    }
}

/// The start addresses of a kernel's loops.
fn loops(kernel: &Kernel) -> Vec<u64> {
    let back = |i: &&Instruction| i.flow_control() == FlowControl::ConditionalBranch;
    let branches = kernel.code.iter().filter(back);
    branches.map(Instruction::near_branch_target).collect()
}

#[test]
fn there_is_a_copy_at_every_byte_of_a_line_and_all_are_alike() {
    for (placed, name) in ALL {
        let kernel = Kernel::named(name);
        let loops = loops(&kernel);
        assert_eq!(loops.len(), LINE, "{name}");
        let mut lines_used = 0;
        for (offset, &first) in loops.iter().enumerate() {
            let executed = round(&kernel.code, first);
            assert_eq!(executed.len() as u64, placed.instructions(), "{name}");
            let texts = |of: &[Instruction]| -> Vec<_> {
                let jump = |i: &&Instruction| i.mnemonic() != Mnemonic::Jmp;
                of.iter().filter(jump).map(text).collect()
            };
            assert_eq!(texts(&executed), texts(&round(&kernel.code, loops[0])));

            // The placed code: the loop, or the code between the jump to the block and the jump back.
            let block = if placed == Placed::Target {
                assert_eq!(first % LINE as u64, 0);
                let jump = |i: &Instruction| i.mnemonic() == Mnemonic::Jmp;
                let back = executed.iter().rposition(jump).unwrap();
                assert!(jump(&executed[0]));
                &executed[1..=back]
            } else {
                &executed[..]
            };
            let (start, end) = (block[0].ip(), block[block.len() - 1].next_ip());
            assert_eq!(start % LINE as u64, offset as u64, "{name}");
            assert_eq!((end - start) as usize, placed.bytes(), "{name}");

            // Copies share no line, because branches on the same line would compete for predictions.
            let line = executed.iter().map(|i| i.ip() / LINE as u64).min();
            assert!(line.unwrap() > lines_used, "{name} at {offset}");
            lines_used = executed.iter().map(|i| i.next_ip() - 1).max().unwrap() / LINE as u64;
        }
    }
}

/// The address that a kernel jumps to grows with the offset by the distance of the copies.
#[test]
fn the_copy_that_is_executed_is_the_one_at_the_offset() {
    for (placed, name) in ALL {
        let kernel = Kernel::named(name);
        let loops = loops(&kernel);
        let apart = loops[1] - loops[0];
        assert!(loops.windows(2).all(|pair| pair[1] - pair[0] == apart));
        let scale = &kernel.code[0];
        let by = match placed {
            Placed::Target => {
                assert_eq!(scale.mnemonic(), Mnemonic::Shl);
                1 << scale.immediate8()
            }
            _ => {
                assert_eq!(scale.mnemonic(), Mnemonic::Imul);
                assert_eq!(scale.op2_kind(), OpKind::Immediate32);
                u64::from(scale.immediate32())
            }
        };
        assert_eq!(by, apart, "{name}");
        let base = &kernel.code[1];
        assert_eq!(base.mnemonic(), Mnemonic::Lea);
        assert_eq!(base.ip_rel_memory_address(), loops[0], "{name}");
        let texts = kernel.texts();
        assert_eq!(texts[2..5], ["add rdx,rsi", "xor eax,eax", "jmp rdx"]);
    }
}

/// A copy refers to nothing outside itself: it runs wherever it lies, and counts its rounds.
#[test]
fn copies_run_at_every_byte_of_a_line() {
    let lap = AlignCopies::COUNT as u64 * AlignCopies::ROUNDS;
    for placed in Placed::ALL {
        for offset in [0, 1, 31, 63] {
            let write = |bytes: &mut [u8]| AlignCopies::write(placed, bytes);
            let code = Code::new(AlignCopies::bytes(placed), Pages::Base, write).unwrap();
            let align = CodeAlign::new(placed, offset).unwrap();
            // SAFETY: the code holds what `write` wrote, from its first page on.
            let mut copies = unsafe { AlignCopies::new(code, |code, at| code.function(at), align) };
            assert_eq!(copies.run(2), 2 * lap, "{placed:?} at {offset}");
            assert_eq!(copies.run(0), 0);
            let instructions = lap * placed.instructions();
            assert_eq!(copies.work().instructions, instructions, "{placed:?}");
        }
    }
}
