//! Values that are passed through memory.

use iced_x86::{Instruction, Register};

use super::kernel::{Kernel, accesses, text, traffic};
use super::{Stated, stated};

/// The kernels that store so many bytes and load so many, and `more`.
macro_rules! pairs {
    ($($stored:literal: $($loaded:literal)*;)* and $($more:expr),*) => {
        &[
            $($(stated(
                concat!("linefill_forward", $stored, "_", $loaded), 1, 1, $loaded, $stored,
            ),)*)*
            $($more),*
        ]
    };
}

pub const STATED: &[Stated] = pairs! {
    1: 1 2 4 8;
    2: 1 2 4 8;
    4: 1 2 4 8;
    8: 1 2 4 8 16 32 64;
    16: 8 16 32 64;
    32: 8 16 32 64;
    64: 8 16 32 64;
    and
    stated("linefill_forward4_8_two", 1, 2, 8, 8),
    stated("linefill_forward8_16_two", 1, 2, 16, 16),
    stated("linefill_forward16_32_two", 1, 2, 32, 32),
    stated("linefill_forward32_64_two", 1, 2, 64, 64),
    stated("linefill_forward8_8_renamed", 1, 1, 8, 8),
    stated("linefill_forward16_8_general", 1, 1, 8, 16)
};

fn base(instruction: &Instruction) -> Register {
    assert_eq!(instruction.memory_index(), Register::None);
    assert_eq!(instruction.memory_displacement64(), 0);
    instruction.memory_base()
}

/// The register of an access, at full width.
fn value(instruction: &Instruction) -> Register {
    let operand = u32::from(instruction.op0_register() == Register::None);
    instruction.op_register(operand).full_register()
}

#[test]
fn a_value_is_stored_from_the_register_that_it_was_loaded_into() {
    for Stated { name, .. } in STATED {
        let accesses = accesses(name);
        let (load, stores) = accesses.split_last().unwrap();
        let bases: Vec<_> = stores.iter().map(base).collect();
        if name.ends_with("_two") {
            assert_eq!(bases, [Register::RDI, Register::R8], "{name}");
        } else {
            assert_eq!(bases, [Register::RDI], "{name}");
        }
        let renamed = name.ends_with("_renamed");
        let from = if renamed { Register::RDI } else { Register::RSI };
        assert_eq!(base(load), from, "{name}");
        for store in stores {
            if name.ends_with("_general") {
                assert_eq!((value(store), value(load)), (Register::ZMM0, Register::RAX));
            } else {
                assert_eq!(value(store), value(load), "{name}");
            }
        }
    }
}

/// A round trip contains only the accesses, the move between registers in the kernel that needs one, and the
/// loop.
#[test]
fn nothing_else_is_in_a_round_trip() {
    for Stated { name, .. } in STATED {
        let kernel = Kernel::named(name);
        let body = kernel.innermost().unwrap().iter();
        let others: Vec<_> =
            body.filter(|instruction| traffic([*instruction]) == traffic([])).collect();
        let carried = usize::from(name.ends_with("_general"));
        let texts: Vec<_> = others.iter().map(|other| text(other)).collect();
        assert_eq!(texts[carried..], ["dec rdx", "Jne"], "{name}");
        if carried == 1 {
            assert_eq!(texts[0], "movq xmm0,rax");
        }
    }
}

/// The addresses are sums, so that no copy of a register reveals that they are equal.
#[test]
fn places_are_computed_from_the_first() {
    for Stated { name, .. } in STATED {
        let kernel = Kernel::named(name);
        assert_eq!(text(&kernel.code[0]), "add rsi,rdi", "{name}");
        if name.ends_with("_two") {
            assert_eq!(text(&kernel.code[1]), "add r8,rdi", "{name}");
        }
    }
}
