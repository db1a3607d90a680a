//! What a record comes to, as `linefill run` and `linefill report` print it at their end.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::analysis::Analysis;
use super::format::{Check, Output, Sheet};
use super::gate::RunOutcome;
use super::record::VerdictLine;
use super::show::check;
use super::summary::summary;
use super::table::{disagreements, predictions, tally, verdicts};
use super::terminal::Screen;

/// A run at its end, or a record that was read.
#[derive(Debug)]
pub(crate) struct Ending {
    /// The command: `linefill run`.
    pub command: &'static str,
    /// What the record comes to.
    pub analysis: Analysis,
    /// Where the record lies.
    pub record: PathBuf,
    /// Where the report lies, if it was written.
    pub report: Option<PathBuf>,
    /// What the gates came to.
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
            return Screen::of("The record has no points of experiments that this version knows.");
        }
        match self.all {
            true => self.whole(width),
            false => summary(self, width),
        }
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
        let claims = self
            .analysis
            .verdicts
            .iter()
            .map(|line: &VerdictLine| check(line));
        let gates = self.gates.iter().map(RunOutcome::check);
        claims.chain(gates).collect()
    }
}
