//! Kernels in the bare image: each must agree with its reference implementation on an emulated CPU. TCG does
//! not support AVX-512, so these kernels run only with KVM and a CPU that supports it.
#![cfg(feature = "lab")]

use std::collections::BTreeSet;

use super::bare::{PASSED, boot_on, have_qemu, large, plain};
use crate::common::untested;
use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use linefill::cpu::Features;
use linefill::kernel::symbols;

/// The features that a kernel's instructions need, by their names in records.
fn needed(kernel: &symbols::Code) -> BTreeSet<&'static str> {
    let mut needed = BTreeSet::new();
    for instruction in Decoder::new(64, kernel.bytes, DecoderOptions::NONE).iter() {
        for operand in 0..instruction.op_count() {
            let register = instruction.op_register(operand);
            if register.is_zmm() {
                needed.insert("avx512");
            } else if register.is_ymm() {
                needed.insert("avx2");
            }
        }
        match instruction.mnemonic() {
            Mnemonic::Movntdqa => needed.insert("sse4.1"),
            Mnemonic::Vfmadd231pd => needed.insert("fma"),
            _ => false,
        };
    }
    needed
}

/// Every kernel that the emulated CPU can run agrees with its reference implementation; the others are not
/// reported.
#[test]
fn every_kernel_agrees_with_its_reference_implementation() {
    if !have_qemu() {
        return;
    }
    let boot = plain();
    let record = boot.record();
    let header = &record.header;
    let has = |needed: &&str| header.cpu.features.iter().any(|name| name == needed);
    let expected: BTreeSet<_> = symbols::all()
        .filter(|kernel| needed(kernel).iter().all(has))
        .map(|kernel| kernel.name)
        .collect();
    assert_eq!(boot.agreed(), expected);
    assert!(boot.counts(expected.len()), "no count of {}", expected.len());
}

/// On the hardware, all kernels agree. The test uses ring 3, because some hypervisors below KVM interpret
/// ring 0.
#[test]
fn every_kernel_there_is_agrees_on_the_hardware() {
    if !have_qemu() {
        return;
    }
    let kvm = std::fs::File::options().read(true).write(true).open("/dev/kvm");
    let features = Features::detect();
    if kvm.is_err() || features.avx512().is_none() || features.fma().is_none() {
        return untested::machine("needs /dev/kvm and a CPU with AVX-512");
    }
    // QEMU does not start if it inherits ARCH_CAPABILITIES and KVM cannot set it.
    let cpu = "host,arch-capabilities=off";
    let machine = ["-accel", "kvm", "-cpu", cpu, "-m", "128"];
    let boot = boot_on(machine, "ring=3 largest=65536");
    assert_eq!(boot.status, Some(PASSED));
    let all: BTreeSet<_> = symbols::all().map(|kernel| kernel.name).collect();
    assert_eq!(boot.agreed(), all);
    assert!(boot.counts(all.len()), "no count of {}", all.len());
    for what in [
        "stores of 16 bytes and less",
        "a line that was flushed",
        "loads of 16 bytes",
        "stores and loads of 32 bytes",
        "stores and loads of 64 bytes",
    ] {
        let name = format!("instructions: {what}");
        assert!(boot.checks().contains(&(&name, true)), "no check `{name}`");
    }
}

/// If the kernels are skipped, the output says so, and counts none of them as agreeing.
#[test]
fn kernels_are_passed_over_by_a_word_alone() {
    if !have_qemu() {
        return;
    }
    let sentence = "# verify=off: no kernel is checked";
    for boot in large() {
        assert_eq!(boot.status, Some(PASSED));
        assert!(boot.serial.contains(sentence), "no `{sentence}`");
        assert!(boot.agreed().is_empty() && !boot.serial.contains("kernels agree"));
    }
    assert!(!plain().serial.contains(sentence));
}

/// On a Zen 2 without a hypervisor, the image sets the bit with which `lfence` waits, and says what came of
/// it: QEMU accepts the access and keeps nothing.
#[test]
fn the_fences_of_the_clock_are_made_to_wait() {
    if !have_qemu() {
        return;
    }
    let zen_2 = "EPYC-Rome,-hypervisor";
    let machine = ["-accel", "tcg", "-cpu", zen_2, "-m", "128"];
    let options = "verify=off largest=65536";
    let boot = boot_on(machine, options);
    assert_eq!(boot.status, Some(PASSED));
    let kept = "# lfence: does not wait: DE_CFG did not keep the bit";
    assert!(boot.serial.contains(kept), "{}", boot.serial);
    let boot = boot_on(machine, &format!("ring=3 {options}"));
    assert!(boot.serial.contains("# lfence: as found"));
    assert!(plain().serial.contains("# lfence: "));
}
