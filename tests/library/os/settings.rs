//! The settings that a recorded machine reports.

use crate::common::machine::Machine;
use linefill::os::settings::settings;

#[test]
fn what_the_system_tells_is_found_and_the_rest_left_out() {
    assert_eq!(settings(&Machine::empty().root(), Some(0)), []);
    let machine = Machine::empty().with(
        "sys/class/dmi/id/bios_version = 2.19.1
         sys/kernel/mm/transparent_hugepage/enabled = always [madvise] never
         sys/devices/system/cpu/cpu3/cpufreq/scaling_governor = powersave
         sys/devices/system/cpu/smt/control =
         proc/sys/kernel/numa_balancing = 0
         proc/cpuinfo = processor: 0\\nmicrocode: 0x1\\n\\nprocessor: 3\\nmicrocode: 0xa10113e",
    );
    let found = settings(&machine.root(), Some(3));
    let wanted = [
        ("BIOS version", "2.19.1"),
        ("transparent huge pages", "madvise"),
        ("governor", "powersave"),
        ("microcode", "0xa10113e"),
        ("NUMA balancing", "0"),
    ];
    assert_eq!(found, wanted.map(|(name, value)| (name, value.to_owned())));
    // If the kernel has a file with the microcode version, its value is used.
    let machine = machine.with("sys/devices/system/cpu/cpu3/microcode/version = 0xb2");
    let found = settings(&machine.root(), Some(3));
    assert!(found.contains(&("microcode", "0xb2".to_owned())), "{found:?}");
}
