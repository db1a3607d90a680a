//! No worker survives the process that started it, however that process ends: threads end with their
//! process, and second processes watch for its end. Each test runs in its own process, because it
//! adopts every orphan and waits for any child.
// Processes are ended and waited for by calls into C.
#![allow(unsafe_code)]

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common;
use crate::common::cli::Folder;
use linefill::cpu::Caches;
use linefill::host::ThreadGroup as _;
use linefill::kernel::{Motion, RoundTrip, RoundTripWay, Vector};
use linefill::mem::Region;
use linefill::os::{
    BackgroundLoad, BackgroundProcess, RoundOptions, Worker, allowed, thread_group,
};
use linefill::pattern::Rng;

/// The maximum time until an orphan ends.
const PATIENCE: Duration = Duration::from_secs(20);

/// The environment variable that tells a victim what to do.
const VICTIM: &str = "LINEFILL_TEST_VICTIM";

/// The environment variable that marks a process that runs only one test.
const ALONE: &str = "LINEFILL_TEST_ALONE";

/// In a process that runs only one test: makes the process the parent of all orphans among its descendants,
/// also in other sessions, and returns `true`. Otherwise: runs the test `name` of `module` alone in a new
/// process, panics unless it passes there, and returns `false`.
fn adopting(module: &str, name: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        // SAFETY: the call takes only numbers.
        let adopted = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        assert_eq!(adopted, 0);
        return true;
    }
    let mut alone = common::child::exact(module, name);
    let output = alone.env(ALONE, "1").output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
    let passed = output.status.success() && out.contains("1 passed");
    assert!(passed, "{out}{err}");
    false
}

/// Waits until this process has no children, running or dead.
fn none_is_left(what: &str) {
    let began = Instant::now();
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for writes.
        match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
            -1 => return,
            0 => {
                let left = children_of(std::process::id());
                assert!(began.elapsed() < PATIENCE, "{what}: {left:?} are left");
                std::thread::sleep(Duration::from_millis(1));
            }
            _ => {}
        }
    }
}

/// Returns the processes whose parent is `parent`.
fn children_of(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |number: &u32| {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        // The name is in parentheses and may contain any character.
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        rest.split(' ').nth(1) == Some(parent.to_string().as_str())
    };
    numbers.filter(is_child).collect()
}

fn load(cpu: usize) -> BackgroundLoad {
    BackgroundLoad { cpu, bytes: 1 << 20, motion: Motion::Write, vector: Vector::Sse2 }
}

/// Two threads pass a token back and forth.
fn threads_at_work(cpus: &[usize], rounds: usize) {
    let mut memory = vec![0; 256];
    let words = Region::new(&mut memory).unwrap().into_atomics();
    let worker = |index: usize| Worker {
        cpu: cpus[index % cpus.len()],
        kernel: Box::new(RoundTrip::new(words, 0, index, 2, RoundTripWay::Store).unwrap()),
    };
    let options = RoundOptions { ahead: 50_000, keep_on: false };
    thread_group(&mut [worker(0), worker(1)], options, |group| {
        for _ in 0..rounds {
            group.round(10);
        }
    })
    .unwrap();
}

/// Not a test: runs in the processes that the tests below start and end.
#[test]
fn start_workers() {
    let Ok(how) = std::env::var(VICTIM) else {
        return;
    };
    // A shell starts background jobs with these signals ignored.
    for signal in [libc::SIGINT, libc::SIGHUP] {
        // SAFETY: the default action is not a function.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let cpus = allowed();
    loop {
        let process = BackgroundProcess::start(load(cpus[0])).unwrap();
        let another = BackgroundProcess::start(load(cpus[cpus.len() - 1])).unwrap();
        match how.as_str() {
            "panics" => panic!("in the middle of a measurement"),
            "exits" => std::process::exit(3),
            "aborts" => std::process::abort(),
            // On one CPU, a round takes several time slices.
            _ if cpus.len() > 1 => threads_at_work(&cpus, 3),
            _ => {}
        }
        drop((process, another));
    }
}

/// Starts a process whose output is dropped.
fn silent(command: &mut Command) -> Child {
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Starts a process that repeatedly starts and ends workers, or ends itself.
fn victim(how: &str) -> Child {
    let mut command = common::child::exact(module_path!(), "start_workers");
    silent(command.env(VICTIM, how))
}

fn send(child: &Child, signal: i32) {
    // SAFETY: this is a child of this process that was not waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
}

#[test]
fn a_process_killed_at_any_moment_leaves_no_worker() {
    if !adopting(module_path!(), "a_process_killed_at_any_moment_leaves_no_worker") {
        return;
    }
    let mut rng = Rng::new(7);
    let mut with_workers = 0;
    for round in 0..400 {
        // A busy machine takes longer to start the workers: more rounds, up to a limit.
        if round >= 100 && with_workers > 10 {
            break;
        }
        let mut child = victim("works");
        let pause = rng.below(30_000) as u64;
        std::thread::sleep(Duration::from_micros(pause));
        with_workers += usize::from(!children_of(child.id()).is_empty());
        send(&child, libc::SIGKILL);
        child.wait().unwrap();
        none_is_left(&format!("round {round}, killed after {pause} us"));
    }
    assert!(with_workers > 10, "{with_workers} of 400 had any");
}

#[test]
fn whatever_else_ends_it_leaves_none_either() {
    if !adopting(module_path!(), "whatever_else_ends_it_leaves_none_either") {
        return;
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGABRT] {
        let mut child = victim("works");
        let began = Instant::now();
        while children_of(child.id()).is_empty() {
            assert!(began.elapsed() < PATIENCE, "it starts no worker");
        }
        send(&child, signal);
        child.wait().unwrap();
        none_is_left(&format!("signal {signal}"));
    }
    for how in ["panics", "exits", "aborts"] {
        let ended = victim(how).wait().unwrap();
        assert!(!ended.success());
        none_is_left(how);
    }
}

/// Ends `kills` runs, each at a random time after it has started to measure. If none of them had a second
/// process at that time, ends up to `most` runs. Runs take turns in the folders, and the second
/// one in a folder goes on where the first was ended: it need not find the caches again, which takes long on
/// a large last level. Returns how many had a second process.
fn kill_runs(runs: &[(Folder, Vec<&str>)], kills: usize, most: usize) -> usize {
    let mut rng = Rng::new(11);
    let mut with_workers = 0;
    for round in 0..most {
        let wanted = with_workers == 0 && allowed().len() > 1;
        if round >= kills && !wanted {
            break;
        }
        let (folder, first) = &runs[round % runs.len()];
        let record = folder.at("linefill-out/record.jsonl");
        let points = || {
            let text = fs::read_to_string(&record).unwrap_or_default();
            text.matches(r#""kind":"point","experiment":"D"#).count()
        };
        let before = points();
        let mut run = silent(&mut match before {
            0 => folder.linefill(first),
            _ => folder.linefill(&["run", "--resume"]),
        });
        let began = Instant::now();
        let id = run.id();
        let measuring = || !children_of(id).is_empty() || points() > before;
        // A run may measure nothing, if the last level is too large for its small memory.
        let mut ended = false;
        while !ended && !measuring() {
            // The run calibrates first, which takes long if the CPUs have other work.
            assert!(began.elapsed() < 10 * PATIENCE, "it does not begin");
            std::thread::sleep(Duration::from_millis(1));
            ended = run.try_wait().unwrap().is_some();
        }
        if ended {
            none_is_left(&format!("run {round}, ended by itself"));
            continue;
        }
        let pause = rng.below(300) as u64;
        std::thread::sleep(Duration::from_millis(pause));
        with_workers += usize::from(!children_of(run.id()).is_empty());
        // Both kinds of run get each of the signals.
        let signal = [libc::SIGKILL, libc::SIGINT][round / 2 % 2];
        send(&run, signal);
        run.wait().unwrap();
        none_is_left(&format!("run {round}, signal {signal} after {pause} ms"));
    }
    with_workers
}

#[test]
fn a_run_that_is_killed_leaves_neither_thread_nor_process() {
    if !adopting(module_path!(), "a_run_that_is_killed_leaves_neither_thread_nor_process") {
        return;
    }
    // A second process uses half of the last level: of the measured one, which a guest may have little of, or
    // of the reported one, which takes long to measure.
    let caches = Caches::detect();
    let reported = caches.last_level().map_or(0, |cache| cache.size >> 20);
    let mut with_workers = 0;
    for (memory, most) in [(16, 10), ((reported / 2).max(16), 16)] {
        let memory = format!("{memory}MiB");
        // One run starts second processes, the other starts threads.
        let runs = [
            (Folder::new("orphans"), vec!["run", "D44", "--memory", &memory]),
            (Folder::new("orphans-threads"), vec!["run", "D39", "--memory", "16MiB"]),
        ];
        with_workers += kill_runs(&runs, 4, most);
        if with_workers > 0 {
            break;
        }
    }
    let two_cpus = allowed().len() > 1;
    assert!(!two_cpus || with_workers > 0, "none had a second process");
}

/// The guardian process, which restores the prefetchers, must end after its run has ended.
#[test]
fn neither_does_the_guardian_of_a_register_stay() {
    use std::os::unix::fs::FileExt;
    if !adopting(module_path!(), "neither_does_the_guardian_of_a_register_stay") {
        return;
    }
    let folder = Folder::new("orphans-msr");
    for cpu in allowed() {
        let dir = folder.at(&format!("root/dev/cpu/{cpu}"));
        fs::create_dir_all(&dir).unwrap();
        let file = fs::File::create(dir.join("msr")).unwrap();
        for register in [0x1A0, 0x1A4, 0xC000_0108] {
            file.write_all_at(&[0; 8], register).unwrap();
        }
    }
    for pause in [0, 5, 20, 60] {
        let mut command = folder.linefill(&["run", "E35", "--memory", "1MiB", "--allow-msr"]);
        let mut run = silent(command.env("LINEFILL_ROOT", folder.at("root")));
        // Waits until the guardian exists or the run has ended: the register of this CPU may be unknown.
        while run.try_wait().unwrap().is_none() && children_of(run.id()).is_empty() {
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_millis(pause));
        send(&run, libc::SIGKILL);
        run.wait().unwrap();
        none_is_left(&format!("killed {pause} ms after the guardian came"));
    }
}
