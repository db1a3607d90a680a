//! Tests of the guardian, with a file in place of the device.

// Ends processes by signal.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::os::root::{Planted, wait_until};

const SWITCHES: PrefetchSwitches =
    PrefetchSwitches { register: 0x1A4, bits: &[(0, "L2 streamer"), (2, "L1 data next line")] };
/// A bit that switches no prefetcher.
const BEFORE: u64 = 0x20;

/// A machine whose CPU 3 has a file in place of its registers, which holds [`BEFORE`].
struct Mock(Planted);

impl Mock {
    fn new(name: &str) -> Self {
        let mock = Mock(Planted::new(name, "dev/cpu/3", &[("msr", "")]));
        let file = File::create(mock.device()).unwrap();
        file.write_all_at(&BEFORE.to_le_bytes(), 0x1A4).unwrap();
        mock
    }

    fn device(&self) -> PathBuf {
        self.0.path().join("dev/cpu/3/msr")
    }

    fn root(&self) -> Root {
        self.0.root()
    }

    fn value(&self) -> u64 {
        look(&self.root(), 3, Some(SWITCHES)).unwrap().value
    }

    /// Waits until the register holds `value`.
    fn comes_to(&self, value: u64) -> bool {
        wait_until(|| self.value() == value)
    }
}

/// Switches the prefetchers off on CPU 3.
fn off(root: &Root) -> Off {
    Ready::at(root, 3, SWITCHES).unwrap().switch_off().unwrap()
}

#[test]
fn they_are_off_until_dropped() {
    let mock = Mock::new("dropped");
    let off = off(&mock.root());
    assert_eq!(mock.value(), 0x25);
    drop(off);
    assert_eq!(mock.value(), BEFORE);
}

#[test]
fn those_of_several_cpus_are_off_together_or_not_at_all() {
    let mock = Mock::new("several");
    let root = mock.root();
    // CPU 4 has no device, so that nothing is written on CPU 3.
    let refused = Off::on(&root, &[3, 4], Some(SWITCHES)).unwrap_err();
    assert!(refused.to_string().contains("does not exist"), "{refused}");
    assert_eq!(mock.value(), BEFORE);
    fs::create_dir_all(mock.0.path().join("dev/cpu/4")).unwrap();
    fs::copy(mock.device(), mock.0.path().join("dev/cpu/4/msr")).unwrap();
    let other = || look(&root, 4, Some(SWITCHES)).unwrap().value;
    let off = Off::on(&root, &[3, 4], Some(SWITCHES)).unwrap();
    assert_eq!((mock.value(), other()), (0x25, 0x25));
    drop(off);
    assert_eq!((mock.value(), other()), (BEFORE, BEFORE));
    assert_eq!(Off::on(&root, &[3], None).unwrap_err(), Refused::Unknown);
}

/// The bits of a performance core are not those of an efficient one, nor are those of the two designs of
/// efficient cores the same.
#[test]
fn cores_of_two_kinds_are_not_switched_together() {
    for pmu in ["cpu_core", "cpu_lowpower"] {
        let mock = Mock::new(pmu);
        let root = mock.root();
        fs::create_dir_all(mock.0.path().join("dev/cpu/4")).unwrap();
        fs::copy(mock.device(), mock.0.path().join("dev/cpu/4/msr")).unwrap();
        let source = mock.0.path().join("sys/devices").join(pmu);
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("cpus"), "0-3\n").unwrap();
        let refused = Off::on(&root, &[3, 4], Some(SWITCHES)).unwrap_err();
        assert!(refused.to_string().contains("`taskset -c 3`"), "{refused}");
        assert_eq!(mock.value(), BEFORE);
        for alike in [3, 4] {
            drop(Off::on(&root, &[alike], Some(SWITCHES)).unwrap());
        }
    }
}

#[test]
fn a_panic_puts_them_back() {
    let mock = Mock::new("panic");
    let root = mock.root();
    let panicked = std::thread::spawn(move || {
        let _off = off(&root);
        panic!("in the middle of a measurement");
    });
    assert!(panicked.join().is_err());
    assert_eq!(mock.value(), BEFORE);
}

#[test]
fn without_its_guardian_the_register_is_put_back_all_the_same() {
    let mock = Mock::new("orphan");
    let off = off(&mock.root());
    // SAFETY: the process is a child of this process and has not been waited for.
    unsafe { libc::kill(off._guardian.child, libc::SIGKILL) };
    drop(off);
    assert_eq!(mock.value(), BEFORE);
}

/// Not a test by itself: the code of the processes that the tests below end.
#[test]
fn switch_off_and_wait() {
    let Some(root) = Planted::passed() else { return };
    // The shell starts a background job with SIGINT ignored.
    // SAFETY: the default action is not a function.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
    let _off = off(&root);
    std::thread::sleep(Duration::from_secs(60));
}

/// Starts a process that switches the prefetchers off, ends it by `signal`, and waits until the
/// register has its old value.
fn killed_by(signal: i32) {
    let mock = Mock::new(&format!("killed-{signal}"));
    let test = "os::prefetchers::tests::switch_off_and_wait";
    let mut victim = mock.0.alone(test).spawn().unwrap();
    assert!(mock.comes_to(0x25), "never switched off");
    // SAFETY: the process is a child of this process and has not been waited for.
    unsafe { libc::kill(victim.id() as i32, signal) };
    victim.wait().unwrap();
    assert!(mock.comes_to(BEFORE), "still off after signal {signal}");
}

#[test]
fn a_process_that_is_killed_leaves_them_as_they_were() {
    killed_by(libc::SIGKILL);
}

#[test]
fn so_does_one_that_is_interrupted_or_aborts() {
    killed_by(libc::SIGINT);
    killed_by(libc::SIGABRT);
}

#[test]
fn each_refusal_says_what_is_missing() {
    let mock = Mock::new("refusals");
    let root = mock.root();
    let said = |refused: Refused| refused.to_string();
    assert!(said(Ready::here().unwrap_err()).contains("--allow-msr"));
    assert_eq!(look(&root, 3, None), Err(Refused::Unknown));
    let missing = said(Ready::at(&root, 4, SWITCHES).unwrap_err());
    assert!(missing.contains("dev/cpu/4/msr does not exist") && missing.contains("modprobe"));
    fs::create_dir_all(mock.0.path().join("dev/cpu/5/msr")).unwrap();
    let closed = said(Ready::at(&root, 5, SWITCHES).unwrap_err());
    assert!(closed.contains("cannot be opened: Is a directory"), "{closed}");
    // The file ends before this register, so that the read fails as on a CPU without the register.
    let none = PrefetchSwitches { register: 0xC000_0108, ..SWITCHES };
    let refused = said(Ready::at(&root, 3, none).unwrap_err());
    assert!(refused.starts_with("register 0xc0000108 cannot be read"), "{refused}");
}
