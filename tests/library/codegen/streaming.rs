//! Cached and non-temporal stores and loads.

use iced_x86::{Instruction, Mnemonic};

use super::kernel::{Kernel, access};
use super::{Stated, stated};

pub const STATED: &[Stated] = &[
    stated("linefill_orders_whole", 32, 0, 144, 0),
    stated("linefill_orders_split", 32, 0, 144, 0),
    stated("linefill_orders_apart", 8, 0, 144, 0),
    stated("linefill_load_cached", 4, 0, 64, 0),
    stated("linefill_load_stream", 4, 0, 64, 0),
    stated("linefill_load_cached32", 2, 0, 64, 0),
    stated("linefill_load_stream32", 2, 0, 64, 0),
    stated("linefill_load_cached64", 1, 0, 64, 0),
    stated("linefill_load_stream64", 1, 0, 64, 0),
    stated("linefill_flush", 0, 0, 0, 0),
    stated("linefill_flush_back", 0, 0, 0, 0),
    stated("linefill_flush_opt", 0, 0, 0, 0),
    stated("linefill_rewrite", 0, 1, 0, 8),
    stated("linefill_rewrite_through", 0, 1, 0, 8),
    stated("linefill_rewrite_stream", 0, 1, 0, 8),
    // A round jumps to the last stores, as many as it needs.
    stated("linefill_pending", 0, 128, 0, 1024),
    stated("linefill_fill_cached", 0, 4, 0, 64),
    stated("linefill_fill_stream", 0, 4, 0, 64),
    stated("linefill_fill_interleaved", 0, 1, 0, 16),
    stated("linefill_fill_quarter", 0, 1, 0, 16),
    stated("linefill_fill_half", 0, 2, 0, 32),
    stated("linefill_fill_three_quarters", 0, 3, 0, 48),
    stated("linefill_store4", 0, 1, 0, 4),
    stated("linefill_stream4", 0, 1, 0, 4),
    stated("linefill_store8", 0, 1, 0, 8),
    stated("linefill_stream8", 0, 1, 0, 8),
    stated("linefill_store16", 0, 1, 0, 16),
    stated("linefill_stream16", 0, 1, 0, 16),
    stated("linefill_store32", 0, 1, 0, 32),
    stated("linefill_stream32", 0, 1, 0, 32),
    stated("linefill_store64", 0, 1, 0, 64),
    stated("linefill_stream64", 0, 1, 0, 64),
];

#[test]
fn stores_and_loads_are_the_instructions_they_are_named_after() {
    for (name, mnemonic) in [
        ("linefill_store4", Mnemonic::Mov),
        ("linefill_store8", Mnemonic::Mov),
        ("linefill_store16", Mnemonic::Movdqa),
        ("linefill_store32", Mnemonic::Vmovdqa),
        ("linefill_store64", Mnemonic::Vmovdqa64),
        ("linefill_stream4", Mnemonic::Movnti),
        ("linefill_stream8", Mnemonic::Movnti),
        ("linefill_stream16", Mnemonic::Movntdq),
        ("linefill_stream32", Mnemonic::Vmovntdq),
        ("linefill_stream64", Mnemonic::Vmovntdq),
        ("linefill_fill_cached", Mnemonic::Movdqa),
        ("linefill_fill_stream", Mnemonic::Movntdq),
        ("linefill_fill_interleaved", Mnemonic::Movntdq),
        ("linefill_fill_quarter", Mnemonic::Movntdq),
        ("linefill_fill_half", Mnemonic::Movntdq),
        ("linefill_fill_three_quarters", Mnemonic::Movntdq),
        ("linefill_load_cached", Mnemonic::Movdqa),
        ("linefill_load_stream", Mnemonic::Movntdqa),
        ("linefill_load_cached32", Mnemonic::Vmovdqa),
        ("linefill_load_stream32", Mnemonic::Vmovntdqa),
        ("linefill_load_cached64", Mnemonic::Vmovdqa64),
        ("linefill_load_stream64", Mnemonic::Vmovntdqa),
        ("linefill_load_blocks_cached", Mnemonic::Movdqa),
        ("linefill_load_blocks_stream", Mnemonic::Movntdqa),
        ("linefill_load_blocks_cached32", Mnemonic::Vmovdqa),
        ("linefill_load_blocks_stream32", Mnemonic::Vmovntdqa),
        ("linefill_load_blocks_cached64", Mnemonic::Vmovdqa64),
        ("linefill_load_blocks_stream64", Mnemonic::Vmovntdqa),
        ("linefill_rewrite", Mnemonic::Mov),
        ("linefill_rewrite_stream", Mnemonic::Movnti),
    ] {
        assert_eq!(access(name), mnemonic, "{name}");
    }
}

#[test]
fn a_non_temporal_kernel_differs_from_the_cached_one_in_that_instruction_alone() {
    for (cached, streamed) in [
        ("linefill_store4", "linefill_stream4"),
        ("linefill_store8", "linefill_stream8"),
        ("linefill_store16", "linefill_stream16"),
        ("linefill_store32", "linefill_stream32"),
        ("linefill_store64", "linefill_stream64"),
        ("linefill_fill_cached", "linefill_fill_stream"),
        ("linefill_load_cached", "linefill_load_stream"),
        ("linefill_load_cached32", "linefill_load_stream32"),
        ("linefill_load_cached64", "linefill_load_stream64"),
        ("linefill_load_blocks_cached", "linefill_load_blocks_stream"),
        ("linefill_load_blocks_cached32", "linefill_load_blocks_stream32"),
        ("linefill_load_blocks_cached64", "linefill_load_blocks_stream64"),
        ("linefill_rewrite", "linefill_rewrite_stream"),
    ] {
        let (from, to) = (access(cached), access(streamed));
        let name = |mnemonic: Mnemonic| format!("{mnemonic:?} ").to_lowercase();
        // The padding before the loop depends on the length of the encodings.
        let texts = |kernel: &str| -> Vec<_> {
            let texts = Kernel::named(kernel).texts().into_iter();
            texts.filter(|text| !text.contains("nop")).collect()
        };
        let mut replaced = texts(cached);
        for text in &mut replaced {
            if text.contains('[') {
                *text = text.replacen(&name(from), &name(to), 1);
            }
        }
        assert_eq!(replaced, texts(streamed));
    }
}

#[test]
fn whole_and_split_orders_differ_in_displacements_alone_and_branch_only_to_loop() {
    let mnemonics = |name: &str| -> Vec<Mnemonic> {
        let kernel = Kernel::named(name);
        let body = kernel.innermost().unwrap();
        body.iter().map(Instruction::mnemonic).collect()
    };
    let [whole, split] = ["whole", "split"].map(|way| mnemonics(&format!("linefill_orders_{way}")));
    assert_eq!(whole, split);
    for kernel in Kernel::all() {
        if !kernel.name.starts_with("linefill_orders_") {
            continue;
        }
        let branches =
            kernel.code.iter().filter(|i| i.is_jcc_short_or_near() || i.is_jmp_short_or_near());
        assert_eq!(branches.count(), 1, "{}", kernel.name);
    }
}

#[test]
fn writing_through_is_writing_back_and_one_instruction_more() {
    let mut through = Kernel::named("linefill_rewrite_through").texts();
    let clwb = "clwb [rdi]".to_owned();
    assert_eq!(through.iter().filter(|text| **text == clwb).count(), 1);
    through.retain(|text| *text != clwb && !text.contains("nop"));
    let mut back = Kernel::named("linefill_rewrite").texts();
    back.retain(|text| !text.contains("nop"));
    assert_eq!(through, back);
}
