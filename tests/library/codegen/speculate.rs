//! Loads after stores whose addresses are known late.

use iced_x86::Mnemonic;

use super::kernel::{Kernel, text};
use super::{Stated, stated};

pub const STATED: &[Stated] = &[
    stated("linefill_speculate", 2, 1, 16, 8),
    stated("linefill_speculate_miss", 2, 1, 16, 8),
    stated("linefill_speculate_miss_ordered", 2, 1, 16, 8),
    stated("linefill_speculate_ordered", 2, 1, 16, 8),
];

#[test]
fn a_load_that_is_ordered_differs_by_the_index_that_makes_it_wait() {
    for (name, free, ordered) in [
        ("linefill_speculate", "mov r9,[r11+r10]", "mov r9,[r11+r8]"),
        ("linefill_speculate_miss", "mov rdx,[rdx+rax]", "mov rdx,[rdx+r8]"),
    ] {
        let texts = Kernel::named(name).texts();
        let others = Kernel::named(&format!("{name}_ordered")).texts();
        assert_eq!(texts.len(), others.len(), "{name}");
        let pairs = texts.into_iter().zip(others);
        let differing: Vec<_> = pairs.filter(|(one, other)| one != other).collect();
        assert_eq!(differing, [(free.to_owned(), ordered.to_owned())]);
    }
}

/// One chain before the store, on the register that its address waits for, and one after the load.
#[test]
fn both_halves_multiply_as_often() {
    let kernel = Kernel::named("linefill_speculate");
    let store = kernel.code.iter().position(|i| text(i) == "mov [rdi+r8],rax");
    let (before, behind) = kernel.code.split_at(store.unwrap());
    let chain = |code: &[iced_x86::Instruction]| -> Vec<String> {
        let products = code.iter().filter(|i| i.mnemonic() == Mnemonic::Imul);
        products.map(text).collect()
    };
    let times = linefill::kernel::SPECULATE_CHAIN as usize / 3;
    assert_eq!(chain(before), vec!["imul r8,rcx"; times]);
    assert_eq!(chain(behind), vec!["imul r9,rcx"; times]);
}
