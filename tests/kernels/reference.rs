//! Every kernel has the same effect as its plain reference implementation.

use std::collections::BTreeSet;

use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use linefill::cpu::Features;
use linefill::kernel::symbols;
use linefill::kernel::verify::{Difference, ROOM};
use linefill::kernel::verify_all;
use linefill::mem::Region;

/// The kernels that the oracle checks with `features`. All must pass, and each must occur once.
fn checked(features: Features) -> BTreeSet<&'static str> {
    let mut bytes = vec![0; ROOM + 64];
    let mut region = Region::new(&mut bytes).unwrap();
    let mut seen = BTreeSet::new();
    verify_all(&mut region, &features, &mut |name, result| {
        if let Err(mismatch) = result {
            panic!("{name}: {mismatch}");
        }
        assert!(seen.insert(name), "{name} was reported twice");
    });
    seen
}

/// The kernels that the oracle would check with `features`. In a region that is too small it names them all,
/// and runs none.
fn named(features: Features) -> BTreeSet<&'static str> {
    let mut bytes = vec![0; ROOM - 64];
    let mut region = Region::new(&mut bytes).unwrap();
    let mut seen = BTreeSet::new();
    verify_all(&mut region, &features, &mut |name, result| {
        let mismatch = result.expect_err(name);
        assert_eq!(mismatch.difference, Difference::NotBuilt);
        seen.insert(name);
    });
    seen
}

/// The kernels that a mask of features excludes, found by decoding their code.
fn needing(condition: impl Fn(&iced_x86::Instruction) -> bool) -> BTreeSet<&'static str> {
    symbols::all()
        .filter(|code| {
            Decoder::new(64, code.bytes, DecoderOptions::NONE)
                .iter()
                .any(|instruction| condition(&instruction))
        })
        .map(|code| code.name)
        .collect()
}

fn all() -> BTreeSet<&'static str> {
    symbols::all().map(|code| code.name).collect()
}

fn zmm(instruction: &iced_x86::Instruction) -> bool {
    (0..instruction.op_count()).any(|op| instruction.op_register(op).is_zmm())
}

fn wide(instruction: &iced_x86::Instruction) -> bool {
    (0..instruction.op_count()).any(|op| {
        let register = instruction.op_register(op);
        register.is_ymm() || register.is_zmm()
    })
}

fn sse41(instruction: &iced_x86::Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Movntdqa
}

fn clflushopt(instruction: &iced_x86::Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Clflushopt
}

fn clwb(instruction: &iced_x86::Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Clwb
}

fn fused(instruction: &iced_x86::Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Vfmadd231pd && !zmm(instruction)
}

/// The kernels that a CPU with `features` runs, found by decoding all.
fn of_cpu(features: &Features) -> BTreeSet<&'static str> {
    let mut missing = BTreeSet::new();
    if features.avx512().is_none() {
        missing.append(&mut needing(zmm));
    }
    if features.avx2().is_none() {
        missing.append(&mut needing(wide));
    }
    if features.fma().is_none() {
        missing.append(&mut needing(fused));
    }
    if features.sse41().is_none() {
        missing.append(&mut needing(sse41));
    }
    if features.clflushopt().is_none() {
        missing.append(&mut needing(clflushopt));
    }
    if features.clwb().is_none() {
        missing.append(&mut needing(clwb));
    }
    all().difference(&missing).copied().collect()
}

#[test]
fn every_kernel_agrees_with_its_reference() {
    let features = Features::detect();
    assert_eq!(checked(features), of_cpu(&features));
}

#[test]
fn masked_features_leave_their_kernels_out_and_no_others() {
    let features = Features::detect();
    let without = |names| named(features.without(names).unwrap());
    let present = named(features);
    let less = |missing: BTreeSet<&'static str>| -> BTreeSet<_> {
        present.difference(&missing).copied().collect()
    };
    assert_eq!(without("avx512"), less(needing(zmm)));
    assert_eq!(without("avx2"), less(needing(wide)));
    assert_eq!(without("fma"), less(needing(fused)));
    let old = less(needing(|instruction| wide(instruction) || sse41(instruction)));
    assert_eq!(without("sse4.1"), old);
    assert_eq!(without("clflushopt"), less(needing(clflushopt)));
    assert_eq!(without("clwb"), less(needing(clwb)));
}

#[test]
fn a_region_that_is_too_small_fails_every_kernel_and_passes_none() {
    let features = Features::detect();
    assert_eq!(named(features), of_cpu(&features));
}
