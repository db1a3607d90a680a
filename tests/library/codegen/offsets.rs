//! Accesses at chosen offsets: bursts, walks by width, aliases, locked additions.

use iced_x86::Mnemonic;

use super::kernel::{Kernel, access, accesses, text, traffic};
use super::{Stated, stated};

pub const STATED: &[Stated] = &[
    stated("linefill_burst_load4", 8, 0, 32, 0),
    stated("linefill_burst_load8", 8, 0, 64, 0),
    stated("linefill_burst_load16", 8, 0, 128, 0),
    stated("linefill_burst_load16_aligned", 8, 0, 128, 0),
    stated("linefill_burst_load32", 8, 0, 256, 0),
    stated("linefill_burst_load64", 8, 0, 512, 0),
    stated("linefill_burst_store4", 0, 8, 0, 32),
    stated("linefill_burst_store8", 0, 8, 0, 64),
    stated("linefill_burst_store16", 0, 8, 0, 128),
    stated("linefill_burst_store16_aligned", 0, 8, 0, 128),
    stated("linefill_burst_store32", 0, 8, 0, 256),
    stated("linefill_burst_store64", 0, 8, 0, 512),
    stated("linefill_straddle4", 1, 0, 4, 0),
    stated("linefill_straddle16", 1, 0, 16, 0),
    stated("linefill_straddle32", 1, 0, 32, 0),
    stated("linefill_straddle64", 1, 0, 64, 0),
    stated("linefill_alias", 1, 1, 8, 8),
    stated("linefill_alias_late", 1, 1, 8, 8),
    stated("linefill_lock_add", 1, 1, 8, 8),
];

#[test]
fn bursts_and_walks_are_the_instructions_they_are_named_after() {
    for (name, mnemonic) in [
        ("linefill_burst_load4", Mnemonic::Mov),
        ("linefill_burst_load8", Mnemonic::Mov),
        ("linefill_burst_load16", Mnemonic::Movdqu),
        ("linefill_burst_load16_aligned", Mnemonic::Movdqa),
        ("linefill_burst_load32", Mnemonic::Vmovdqu),
        ("linefill_burst_load64", Mnemonic::Vmovdqu64),
        ("linefill_burst_store4", Mnemonic::Mov),
        ("linefill_burst_store8", Mnemonic::Mov),
        ("linefill_burst_store16", Mnemonic::Movdqu),
        ("linefill_burst_store16_aligned", Mnemonic::Movdqa),
        ("linefill_burst_store32", Mnemonic::Vmovdqu),
        ("linefill_burst_store64", Mnemonic::Vmovdqu64),
        ("linefill_straddle4", Mnemonic::Mov),
        ("linefill_straddle16", Mnemonic::Movdqu),
        ("linefill_straddle32", Mnemonic::Vmovdqu),
        ("linefill_straddle64", Mnemonic::Vmovdqu64),
        ("linefill_lock_add", Mnemonic::Xadd),
    ] {
        assert_eq!(access(name), mnemonic, "{name}");
    }
    assert!(accesses("linefill_lock_add")[0].has_lock_prefix());
}

/// All bursts access the same eight places, in the same order.
#[test]
fn bursts_differ_in_the_access_alone() {
    let places = [
        "[rax]",
        "[rax+r8]",
        "[rax+r8*2]",
        "[rax+r10]",
        "[rax]",
        "[rax+r8]",
        "[rax+r8*2]",
        "[rax+r10]",
    ];
    for kernel in Kernel::all() {
        if !kernel.name.starts_with("linefill_burst_") {
            continue;
        }
        let texts: Vec<_> = accesses(kernel.name).iter().map(text).collect();
        for (access, place) in texts.iter().zip(places) {
            assert!(access.contains(place), "{}: {access}", kernel.name);
        }
        // The other instructions of the loop, except the one that sets the stored value.
        let body = kernel.innermost().unwrap().iter();
        let others = body.filter(|instruction| traffic([*instruction]) == traffic([]));
        let mut others: Vec<_> = others.map(text).collect();
        others.retain(|text| !text.contains("xmm") && !text.contains("zmm"));
        let expected = [
            "mov rax,rsi",
            "and rax,rcx",
            "add rax,rdi",
            "add rsi,rdx",
            "lea rax,[rax+r8*4]",
            "dec r9",
            "Jne",
        ];
        assert_eq!(others, expected, "{}", kernel.name);
    }
}

#[test]
fn aligned_bursts_differ_from_their_neighbours_in_the_instruction() {
    for direction in ["load", "store"] {
        let texts = |name: &str| -> Vec<_> {
            let texts = Kernel::named(name).texts().into_iter();
            texts.filter(|text| !text.contains("nop")).collect()
        };
        let any = texts(&format!("linefill_burst_{direction}16"));
        let aligned = texts(&format!("linefill_burst_{direction}16_aligned"));
        let replaced: Vec<_> = any.iter().map(|text| text.replace("movdqu", "movdqa")).collect();
        assert_ne!(any, aligned);
        assert_eq!(replaced, aligned);
    }
}
