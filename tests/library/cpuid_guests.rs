//! CPUID as changed by hypervisors: model numbers of other CPUs, missing leaves, other clocks.

use crate::common::dump::Dump;
use linefill::cpu::{Caches, Identity, Tlbs, Vectors, read_tsc_hz};
use raw_cpuid::{CpuIdReader, CpuIdResult};

#[test]
fn a_guest_of_a_hybrid_cpu_without_leaf_1a_does_not_guess_its_core() {
    let bare = Dump::of("alder-lake-p");
    let guest = move |leaf, subleaf| {
        let mut result = bare.cpuid2(leaf, subleaf);
        match leaf {
            1 => result.ecx |= 1 << 31,
            0x1a => result.eax = 0,
            _ => {}
        }
        result
    };
    let id = Identity::read(guest);
    assert_eq!((id.microarch(), id.core_type, id.core()), ("Alder Lake", None, None));
    assert_eq!(id.load_to_use(), None);
    assert_eq!(id.hypervisor_name(), Some("unnamed hypervisor"));
}

#[test]
fn a_core_with_wider_vectors_than_its_design_is_unknown() {
    // Model 86h is Tremont, which has no AVX; this dump lists AVX2.
    let dump = Dump::of("qemu-icelake-server");
    let id = Identity::read(dump.clone());
    assert_eq!((id.family, id.model), (6, 0x86));
    assert_eq!(id.vectors, Vectors::Avx2);
    assert_eq!((id.microarch(), id.core()), ("unknown", None));
    assert_eq!((id.load_to_use(), id.ports()), (None, None));
    let with = |avx: bool, leaf_7_ebx: u32| {
        let dump = dump.clone();
        Identity::read(move |leaf, subleaf| {
            let mut result = dump.cpuid2(leaf, subleaf);
            match leaf {
                1 if !avx => result.ecx &= !(1 << 28),
                7 => result.ebx = leaf_7_ebx,
                _ => {}
            }
            result
        })
    };
    // Under KVM, which also lists the model's AVX-512 F.
    let wide = with(true, 1 << 5 | 1 << 16);
    assert_eq!((wide.vectors, wide.core()), (Vectors::Avx512, None));
    let narrow = with(true, 0);
    assert_eq!((narrow.vectors, narrow.core()), (Vectors::Avx, None));
    // The same model number on a CPU with matching features: QEMU's Snowridge.
    let atom = with(false, 0);
    assert_eq!((atom.vectors, atom.microarch()), (Vectors::Sse, "Tremont"));
}

#[test]
fn a_guest_with_amx_is_no_rocket_lake() {
    let dump = Dump::of("intel-guest-masked-model");
    let id = Identity::read(dump.clone());
    assert_eq!((id.family, id.model), (6, 0xa7));
    assert_eq!((id.vectors, id.microarch(), id.core()), (Vectors::Amx, "unknown", None));
    // The same model number on a CPU with matching features.
    let rocket = Identity::read(move |leaf, subleaf| {
        let mut result = dump.cpuid2(leaf, subleaf);
        if leaf == 7 {
            result.edx &= !(1 << 24);
        }
        result
    });
    assert_eq!(rocket.core().map(|core| core.name), Some("Cypress Cove"));
}

#[test]
fn the_hypervisors_clock_comes_before_the_cpus() {
    let bare = Dump::of("sapphire-rapids");
    let guest = move |leaf, subleaf| {
        let mut result = bare.cpuid2(leaf, subleaf);
        match leaf {
            1 => result.ecx |= 1 << 31,
            0x4000_0000 => result.eax = 0x4000_0010,
            0x4000_0010 => result.eax = 2_000_000,
            _ => {}
        }
        result
    };
    assert_eq!(read_tsc_hz(guest), Some(2_000_000_000));
}

#[test]
fn a_hypervisor_that_ignores_subleaves_does_not_hang_the_readers() {
    let cpu = Dump::of("sapphire-rapids");
    let flat = move |leaf, subleaf| match (leaf, subleaf) {
        (0x18, 0) => CpuIdResult { eax: 1_000_000, ..cpu.cpuid2(0x18, 0) },
        (4 | 0x18, _) => cpu.cpuid2(leaf, subleaf.min(1)),
        _ => cpu.cpuid2(leaf, subleaf),
    };
    let caches = Caches::read(flat.clone());
    assert_eq!((caches.len(), caches.data(1).unwrap().size), (8, 48 << 10));
    assert_eq!(Tlbs::read(flat).len(), 32);
}
