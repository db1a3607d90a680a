//! `linefill run`.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::report::Shown;
use super::scene::Scene;
use super::{Status, duration, tell, warn};
use crate::experiment::{Experiment, Placement};
use crate::lab::gate::RunGate;
use crate::lab::plain::for_shell;
use crate::lab::record::{Header, PointLine, Record};
use crate::lab::run::{OUT, Recorder, Run, Unfinished, run as run_all, same_machine};
use crate::lab::selection::select;
use crate::lab::session::{Profile, Request, Session, mask, root};
use crate::lab::{date, size};
use crate::os::{Pages, interrupt, prefetchers};

/// Measure the experiments, decide the claims, and write a report.
///
/// Measures on one CPU, point by point, and writes `record.jsonl` (full profile: `record.jsonl.gz`) and
/// `report.html` into the output folder. The report opens offline. Each claim gets one of four verdicts: holds;
/// does not hold; inconclusive (the numbers do not decide it); untestable (this machine cannot test it; the
/// reason is given).
///
/// Run nothing else on the machine meanwhile. `linefill doctor` says what disturbs a measurement. Ctrl-C,
/// `kill` and the end of the terminal (not under `nohup`) end the run; what it has measured is kept. `--resume`
/// continues a run that has ended, even after `kill -9`. A new run renames an earlier record and report in the
/// folder and does not overwrite them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill run                            all experiments, about three minutes
  linefill run D14                        one, by id ...
  linefill run 'E*' 'drepper-fig-3.1?'    ... or some, by globs of ids or names ...
  linefill run streaming                  ... or a family, as `linefill list` shows them
  linefill run --profile full --cpu 3     more points, longer, on CPU 3
  linefill run --budget 60s               one pass, shortened towards 60 s (up to 170 s), more \
                                            left open
  linefill run F1 X13 --threads far       with threads on the other package, if there is one
  linefill run D14 D15 --node 1           with all memory on node 1
  linefill run --resume                   go on with the last run
  linefill run --fail-if 'D14 = does not hold' --format github     in continuous integration
  sudo linefill run X15 --isolated=3      on CPU 3, without other programs and interrupts
  sudo linefill run D14 --prefetchers off     what the caches do without hardware prefetchers
  sudo linefill run E35 --allow-msr       with the hardware prefetchers off and on

LINEFILL_MASK names CPU features to do without, such as avx512,avx2.")]
pub(super) struct Args {
    /// Ids or names of experiments, globs of these, families or topics. Put globs in quotes. [default: all
    /// experiments]
    #[arg(value_name = "ID, GLOB OR FAMILY")]
    patterns: Vec<String>,
    #[command(flatten)]
    scene: Scene,
    /// How thorough the run is [default: quick].
    #[arg(long, value_enum)]
    profile: Option<Profile>,
    /// The time for measuring, such as 60s or 10m [default: 170s, and 19m for the full profile]. Claims that
    /// are undecided after the first two passes are measured again until they are decided or the time is over.
    /// Experiments that do not fit are left out of the second pass. The first pass may always take the default
    /// time.
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    budget: Option<Duration>,
    /// The folder for the record and the report.
    #[arg(long, value_name = "DIR", default_value = OUT)]
    out: PathBuf,
    /// Continue the run in the output folder, with its selection and options.
    #[arg(long)]
    resume: bool,
    /// Let E35 switch the hardware prefetchers off and on. This writes a model-specific register and needs
    /// root. The previous state is restored, even if the program is killed.
    #[arg(long, conflicts_with = "prefetchers")]
    allow_msr: bool,
    #[command(flatten)]
    shown: Shown,
}

pub(super) fn run(args: Args) -> Result<Status> {
    let gates = args.shown.gates()?;
    let stop = interrupt::install().context("Ctrl-C cannot be caught")?;
    let unfinished = if args.resume { Unfinished::read(&args.out)? } else { None };
    if args.allow_msr {
        // `--allow-msr` and a run with all prefetchers off would each save and restore the register, possibly
        // with different values.
        if let Some(Unfinished { record, .. }) = &unfinished
            && record.header.prefetchers_off.is_some()
        {
            bail!(
                "cannot resume: --allow-msr switches prefetchers for E35, and the record's run has \
                 them all off"
            );
        }
        prefetchers::allow(root());
    }
    let prepared = match unfinished {
        Some(unfinished) => resumed(&args, &gates, unfinished)?,
        None => fresh(&args, &gates)?,
    };
    let Prepared { session, experiments, recorded, recorder } = prepared;

    tell(opening(&session.header));
    let finished =
        run_all(Run { session: &session, experiments: &experiments, recorded, stop }, recorder);
    if let Some(quiet) = finished.analysis.quiet() {
        tell(format_args!("isolated: {quiet}"));
    }
    let whole = finished.unwritten.is_none();
    let (record, report) = (&finished.record, &finished.report);
    let report = whole.then(|| report.clone());
    let status =
        args.shown.print("linefill run", finished.analysis, &gates, record.clone(), report);
    if finished.interrupted {
        let dir = finished.record.parent().unwrap_or(&args.out);
        let out = match dir == Path::new(OUT) {
            true => String::new(),
            false => format!(" --out {}", for_shell(&dir.to_string_lossy())),
        };
        tell(format_args!("stopped early: `linefill run --resume{out}` goes on"));
    }
    let status = finished.unwritten.map_or(status, Err)?;
    if finished.interrupted { Ok(Status::Interrupted) } else { Ok(status) }
}

/// Everything that a run needs before its first sample.
struct Prepared {
    session: Session,
    experiments: Vec<&'static Experiment>,
    recorded: Vec<PointLine>,
    recorder: Recorder,
}

/// Returns the selected experiments. Fails if a gate can match nothing of them.
fn selected(patterns: &[String], gates: &[RunGate]) -> Result<Vec<&'static Experiment>> {
    let experiments = select(patterns)?;
    for gate in gates {
        gate.may_match(&experiments).context("--fail-if")?;
    }
    Ok(experiments)
}

fn fresh(args: &Args, gates: &[RunGate]) -> Result<Prepared> {
    let experiments = selected(&args.patterns, gates)?;
    let request = Request {
        profile: args.profile.unwrap_or_default(),
        budget: args.budget,
        ..args.scene.request(&args.patterns)?
    };
    let session = Session::open(&request, &root())?;
    warn(&session.header);
    let (recorder, aside) =
        Recorder::create(&args.out, Record::new(session.header.clone()).lines())?;
    if let Some(aside) = aside {
        tell(format_args!("the earlier record is now {}", aside.record.display()));
        if !aside.finished {
            tell("(that run was stopped before its end; `--resume` would have continued it)");
        }
    }
    Ok(Prepared { session, experiments, recorded: Vec::new(), recorder })
}

fn resumed(args: &Args, gates: &[RunGate], unfinished: Unfinished) -> Result<Prepared> {
    let mut record = unfinished.record;
    let old = record.header.clone();
    agree(args, &old)?;
    let experiments = selected(&old.selection, gates)?;
    let request = Request {
        cpu: old.pinned,
        isolated: old.isolation.is_some(),
        node: old.node,
        prefetchers_off: old.prefetchers_off.is_some(),
        profile: profile_of(&old)?,
        masked: old.masked.clone(),
        ..Request::default()
    };
    let mut session = Session::open(&request, &root())?;
    same_machine(&old, &session.header)?;
    warn(&session.header);
    session.header = continued(old, &session.header, unfinished.seconds);
    record.header = session.header.clone();
    let recorder = Recorder::replace(unfinished.claim, record.lines())?;
    if unfinished.cut_off {
        tell("the record's last line was cut off; its point is measured again");
    }
    tell(format_args!("going on after {} recorded points", record.points.len()));
    Ok(Prepared { session, experiments, recorded: record.points, recorder })
}

/// The header of a run that goes on after `seconds` of an earlier session: the record's, with what is worse in
/// the new session.
fn continued(old: Header, new: &Header, seconds: f64) -> Header {
    Header {
        resumed: Some(date::now()),
        earlier: seconds,
        // A CPU that only one of the sessions was pinned to did not measure all points.
        pinned: old.pinned.filter(|_| new.pinned == old.pinned),
        notes: all_notes(&old.notes, &new.notes),
        ..old
    }
}

fn profile_of(header: &Header) -> Result<Profile> {
    Profile::named(&header.profile).with_context(|| {
        format!(
            "cannot resume: the record's profile is `{}`, not one of this program's",
            header.profile
        )
    })
}

/// Checks that the options given with `--resume` are those of the record.
fn agree(args: &Args, old: &Header) -> Result<()> {
    fn text(of: Option<impl Display>) -> Option<String> {
        of.map(|of| of.to_string())
    }
    let scene = &args.scene;
    let word_if = |word: &str, given: bool| given.then(|| word.to_owned());
    let or_none = |of: Option<String>| of.unwrap_or_else(|| "none".to_owned());
    let size = |bytes: u64| size::show(bytes as f64);
    let selection = Some(args.patterns.join(" ")).filter(|_| !args.patterns.is_empty());
    let budget = args.budget.map(|budget| format!("{}s", budget.as_secs()));
    let threads = scene.threads.map(Placement::from).map(Placement::name);
    let placement = old.placement.as_deref().unwrap_or_else(|| Placement::default().name());
    let (isolated, was_isolated) = (scene.isolated.is_some(), old.isolation.is_some());
    let (off, were_off) = (scene.prefetchers.is_some(), old.prefetchers_off.is_some());
    let given = [
        ("selection", selection, old.selection.join(" ")),
        ("--profile", text(args.profile.map(Profile::name)), old.profile.clone()),
        ("--budget", budget, or_none(old.budget.map(|seconds| format!("{seconds}s")))),
        ("--pages", text(scene.pages.map(Pages::from)), or_none(old.pages.clone())),
        ("--node", text(scene.node), or_none(text(old.node))),
        ("--cpu", text(scene.measuring()?), or_none(text(old.pinned))),
        ("--isolated", word_if("given", isolated), or_none(word_if("given", was_isolated))),
        ("--prefetchers", word_if("off", off), or_none(word_if("off", were_off))),
        ("--threads", text(threads), placement.to_owned()),
        ("--seed", text(scene.seed), old.seed.to_string()),
        ("--memory", scene.memory.map(size), size(old.largest)),
        ("LINEFILL_MASK", Some(mask()).filter(|mask| !mask.is_empty()), old.masked.clone()),
    ];
    for (what, now, then) in given {
        if let Some(now) = now.filter(|now| *now != then) {
            bail!(
                "cannot resume: {what} is `{now}`, and the record has `{then}`; leave it out, or \
                 run without --resume"
            );
        }
    }
    Ok(())
}

/// Returns the notes of an earlier and of a new session. What both noted is kept as the new session noted it:
/// with other numbers after the same name.
fn all_notes(old: &[String], new: &[String]) -> Vec<String> {
    let name = |note: &String| note.split(':').next().map(str::to_owned);
    let again = |note: &&String| new.iter().any(|other| name(other) == name(note));
    let only_old = old.iter().filter(|note| !again(note));
    only_old.chain(new).cloned().collect()
}

/// Prints what a run measures on and how, and warns about conditions that distort the measurement.
pub(super) fn announce(header: &Header) {
    tell(opening(header));
    warn(header);
}

/// Describes the machine and the settings of a run.
fn opening(header: &Header) -> String {
    let mut parts = Vec::new();
    let cpu = &header.cpu;
    let name = if cpu.brand.is_empty() { &cpu.vendor } else { &cpu.brand };
    parts.push(match &cpu.microarchitecture {
        Some(microarchitecture) => format!("{name} ({microarchitecture})"),
        None => name.clone(),
    });
    parts.extend(header.pinned.map(|cpu| format!("CPU {cpu}")));
    parts.extend(header.node.map(|node| format!("memory of node {node}")));
    let ghz = |hz: f64| format!("{:.2} GHz", hz / 1e9);
    let core = header.core_per_tick.map(|ratio| header.tick_hz * ratio);
    parts.extend(core.map(|hz| format!("core at {}", ghz(hz))));
    parts.push(format!("counter at {}", ghz(header.tick_hz)));
    parts.extend(header.hypervisor.clone());
    parts.push(format!("{} profile", header.profile));
    parts.extend(header.prefetchers_off.map(|_| "prefetchers off".to_owned()));
    parts.push(format!("up to {}", size::show(header.largest as f64)));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_of_two_sessions_is_kept_once() {
        let notes = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let old: Vec<String> = notes(&["load: 3.67", "clock: falls"]);
        let new: Vec<String> = notes(&["load: 3.94", "samples: not marked"]);
        let all: Vec<String> = notes(&["clock: falls", "load: 3.94", "samples: not marked"]);
        assert_eq!(all_notes(&old, &new), all);
        assert_eq!(all_notes(&all, &new), all);
    }
}
