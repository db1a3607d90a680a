//! How `run` and `report` end: what is printed, and the gates.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::{Status, tell};
use crate::lab::analysis::Analysis;
use crate::lab::ending::Ending;
use crate::lab::format::{Format, print};
use crate::lab::gate::RunGate;
use crate::lab::report::build;

/// What is printed at the end.
#[derive(Debug, clap::Args)]
pub(super) struct Shown {
    /// Print every verdict in full instead of a summary.
    #[arg(long)]
    all: bool,
    /// Exit with status 1 if this is so: `CLAIM = VERDICT` (or `!=`), or
    /// `FAMILY/EXPERIMENT/SERIES > VALUE` (or `<`), all of them globs. Repeat it for several.
    #[arg(long = "fail-if", value_name = "GATE")]
    gates: Vec<String>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Shown {
    /// The gates.
    pub fn gates(&self) -> Result<Vec<RunGate>> {
        let gates = self.gates.iter().map(|text| text.parse::<RunGate>());
        gates.collect::<Result<_, _>>().context("--fail-if")
    }

    /// The form of the output.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Prints what a record comes to. The status is that of the gates.
    pub fn print(
        &self,
        command: &'static str,
        analysis: Analysis,
        gates: &[RunGate],
        record: PathBuf,
        report: Option<PathBuf>,
    ) -> Result<Status> {
        let mut outcomes = Vec::new();
        let mut missed = Ok(());
        if !gates.is_empty() {
            let view = build(&analysis)?;
            for gate in gates {
                match gate.judge(&analysis.verdicts, &view.sections) {
                    Ok(outcome) => outcomes.push(outcome),
                    Err(error) => missed = missed.and(Err(error)),
                }
            }
        }
        let ending = Ending {
            command,
            analysis,
            record,
            report,
            gates: outcomes,
            all: self.all,
        };
        print(&ending, self.format)?;
        for outcome in &ending.gates {
            tell(outcome.in_words());
        }
        missed.context("--fail-if")?;
        match ending
            .gates
            .iter()
            .all(|outcome| outcome.failures.is_empty())
        {
            true => Ok(Status::Done),
            false => Ok(Status::Failed),
        }
    }
}
