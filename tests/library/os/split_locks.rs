//! Whether locks across two lines may be tried, on machines that are described by their files.
#![cfg(feature = "std")]

use crate::common::machine::Machine;
use linefill::cpu::Vendor;
use linefill::os::split_locks::{Place, Refused, judge};

const BARE_INTEL: Place = Place { vendor: Vendor::Intel, family: 6, guest: false };

fn amd(family: u8, guest: bool) -> Place {
    Place { vendor: Vendor::Amd, family, guest }
}

/// A machine with the CPU flags `flags`, booted with `cmdline`.
fn machine(flags: &str, cmdline: &str) -> Machine {
    Machine::empty().with(&format!(
        "proc/cpuinfo = processor : 0\\nflags : fpu {flags} sse2\\nprocessor : 1\n\
         proc/cmdline = root=/dev/sda1 {cmdline} quiet"
    ))
}

fn trapped(machine: &Machine, place: Place) -> (&'static str, String, bool) {
    match judge(&machine.root(), place) {
        Err(Refused::Trapped { flag, mode, slowed }) => (flag, mode, slowed),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cpu_that_cannot_trap_them_may_try() {
    let old = machine("tsc", "");
    assert_eq!(judge(&old.root(), BARE_INTEL), Ok(()));
    assert_eq!(judge(&old.root(), amd(0x19, false)), Ok(()));
    assert_eq!(judge(&old.root(), amd(0x19, true)), Ok(()));
    let guest = Machine::recorded("vm-genoa").with("proc/cpuinfo = flags : fpu hypervisor");
    assert_eq!(judge(&guest.root(), amd(0x19, true)), Ok(()));
}

#[test]
fn a_kernel_that_traps_them_refuses_in_every_mode_but_off() {
    for (flags, flag) in [
        ("split_lock_detect", "split_lock_detect"),
        ("bus_lock_detect", "bus_lock_detect"),
        ("bus_lock_detect split_lock_detect", "split_lock_detect"),
    ] {
        for place in [BARE_INTEL, amd(0x1a, false)] {
            let default = machine(flags, "");
            assert_eq!(trapped(&default, place), (flag, "warn".into(), false));
            for mode in ["warn", "fatal", "ratelimit:10"] {
                let set = machine(flags, &format!("split_lock_detect={mode}"));
                assert_eq!(trapped(&set, place), (flag, mode.into(), false));
            }
            let off = machine(flags, "split_lock_detect=off");
            assert_eq!(judge(&off.root(), place), Ok(()));
        }
    }
    // The last option takes effect.
    let both = machine("split_lock_detect", "split_lock_detect=off split_lock_detect=fatal");
    assert_eq!(trapped(&both, BARE_INTEL).1, "fatal");
}

#[test]
fn the_reason_names_the_setting_and_what_would_do() {
    let slowed = machine("split_lock_detect", "").with("proc/sys/kernel/split_lock_mitigate = 1");
    let reason = judge(&slowed.root(), BARE_INTEL).unwrap_err().to_string();
    assert_eq!(
        reason,
        "the kernel traps locks across two lines (split_lock_detect, split_lock_detect=warn, \
         kernel.split_lock_mitigate=1); boot with split_lock_detect=off to measure what they would \
         cost"
    );
    let quick = machine("split_lock_detect", "").with("proc/sys/kernel/split_lock_mitigate = 0");
    assert!(!trapped(&quick, BARE_INTEL).2);
}

#[test]
fn a_guest_refuses_where_its_host_may_end_it() {
    let silent = machine("hypervisor", "");
    let guest = |vendor, family| Place { vendor, family, guest: true };
    for (vendor, family) in
        [(Vendor::Intel, 6), (Vendor::Amd, 0x1a), (Vendor::Hygon, 0x18), (Vendor::Other, 7)]
    {
        let refused = judge(&silent.root(), guest(vendor, family));
        assert_eq!(refused, Err(Refused::Host(vendor)));
    }
    // The same if the guest's own kernel allows them.
    let off = machine("split_lock_detect", "split_lock_detect=off");
    assert_eq!(judge(&off.root(), guest(Vendor::Intel, 6)), Err(Refused::Host(Vendor::Intel)));
    let reason = Refused::Host(Vendor::Intel).to_string();
    assert!(reason.contains("a guest on a CPU of Intel cannot tell"));
}

#[test]
fn without_flags_nothing_is_certain() {
    let bare = Machine::empty();
    let refused = judge(&bare.root(), BARE_INTEL).unwrap_err();
    assert!(matches!(refused, Refused::Unknown(_)));
    assert!(refused.to_string().contains("proc/cpuinfo"), "{refused}");
    let odd = Machine::empty().with("proc/cpuinfo = processor : 0");
    let refused = judge(&odd.root(), BARE_INTEL).unwrap_err().to_string();
    assert!(refused.contains("a list of CPUs with their flags"), "{refused}");
}
