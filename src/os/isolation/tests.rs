//! Tests of isolation on folders that stand for `/sys` and `/proc`.

// Ends processes by signal.
#![allow(unsafe_code)]

use super::*;
use crate::os::root::{Planted, wait_until};

/// A machine with two CPUs, cgroup v2 and a device that interrupts either CPU.
struct Mock(Planted);

/// The files of the mock, and their initial text.
const FILES: [(&str, &str); 9] = [
    ("sys/devices/system/cpu/online", "0-1\n"),
    ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n"),
    ("sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n"),
    ("sys/fs/cgroup/users/cgroup.procs", ""),
    ("proc/self/cgroup", "1:name=systemd:/x\n0::/users\n"),
    ("proc/irq/24/smp_affinity_list", "0-1\n"),
    ("proc/irq/24/effective_affinity_list", "1\n"),
    ("proc/irq/25/smp_affinity_list", "0\n"),
    ("proc/interrupts", "CPU0 CPU1\nLOC: 1 2 Local timer interrupts\n"),
];

const CONTROL: &str = "sys/fs/cgroup/cgroup.subtree_control";
const HOME: &str = "sys/fs/cgroup/users/cgroup.procs";
const IRQ: &str = "proc/irq/24/smp_affinity_list";

impl Mock {
    fn new(name: &str) -> Self {
        Mock(Planted::new(&format!("isolation-{name}"), ".", &FILES))
    }

    fn text(&self, file: &str) -> String {
        let text = fs::read_to_string(self.0.path().join(file)).unwrap_or_default();
        text.trim().to_owned()
    }

    fn root(&self) -> Root {
        self.0.root()
    }

    fn of_partition(&self, process: u32, file: &str) -> String {
        self.text(&format!("sys/fs/cgroup/linefill-{process}/{file}"))
    }

    /// Waits until `file` holds `text`.
    fn comes_to(&self, file: &str, text: &str) -> bool {
        wait_until(|| self.text(file) == text)
    }
}

fn isolated(root: &Root) -> Isolated {
    Isolated::change(root, 1, Some(Plan::of(root, 1).unwrap())).unwrap()
}

#[test]
fn a_partition_is_made_and_undone() {
    let mock = Mock::new("dropped");
    let this = std::process::id();
    let isolated = isolated(&mock.root());
    assert_eq!((isolated.by, isolated.moved), (PARTITION, 1));
    assert!(isolated.alone() && isolated.notes.is_empty());
    assert_eq!(mock.text(CONTROL), "+cpuset");
    let of = |file| mock.of_partition(this, file);
    assert_eq!(of("cpuset.cpus"), "1");
    assert_eq!(of(KIND), "isolated");
    assert_eq!(of("cgroup.procs"), this.to_string());
    assert_eq!(mock.text(IRQ), "0");
    drop(isolated);
    assert_eq!(mock.text(HOME), this.to_string());
    // The mock's file keeps the rest of the longer old text; the kernel's file would hold one word.
    assert!(of(KIND).starts_with("member"), "{}", of(KIND));
    assert_eq!(mock.text(CONTROL), "-cpuset");
    assert_eq!(mock.text(IRQ), "0-1");
}

const KIND: &str = "cpuset.cpus.partition";

#[test]
fn a_cpu_isolated_by_the_command_line_needs_no_partition() {
    let mock = Mock::new("boot");
    let isolated = Isolated::change(&mock.root(), 1, None).unwrap();
    assert_eq!((isolated.by, isolated.alone()), (BOOT, false));
    assert_eq!((mock.text(IRQ), mock.text(CONTROL)), ("0".into(), "cpu memory".into()));
    drop(isolated);
    assert_eq!(mock.text(IRQ), "0-1");
}

#[test]
fn a_partition_that_the_kernel_calls_invalid_is_refused_and_undone() {
    let mock = Mock::new("invalid");
    let dir = format!("sys/fs/cgroup/linefill-{}", std::process::id());
    // A folder in place of the file makes the write fail.
    fs::create_dir_all(mock.0.path().join(format!("{dir}/{KIND}"))).unwrap();
    let plan = Plan::of(&mock.root(), 1).unwrap();
    let error = Isolated::change(&mock.root(), 1, Some(plan)).unwrap_err();
    assert!(error.contains(&dir), "{error}");
    assert_eq!(mock.text(CONTROL), "-cpuset");
}

#[test]
fn a_controller_that_cannot_be_handed_on_is_no_plan() {
    let mock = Mock::new("closed");
    // A folder cannot be opened for writing, also by root.
    let control = mock.0.path().join(CONTROL);
    fs::remove_file(&control).unwrap();
    fs::create_dir(&control).unwrap();
    let error = Plan::of(&mock.root(), 1).unwrap_err();
    assert!(error.contains(CONTROL), "{error}");
}

/// Not a test by itself: the code of the process whose standard error the next test reads.
#[test]
fn isolate_in_vain() {
    let Some(root) = Planted::passed() else { return };
    let plan = Plan::of(&root, 1).unwrap();
    fs::remove_dir_all(root.sys.join("fs/cgroup")).unwrap();
    assert!(Isolated::change(&root, 1, Some(plan)).is_err());
    let isolated = Isolated::change(&root, 1, None).unwrap();
    assert_eq!((isolated.moved, isolated.notes.len()), (0, 1));
}

#[test]
fn nothing_is_said_of_changes_that_were_refused() {
    let mock = Mock::new("in-vain");
    // The kernel refuses writes to this file, also to root.
    let irq = mock.0.path().join(IRQ);
    fs::remove_file(&irq).unwrap();
    std::os::unix::fs::symlink("/sys/devices/system/cpu/possible", irq).unwrap();
    let test = "os::isolation::tests::isolate_in_vain";
    let ran = mock.0.alone(test).output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.success() && said.is_empty(), "{said}");
}

#[test]
fn without_the_controller_there_is_no_plan() {
    let mock = Mock::new("version-1");
    mock.0.set("sys/fs/cgroup/cgroup.controllers", "cpu memory");
    let error = Plan::of(&mock.root(), 1).unwrap_err();
    assert!(error.contains("version 1"), "{error}");
    fs::remove_dir_all(mock.0.path().join("sys/fs/cgroup")).unwrap();
    let error = Plan::of(&mock.root(), 1).unwrap_err();
    assert!(error.contains("not mounted"), "{error}");
    // A hybrid hierarchy has version 2 beside version 1.
    for file in ["cgroup.controllers", "cgroup.subtree_control"] {
        mock.0.set(&format!("sys/fs/cgroup/unified/{file}"), "cpuset");
    }
    assert!(Plan::of(&mock.root(), 1).is_ok());
}

fn check(name: &'static str, state: State) -> Check {
    Check { name, state, found: format!("{name} as found"), why: "", mend: format!("mend {name}") }
}

#[test]
fn everything_that_is_missing_is_named_at_once() {
    let mock = Mock::new("missing");
    let of = |checks: &[Check]| plan(&mock.root(), 1, checks);
    let good = check(TICKLESS, State::Good);
    assert_eq!(of(&[check(ISOLATED, State::Good), good.clone()]), Ok(None));
    // The partition replaces the setting.
    assert!(of(&[check(ISOLATED, State::Warn), good]).unwrap().is_some());
    fs::remove_dir_all(mock.0.path().join("sys/fs/cgroup")).unwrap();
    let missing = of(&[
        check(ISOLATED, State::Warn),
        check(TICKLESS, State::Unknown),
        check("steal time", State::Warn),
        check("SMT sibling", State::Bad),
    ])
    .unwrap_err();
    let refused = Refused { cpu: 1, missing };
    let names: Vec<&str> = refused.missing.iter().map(|of| of.what.as_str()).collect();
    assert_eq!(names, [ISOLATED, TICKLESS, "SMT sibling"]);
    let absent = [check(ISOLATED, State::Warn), check(CHOSEN, State::Bad)];
    assert_eq!(of(&absent).unwrap_err().len(), 1);
    let text = refused.to_string();
    for said in ["CPU 1 is not isolated", "not mounted", "mend tickless CPU"] {
        assert!(text.contains(said), "{said} in {text}");
    }
}

#[test]
fn a_cpu_is_quiet_if_hardly_anything_came() {
    let seen = |count, involuntary| Seen {
        count,
        interrupts: vec!["250 LOC (Local timer interrupts)".to_owned()],
        disturbance: Disturbance { involuntary: Some(involuntary), ..Disturbance::default() },
    };
    assert_eq!(seen(FEW, 0).missing(1), None);
    let ticks = seen(FEW + 1, 0).missing(1).unwrap();
    assert!(ticks.found.contains("250 LOC"), "{ticks:?}");
    let others = seen(0, 1).missing(1).unwrap();
    assert!(others.found.contains("switched 1 times"), "{others:?}");
}

/// Not a test by itself: the code of the process that the next test kills.
#[test]
fn isolate_and_wait() {
    let Some(root) = Planted::passed() else { return };
    let _isolated = isolated(&root);
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_process_that_is_killed_leaves_everything_as_it_was() {
    let mock = Mock::new("killed");
    let test = "os::isolation::tests::isolate_and_wait";
    let mut victim = mock.0.alone(test).spawn().unwrap();
    assert!(mock.comes_to(IRQ, "0"), "never isolated");
    assert_eq!(mock.of_partition(victim.id(), KIND), "isolated");
    // SAFETY: the process is a child of this process and has not been waited for.
    unsafe { libc::kill(victim.id() as i32, libc::SIGKILL) };
    victim.wait().unwrap();
    assert!(mock.comes_to(IRQ, "0-1"), "still moved");
    assert_eq!(mock.text(CONTROL), "-cpuset");
    assert!(mock.of_partition(victim.id(), KIND).starts_with("member"));
}
