//! The summary of a record that `linefill run` and `linefill report` print at their end: in at most 25 lines
//! the machine, its ladder, how many claims of each document hold, what changed most, and further commands.

mod full;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::analysis::Analysis;
use super::answer::{Finding, Ladder, Latency, Paper, Summary, digits};
use super::format::{Check, Output, Sheet};
use super::gate::RunOutcome;
use super::plain::for_shell;
use super::record::{MACHINE, RECORD, VerdictLine};
use super::show::{check, colour};
use super::terminal::{FAINT, GOOD, SIDE_BY_SIDE, STRONG, Screen, WARN, paragraph};
use crate::experiment::Verdict;
use crate::stats::Interval;
use full::{disagreements, predictions, tally, verdicts};

/// Maximum number of lines. Twice as many where a row has two lines.
const LINES: usize = 25;

/// The width from which there is room for bars.
const WIDE: usize = 80;

/// The width from which there is room for all columns. Below it, a row has two lines.
const ONE_LINE: usize = SIDE_BY_SIDE as usize;

/// Maximum number of claims that are listed one by one.
const CLAIMS: usize = 8;

/// Summarises a record in lines of at most `width` columns.
pub(super) fn summary(ending: &Ending, width: u16) -> Screen {
    let width = usize::from(width);
    let answer = Summary::of(&ending.analysis);
    let mut screen = head(ending, &answer, width);
    screen.append(&ladder(&answer.ladder, width));
    screen.append(&papers(&answer.papers, width));
    screen.append(&warnings(&ending.analysis, width));
    let claims = &ending.analysis.verdicts;
    let end = footer(ending, &answer, width);
    let most = if width < ONE_LINE { 2 * LINES } else { LINES };
    // The empty line after the next part.
    let free = most.saturating_sub(screen.lines() + end.lines() + 1);
    match claims.len() {
        ..=CLAIMS => screen.append(&named(claims, width, free)),
        // Findings have a heading.
        _ => screen.append(&findings(&answer.findings, width, free.saturating_sub(1))),
    };
    screen.append(&end);
    screen
}

/// The percentage of disturbed samples from which on they are a likely reason for undecided claims.
const MUCH: u64 = 20;

/// Formats what a reader of the numbers has to know: the quantities of which the run found several values,
/// and how much of it was disturbed, if it was much.
fn warnings(analysis: &Analysis, width: usize) -> Screen {
    let mut screen = Screen::default();
    let disturbed = analysis.disturbed().filter(|of| of.percent >= MUCH);
    let disturbed = disturbed.map(|of| format!("{of}; `linefill doctor` says what to do"));
    for text in disagreement(analysis, width).into_iter().chain(disturbed) {
        paragraph(&mut screen, Some(WARN), &format!("  {text}"), width);
    }
    if screen.lines() > 0 {
        screen.end();
    }
    screen
}

/// Names the quantities of which the run found several values, or tells their number if a line has no room
/// for the names.
fn disagreement(analysis: &Analysis, width: usize) -> Option<String> {
    let quantities = analysis.disagreements.iter().map(|of| of.quantity);
    let names: Vec<&str> = quantities.map(|of| of.trim_start_matches("The ")).collect();
    let text = |what: &str| format!("values disagree, see --all: {what}");
    let whole = text(&names.join(", "));
    match names.len() {
        0 => None,
        1 => Some(whole),
        _ if whole.chars().count() + 2 <= width => Some(whole),
        several => Some(text(&format!("{several} quantities"))),
    }
}

/// Formats the program, the machine, and the duration of the run.
fn head(ending: &Ending, answer: &Summary, width: usize) -> Screen {
    let version =
        concat!("linefill ", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
    let end = ending.analysis.record.end.as_ref();
    let time = match end {
        None => "stopped early".to_owned(),
        Some(end) if end.interrupted => format!("{:.0} s, stopped early", end.seconds),
        Some(end) => format!("{:.0} s", end.seconds),
    };
    let mut screen = Screen::default();
    let text = format!("{version}  {}  {time}", answer.machine);
    paragraph(&mut screen, Some(STRONG), &text, width);
    screen.end();
    screen
}

/// Formats a row per level of memory.
fn ladder(ladder: &Ladder, width: usize) -> Screen {
    let mut screen = Screen::default();
    if ladder.levels.is_empty() {
        return screen;
    }
    let narrow = width < ONE_LINE;
    let indent = if narrow { " " } else { "  " };
    // The columns that the numbers leave free.
    let size = (width - if narrow { 29 } else { 47 }).min(24);
    let unit = if width < 80 { "GB/s" } else { "GB/s, 1 core" };
    let mut head = format!("{indent}{:<10} {:>size$} {:>16}", "level", "size", "random step");
    if !narrow {
        head += &format!(" {:>5} {:>5} {unit}", "read", "write");
    }
    screen.paint(STRONG, &head).end();
    for level in &ladder.levels {
        let text = level.size_text();
        let own = match text.chars().count() > size {
            true => text.split(" of ").next().unwrap_or_default(),
            false => &text,
        };
        let step = step(level.latency.as_ref().ok());
        screen.add(&format!("{indent}{:<10} {own:>size$}{step}", level.name));
        let rate = |value: &Result<Interval, String>| match value {
            Ok(value) => digits(value.center()),
            Err(_) => "-".to_owned(),
        };
        let (read, write) = (rate(&level.read), rate(&level.write));
        screen.add(&match narrow {
            true => format!("\n    read {read}, write {write} GB/s\n"),
            false => format!(" {read:>5} {write:>5}\n"),
        });
    }
    if let Some(Ok(latency)) = &ladder.other_core {
        let row = format!("{indent}{:<10} {:>size$}{}", "other core", "", step(Some(latency)));
        screen.add(&row).add(if narrow { "\n   " } else { "" });
        screen.paint(FAINT, " there and back\n");
    }
    screen.end();
    screen
}

/// Formats a time in nanoseconds and cycles.
fn step(latency: Option<&Latency>) -> String {
    let nanoseconds = latency.map_or_else(|| "-".to_owned(), Latency::nanoseconds_text);
    let cycles = latency.and_then(Latency::cycles_text);
    let cycles = cycles.unwrap_or_default().replace("cycles", "cyc");
    format!(" {nanoseconds:>7} {cycles:>8}")
}

/// Formats a row per document.
fn papers(papers: &[Paper], width: usize) -> Screen {
    let mut screen = Screen::default();
    let papers: Vec<&Paper> = papers.iter().filter(|of| of.counts().measured() > 0).collect();
    if papers.is_empty() {
        return screen;
    }
    let bar = if width < WIDE { 0 } else { (width - 62).min(30) };
    let columns = format!("{:>12} {:>10} {:>11}", "holds", "undecided", "untestable");
    let (name, rest) = if width < ONE_LINE { (0, "\n  ") } else { (20, "") };
    let gap = if bar > 0 { bar + 2 } else { 0 };
    screen.paint(STRONG, &format!("  {:<name$}{:gap$}{rest}{columns}\n", "Still true here", ""));
    for paper in papers {
        let counts = paper.counts();
        let (holds, decided) = (counts.holds(), counts.decided());
        let label = match paper.year {
            Some(year) => format!("{} ({year})", paper.name),
            None => paper.name.to_owned(),
        };
        screen.add(&format!("  {label:<name$}"));
        if bar > 0 {
            let full = (bar * holds + decided / 2).checked_div(decided).unwrap_or(0);
            screen.add("  ").paint(GOOD, &"#".repeat(full));
            screen.paint(FAINT, &"-".repeat(bar - full));
        }
        let [open, untestable] =
            [Verdict::Inconclusive, Verdict::Untestable].map(|v| counts.here(v));
        screen.add(&format!("{rest}{:>12} {open:>10} {untestable:>11}\n", counts.holding("-")));
    }
    screen.end();
    screen
}

/// Formats a row per finding, as many as fit into `free` lines.
fn findings(findings: &[Finding], width: usize, mut free: usize) -> Screen {
    let mut screen = Screen::default();
    if findings.is_empty() {
        return screen;
    }
    let widest = |text: fn(&Finding) -> String| {
        let widths = findings.iter().map(|of| text(of).chars().count());
        widths.max().unwrap_or(0).max(4)
    };
    let (then, now) = (widest(Finding::then_text), widest(Finding::now_text));
    let id = 5;
    let narrow = width < ONE_LINE;
    let subject = if narrow { width - 2 } else { (width - 2 - then - now - id - 5).min(60) };
    let lines = |of: &Finding| textwrap::wrap(of.takeaway.subject, subject);
    // The heading alone says nothing.
    if lines(&findings[0]).len() + usize::from(narrow) > free {
        return screen;
    }
    let heading = "What changed most";
    screen.paint(
        STRONG,
        &match narrow {
            true => format!("  {heading}\n"),
            false => format!("  {heading:<subject$}  {:>then$}  {:>now$}\n", "then", "now"),
        },
    );
    for finding in findings {
        let lines = lines(finding);
        let needed = lines.len() + usize::from(narrow);
        if needed > free {
            break;
        }
        free -= needed;
        if narrow {
            for line in lines {
                screen.add(&format!("  {line}\n"));
            }
            let (then, now) = (finding.then_text(), finding.now_text());
            screen.paint(FAINT, &format!("    then {then}, "));
            screen.paint(STRONG, &format!("now {now}"));
            screen.paint(FAINT, &format!(" ({})\n", finding.experiment));
            continue;
        }
        for (index, line) in lines.iter().enumerate() {
            screen.add(&format!("  {line:<subject$}"));
            if index == 0 {
                screen.paint(FAINT, &format!("  {:>then$}", finding.then_text()));
                screen.paint(STRONG, &format!("  {:>now$}", finding.now_text()));
                screen.paint(FAINT, &format!(" {:>id$}", finding.experiment));
            }
            screen.end();
        }
    }
    screen.end();
    screen
}

/// Formats a row per claim, for a run with few claims, and says how many find no room. `linefill show` prints
/// the full text.
fn named(claims: &[VerdictLine], width: usize, free: usize) -> Screen {
    let mut screen = Screen::default();
    let shown = if claims.len() <= free { claims.len() } else { free.saturating_sub(1) };
    for line in &claims[..shown] {
        screen.add("  ").paint(colour(line.verdict), &format!("{:<13}", line.verdict.name()));
        screen.add(&format!(" {:<6} ", line.name()));
        let room = width - if width < ONE_LINE { 27 } else { 24 };
        let lines = textwrap::wrap(&line.claim, room);
        let first = lines.first().map_or("", |line| line.as_ref());
        let more = if lines.len() > 1 { " ..." } else { "" };
        screen.add(&format!("{first}{more}\n"));
    }
    if shown < claims.len() {
        screen.paint(FAINT, &format!("  and {} more\n", claims.len() - shown));
    }
    screen.end();
    screen
}

/// Formats the path of the report, and commands to go on with.
fn footer(ending: &Ending, answer: &Summary, width: usize) -> Screen {
    let folder = ending.record.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let usual = ending.record == Path::new(super::run::OUT).join(RECORD);
    let record = match (ending.record.file_name(), folder) {
        (Some(name), Some(folder)) if name == RECORD => folder.display().to_string(),
        _ => ending.record.display().to_string(),
    };
    let record = for_shell(&record);
    let found = answer.findings.first().map(|finding| finding.experiment.as_str());
    let first = ending.analysis.verdicts.first().map(|line| line.experiment.as_str());
    let id = found.or(first).unwrap_or("D14");
    let commands = match usual {
        true => [format!("linefill show {id}"), "linefill report --all".to_owned()],
        false => [
            format!("linefill show {id} --record {record}"),
            format!("linefill report {record} --all"),
        ],
    };
    let report = ending.report.as_ref().map(|report| report.display().to_string());
    let parts: Vec<String> = report.into_iter().chain(commands).collect();
    let mut screen = Screen::default();
    let mut line = String::new();
    for part in &parts {
        if !line.is_empty() && line.chars().count() + part.chars().count() + 5 > width {
            screen.paint(FAINT, &format!("  {line}\n"));
            line.clear();
        }
        line += if line.is_empty() { "" } else { "   " };
        line += part;
    }
    screen.paint(FAINT, &format!("  {line}\n"));
    screen
}

/// The end of a run, or a record that was read.
#[derive(Debug)]
pub(crate) struct Ending {
    /// The command: `linefill run`.
    pub command: &'static str,
    /// The record and everything that follows from it.
    pub analysis: Analysis,
    pub record: PathBuf,
    /// Path of the report, if it was written.
    pub report: Option<PathBuf>,
    /// The results of the gates.
    pub gates: Vec<RunOutcome>,
    /// Whether to print every verdict in full.
    pub all: bool,
}

impl Ending {
    fn whole(&self, width: u16) -> Screen {
        let mut screen = Screen::default();
        let lines = &self.analysis.verdicts;
        if !lines.is_empty() {
            screen.append(&verdicts(lines, width)).add("\n\n");
        }
        screen.add(&disagreements(&self.analysis));
        screen.add(&predictions(&self.analysis)).end();
        screen.add(&format!("{}\n", tally(lines)));
        screen.add(&format!("record: {}\n", self.record.display()));
        if let Some(report) = &self.report {
            screen.add(&format!("report: {}\n", report.display()));
        }
        screen
    }
}

impl Output for Ending {
    fn name(&self) -> String {
        self.command.to_owned()
    }

    fn screen(&self, width: u16) -> Screen {
        if self.analysis.verdicts.is_empty() {
            let mut points = self.analysis.record.points.iter();
            return Screen::of(match points.all(|line| line.experiment == MACHINE) {
                true => "No experiment has been measured yet.",
                false => "The record has no points of experiments that this version knows.",
            });
        }
        if self.all { self.whole(width) } else { summary(self, width) }
    }

    fn json(&self) -> Value {
        let header = &self.analysis.record.header;
        let gate = |outcome: &RunOutcome| {
            json!({
                "gate": outcome.gate,
                "passed": outcome.failures.is_empty(),
                "looked_at": outcome.looked_at,
                "failures": outcome.failures,
            })
        };
        let disagreements = self.analysis.disagreements.iter().map(ToString::to_string);
        json!({
            "machine": header.cpu.brand,
            "core": header.cpu.core,
            "started": header.started,
            "profile": header.profile,
            "seconds": self.analysis.record.end.as_ref().map(|end| end.seconds),
            "interrupted": self.analysis.record.end.as_ref().is_none_or(|end| end.interrupted),
            "record": self.record,
            "report": self.report,
            "claims": self.analysis.verdicts,
            "disagreements": disagreements.collect::<Vec<_>>(),
            "warnings": header.notes,
            "gates": self.gates.iter().map(gate).collect::<Vec<_>>(),
        })
    }

    fn sheets(&self) -> Vec<Sheet> {
        let mut claims = Sheet::new("Claims", &["claim", "verdict", "says", "numbers"]);
        for line in &self.analysis.verdicts {
            claims.row([line.name(), line.verdict.name(), &line.claim, &line.numbers]);
        }
        vec![claims]
    }

    fn checks(&self) -> Vec<Check> {
        let claims = self.analysis.verdicts.iter().map(|line: &VerdictLine| check(line));
        let gates = self.gates.iter().map(RunOutcome::check);
        claims.chain(gates).collect()
    }
}
