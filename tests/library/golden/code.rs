//! The machine code of every kernel in `asm/`.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use linefill::kernel::symbols;

use crate::common::golden::{Golden, Hash};

#[test]
fn the_machine_code_of_every_kernel_is_the_same() {
    let mut golden = Golden::new(
        "code",
        "Kernels of asm/: symbol, bytes, hash of its machine code (a fill counts by its length).",
    );
    for kernel in symbols::all() {
        let hash = hash(&kernel).digits(16);
        golden.push(kernel.name, format!("{} {hash}", kernel.bytes.len()));
    }
    golden.check();
}

/// Hashes a kernel's bytes. Neither the linker nor the build profile changes a byte, because the code refers
/// only to itself, which is asserted. The padding of `.balign` depends on the assembler and its version, so
/// only its length is hashed.
fn hash(kernel: &symbols::Code) -> Hash {
    let start = kernel.bytes.as_ptr().addr() as u64;
    let own = start..=start + kernel.bytes.len() as u64;
    let mut decoder = Decoder::with_ip(64, kernel.bytes, start, DecoderOptions::NONE);
    let code: Vec<Instruction> = decoder.iter().collect();
    let mut hash = Hash::default();
    let mut rest = &code[..];
    while let Some(first) = rest.first() {
        let fill = fill(rest);
        if fill > 0 {
            hash.word(rest[..fill].iter().map(|of| of.len() as u64).sum());
            rest = &rest[fill..];
            continue;
        }
        let target = match first.flow_control() {
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                Some(first.near_branch_target())
            }
            _ if first.is_ip_rel_memory_operand() => Some(first.ip_rel_memory_address()),
            _ => None,
        };
        assert!(
            target.is_none_or(|target| own.contains(&target)),
            "{}: `{first}` refers to something outside of the kernel",
            kernel.name
        );
        let from = (first.ip() - start) as usize;
        hash.bytes(&kernel.bytes[from..from + first.len()]);
        rest = &rest[1..];
    }
    hash
}

/// The number of instructions at the start of `code` that are padding: nops, possibly after a jump to their
/// end, which the GNU assembler adds before long padding.
fn fill(code: &[Instruction]) -> usize {
    let empty =
        |code: &[Instruction]| code.iter().take_while(|of| of.mnemonic() == Mnemonic::Nop).count();
    if code[0].flow_control() != FlowControl::UnconditionalBranch {
        return empty(code);
    }
    let skipped = empty(&code[1..]);
    let end = code.get(1 + skipped).map(Instruction::ip);
    let jumps_over = skipped > 0 && end == Some(code[0].near_branch_target());
    if jumps_over { 1 + skipped } else { 0 }
}
