//! A gate on one run, for continuous integration: `D14 = does not hold`, `walk/D15/NPAD=7 > 300`.

use std::str::FromStr;

use glob::{MatchOptions, Pattern};

use super::chart::{number, place};
use super::compare::{self, GateError, glob};
use super::format;
use super::record::VerdictLine;
use super::report::view::{Section, Value};
use crate::experiment::{Document, Experiment, Verdict, topics};
use crate::stats::Interval;

/// A condition that fails a run.
#[derive(Clone, Debug)]
pub struct RunGate {
    pub text: String,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    /// Fails for a value beyond a limit, in the unit of the plot.
    Value(Box<compare::Gate>),
    /// Fails for a claim with this verdict, or, if `other`, with any other verdict.
    Verdict { claims: Pattern, verdict: Verdict, other: bool },
}

/// Why a text is not a valid gate on a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunGateError {
    /// The text has none of `>`, `<`, `=` and `!=`.
    NoOperator(String),
    /// The text after `=` is not a verdict.
    NoVerdict(String),
    /// The text after `>` or `<` is not a value.
    NoValue(String),
    /// The text before `=` is not a glob, or that before `>` or `<` does not name a series.
    Pattern(GateError),
    /// No claim and no point of the run matches.
    Nothing(String),
}

messages! { RunGateError:
    RunGateError::NoOperator(text) => (
        "`{text}` has none of `=`, `!=`, `>` and `<`; a gate is CLAIM = VERDICT, such as \
         `D14 = does not hold`, or FAMILY/EXPERIMENT/SERIES > VALUE, such as \
         `walk/D15/NPAD=7 > 300`"
    );
    RunGateError::NoVerdict(text) => (
        "`{text}` is not a verdict; use {}", Verdict::ALL.map(Verdict::name).join(", ")
    );
    RunGateError::NoValue(text) => (
        "`{text}` is not a value; a value is a number above 0, in the unit of the experiment's plot"
    );
    RunGateError::Pattern(error) => ("{error}");
    RunGateError::Nothing(text) => (
        "nothing in this run matches `{text}`, so that it could never fail"
    );
}

impl FromStr for RunGate {
    type Err = RunGateError;

    /// Parses `CLAIM = VERDICT`, `CLAIM != VERDICT`, `FAMILY/EXPERIMENT/SERIES > VALUE` or
    /// `FAMILY/EXPERIMENT/SERIES < VALUE`. The claim is a glob that is matched against the id of a claim or
    /// an experiment, a name, a family, a topic and a document. The series is written as for `compare`.
    fn from_str(text: &str) -> Result<Self, RunGateError> {
        if text.contains(['>', '<']) {
            let gate: compare::Gate = text.parse().map_err(|error| match error {
                GateError::NoRatio(value) => RunGateError::NoValue(value),
                error => RunGateError::Pattern(error),
            })?;
            return Ok(RunGate { text: gate.text.clone(), test: Test::Value(Box::new(gate)) });
        }
        let no_operator = || RunGateError::NoOperator(text.trim().to_owned());
        let (claims, name) = text.rsplit_once('=').ok_or_else(no_operator)?;
        let (claims, other) = match claims.strip_suffix('!') {
            Some(claims) => (claims.trim(), true),
            // `==` is accepted, too.
            None => (claims.strip_suffix('=').unwrap_or(claims).trim(), false),
        };
        let name = name.trim();
        let verdict = Verdict::named(&name.to_ascii_lowercase());
        let verdict = verdict.ok_or_else(|| RunGateError::NoVerdict(name.to_owned()))?;
        let text = format!("{claims} {} {name}", if other { "!=" } else { "=" });
        let claims = glob(claims).map_err(RunGateError::Pattern)?;
        Ok(RunGate { text, test: Test::Verdict { claims, verdict, other } })
    }
}

/// The result of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOutcome {
    pub gate: String,
    /// Number of claims or points that were checked.
    pub looked_at: usize,
    /// The claims or points that fail the gate, one line each.
    pub failures: Vec<String>,
}

impl RunGate {
    /// Checks before a run that the gate may match something. The series of values are known only after the run.
    ///
    /// # Errors
    /// If the gate is on a verdict, and no claim of these experiments matches.
    pub fn may_match(&self, experiments: &[&Experiment]) -> Result<(), RunGateError> {
        let Test::Verdict { claims, .. } = &self.test else { return Ok(()) };
        let named = |experiment: &&Experiment| {
            let mut of = experiment.claims.iter();
            of.any(|claim| names(claims, claim.id, experiment.id, &claim.origin.to_string()))
        };
        match experiments.iter().any(named) {
            true => Ok(()),
            false => Err(RunGateError::Nothing(self.text.clone())),
        }
    }

    /// Checks a run's verdicts and the figures of its report. A point fails if its whole interval lies
    /// beyond the limit.
    ///
    /// # Errors
    /// If nothing matches: a gate that can never fail is a mistake.
    pub fn judge(
        &self,
        verdicts: &[VerdictLine],
        sections: &[Section],
    ) -> Result<RunOutcome, RunGateError> {
        let mut outcome =
            RunOutcome { gate: self.text.clone(), looked_at: 0, failures: Vec::new() };
        match &self.test {
            Test::Value(gate) => values(gate, sections, &mut outcome),
            Test::Verdict { claims, verdict, other } => {
                let named = |line: &&VerdictLine| {
                    names(claims, line.name(), &line.experiment, &line.origin)
                };
                for line in verdicts.iter().filter(named) {
                    outcome.looked_at += 1;
                    if (line.verdict == *verdict) != *other {
                        let (name, verdict) = (line.name(), line.verdict.name());
                        outcome.failures.push(format!("{name} {verdict}: {}", line.numbers));
                    }
                }
            }
        }
        match outcome.looked_at {
            0 => Err(RunGateError::Nothing(self.text.clone())),
            _ => Ok(outcome),
        }
    }
}

/// Checks every point of the series that a gate names.
fn values(gate: &compare::Gate, sections: &[Section], outcome: &mut RunOutcome) {
    for (of, figure) in sections.iter().filter_map(|of| Some((of, of.figure.as_ref()?))) {
        let curves = figure.curves.iter();
        for curve in curves.filter(|curve| gate.matches(&of.id, &of.name, &curve.label)) {
            outcome.looked_at += curve.points.len();
            let fails = |value: &&Value| gate.is_beyond(Interval::new(value.lo, value.hi));
            let failure = |value: &Value| {
                let at = place(&figure.x, value.x);
                let [mid, lo, hi] = [value.mid, value.lo, value.hi].map(number);
                let (id, series, unit) = (&of.id, &curve.label, &figure.unit);
                let (beyond, limit) = (gate.beyond.word(), number(gate.limit));
                format!("{id} {series} at {at}: {mid} [{lo}, {hi}] {unit}, {beyond} {limit}")
            };
            outcome.failures.extend(curve.points.iter().filter(fails).map(failure));
        }
    }
}

/// Returns whether a pattern matches a claim by its id, its experiment or its document.
fn names(pattern: &Pattern, claim: &str, id: &str, origin: &str) -> bool {
    let options = MatchOptions { case_sensitive: false, ..MatchOptions::new() };
    let row = crate::experiment::find(id);
    let names = [
        Some(claim),
        Some(id),
        row.map(|row| row.name),
        topics::of(id).map(|family| family.name),
        topics::topic_of(id).map(|topic| topic.name),
        origin.split(' ').next(),
    ];
    let documents = Document::ALL.map(Document::name).into_iter();
    let documents = documents.filter(|name| origin.starts_with(name));
    names.into_iter().flatten().chain(documents).any(|name| pattern.matches_with(name, options))
}

impl RunOutcome {
    /// The maximum number of failures that are listed.
    const NAMED: usize = 20;

    pub fn in_words(&self) -> String {
        if self.failures.is_empty() {
            return format!("gate `{}` passed: looked at {}", self.gate, self.looked_at);
        }
        let count = self.failures.len();
        let mut text = format!("gate `{}` failed: {count} of {}", self.gate, self.looked_at);
        for failure in self.failures.iter().take(Self::NAMED) {
            text += &format!("\n  {failure}");
        }
        if count > Self::NAMED {
            text += &format!("\n  and {} more", count - Self::NAMED);
        }
        text
    }

    pub(crate) fn check(&self) -> format::Check {
        format::Check {
            group: "gates".to_owned(),
            name: self.gate.clone(),
            outcome: format::Outcome::of(self.failures.is_empty()),
            text: self.in_words(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::analysis::Analysis;
    use crate::lab::read::parse;
    use crate::lab::report::build;

    fn planted() -> Analysis {
        let planted = include_bytes!("../../tests/fixtures/record/planted.jsonl");
        Analysis::of(parse(planted).unwrap().record)
    }

    fn judge(gate: &RunGate) -> Result<RunOutcome, RunGateError> {
        let analysis = planted();
        gate.judge(&analysis.verdicts, &build(&analysis).unwrap().sections)
    }

    fn failures(gate: &str) -> usize {
        judge(&gate.parse().unwrap()).unwrap().failures.len()
    }

    #[test]
    fn a_verdict_fails_where_it_is_found() {
        let verdicts = planted().verdicts;
        let count = |is: &dyn Fn(&VerdictLine) -> bool| verdicts.iter().filter(|v| is(v)).count();
        let holds = count(&|line| line.verdict == Verdict::Holds);
        assert!(holds > 0);
        assert_eq!(failures("* = holds"), holds);
        let fails = count(&|line| line.verdict == Verdict::DoesNotHold);
        assert_eq!(failures("*=does not hold"), fails);
        let of_drepper = |line: &VerdictLine| line.origin.starts_with("Drepper");
        let others = count(&|line| of_drepper(line) && line.verdict != Verdict::Holds);
        assert_eq!(failures("drepper != holds"), others);
        let all = count(&|line| line.experiment == "D14" && line.verdict == Verdict::Holds);
        assert_eq!(failures("d14.* = holds"), all);
    }

    #[test]
    fn a_value_fails_beyond_its_limit() {
        assert_eq!(failures("D15 > 1e6"), 0);
        assert!(failures("D15 > 0.001") > failures("*/D15/NPAD=0 > 0.001"));
        assert!(failures("sequential/D15/NPAD=0 < 1e6") > 0);
    }

    #[test]
    fn what_is_no_gate_is_refused_with_what_would_be() {
        let error = |text: &str| match text.parse::<RunGate>() {
            Ok(gate) => judge(&gate).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        for (gate, part) in [
            ("D14", "D15/NPAD=7 > 300"),
            ("D14 = fine", "holds, does not hold"),
            ("D14 > much", "in the unit"),
            ("seqential > 5", "did you mean `sequential`"),
            ("[ = holds", "not a valid glob"),
            ("E4 = holds", "could never fail"),
            ("E4 > 5", "could never fail"),
        ] {
            assert!(error(gate).contains(part), "{gate}: {}", error(gate));
        }
    }
}
