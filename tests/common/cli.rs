//! Runs the program in a separate folder with little memory, so that a run takes a second.
#![cfg(feature = "lab")]

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::folder;
pub use super::folder::{Folder, Ran};
use linefill::lab::read::read;
use linefill::lab::record::{Header, PointLine, VerdictLine};
use linefill::os::allowed;
use serde_json::Value;

/// The record of a run of D14, D15 and D17 with made-up results.
pub const PLANTED: &str = include_str!("../fixtures/record/planted.jsonl");

/// Options that make a run short: little memory, and only the first two passes, whatever is still undecided.
const SHORT: [&str; 4] = ["--memory", "1MiB", "--budget", "1s"];

/// Splits a command line without quotes into arguments: `run D14 --budget 1s`.
pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The program.
pub fn program() -> PathBuf {
    folder::program().expect("the feature `lab` builds it")
}

impl Folder {
    /// The program, run in this folder.
    pub fn linefill(&self, args: &[&str]) -> Command {
        self.by(Command::new(program()), args)
    }

    /// The same, with the default reaction to signals. A test run in the background or by `nohup` inherits
    /// ignored signals: `env` restores the defaults.
    pub fn signalled(&self, args: &[&str]) -> Command {
        let mut command = Command::new("env");
        command.arg("--default-signal=INT,HUP").arg(program());
        self.by(command, args)
    }

    /// Runs the program, and sends its process group SIGINT after some seconds, once, as Ctrl-C does.
    pub fn stopped(&self, seconds: f64, args: &[&str]) -> Ran {
        let mut command = self.signalled(args);
        command.process_group(0);
        let run = UnderWay::go_on(PathBuf::new(), &mut command);
        std::thread::sleep(Duration::from_secs_f64(seconds));
        let kill = format!("kill -s INT -- -{}", run.child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.unwrap().success());
        run.finish()
    }

    fn by(&self, mut command: Command, args: &[&str]) -> Command {
        command.args(args).current_dir(self.at(""));
        command.env_remove("LINEFILL_MASK").env_remove("LINEFILL_ROOT");
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.linefill(args))
    }

    /// A command that runs this selection in a second or two, on each of the CPUs in turn: by default all runs of
    /// all tests would wait for one CPU.
    pub fn short(&self, selection: &[&str]) -> Command {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let cpus = allowed();
        let cpu = cpus[RUNS.fetch_add(1, Ordering::Relaxed) % cpus.len()].to_string();
        self.linefill(&[&["run", "--cpu", &cpu], selection, &SHORT].concat())
    }

    /// Runs this selection to its end.
    pub fn run_short(&self, selection: &[&str]) -> Ran {
        Ran::of(&mut self.short(selection))
    }

    /// The record of the last run.
    pub fn record(&self) -> Record {
        Record::at(&self.at("linefill-out/record.jsonl"))
    }
}

impl Ran {
    /// The output, parsed as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

/// Panics unless the text contains every one of `parts`.
#[track_caller]
pub fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

/// A record.
#[derive(Debug)]
pub struct Record {
    pub header: Header,
    pub points: Vec<PointLine>,
    pub verdicts: Vec<VerdictLine>,
    pub interrupted: Option<bool>,
}

impl Record {
    /// Reads a record.
    #[track_caller]
    pub fn at(path: &Path) -> Self {
        let record = read(path).unwrap().record;
        Record {
            header: record.header,
            points: record.points,
            verdicts: record.verdicts,
            interrupted: record.end.map(|end| end.interrupted),
        }
    }

    /// The points of an experiment in the first pass.
    pub fn of_experiment(&self, id: &str) -> Vec<&PointLine> {
        let points = self.points.iter();
        points.filter(|point| point.experiment == id && point.pass == 0).collect()
    }

    /// Panics if the record contains a point twice in a pass.
    #[track_caller]
    pub fn has_each_point_once(&self) {
        let mut places: Vec<_> = self
            .points
            .iter()
            .map(|p| (&p.experiment, p.pass, &p.point.series, p.point.x.to_bits()))
            .collect();
        let count = places.len();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), count);
    }
}

/// A running program.
pub struct UnderWay {
    child: Child,
    record: PathBuf,
}

impl UnderWay {
    /// Starts `command`, which writes to `folder`.
    pub fn start(folder: &Folder, mut command: Command) -> Self {
        let record = folder.at("linefill-out/record.jsonl");
        let _ = fs::remove_file(&record);
        Self::go_on(record, &mut command)
    }

    /// The same, but keeps the existing record.
    pub fn go_on(record: PathBuf, command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        UnderWay { child, record }
    }

    /// Waits until the record has `lines` lines or the program has ended.
    pub fn until(&mut self, lines: usize) {
        self.until_record(|record| lines_of(record) >= lines);
    }

    /// Waits until the record has a point of this experiment or the program has ended.
    pub fn until_point_of(&mut self, experiment: &str) {
        let of = format!("\"experiment\":\"{experiment}\"");
        self.until_record(|record| String::from_utf8_lossy(record).contains(&of));
    }

    fn until_record(&mut self, holds: impl Fn(&[u8]) -> bool) {
        let began = Instant::now();
        while !holds(&self.recorded()) && self.child.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < Duration::from_secs(60), "it stands still");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Whether the program has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    fn recorded(&self) -> Vec<u8> {
        fs::read(&self.record).unwrap_or_default()
    }

    /// Kills the program immediately.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends the program a signal by name, and waits until it ends.
    pub fn signal(self, name: &str) -> Ran {
        let kill = format!("kill -s {name} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.unwrap().success());
        self.finish()
    }

    /// Waits until the program ends.
    pub fn finish(self) -> Ran {
        let output = self.child.wait_with_output().unwrap();
        Ran {
            status: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

fn lines_of(record: &[u8]) -> usize {
    record.iter().filter(|byte| **byte == b'\n').count()
}
