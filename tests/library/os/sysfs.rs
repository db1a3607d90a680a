//! Caches, topology and nodes of recorded machines, and of this machine.
#![cfg(feature = "std")]

use std::path::Path;

use crate::common::machine::Machine;
use crate::common::untested;
use linefill::cpu::CacheKind;
use linefill::os::sysfs::{
    Arrangement, Cache, CpuLocation, CpuMask, MemoryNode, Nearness, Sharing, Sysfs, Topology,
};

const KIB: u64 = 1024;

fn sysfs(machine: &Machine) -> Sysfs {
    Sysfs::at(&machine.root().sys)
}

#[test]
fn intel_server_with_smt() {
    let machine = Machine::recorded("intel-sapphire-rapids");
    let sysfs = sysfs(&machine);
    assert_eq!(sysfs.online().unwrap(), (0..32).collect::<Vec<_>>());

    let caches = sysfs.caches(0).unwrap();
    let kinds: Vec<_> = caches.iter().map(|cache| (cache.level, cache.kind)).collect();
    assert_eq!(
        kinds,
        [
            (1, CacheKind::Data),
            (1, CacheKind::Instruction),
            (2, CacheKind::Unified),
            (3, CacheKind::Unified)
        ]
    );
    assert_eq!(
        caches[0],
        Cache {
            level: 1,
            kind: CacheKind::Data,
            size: 48 * KIB,
            ways: Some(12),
            sets: Some(64),
            line: Some(64),
            shared_by: vec![0, 16],
        }
    );
    assert_eq!(caches[0].share(), 24 * KIB);

    // 16 hyper-threads share 22.5 MiB.
    let last = sysfs.last_level(9).unwrap();
    assert_eq!(last.size, 23_040 * KIB);
    assert_eq!(last.shared_by.len(), 16);
    assert_eq!(last.share(), 1440 * KIB);

    let topology = sysfs.topology(25).unwrap();
    assert_eq!(topology, Topology { core: 1, package: 1, threads: vec![9, 25] });
    assert_eq!(topology.siblings(25), [9]);
    assert!(sysfs.share_a_core(&[0, 9, 25]));
    assert!(!sysfs.share_a_core(&[0, 9, 10, 9]));

    let nodes = sysfs.nodes().unwrap();
    assert_eq!(nodes.len(), 2);
    assert_eq!(nodes[1].cpus, (8..16).chain(24..32).collect::<Vec<_>>());
    assert_eq!(nodes[1].distances, [21, 10]);
}

#[test]
fn amd_with_two_core_complexes() {
    let machine = Machine::recorded("amd-zen2-two-ccx");
    let sysfs = sysfs(&machine);
    let (first, second) = (sysfs.last_level(0).unwrap(), sysfs.last_level(5).unwrap());
    assert_eq!(first.shared_by, [0, 1, 2, 3, 8, 9, 10, 11]);
    assert_eq!(second.shared_by, [4, 5, 6, 7, 12, 13, 14, 15]);
    assert_eq!((first.size, first.share()), (16_384 * KIB, 2048 * KIB));
    assert_eq!(sysfs.topology(5).unwrap().siblings(5), [13]);
    assert_eq!(
        sysfs.nodes().unwrap(),
        [MemoryNode { id: 0, cpus: (0..16).collect(), distances: vec![10], memory: None }]
    );
}

#[test]
fn memory_nodes_of_servers() {
    let nodes = |name| {
        let machine = Machine::recorded(name);
        sysfs(&machine).nodes().unwrap()
    };
    let sockets = nodes("two-sockets-128");
    assert_eq!(sockets.len(), 2);
    assert_eq!(sockets[1].cpus, (64..128).chain(192..256).collect::<Vec<_>>());
    assert_eq!(sockets[1].distances, [32, 10]);
    assert_eq!(sockets[0].memory, Some(396_000_000 * KIB));

    let quarters = nodes("nps4-epyc");
    assert_eq!(quarters.len(), 4);
    assert!(quarters.iter().all(|node| node.cpus.len() == 8 && node.has_memory()));

    let eight = nodes("eight-nodes");
    let ids: Vec<usize> = eight.iter().map(|node| node.id).collect();
    assert_eq!(ids, (0..8).collect::<Vec<_>>());
    assert_eq!(eight[5].distances, [32, 32, 32, 32, 12, 10, 12, 12]);
    // The kernel does not report memory of nodes, so pages may be on any of them.
    assert!(eight.iter().all(|node| node.memory.is_none() && node.has_memory()));

    let cxl = nodes("cxl-memory");
    assert_eq!((cxl[2].cpus.len(), cxl[2].has_memory()), (0, true));
    assert_eq!((cxl[3].cpus.len(), cxl[3].has_memory()), (4, false));

    let machine = Machine::recorded("two-sockets-128");
    let free = sysfs(&machine).available_on(0).unwrap();
    assert_eq!(free, 383_000_000 * KIB, "files can go");
    assert_eq!(sysfs(&machine).available_on(1), Ok(390_000_000 * KIB));
    let none = sysfs(&machine).available_on(2).unwrap_err();
    assert!(none.to_string().contains("node2/meminfo"), "{none}");

    // The order in which threads get CPUs: first one CPU per core, then hyper-threads, with near CPUs first.
    let locations = sysfs(&machine).locations(&[0, 1, 64, 65, 128, 129, 192, 193]);
    assert_eq!(locations[0].to(&locations[4]), Nearness::Core);
    assert_eq!(locations[0].to(&locations[1]), Nearness::LastLevel);
    assert_eq!(locations[0].to(&locations[2]), Nearness::System);
}

#[test]
fn guest_with_a_slice_of_a_server() {
    let machine = Machine::recorded("vm-genoa");
    let sysfs = sysfs(&machine);
    let last = sysfs.last_level(1).unwrap();
    assert_eq!((last.level, last.size, last.share()), (3, 32 << 20, 16 << 20));
    assert_eq!((last.ways, last.sets, last.line), (Some(16), Some(32_768), Some(64)));
    assert!(sysfs.topology(1).unwrap().siblings(1).is_empty());
    assert!(!sysfs.share_a_core(&[0, 1]));
    assert!(!sysfs.share_a_core(&[0, 77]), "of CPU 77 nothing is told");
}

#[test]
fn malformed_files_are_named() {
    let machine = Machine::recorded("malformed");
    let sysfs = sysfs(&machine);
    let named = |error: linefill::os::Unreadable, file: &str, text: &str| {
        assert!(error.path.ends_with(file), "{error}");
        assert!(error.problem.contains(text), "{error}");
    };
    named(sysfs.online().unwrap_err(), "cpu/online", "0-3,x");
    named(sysfs.caches(0).unwrap_err(), "cpu0/cache/index0/size", "32768");
    named(sysfs.caches(1).unwrap_err(), "cpu1/cache/index0/level", "one");
    named(sysfs.caches(2).unwrap_err(), "cpu2/cache/index0/shared_cpu_list", "3-1");
    named(sysfs.last_level(3).unwrap_err(), "cpu3/cache", "none of the caches holds data");
    named(sysfs.caches(4).unwrap_err(), "cpu4/cache/index0/type", "Trace");
    named(sysfs.topology(0).unwrap_err(), "topology/core_id", "-1");
    named(sysfs.nodes().unwrap_err(), "node0/distance", "ten");

    let code = &sysfs.caches(3).unwrap()[0];
    assert_eq!((code.ways, code.sets, code.line), (None, None, None));
}

#[test]
fn without_sysfs_everything_is_a_reason() {
    let sysfs = Sysfs::at(Path::new("/nonexistent"));
    for reason in [
        sysfs.online().unwrap_err(),
        sysfs.caches(0).unwrap_err(),
        sysfs.last_level(0).unwrap_err(),
        sysfs.topology(0).unwrap_err(),
        sysfs.nodes().unwrap_err(),
    ] {
        assert!(reason.to_string().starts_with("/nonexistent/devices/system/"), "{reason}");
    }
}

#[test]
fn this_machine_is_consistent_where_it_tells() {
    let sysfs = Sysfs::live();
    let Ok(online) = sysfs.online() else {
        return untested::machine("the kernel tells of no CPUs");
    };
    for cpu in online {
        if let Ok(topology) = sysfs.topology(cpu) {
            assert!(topology.threads.contains(&cpu));
        }
        for cache in sysfs.caches(cpu).unwrap_or_default() {
            assert!(cache.shared_by.contains(&cpu), "CPU {cpu}: {cache:?}");
            if let (Some(ways), Some(sets), Some(line)) = (cache.ways, cache.sets, cache.line) {
                assert_eq!(ways * sets * line, cache.size, "CPU {cpu}: {cache:?}");
            }
        }
    }
}

/// A machine whose CPUs are all online, each with its place and an L1d, an L1i, an L2 and an L3.
fn composed(threads: &str, firsts: &str, lasts: &str, packages: &str) -> Machine {
    let mut tree = String::from("sys/devices/system/cpu/online = 0-7\n");
    let each = |list: &str| list.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let (threads, firsts) = (each(threads), each(firsts));
    let (lasts, packages) = (each(lasts), each(packages));
    for cpu in 0..8 {
        let dir = format!("sys/devices/system/cpu/cpu{cpu}");
        tree += &format!("{dir}/topology/core_id = {}\n", cpu % 4);
        tree += &format!("{dir}/topology/physical_package_id = {}\n", packages[cpu]);
        tree += &format!("{dir}/topology/thread_siblings_list = {}\n", threads[cpu]);
        let caches = [
            (1, "Data", &firsts),
            (1, "Instruction", &firsts),
            (2, "Unified", &threads),
            (3, "Unified", &lasts),
        ];
        for (index, (level, kind, shared)) in caches.into_iter().enumerate() {
            let dir = format!("{dir}/cache/index{index}");
            tree += &format!("{dir}/level = {level}\n{dir}/type = {kind}\n{dir}/size = 32K\n");
            tree += &format!("{dir}/shared_cpu_list = {}\n", shared[cpu]);
        }
    }
    Machine::empty().with(&tree)
}

const PAIRS: &str = "0-1 0-1 2-3 2-3 4-5 4-5 6-7 6-7";
const HALVES: &str = "0-3 0-3 0-3 0-3 4-7 4-7 4-7 4-7";

#[test]
fn figure_3_3_is_recognised() {
    let machine = composed(PAIRS, PAIRS, HALVES, "0 0 0 0 1 1 1 1");
    let wanted = Sharing {
        threads: 2,
        cores: 4,
        packages: 2,
        levels: 3,
        split: true,
        divided: 0,
        joint: 0,
        last_levels: 1,
        last_level_bytes: 64 << 10,
        across: 0,
    };
    assert_eq!(sysfs(&machine).sharing(), Ok(wanted));
}

#[test]
fn other_ways_to_share_are_told_apart() {
    let sharing = |threads, firsts, lasts, packages| {
        sysfs(&composed(threads, firsts, lasts, packages)).sharing().unwrap()
    };
    // Two complexes in one package, as in a Zen 2.
    let complexes = sharing(PAIRS, PAIRS, HALVES, "0 0 0 0 0 0 0 0");
    assert_eq!((complexes.packages, complexes.last_levels), (1, 2));
    // A die with three times the last level of the other, as in a 7950X3D.
    let larger = |cpu| format!("sys/devices/system/cpu/cpu{cpu}/cache/index3/size = 96K\n");
    let dies = composed(PAIRS, PAIRS, HALVES, "0 0 0 0 0 0 0 0");
    let dies = dies.with(&(4..8).map(larger).collect::<String>());
    let dies = sysfs(&dies).sharing().unwrap();
    assert_eq!(dies.last_level_bytes, 128 << 10);
    // The threads of a core have separate L1d caches.
    let divided = sharing(PAIRS, "0 1 2 3 4 5 6 7", HALVES, "0 0 0 0 0 0 0 0");
    assert_eq!((divided.divided, divided.joint), (4, 0));
    // Cores with one thread each, of which pairs share an L1d.
    let joint = sharing("0 1 2 3 4 5 6 7", PAIRS, HALVES, "0 0 0 0 0 0 0 0");
    assert_eq!((joint.threads, joint.cores, joint.joint), (1, 8, 4));
    // Two packages share one cache.
    let across = sharing(PAIRS, PAIRS, "0-7 0-7 0-7 0-7 0-7 0-7 0-7 0-7", "0 0 0 0 1 1 1 1");
    assert_eq!((across.across, across.last_levels), (1, 1));
}

/// What the first of `cpus` has in common with each of the others.
fn shared(machine: &str, cpus: &[usize]) -> Vec<Nearness> {
    let locations = sysfs(&Machine::recorded(machine)).locations(cpus);
    locations[1..].iter().map(|location| locations[0].to(location)).collect()
}

#[test]
fn two_cpus_are_as_near_as_the_nearest_thing_they_share() {
    use Nearness::{Core, LastLevel, Level2, Package};
    assert_eq!(shared("amd-zen2-two-ccx", &[0, 8, 5]), [Core, Package]);
    // Two dies in one package are connected only by the bus: their L2 is the last level.
    assert_eq!(shared("core2-quad", &[0, 1, 2, 3]), [Level2, Package, Package]);
    assert_eq!(shared("vm-genoa", &[0, 1]), [LastLevel]);
}

#[test]
fn cpus_without_a_description_are_cores_of_one_package() {
    let nothing = Sysfs::at(Path::new("/nonexistent"));
    let location = |cpu| CpuLocation { cpu, core: cpu, l2: cpu, last_level: 0, package: 0 };
    assert_eq!(nothing.locations(&[3, 4]), [location(3), location(4)]);
}

#[test]
fn the_four_arrangements_of_2007_and_those_since() {
    let arranged = |machine: &Machine| sysfs(machine).arrangement().unwrap();
    // Two dies of a Core 2, and a single one of them.
    let quad = Machine::recorded("core2-quad");
    assert_eq!(arranged(&quad), Arrangement::L2OfGroups);
    let dual = quad.with("sys/devices/system/cpu/online = 0-1");
    assert_eq!(arranged(&dual), Arrangement::SharedL2);
    let single = dual.with("sys/devices/system/cpu/online = 0");
    assert_eq!(arranged(&single), Arrangement::OneCore);
    // An L3 per processor, per complex, and of a guest.
    let processors = composed(PAIRS, PAIRS, HALVES, "0 0 0 0 1 1 1 1");
    assert_eq!(arranged(&processors), Arrangement::SharedL3);
    let complexes = composed(PAIRS, PAIRS, HALVES, "0 0 0 0 0 0 0 0");
    assert_eq!(arranged(&complexes), Arrangement::L3OfGroups);
    let guest = Machine::recorded("vm-genoa");
    assert_eq!(arranged(&guest), Arrangement::SharedL3);
    // An L3 per core, and an L2 of all cores under an L3 of all, are none of the ways without an L3.
    let own = composed(PAIRS, PAIRS, PAIRS, "0 0 0 0 0 0 0 0");
    assert_eq!(arranged(&own), Arrangement::L3OfGroups);
    let l3 = "sys/devices/system/cpu/cpu[0-1]/cache/index3";
    let cluster = format!("{l3}/level = 3\n{l3}/type = Unified\n{l3}/size = 6144K\n");
    let cluster = single.with(&format!("{cluster}{l3}/shared_cpu_list = 0-1"));
    let cluster = cluster.with("sys/devices/system/cpu/online = 0-1");
    assert_eq!(arranged(&cluster), Arrangement::L2InL3);
}

/// Table 5.2 of the paper again, and a processor with efficient cores.
#[test]
fn separate_caches_and_clusters_under_a_third_level() {
    let location = |cpu: usize, l2: usize, last_level: usize| CpuLocation {
        cpu,
        core: cpu,
        l2,
        last_level,
        package: 0,
    };
    let separate: Vec<CpuLocation> = (0..2).map(|cpu| location(cpu, cpu, cpu)).collect();
    assert_eq!(Arrangement::of(&separate, 2), Some(Arrangement::Separate));
    let clusters: Vec<CpuLocation> = (0..8).map(|cpu| location(cpu, cpu / 4 * 4, 0)).collect();
    assert_eq!(Arrangement::of(&clusters, 3), Some(Arrangement::L2InL3));
    // Hyper-threads do not count as cores.
    let threads = [0, 1].map(|cpu| CpuLocation { core: 0, ..location(cpu, 0, 0) });
    assert_eq!(Arrangement::of(&threads, 2), Some(Arrangement::OneCore));
    assert_eq!(Arrangement::of(&[], 0), None);
}

#[test]
fn an_arrangement_takes_caches() {
    let machine = Machine::empty().with("sys/devices/system/cpu/online = 0-1");
    let error = sysfs(&machine).arrangement().unwrap_err();
    assert!(error.path.ends_with("cpu0/cache"), "{error}");
}

fn mask(cpus: &[usize]) -> CpuMask {
    cpus.iter().copied().collect()
}

/// The paper's method: the mask of level 1, XOR the CPU itself.
#[test]
fn a_mask_less_the_cpu_itself_are_its_other_hyper_threads() {
    let recorded = Machine::recorded("amd-zen2-two-ccx");
    let zen = sysfs(&recorded);
    let itself = mask(&[5]);
    let threads = zen.hyper_threads(&itself).unwrap();
    assert_eq!(threads, mask(&[5, 13]));
    assert_eq!(&threads ^ &itself, mask(&[13]));
    assert!(threads.contains(5) && !(&threads ^ &itself).contains(5));
    assert_eq!(zen.sharers_of_l1d(5).unwrap(), threads);
    // For several CPUs: the hyper-threads of all their cores.
    let two = zen.hyper_threads(&mask(&[0, 13])).unwrap();
    assert_eq!(two.cpus().collect::<Vec<_>>(), [0, 5, 8, 13]);
    // If a core has one thread, none remain.
    let guest = Machine::recorded("vm-genoa");
    let alone = sysfs(&guest).hyper_threads(&mask(&[1])).unwrap();
    assert_eq!((&alone ^ &mask(&[1])).count(), 0);
}

#[test]
fn a_mask_of_siblings_counts_before_the_list() {
    let dir = "sys/devices/system/cpu/cpu2/topology";
    let machine =
        Machine::recorded("vm-genoa").with(&format!("{dir}/thread_siblings = 1,00000004"));
    assert_eq!(sysfs(&machine).hyper_threads(&mask(&[2])), Ok(mask(&[2, 32])));
    for text in ["", "0", "4x"] {
        let machine = Machine::empty().with(&format!("{dir}/thread_siblings = {text}"));
        let error = sysfs(&machine).hyper_threads(&mask(&[2])).unwrap_err();
        assert!(error.path.ends_with("thread_siblings"), "{error}");
    }
    let error = sysfs(&machine).sharers_of_l1d(7).unwrap_err();
    assert!(error.path.ends_with("cpu7/cache"), "{error}");
}
