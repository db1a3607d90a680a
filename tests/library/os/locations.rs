//! The locations of the CPUs of a large machine.
#![cfg(feature = "std")]

use crate::common::machine::Machine;
use crate::common::untested;
use linefill::os::sysfs::Sysfs;

/// The number of `read` calls that this thread has made.
fn reads() -> Option<u64> {
    let counts = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    let line = counts.lines().find_map(|line| line.strip_prefix("syscr: "));
    line?.parse().ok()
}

/// 256 CPUs in two packages, and four CPUs without a reported package.
#[test]
fn each_cpu_of_a_large_machine_is_read_a_few_times() {
    let tree = "sys/devices/system/cpu/online = 1-259
        sys/devices/system/cpu/cpu[0-255]/topology/core_id = $
        sys/devices/system/cpu/cpu[0-127]/topology/physical_package_id = 7
        sys/devices/system/cpu/cpu[128-255]/topology/physical_package_id = 3
        sys/devices/system/cpu/cpu[0-255]/topology/thread_siblings_list = $";
    let machine = Machine::empty().with(tree);
    let sysfs = Sysfs::at(&machine.root().sys);
    let cpus: Vec<usize> = (0..260).collect();
    let before = reads();
    let locations = sysfs.locations(&cpus);
    let after = reads();
    for location in locations {
        let first = match location.cpu {
            ..128 => 1,
            128..256 => 128,
            _ => 256,
        };
        assert_eq!((location.package, location.last_level), (first, first), "{location:?}");
    }
    match before.zip(after) {
        Some((before, after)) => assert!(after - before < 260 * 20, "{}", after - before),
        None => untested::machine("the kernel counts no reads"),
    }
}
