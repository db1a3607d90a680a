//! Identity, caches, TLBs and clock from recorded CPUID dumps, compared with published values.
//!
//! The dumps are in `tests/fixtures/cpuid`, each with its CPU and its source. The expected values come from
//! the vendors' product pages and optimization manuals.

use crate::common::dump::Dump;
use linefill::cpu::{
    Cache, CacheKind, Caches, CoreType, Identity, PageSize, TlbKind, Tlbs, Vendor, read_tsc_hz,
    tsc_hz,
};
use raw_cpuid::CpuIdReader;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Every dump in the folder, so that a test uses each of them.
const ALL: [&str; 12] = [
    "alder-lake-e",
    "alder-lake-p",
    "arrow-lake-h-lp-e",
    "coffee-lake",
    "dothan",
    "empty-leaves",
    "intel-guest-masked-model",
    "k8",
    "qemu-icelake-server",
    "sapphire-rapids",
    "zen2",
    "zen4-guest",
];

/// Level, kind, bytes and ways of each cache.
fn shape(caches: &Caches) -> Vec<(u8, CacheKind, u64, u32)> {
    let shape = |c: &Cache| (c.level, c.kind, c.size, c.ways.expect("ways are stated"));
    caches.iter().map(shape).collect()
}

/// The entries of the only TLB with this level, kind and page size.
#[track_caller]
fn entries(tlbs: &Tlbs, level: u8, kind: TlbKind, page: PageSize) -> u32 {
    let mut found =
        tlbs.iter().filter(|t| t.level == level && t.kind == kind && t.pages.contains(page));
    let tlb = found.next().unwrap_or_else(|| panic!("none in {tlbs:?}"));
    assert!(found.next().is_none(), "several in {tlbs:?}");
    tlb.entries
}

#[test]
fn coffee_lake_is_a_client_core_with_leaf_2_tlbs() {
    let dump = Dump::of("coffee-lake");
    let id = Identity::read(dump.clone());
    assert_eq!((id.vendor, id.family, id.model, id.stepping), (Vendor::Intel, 6, 0x9e, 10));
    assert_eq!(&*id.brand, "Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz");
    assert_eq!(id.microarch(), "Coffee Lake");
    assert_eq!(id.load_to_use(), Some(4));
    assert_eq!(id.core().unwrap().combining_buffers.value(), Some(12));
    assert_eq!((id.core_type, id.hypervisor_name()), (None, None));

    let caches = Caches::read(dump.clone());
    assert_eq!(
        shape(&caches),
        [
            (1, CacheKind::Data, 32 * KIB, 8),
            (1, CacheKind::Instruction, 32 * KIB, 8),
            (2, CacheKind::Unified, 256 * KIB, 4),
            (3, CacheKind::Unified, 12 * MIB, 16),
        ]
    );
    let l1d = caches.data(1).unwrap();
    assert_eq!((l1d.line, l1d.sets()), (64, Some(64)));
    assert_eq!((l1d.shared_by, l1d.inclusive), (Some(2), Some(false)));
    assert_eq!(caches.last_level().unwrap().inclusive, Some(true));

    // Optimization manual, Skylake TLB parameters.
    let tlbs = Tlbs::read(dump.clone());
    assert_eq!(entries(&tlbs, 1, TlbKind::Data, PageSize::Kib4), 64);
    assert_eq!(entries(&tlbs, 1, TlbKind::Data, PageSize::Mib2), 32);
    assert_eq!(entries(&tlbs, 1, TlbKind::Data, PageSize::Gib1), 4);
    // The manual gives 128 entries, half of them per thread; descriptor B5h gives the half.
    assert_eq!(entries(&tlbs, 1, TlbKind::Instruction, PageSize::Kib4), 64);
    assert_eq!(tlbs.load_entries(2, PageSize::Kib4), Some(1536));
    assert_eq!(tlbs.load_entries(2, PageSize::Mib2), Some(1536));
    assert_eq!(tlbs.load_entries(2, PageSize::Gib1), Some(16));

    // Leaf 15h gives a ratio but no crystal frequency: 24 MHz x 154.
    assert_eq!(read_tsc_hz(dump), Some(3_696_000_000));
}

#[test]
fn sapphire_rapids_is_a_server_core_with_translation_leaves() {
    let dump = Dump::of("sapphire-rapids");
    let id = Identity::read(dump.clone());
    assert_eq!((id.family, id.model, id.stepping), (6, 0x8f, 8));
    assert_eq!(&*id.brand, "Intel(R) Xeon(R) w9-3475X");
    assert_eq!((id.microarch(), id.core().unwrap().name), ("Sapphire Rapids", "Golden Cove"));
    assert_eq!(id.core().unwrap().combining_buffers.value(), Some(16));
    assert_eq!(id.load_to_use(), Some(5));

    let caches = Caches::read(dump.clone());
    assert_eq!(
        shape(&caches),
        [
            (1, CacheKind::Data, 48 * KIB, 12),
            (1, CacheKind::Instruction, 32 * KIB, 8),
            (2, CacheKind::Unified, 2 * MIB, 16),
            (3, CacheKind::Unified, 82 * MIB + 512 * KIB, 15),
        ]
    );
    assert_eq!(caches.data(1).unwrap().sets(), Some(64));

    // Optimization manual, Golden Cove TLB parameters. (It gives 96 entries for loads from 4 KiB pages; this
    // CPU's leaf 18h gives 64.)
    let tlbs = Tlbs::read(dump.clone());
    assert_eq!(entries(&tlbs, 1, TlbKind::Instruction, PageSize::Kib4), 256);
    assert_eq!(entries(&tlbs, 1, TlbKind::Instruction, PageSize::Mib2), 32);
    assert_eq!(entries(&tlbs, 1, TlbKind::Load, PageSize::Mib2), 32);
    assert_eq!(entries(&tlbs, 1, TlbKind::Load, PageSize::Gib1), 8);
    assert_eq!(entries(&tlbs, 1, TlbKind::Store, PageSize::Kib4), 16);
    assert_eq!(tlbs.load_entries(2, PageSize::Kib4), Some(2048));
    assert_eq!(tlbs.load_entries(2, PageSize::Gib1), Some(1024));

    // The base frequency of the product page is 2.20 GHz.
    assert_eq!(read_tsc_hz(dump), Some(2_200_000_000));
}

#[test]
fn arrow_lake_h_has_efficient_cores_of_two_designs() {
    let dump = Dump::of("arrow-lake-h-lp-e");
    let id = Identity::read(dump.clone());
    assert_eq!(
        (id.core_type, id.native_model, id.microarch()),
        (Some(CoreType::Efficient), Some(2), "Arrow Lake")
    );
    assert_eq!((id.core().unwrap().name, id.load_to_use()), ("Crestmont", Some(3)));
    assert_eq!(
        shape(&Caches::read(dump.clone())),
        [
            (1, CacheKind::Data, 32 * KIB, 8),
            (1, CacheKind::Instruction, 64 * KIB, 8),
            (2, CacheKind::Unified, 2 * MIB, 16),
        ]
    );
    // The same CPU's other cores, and a design that no row has.
    let with = |leaf_1a: u32| {
        let dump = dump.clone();
        let id = Identity::read(move |leaf, subleaf| {
            let mut result = dump.cpuid2(leaf, subleaf);
            if leaf == 0x1a {
                result.eax = leaf_1a;
            }
            result
        });
        id.core().map(|core| core.name)
    };
    assert_eq!(with(0x2000_0003), Some("Skymont"));
    assert_eq!(with(0x4000_0003), Some("Lion Cove"));
    assert_eq!(with(0x2000_0004), None);
}

#[test]
fn a_register_that_cpuid_does_not_announce_is_not_accessed() {
    // KVM does not announce PrefetchControl; Genoa itself does.
    let dump = Dump::of("zen4-guest");
    let guest = Identity::read(dump.clone());
    let genoa = Identity::read(move |leaf, subleaf| {
        let mut result = dump.cpuid2(leaf, subleaf);
        if leaf == 0x8000_0021 {
            result.eax = 0x0006_2fcf;
        }
        result
    });
    assert_eq!(guest.core(), genoa.core());
    assert!(guest.prefetchers().unwrap_err().contains("PrefetchControl"));
    assert_eq!(genoa.prefetchers().unwrap().register, 0xc000_0108);
    // Intel's register needs no announcement, and a core without a known one says why.
    let intel = Identity::read(Dump::of("coffee-lake"));
    assert_eq!(intel.prefetchers().unwrap().register, 0x1a4);
    let reason = Identity::read(Dump::of("zen2")).prefetchers().unwrap_err();
    assert!(reason.contains("before Zen 3"), "{reason}");
}

#[test]
fn alder_lake_differs_from_core_to_core() {
    let (p, e) = (Dump::of("alder-lake-p"), Dump::of("alder-lake-e"));
    let id = Identity::read(p.clone());
    assert_eq!((id.core_type, id.microarch()), (Some(CoreType::Performance), "Alder Lake"));
    assert_eq!((id.core().unwrap().name, id.load_to_use()), ("Golden Cove", Some(5)));
    assert_eq!(&*id.brand, "12th Gen Intel(R) Core(TM) i9-12900K");
    let id = Identity::read(e.clone());
    assert_eq!((id.core_type, id.microarch()), (Some(CoreType::Efficient), "Alder Lake"));
    assert_eq!((id.core().unwrap().name, id.load_to_use()), ("Gracemont", Some(3)));
    assert_eq!(id.core().unwrap().combining_buffers.value(), None);

    assert_eq!(
        shape(&Caches::read(p.clone())),
        [
            (1, CacheKind::Data, 48 * KIB, 12),
            (1, CacheKind::Instruction, 32 * KIB, 8),
            (2, CacheKind::Unified, 1280 * KIB, 10),
            (3, CacheKind::Unified, 30 * MIB, 12),
        ]
    );
    let efficient = Caches::read(e.clone());
    assert_eq!(
        shape(&efficient),
        [
            (1, CacheKind::Data, 32 * KIB, 8),
            (1, CacheKind::Instruction, 64 * KIB, 8),
            (2, CacheKind::Unified, 2 * MIB, 16),
            (3, CacheKind::Unified, 30 * MIB, 12),
        ]
    );
    assert_eq!(efficient.instruction().unwrap().size, 64 * KIB);

    // Optimization manual: an STLB with 2048 entries in both cores, and a DTLB with 48 in Gracemont.
    assert_eq!(Tlbs::read(p.clone()).load_entries(2, PageSize::Kib4), Some(2048));
    let tlbs = Tlbs::read(e);
    assert_eq!(tlbs.load_entries(2, PageSize::Kib4), Some(2048));
    assert_eq!(tlbs.load_entries(1, PageSize::Kib4), Some(48));
    assert_eq!(tlbs[0].ways, Some(48), "fully associative");

    // The base frequency of the product page is 3.20 GHz; the multiple of the crystal frequency is a little
    // lower.
    assert_eq!(read_tsc_hz(p), Some(3_187_200_000));
}

#[test]
fn an_old_intel_cpu_has_descriptors_alone() {
    let dump = Dump::of("dothan");
    let id = Identity::read(dump.clone());
    assert_eq!((id.family, id.model, id.stepping), (6, 0x0d, 6));
    assert_eq!((id.microarch(), id.load_to_use()), ("Pentium M", Some(3)));
    assert_eq!(&*id.brand, "Intel(R) Pentium(R) M processor 1.60GHz");

    let caches = Caches::read(dump.clone());
    let mut shapes = shape(&caches);
    shapes.sort_by_key(|(level, _, _, _)| *level);
    assert_eq!(caches.len(), 3);
    assert!(shapes[..2].contains(&(1, CacheKind::Data, 32 * KIB, 8)));
    assert!(shapes[..2].contains(&(1, CacheKind::Instruction, 32 * KIB, 8)));
    assert_eq!(shapes[2], (2, CacheKind::Unified, 2 * MIB, 8));
    assert_eq!((caches[0].shared_by, caches[0].inclusive), (None, None));

    let tlbs = Tlbs::read(dump.clone());
    assert_eq!(entries(&tlbs, 1, TlbKind::Data, PageSize::Kib4), 128);
    assert_eq!(entries(&tlbs, 1, TlbKind::Data, PageSize::Mib4), 8);
    assert_eq!(entries(&tlbs, 1, TlbKind::Instruction, PageSize::Kib4), 128);
    assert_eq!(entries(&tlbs, 1, TlbKind::Instruction, PageSize::Mib4), 2);
    assert_eq!(tlbs.load_entries(2, PageSize::Kib4), None);
    assert_eq!(read_tsc_hz(dump), None);
}

#[test]
fn an_old_amd_cpu_has_the_legacy_leaves_alone() {
    let dump = Dump::of("k8");
    let id = Identity::read(dump.clone());
    assert_eq!((id.vendor, id.family, id.model), (Vendor::Amd, 0x0f, 0x2b));
    assert_eq!((id.microarch(), id.load_to_use()), ("K8", Some(3)));
    assert_eq!(&*id.brand, "AMD Athlon(tm) 64 X2 Dual Core Processor 3800+");

    let caches = Caches::read(dump.clone());
    assert_eq!(
        shape(&caches),
        [
            (1, CacheKind::Data, 64 * KIB, 2),
            (1, CacheKind::Instruction, 64 * KIB, 2),
            (2, CacheKind::Unified, 512 * KIB, 16),
        ]
    );
    assert_eq!(caches.last_level().unwrap().level, 2);
    assert_eq!(caches.data(3), None);

    let tlbs = Tlbs::read(dump.clone());
    assert_eq!(tlbs.load_entries(1, PageSize::Kib4), Some(32));
    assert_eq!(tlbs.load_entries(1, PageSize::Mib2), Some(8));
    assert_eq!(tlbs.load_entries(2, PageSize::Kib4), Some(512));
    assert_eq!(tlbs.load_entries(2, PageSize::Mib2), None);
    assert_eq!(read_tsc_hz(dump), None);
}

#[test]
fn zen_2_shares_its_l3_by_the_core_complex() {
    let dump = Dump::of("zen2");
    let id = Identity::read(dump.clone());
    assert_eq!((id.vendor, id.family, id.model, id.stepping), (Vendor::Amd, 0x17, 0x71, 0));
    assert_eq!(&*id.brand, "AMD Ryzen 5 3600X 6-Core Processor");
    assert_eq!((id.microarch(), id.load_to_use()), ("Zen 2", Some(4)));

    let caches = Caches::read(dump.clone());
    assert_eq!(
        shape(&caches),
        [
            (1, CacheKind::Data, 32 * KIB, 8),
            (1, CacheKind::Instruction, 32 * KIB, 8),
            (2, CacheKind::Unified, 512 * KIB, 8),
            (3, CacheKind::Unified, 16 * MIB, 16),
        ]
    );
    // A complex of this product has three cores with two threads each.
    assert_eq!(caches.data(3).unwrap().shared_by, Some(6));
    assert_eq!(caches.data(2).unwrap().inclusive, Some(true));

    // Software Optimization Guide for family 17h models 30h and later.
    let tlbs = Tlbs::read(dump.clone());
    assert_eq!(tlbs.load_entries(1, PageSize::Kib4), Some(64));
    assert_eq!(tlbs.load_entries(1, PageSize::Gib1), Some(64));
    assert_eq!(tlbs.load_entries(2, PageSize::Kib4), Some(2048));
    assert_eq!(tlbs.load_entries(2, PageSize::Mib2), Some(2048));
    assert_eq!(entries(&tlbs, 1, TlbKind::Instruction, PageSize::Kib4), 64);
    assert_eq!(entries(&tlbs, 2, TlbKind::Instruction, PageSize::Kib4), 1024);
    assert_eq!(read_tsc_hz(dump), None);
}

#[test]
fn a_zen_4_guest_keeps_its_caches_and_names_its_hypervisor() {
    let dump = Dump::of("zen4-guest");
    let id = Identity::read(dump.clone());
    assert_eq!((id.vendor, id.family, id.model), (Vendor::Amd, 0x19, 0x11));
    assert_eq!((&*id.brand, id.microarch()), ("AMD EPYC", "Zen 4"));
    assert_eq!(id.load_to_use(), Some(4));
    assert_eq!(id.hypervisor.as_deref(), Some("KVMKVMKVM"));
    assert_eq!(id.hypervisor_name(), Some("KVM"));

    let caches = Caches::read(dump.clone());
    assert_eq!(
        shape(&caches),
        [
            (1, CacheKind::Data, 32 * KIB, 8),
            (1, CacheKind::Instruction, 32 * KIB, 8),
            (2, CacheKind::Unified, MIB, 8),
            (3, CacheKind::Unified, 32 * MIB, 16),
        ]
    );
    // Software Optimization Guide for Zen 4; the guest's leaf of 1 GiB pages is empty.
    let tlbs = Tlbs::read(dump.clone());
    assert_eq!(tlbs.load_entries(1, PageSize::Kib4), Some(72));
    assert_eq!(tlbs.load_entries(2, PageSize::Kib4), Some(3072));
    assert_eq!(entries(&tlbs, 2, TlbKind::Instruction, PageSize::Kib4), 512);
    assert_eq!(tlbs.load_entries(1, PageSize::Gib1), None);
    assert_eq!(read_tsc_hz(dump), None);
}

#[test]
fn empty_leaves_yield_nothing_rather_than_zeros() {
    let dump = Dump::of("empty-leaves");
    let id = Identity::read(dump.clone());
    assert_eq!((id.microarch(), id.hypervisor_name()), ("Coffee Lake", Some("KVM")));
    let caches = Caches::read(dump.clone());
    assert!(caches.is_empty(), "{caches:?}");
    assert_eq!((caches.data(1), caches.instruction(), caches.last_level()), (None, None, None));
    let tlbs = Tlbs::read(dump.clone());
    assert!(tlbs.is_empty(), "{tlbs:?}");
    assert_eq!(read_tsc_hz(dump), None);
}

#[test]
fn no_dump_yields_an_entry_of_size_zero() {
    for name in ALL {
        let dump = Dump::of(name);
        for cache in Caches::read(dump.clone()).iter() {
            assert!(cache.level > 0 && cache.size > 0 && cache.line == 64, "{name}: {cache:?}");
            let (sets, ways) = (cache.sets().unwrap(), cache.ways.unwrap());
            assert_eq!(sets * u64::from(ways) * 64, cache.size, "{name}: {cache:?}");
        }
        for tlb in Tlbs::read(dump).iter() {
            assert!(tlb.level > 0 && tlb.entries > 0, "{name}: {tlb:?}");
            assert!(tlb.pages.iter().next().is_some(), "{name}: {tlb:?}");
        }
    }
}

/// The numbers of TLB entries in manuals, compared with CPUID. Golden Cove's leaf 18h gives 64
/// entries for loads from 4 KiB pages, the manual 96.
#[test]
fn published_translations_are_those_that_cpus_report() {
    let mut compared = 0;
    for name in ALL {
        let dump = Dump::of(name);
        let Some(known) = Identity::read(dump.clone()).translations() else {
            continue;
        };
        let tlbs = Tlbs::read(dump);
        let stated = [
            (1, PageSize::Kib4, known.small.value()),
            (1, PageSize::Mib2, known.large.value()),
            (2, PageSize::Kib4, known.second.value()),
        ];
        for (level, page, published) in stated {
            if published == Some(96) {
                continue;
            }
            if let (Some(reported), Some(published)) = (tlbs.load_entries(level, page), published) {
                assert_eq!(published, reported, "{name}: level {level}, {page:?}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 15, "{compared}");
}

#[test]
fn every_fixture_is_tested() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cpuid");
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ALL);
}

#[test]
fn the_cpu_that_runs_this_describes_itself_without_zeros() {
    let id = Identity::detect();
    assert!(id.family > 0, "{id:?}");
    assert!(!id.microarch().is_empty());
    for cache in Caches::detect().iter() {
        assert!(cache.size > 0 && cache.line.is_power_of_two(), "{cache:?}");
    }
    for tlb in Tlbs::detect().iter() {
        assert!(tlb.entries > 0, "{tlb:?}");
    }
    assert_ne!(tsc_hz(), Some(0));
}
