//! Walks, jumps and fields.

use iced_x86::Instruction;

use super::kernel::{Kernel, traffic};
use super::{Stated, stated};

pub const STATED: &[Stated] = &[
    stated("linefill_addition", 0, 0, 0, 0),
    stated("linefill_register", 0, 0, 0, 0),
    stated("linefill_walk_follow", 1, 0, 8, 0),
    stated("linefill_walk_inc", 2, 1, 16, 8),
    stated("linefill_walk_lines", 2, 0, 16, 0),
    stated("linefill_walk_addnext", 3, 1, 24, 8),
    stated("linefill_pair", 3, 0, 24, 0),
    stated("linefill_pick", 3, 0, 20, 0),
    stated("linefill_jump", 1, 0, 4, 0),
    stated("linefill_jump_checked", 1, 0, 4, 0),
    stated("linefill_fields_first_ascending", 8, 0, 64, 0),
    stated("linefill_fields_first_descending", 8, 0, 64, 0),
    stated("linefill_fields_last_ascending", 8, 0, 64, 0),
    stated("linefill_fields_last_descending", 8, 0, 64, 0),
];

/// Byte displacements of the loads of the loop of `name`, in program order.
fn displacements(name: &str) -> Vec<i64> {
    let kernel = Kernel::named(name);
    let body = kernel.innermost().unwrap();
    body.iter()
        .filter(|instruction| traffic([*instruction]).loads > 0)
        .map(|instruction| instruction.memory_displacement64() as i64)
        .collect()
}

#[test]
fn fields_are_read_in_the_order_of_the_name_by_the_same_instructions() {
    let ascending: Vec<i64> = (0..8).map(|word| word * 8).collect();
    for (end, pointer) in [("first", 0), ("last", 56)] {
        let mut expected: Vec<_> = ascending.iter().map(|byte| byte - pointer).collect();
        let names = ["ascending", "descending"].map(|way| format!("linefill_fields_{end}_{way}"));
        assert_eq!(displacements(&names[0]), expected);
        expected.reverse();
        assert_eq!(displacements(&names[1]), expected);
        let sorted = |name: &str| {
            let kernel = Kernel::named(name);
            let mut mnemonics: Vec<_> = kernel.code.iter().map(Instruction::mnemonic).collect();
            mnemonics.sort_unstable();
            mnemonics
        };
        assert_eq!(sorted(&names[0]), sorted(&names[1]));
    }
}
