//! If a sandbox or a limit refuses threads, clocks or stacks, the program reports it and continues.
#![cfg(feature = "lab")]

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::common::cli::{Folder, Ran, Record, UnderWay, program, words};
use crate::common::untested;
use linefill::experiment::{State, Untestable};

/// A filter's reaction to a system call.
#[derive(Clone, Copy)]
enum Rule {
    /// Refuses it with this error.
    Refuse(libc::c_long, i32),
    /// Refuses it with this error if its first argument has one of these bits.
    RefuseWith(libc::c_long, u32, i32),
}

/// Refuses threads but allows processes. A caller for which `clone3` does not exist uses `clone`, whose flags
/// the filter can read.
const NO_THREADS: [Rule; 2] = [
    Rule::Refuse(libc::SYS_clone3, libc::ENOSYS),
    Rule::RefuseWith(libc::SYS_clone, libc::CLONE_THREAD as u32, libc::EAGAIN),
];

const NO_USAGE: [Rule; 1] = [Rule::Refuse(libc::SYS_getrusage, libc::EPERM)];

const NO_SLEEP: [Rule; 2] = [
    Rule::Refuse(libc::SYS_clock_nanosleep, libc::EPERM),
    Rule::Refuse(libc::SYS_nanosleep, libc::EPERM),
];

/// Installs a seccomp filter in the child of `command`.
fn with_rules(mut command: Command, rules: &[Rule]) -> Command {
    let step = |code: u32, jump: [u8; 2], k: u32| libc::sock_filter {
        code: code as u16,
        jt: jump[0],
        jf: jump[1],
        k,
    };
    let load = |at: u32| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, [0, 0], at);
    let give = |answer: u32| step(libc::BPF_RET | libc::BPF_K, [0, 0], answer);
    let refuse = |error: i32| give(libc::SECCOMP_RET_ERRNO | error.unsigned_abs());
    let is = |number: libc::c_long, skip: u8| {
        let jump = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        step(jump, [0, skip], number as u32)
    };
    // struct seccomp_data: the number of the system call at offset 0, the low half of the first argument at
    // offset 16.
    let mut filter = Vec::new();
    for &rule in rules {
        filter.push(load(0));
        match rule {
            Rule::Refuse(number, error) => filter.extend([is(number, 1), refuse(error)]),
            Rule::RefuseWith(number, bits, error) => filter.extend([
                is(number, 3),
                load(16),
                step(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, [0, 1], bits),
                refuse(error),
            ]),
        }
    }
    filter.push(give(libc::SECCOMP_RET_ALLOW));
    let install = move || {
        let program =
            libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
        // SAFETY: signal-safety(7) allows these system calls; the filter outlives them.
        let installed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
        };
        match installed {
            true => Ok(()),
            false => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure only makes system calls, and allocates nothing.
    unsafe { command.pre_exec(install) };
    command
}

/// Runs `args` under a filter in a folder. If the kernel has no seccomp, reports this and returns `None`.
fn under(rules: &[Rule], folder: &Folder, args: &[&str]) -> Option<Ran> {
    let mut nothing = with_rules(Command::new("true"), rules);
    if let Err(error) = nothing.status() {
        untested::tool(&format!("seccomp ({error})"));
        return None;
    }
    Some(Ran::of(&mut with_rules(folder.linefill(args), rules)))
}

/// Experiments with the threads of k-means, of a pool, and of thread groups.
const THREADED: [&str; 9] = ["run", "B1", "B6", "B9", "E42", "--memory", "1MiB", "--budget", "1s"];

#[track_caller]
fn has_reasons_for_threads(record: &Record) {
    let reasons = record.points.iter().filter_map(|line| match &line.point.state {
        State::Untestable(Untestable(reason)) => Some(reason.as_str()),
        _ => None,
    });
    let reasons: Vec<&str> = reasons.collect();
    assert!(reasons.iter().any(|reason| reason.contains("thread")), "{reasons:?}");
    assert_eq!(record.interrupted, Some(false));
}

#[test]
fn refused_threads_are_reasons() {
    let folder = Folder::new("no-threads");
    let Some(doctor) = under(&NO_THREADS, &folder, &["doctor"]) else {
        return;
    };
    assert!(doctor.answered().out.contains("Measuring on CPU"));
    under(&NO_THREADS, &folder, &THREADED).unwrap().ok();
    has_reasons_for_threads(&folder.record());
}

/// Limits on processes do not apply to root. As root, the test therefore runs the program as a user who has
/// no processes, in a folder where that user may read it.
#[test]
fn a_limit_of_one_process_is_a_reason() {
    let folder = Folder::new("nproc");
    let everybody = || std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder.at(""), everybody()).unwrap();
    let copy = folder.at("linefill");
    std::fs::copy(program(), &copy).unwrap();
    std::fs::set_permissions(&copy, everybody()).unwrap();
    let somebody = 30_000 + std::process::id() % 30_000;
    let limited = |args: &[&str]| {
        let mut command = Command::new(&copy);
        command.args(args).current_dir(folder.at(""));
        // SAFETY: the closure makes system calls with numbers and with a structure on its stack.
        unsafe {
            command.pre_exec(move || {
                let most = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
                let root = libc::getuid() == 0;
                let done = libc::setrlimit(libc::RLIMIT_NPROC, &most) == 0
                    && (!root || libc::setgid(somebody) == 0 && libc::setuid(somebody) == 0);
                match done {
                    true => Ok(()),
                    false => Err(io::Error::last_os_error()),
                }
            });
        }
        Ran::of(&mut command)
    };
    let doctor = limited(&["doctor"]).answered().out;
    assert!(doctor.contains("Measuring on CPU"), "{doctor}");
    limited(&THREADED).ok();
    has_reasons_for_threads(&folder.record());
}

#[test]
fn a_refused_getrusage_is_a_note() {
    let folder = Folder::new("no-usage");
    let Some(doctor) = under(&NO_USAGE, &folder, &["doctor"]) else {
        return;
    };
    let doctor = doctor.answered().out;
    assert!(doctor.contains("getrusage"), "{doctor}");
    let args = ["run", "D11", "B13", "--memory", "1MiB", "--budget", "1s"];
    under(&NO_USAGE, &folder, &args).unwrap().ok();
    let record = folder.record();
    assert_eq!(record.interrupted, Some(false));
    let notes = record.header.notes;
    assert!(notes.iter().any(|note| note.contains("getrusage")), "{notes:?}");
}

#[test]
fn a_run_that_goes_on_notes_what_is_refused_now() {
    let folder = Folder::new("no-usage-now");
    let mut run = UnderWay::start(&folder, folder.short(&["D11"]));
    run.until(4);
    run.kill();
    let Some(resumed) = under(&NO_USAGE, &folder, &["run", "--resume"]) else {
        return;
    };
    resumed.ok();
    let notes = folder.record().header.notes;
    assert!(notes.iter().any(|note| note.contains("getrusage")), "{notes:?}");
}

#[test]
fn a_refused_sleep_is_done_without() {
    let folder = Folder::new("no-sleep");
    let Some(doctor) = under(&NO_SLEEP, &folder, &["doctor"]) else {
        return;
    };
    doctor.answered();
    let args = ["run", "D11", "F1", "--memory", "1MiB", "--budget", "1s"];
    under(&NO_SLEEP, &folder, &args).unwrap().ok();
    assert_eq!(folder.record().interrupted, Some(false));
    let args = words("watch D14 --memory 1MiB --every 1s --rounds 2");
    under(&NO_SLEEP, &folder, &args).unwrap().ok();
}

/// The code closes its output and loops, so that the program must wait for it.
#[test]
fn a_refused_sleep_does_not_end_the_wait_for_code() {
    if !untested::starts("cc") {
        return;
    }
    let folder = Folder::new("no-sleep-time");
    let close = "mov edi, 3; 1: mov eax, 3; syscall; inc edi; cmp edi, 1024; jne 1b; 2: jmp 2b";
    let args = ["time", "--asm", "nop", "--init", close, "--timeout", "1s"];
    if let Some(ran) = under(&NO_SLEEP, &folder, &args) {
        ran.refused(&["did not come to an end within 1 s"]);
    }
}

#[test]
fn refused_memory_nodes_are_reasons() {
    let folder = Folder::new("no-mbind");
    let args = ["run", "D14", "--memory", "64KiB", "--node", "0"];
    let Some(ran) = under(&[Rule::Refuse(libc::SYS_mbind, libc::EPERM)], &folder, &args) else {
        return;
    };
    if ran.err.contains("tells of no memory nodes") {
        return untested::machine("the kernel tells of no memory nodes");
    }
    ran.ok();
    let record = folder.record();
    assert_eq!(record.interrupted, Some(false));
    for line in record.of_experiment("D14") {
        let State::Untestable(Untestable(reason)) = &line.point.state else {
            panic!("{line:?}");
        };
        let expected = "memory on node 0 refused by mbind: Operation not permitted";
        assert!(reason.starts_with(expected), "{reason}");
    }
    let unknown = [Rule::Refuse(libc::SYS_set_mempolicy, libc::ENOSYS)];
    let ran = under(&unknown, &folder, &args).unwrap();
    ran.refused(&["--node 0: set_mempolicy is refused", "not implemented"]);
    // A run that chooses no nodes must not make these system calls.
    let both = [
        Rule::Refuse(libc::SYS_mbind, libc::EPERM),
        Rule::Refuse(libc::SYS_move_pages, libc::EPERM),
    ];
    under(&both, &folder, &args[..4]).unwrap().ok();
    let measured = folder.record();
    let points = measured.of_experiment("D14");
    assert!(points.iter().all(|line| line.point.measured().is_some()));
}

#[test]
fn a_small_stack_is_enough() {
    let folder = Folder::new("stack");
    let run: [&[&str]; 4] = [
        &["list"],
        &["--help"],
        &["doctor"],
        &["run", "D11", "E4", "--memory", "1MiB", "--budget", "1s"],
    ];
    for args in run {
        let mut command = folder.linefill(args);
        // The environment of a program also takes stack space.
        command.env_clear();
        // SAFETY: the closure makes a system call with a structure on its stack.
        unsafe {
            command.pre_exec(|| {
                let small = libc::rlimit { rlim_cur: 64 << 10, rlim_max: 64 << 10 };
                match libc::setrlimit(libc::RLIMIT_STACK, &small) {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                }
            });
        }
        let ran = Ran::of(&mut command);
        match args {
            ["doctor"] => ran.answered(),
            _ => ran.ok(),
        };
    }
    assert_eq!(folder.record().interrupted, Some(false));
}
