//! The machines of Tables 5.1 to 5.4 of Drepper's paper, as the system describes them.
#![cfg(feature = "std")]

use crate::common::machine::Machine;
use linefill::os::sysfs::{Arrangement, CpuMask, Nearness, Sysfs};

const KIB: u64 = 1024;

fn sysfs(machine: &Machine) -> Sysfs {
    Sysfs::at(&machine.root().sys)
}

/// Table 5.1 of the paper: a Core 2 of two dies, each with two cores and an L2.
#[test]
fn a_kernel_of_2007_has_masks_and_no_geometry() {
    let machine = Machine::recorded("core2-quad");
    let sysfs = sysfs(&machine);
    let last = sysfs.last_level(3).unwrap();
    assert_eq!(last.shared_by, [2, 3]);
    assert_eq!((last.level, last.size, last.share()), (2, 4 << 20, 2 << 20));
    let first = &sysfs.caches(3).unwrap()[0];
    assert_eq!((first.ways, first.sets, first.line), (None, None, None));
    assert_eq!(first.shared_by, [3]);
}

/// Tables 5.2 to 5.4 of the paper: four Opterons with two cores and memory each. Each core has three caches of
/// its own. Where the paper shows a mask that is read as a list today, the list has the same CPUs.
fn opterons() -> Machine {
    let mut text = String::from("sys/devices/system/cpu/online = 0-7\n");
    for cpu in 0..8 {
        for (index, level, kind, kib) in
            [(0, 1, "Data", 64), (1, 1, "Instruction", 64), (2, 2, "Unified", 1024)]
        {
            let dir = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
            let mask = 1 << cpu;
            text += &format!("{dir}/level = {level}\n{dir}/type = {kind}\n");
            text += &format!("{dir}/size = {kib}K\n{dir}/shared_cpu_map = {mask:08x}\n");
        }
        let dir = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        text += &format!("{dir}/physical_package_id = {}\n", cpu / 2);
        text += &format!("{dir}/core_id = {}\n", cpu % 2);
        text += &format!("{dir}/thread_siblings = {:08x}\n", 1 << cpu);
        text += &format!("{dir}/thread_siblings_list = {cpu}\n");
    }
    text += "sys/devices/system/node/online = 0-3\n";
    for node in 0..4 {
        let dir = format!("sys/devices/system/node/node{node}");
        let distances = [0, 1, 2, 3].map(|to| if to == node { "10" } else { "20" });
        text += &format!("{dir}/distance = {}\n", distances.join(" "));
        text += &format!("{dir}/cpulist = {}-{}\n", 2 * node, 2 * node + 1);
    }
    Machine::empty().with(&text)
}

/// Table 5.2 of the paper.
#[test]
fn a_cache_of_its_own_is_its_share() {
    let machine = opterons();
    for cpu in 0..8 {
        let last = sysfs(&machine).last_level(cpu).unwrap();
        assert_eq!((last.level, last.shared_by.as_slice()), (2, &[cpu][..]));
        assert_eq!(last.share(), 1024 * KIB);
    }
}

/// Table 5.3 of the paper: two cores per package, and one thread per core.
#[test]
fn cores_of_a_package_without_hyper_threads() {
    let machine = opterons();
    let opterons = sysfs(&machine);
    for cpu in 0..8 {
        let topology = opterons.topology(cpu).unwrap();
        let place = (topology.package, topology.core);
        assert_eq!(place, (cpu as u64 / 2, cpu as u64 % 2));
        assert!(topology.siblings(cpu).is_empty());
        let own: CpuMask = [cpu].into_iter().collect();
        assert_eq!(opterons.hyper_threads(&own), Ok(own));
    }
    let locations = opterons.locations(&[0, 1, 2]);
    assert_eq!(locations[0].to(&locations[1]), Nearness::Package);
    assert_eq!(locations[0].to(&locations[2]), Nearness::System);
    assert_eq!(opterons.arrangement(), Ok(Arrangement::Separate));
}

/// Table 5.4 of the paper: memory on another node is at distance 20, whichever node it is.
#[test]
fn every_package_is_a_node_at_one_distance() {
    let machine = opterons();
    let nodes = sysfs(&machine).nodes().unwrap();
    assert_eq!(nodes.len(), 4);
    for (index, node) in nodes.iter().enumerate() {
        assert_eq!((node.id, node.distances[index]), (index, 10));
        assert_eq!(node.cpus, [2 * index, 2 * index + 1]);
        let others = node.distances.iter().filter(|&&distance| distance == 20);
        assert_eq!(others.count(), 3);
    }
}
