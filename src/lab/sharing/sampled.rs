//! Watches a running process by the PMU, with a ring buffer per thread and event that is read every few
//! milliseconds. A new thread is watched from the next read on.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::program::{How, Sampling, Traced, Variable, found, variables_of};
use super::trace::Trace;
use crate::os::clock::pause;
use crate::os::perf::{Record, Refusal, Sampled, Sampler, access_events};
use crate::os::resume;
use crate::os::root::Root;
use crate::sim::Op;

/// Time between two reads of the rings. At a sample per 10 microseconds a ring holds 16 milliseconds.
const LOOK: Duration = Duration::from_millis(5);

/// Stops before it becomes the command, so that the command is watched from its beginning. The command's
/// output goes to the standard error, as under valgrind.
const SHELL: &str = "kill -STOP $$; exec \"$@\" >&2";

/// The statuses of a shell that cannot execute or find a command.
const NOT_RUN: [Option<i32>; 2] = [Some(126), Some(127)];

/// Returns the events by which this process may sample accesses.
///
/// # Errors
/// If there is no such event. The error is the reason.
pub(crate) fn events() -> Result<Vec<Sampled>, String> {
    let mut events = access_events(&Root::live())?;
    let mut refused = None;
    events.retain(|event| match Sampler::probe(event) {
        Ok(()) => true,
        Err(refusal) => {
            let ibs = event.name == "ibs_op" && refusal == Refusal::Event;
            let more = if ibs { "; ibs_op of one process needs Linux 6.2" } else { "" };
            refused.get_or_insert(format!("{}: {refusal} ({}){more}", event.name, refusal.mend()));
            false
        }
    });
    match refused {
        Some(refused) if events.is_empty() => Err(refused),
        _ => Ok(events),
    }
}

/// Runs `command` until it ends or `stop` is set, and samples its accesses.
pub(crate) fn run(
    command: &[OsString],
    events: &[Sampled],
    line: u64,
    stop: &AtomicBool,
) -> Result<Traced> {
    let (name, _) = command.split_first().context("no command")?;
    let mut child = Command::new("sh")
        .args(["-c", SHELL, "sh"])
        .args(command)
        .spawn()
        .context("sh cannot be run")?;
    let watched = run_child(&mut child, name, events, line, stop);
    if watched.is_err() || stop.load(Ordering::Relaxed) {
        // An error is ignored: the child may have ended by itself.
        let _ = child.kill();
    }
    let status = child.wait().context("sh")?;
    let mut traced = watched?;
    if NOT_RUN.contains(&status.code()) && traced.trace.accesses == 0 {
        bail!("{} was not run ({status})", name.display());
    }
    traced.status = (!status.success()).then(|| status.to_string());
    Ok(traced)
}

fn run_child(
    child: &mut Child,
    name: &OsString,
    events: &[Sampled],
    line: u64,
    stop: &AtomicBool,
) -> Result<Traced> {
    let id = child.id();
    while state(id) != Some('T') && !stop.load(Ordering::Relaxed) {
        if let Some(status) = child.try_wait()? {
            bail!("sh did not wait to be watched ({status})");
        }
        pause(Duration::from_millis(1));
    }
    let mut watch = Watch::new(id, events, line)?;
    resume(id).context("sh does not go on")?;
    let file = found(name);
    loop {
        // Checked before the read, so that the last read sees all samples until the end.
        let over = child.try_wait()?.is_some() || stop.load(Ordering::Relaxed);
        watch.look(file.as_deref())?;
        if over {
            break;
        }
        pause(LOOK);
    }
    let mut traced = watch.done();
    traced.file = file;
    Ok(traced)
}

/// Samples the process `id` for `time`, until it ends, or until `stop` is set.
///
/// # Errors
/// If there is no such process, or this process may not watch it.
pub(crate) fn watch(
    id: u32,
    time: Duration,
    events: &[Sampled],
    line: u64,
    stop: &AtomicBool,
) -> Result<Traced> {
    if matches!(state(id), None | Some('Z')) {
        bail!("--pid {id}: no such process");
    }
    let file = fs::read_link(format!("/proc/{id}/exe")).ok();
    let mut watch = Watch::new(id, events, line)?;
    while watch.began.elapsed() < time
        && !stop.load(Ordering::Relaxed)
        && !matches!(state(id), None | Some('Z'))
    {
        watch.look(file.as_deref())?;
        pause(LOOK);
    }
    watch.look(file.as_deref())?;
    let mut traced = watch.done();
    traced.file = file;
    Ok(traced)
}

struct Watch<'e> {
    id: u32,
    events: &'e [Sampled],
    began: Instant,
    threads: HashMap<u32, Vec<Sampler>>,
    trace: Trace,
    sampling: Sampling,
    variables: Option<Vec<Variable>>,
}

impl<'e> Watch<'e> {
    /// Starts to watch the present threads.
    fn new(id: u32, events: &'e [Sampled], line: u64) -> Result<Self> {
        let named = events.iter().map(|event| (event.name.clone(), event.period));
        let mut watch = Watch {
            id,
            events,
            began: Instant::now(),
            threads: HashMap::new(),
            trace: Trace::new(line),
            sampling: Sampling { events: named.collect(), ..Sampling::default() },
            variables: None,
        };
        watch.find_threads();
        match &watch.sampling.unwatched {
            Some(reason) if watch.threads.is_empty() => {
                bail!("process {id} cannot be watched: {reason}; is it another user's?")
            }
            _ => Ok(watch),
        }
    }

    /// Starts to watch new threads. Returns all present threads.
    fn find_threads(&mut self) -> Vec<u32> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id));
        let names = tasks.into_iter().flatten().flatten().map(|entry| entry.file_name());
        let there: Vec<u32> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
        for thread in &there {
            if self.threads.contains_key(thread) {
                continue;
            }
            let open = |event| Sampler::open(event, *thread as i32);
            match self.events.iter().map(open).collect::<io::Result<Vec<Sampler>>>() {
                Ok(samplers) => drop(self.threads.insert(*thread, samplers)),
                // The thread has ended in the meantime.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => {
                    let mend = match error.raw_os_error() {
                        Some(libc::EMFILE) => " (ulimit -n)",
                        // The kernel also returns EPERM if the rings take too much locked memory.
                        Some(libc::EPERM) => " (kernel.perf_event_mlock_kb, ulimit -l)",
                        _ => "",
                    };
                    let reason = format!("perf_event_open of thread {thread}: {error}{mend}");
                    self.sampling.unwatched.get_or_insert(reason);
                }
            }
        }
        there
    }

    /// Reads all rings, and starts to watch new threads. `file` is the executable of the process.
    fn look(&mut self, file: Option<&Path>) -> Result<()> {
        let there = self.find_threads();
        let (trace, sampling, id) = (&mut self.trace, &mut self.sampling, self.id);
        let mut outcome = Ok(());
        for sampler in self.threads.values_mut().flatten() {
            sampler.drain(|record| {
                if outcome.is_ok() {
                    outcome = take(record, id, trace, sampling);
                }
            });
        }
        outcome?;
        self.threads.retain(|thread, _| {
            let lives = there.contains(thread);
            if !lives {
                trace.end(u64::from(*thread));
            }
            lives
        });
        if self.variables.is_none() {
            // `None` while the shell has not become the command yet.
            self.variables = file.and_then(|file| variables_of(file, id));
        }
        Ok(())
    }

    fn done(mut self) -> Traced {
        self.sampling.seconds = self.began.elapsed().as_secs_f64();
        Traced {
            trace: self.trace,
            variables: self.variables.unwrap_or_default(),
            file: None,
            status: None,
            how: How::Pmu(self.sampling),
        }
    }
}

/// Adds a record of process `id` to the trace.
fn take(record: Record, id: u32, trace: &mut Trace, sampling: &mut Sampling) -> Result<()> {
    let (instruction, process, thread, address, source) = match record {
        Record::Lost(count) => {
            sampling.lost += count;
            return Ok(());
        }
        Record::Sample { instruction, process, thread, address, source } => {
            (instruction, process, thread, address, source)
        }
    };
    let op = match (source.loads(), source.stores() || source.locks()) {
        (true, true) => Some(Op::Modify),
        (true, false) => Some(Op::Load),
        (false, _) => source.stores().then_some(Op::Store),
    };
    // The kernel's addresses are the upper half of the address space.
    let kernels = |address: u64| address >> 63 != 0;
    match op {
        Some(op) if process == id && address != 0 && !kernels(address) && !kernels(instruction) => {
            trace.sample(u64::from(thread), address, op, source.modified_elsewhere())
        }
        _ => {
            sampling.blank += 1;
            Ok(())
        }
    }
}

/// Returns the state of process `id`: the letter in `/proc/ID/stat`.
fn state(id: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The process name before the state may contain any characters.
    stat.rsplit_once(") ")?.1.chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::layout::Places;
    use crate::lab::sharing::FalselyShared;
    use crate::os::perf::{DataSource, page_faults};
    use crate::untested;

    const LOAD: u64 = 0x2;
    const STORE: u64 = 0x4;
    const HITM: u64 = 0x10 << 19;
    const LOCKED: u64 = 0x2 << 24;

    fn sample(thread: u32, address: u64, source: u64) -> Record {
        Record::Sample {
            instruction: 0x40_1000,
            process: 7,
            thread,
            address,
            source: DataSource(source),
        }
    }

    /// Returns the trace of these records of process 7, each repeated the given number of times.
    fn told(records: &[(Record, usize)]) -> Traced {
        let (mut trace, mut sampling) = (Trace::new(64), Sampling::default());
        for (record, times) in records {
            for _ in 0..*times {
                take(*record, 7, &mut trace, &mut sampling).unwrap();
            }
        }
        sampling.events = vec![("cpu/mem-loads/".to_owned(), 4999)];
        Traced {
            trace,
            variables: vec![Variable {
                name: "pool".to_owned(),
                address: 0x2000,
                size: 64,
                linked: 0x2000,
            }],
            file: None,
            status: None,
            how: How::Pmu(sampling),
        }
    }

    #[test]
    fn samples_become_lines_threads_and_bytes() {
        let other_process = Record::Sample {
            instruction: 1,
            process: 8,
            thread: 21,
            address: 0x1000,
            source: DataSource(STORE),
        };
        let traced = told(&[
            (sample(21, 0x1000, STORE), 50),
            (sample(22, 0x1008, STORE), 60),
            // A locked addition is sampled as a load.
            (sample(21, 0x2000, LOAD | LOCKED | HITM), 5),
            (sample(22, 0x2008, LOAD | LOCKED), 4),
            (sample(22, 0x2010, LOAD), 4),
            // A line that no thread writes.
            (sample(21, 0x3000, LOAD), 9),
            (sample(22, 0x3008, LOAD), 9),
            (Record::Lost(12), 1),
            (other_process, 2),
            (sample(21, 0, LOAD), 1),
            (sample(21, u64::MAX, LOAD), 1),
            (sample(21, 0x4000, 0x1), 1),
        ]);
        let tree = crate::lab::session::debug_tree();
        let places = Places { named: None, tree: &tree };
        let found = FalselyShared::of(&traced, 64, 3, &places);
        let text = found.text();
        for part in [
            "141 samples of 2 threads in 0.0 s, 1 of 4999 by cpu/mem-loads/.",
            "12 more samples were lost",
            "5 more samples were not accesses",
            "thread 21 writes pool+0; 5 samples: 5 loads found the line modified by another core, \
             5 stores",
            "thread 22 writes pool+8, reads pool+16; 8 samples: 0 loads",
            "thread 22 writes byte 8; 60 samples",
            "linefill sharing --offset 0:1 --offset 8:1 --start 0 --writes 0:0,1:8",
            "2 lines are shared falsely by threads with at least 3 samples each.",
        ] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        let json = found.json();
        // The line that other cores had modified comes first, although it has fewer samples.
        assert_eq!(json["lines"][0]["address"], 0x2000, "{json:#}");
        assert_eq!(json["lines"][0]["threads"][0]["thread"], 21);
        assert_eq!(json["lines"][0]["threads"][0]["loads_of_modified"], 5);
        assert_eq!(json["by"]["lost"], 12);
        let more = FalselyShared::of(&traced, 64, 10, &places).json();
        assert_eq!(more["lines"].as_array().unwrap().len(), 1, "{more:#}");
    }

    #[test]
    fn a_process_is_watched_from_its_beginning_to_its_end() {
        let events = [page_faults()];
        if let Err(refusal) = Sampler::probe(&events[0]) {
            return untested::machine(&format!("page faults are not sampled: {refusal}"));
        }
        let watched = |command: &[&str]| {
            let command: Vec<OsString> = command.iter().map(OsString::from).collect();
            run(&command, &events, 64, &AtomicBool::new(false))
        };
        let traced = watched(&["sh", "-c", "exit 3"]).unwrap();
        let How::Pmu(sampling) = &traced.how else { panic!("{:?}", traced.how) };
        // The kernel does not report whether a page fault was a load.
        assert!(sampling.blank > 10, "{sampling:?}");
        assert_eq!((traced.trace.accesses, sampling.lost), (0, 0));
        assert_eq!(sampling.unwatched, None);
        assert_eq!(traced.status.as_deref(), Some("exit status: 3"));
        let error = watched(&["./no-such-program"]).unwrap_err().to_string();
        assert!(error.contains("./no-such-program was not run"), "{error}");
    }

    #[test]
    fn threads_that_begin_later_are_watched() {
        let events = [page_faults()];
        if let Err(refusal) = Sampler::probe(&events[0]) {
            return untested::machine(&format!("page faults are not sampled: {refusal}"));
        }
        let mut watch = Watch::new(std::process::id(), &events, 64).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let end = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // `PID/task/TID`
                tell.send(fs::read_link("/proc/thread-self").unwrap()).unwrap();
                end.wait();
            });
            let thread = told.recv().unwrap();
            let thread = thread.file_name().unwrap().to_str().unwrap();
            watch.look(None).unwrap();
            let watched = watch.threads.contains_key(&thread.parse().unwrap());
            end.wait();
            assert!(watched, "{thread}");
        });
        let nobody = super::watch(0, Duration::ZERO, &events, 64, &AtomicBool::new(false));
        assert!(nobody.unwrap_err().to_string().contains("no such process"));
    }
}
