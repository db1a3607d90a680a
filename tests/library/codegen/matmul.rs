//! Matrix multiplications: scalar kernels use scalar instructions, and wide kernels the stated width.

use std::collections::BTreeSet;

use iced_x86::{Instruction, Mnemonic, Register};

use super::kernel::{Kernel, Traffic, text};
use super::{Stated, stated};

pub const STATED: &[Stated] = &[
    stated("linefill_matmul_copy", 1, 1, 8, 8),
    stated("linefill_matmul_dot", 2, 0, 16, 0),
    stated("linefill_matmul_submatrix", 2, 1, 16, 8).and_outside(ONE_DOUBLE),
    stated("linefill_matmul_submatrix_sse2", 2, 1, 32, 16).and_outside(ONE_DOUBLE),
    stated("linefill_tile_avx2", 7, 0, 128, 0).and_outside(result(4, 32)),
    stated("linefill_tile_avx512", 11, 0, 256, 0).and_outside(result(8, 64)),
];

/// An element of `mul1`, once per k2.
const ONE_DOUBLE: Traffic = Traffic { loads: 1, read: 8, ..Traffic::NONE };

/// Adding to a tile of the result: three registers of `bytes` per row.
const fn result(rows: usize, bytes: usize) -> Traffic {
    Traffic { loads: 3 * rows, stores: 3 * rows, read: 3 * rows * bytes, written: 3 * rows * bytes }
}

/// The instructions of `name` that use a vector register.
fn vector(name: &str) -> Vec<Instruction> {
    let code = Kernel::named(name).code;
    code.into_iter().filter(names_vector).collect()
}

fn names_vector(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|op| instruction.op_register(op).is_vector_register())
}

fn mnemonics(code: &[Instruction]) -> BTreeSet<Mnemonic> {
    code.iter().map(Instruction::mnemonic).collect()
}

#[test]
fn scalar_ways_hold_no_instruction_that_takes_two_doubles() {
    use Mnemonic::{Addsd, Movq, Movsd, Mulsd};
    let scalar = BTreeSet::from([Addsd, Movsd, Mulsd]);
    let name = "linefill_matmul_submatrix";
    assert_eq!(mnemonics(&vector(name)), scalar, "{name}");
    // The element is passed and returned as bits.
    let name = "linefill_matmul_dot";
    let by_bits = BTreeSet::from([Addsd, Movq, Movsd, Mulsd]);
    assert_eq!(mnemonics(&vector(name)), by_bits, "{name}");
    assert!(vector("linefill_matmul_copy").is_empty());
}

/// One addition per iteration; its sum is an operand of the next addition.
#[test]
fn the_products_of_an_element_are_added_in_turn() {
    let kernel = Kernel::named("linefill_matmul_dot");
    let body: Vec<_> = kernel.innermost().unwrap().iter().map(text).collect();
    let arithmetic: Vec<_> = body.iter().filter(|text| text.contains("xmm")).collect();
    assert_eq!(arithmetic, ["movsd xmm1,[rdi]", "mulsd xmm1,[rsi]", "addsd xmm0,xmm1"]);
}

#[test]
fn the_vectorised_way_is_that_of_the_appendix() {
    use Mnemonic::{Addpd, Movapd, Movsd, Mulpd, Unpcklpd};
    let name = "linefill_matmul_submatrix_sse2";
    let code = vector(name);
    let expected = BTreeSet::from([Addpd, Movapd, Movsd, Mulpd, Unpcklpd]);
    assert_eq!(mnemonics(&code), expected);
    let kernel = Kernel::named(name);
    let texts = kernel.texts().into_iter();
    let hints: Vec<_> = texts.filter(|text| text.starts_with("prefetch")).collect();
    assert_eq!(hints, ["prefetchnta [rsi+40h]"]);
}

#[test]
fn a_tile_has_a_register_and_a_multiply_add_for_each_of_its_parts() {
    for (name, parts, wide) in [
        ("linefill_tile_avx2", 12, Register::is_ymm as fn(Register) -> bool),
        ("linefill_tile_avx512", 24, Register::is_zmm),
    ] {
        let kernel = Kernel::named(name);
        let body = kernel.innermost().unwrap();
        let fused: Vec<_> = body
            .iter()
            .filter(|instruction| instruction.mnemonic() == Mnemonic::Vfmadd231pd)
            .collect();
        assert_eq!(fused.len(), parts, "{name}");
        for instruction in &fused {
            assert!((0..3).all(|op| wide(instruction.op_register(op))), "{name}");
        }
        let sums: BTreeSet<_> = fused.iter().map(|i| i.op0_register()).collect();
        assert_eq!(sums.len(), parts, "{name}");
        let loads = [Mnemonic::Vbroadcastsd, Mnemonic::Vfmadd231pd, Mnemonic::Vmovapd];
        let vector: Vec<_> = body.iter().copied().filter(names_vector).collect();
        assert_eq!(mnemonics(&vector), BTreeSet::from(loads), "{name}");
    }
}
