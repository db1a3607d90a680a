//! The conditions that distort a measurement on this machine, as `linefill doctor` prints them.

use serde_json::{Value, json};

use super::format::{Check, Outcome, Output, Sheet};
use super::terminal::{BAD, FAINT, GOOD, Screen, WARN, paragraph};
use crate::os::health::{self, State};

/// The result of `linefill doctor` for a CPU.
#[derive(Debug)]
pub(crate) struct Checkup {
    /// The measuring CPU.
    pub cpu: usize,
    /// The checks that were made.
    pub checks: Vec<health::Check>,
    /// Further warnings.
    pub notes: Vec<String>,
    /// Whether a warning makes the command fail too.
    pub strict: bool,
}

impl Checkup {
    /// Returns whether a check is bad enough for the command to fail.
    pub fn fails(&self) -> bool {
        self.checks.iter().any(|check| self.outcome(check.state) == Outcome::Failed)
    }

    fn outcome(&self, state: State) -> Outcome {
        match state {
            State::Good => Outcome::Passed,
            State::Unknown => Outcome::Skipped,
            State::Warn if !self.strict => Outcome::Warned,
            State::Warn | State::Bad => Outcome::Failed,
        }
    }

    fn count(&self, state: State) -> usize {
        self.checks.iter().filter(|check| check.state == state).count()
    }

    fn found(&self) -> Sheet {
        let mut sheet = Sheet::new("What was found", &["", "what", "found"]);
        for check in &self.checks {
            sheet.row([word(check.state), check.name, &check.found]);
        }
        sheet
    }

    fn advice(&self) -> Sheet {
        let mut sheet = Sheet::new("What to do", &["what", "why it matters, and how to fix it"]);
        for check in self.checks.iter().filter(|check| check.state != State::Good) {
            sheet.row([check.name, &help(check)]);
        }
        sheet
    }
}

impl Output for Checkup {
    fn name(&self) -> String {
        "linefill doctor".to_owned()
    }

    fn screen(&self, width: u16) -> Screen {
        let mut screen = Screen::of(&format!("Measuring on CPU {}:\n\n", self.cpu));
        // Only the word in a row's first column is coloured.
        for line in self.found().text(width).lines() {
            let state = STATES.into_iter().find(|state| {
                let first = line.trim_start().strip_prefix(word(*state));
                first.is_some_and(|rest| rest.is_empty() || rest.starts_with("  "))
            });
            match state {
                None => screen.add(line),
                Some(state) => {
                    let rest = line.find(word(state)).unwrap_or(0) + word(state).len();
                    screen.paint(style(state), &line[..rest]).add(&line[rest..])
                }
            };
            screen.end();
        }
        screen.end();
        let advice = self.advice();
        if !advice.rows.is_empty() {
            screen.add(&advice.text(width)).add("\n\n");
        }
        for note in &self.notes {
            screen.paint(WARN, "warning").add(&format!(": {note}\n"));
        }
        let [good, warn, bad, unknown] =
            [State::Good, State::Warn, State::Bad, State::Unknown].map(|state| self.count(state));
        let tally = format!("{good} good, {warn} to be aware of, {bad} bad, {unknown} not known");
        paragraph(&mut screen, None, &tally, width);
        screen
    }

    fn json(&self) -> Value {
        let check = |check: &health::Check| {
            json!({
                "name": check.name,
                "state": check.state.name(),
                "found": check.found,
                "why": check.why,
                "fix": check.mend,
            })
        };
        json!({
            "cpu": self.cpu,
            "checks": self.checks.iter().map(check).collect::<Vec<_>>(),
            "warnings": self.notes,
            "failed": self.fails(),
        })
    }

    fn sheets(&self) -> Vec<Sheet> {
        vec![self.found(), self.advice()]
    }

    fn checks(&self) -> Vec<Check> {
        let check = |check: &health::Check| Check {
            group: "doctor".to_owned(),
            name: check.name.to_owned(),
            outcome: self.outcome(check.state),
            text: match check.state {
                State::Good => check.found.clone(),
                _ => format!("{}\n{}", check.found, help(check)),
            },
        };
        self.checks.iter().map(check).collect()
    }
}

const STATES: [State; 4] = [State::Good, State::Unknown, State::Warn, State::Bad];

/// Returns the word that is printed for a state.
fn word(state: State) -> &'static str {
    match state {
        State::Bad => "BAD",
        state => state.name(),
    }
}

fn style(state: State) -> anstyle::Style {
    match state {
        State::Good => GOOD,
        State::Unknown => FAINT,
        State::Warn => WARN,
        State::Bad => BAD.bold(),
    }
}

fn help(check: &health::Check) -> String {
    match check.mend.as_str() {
        "" => check.why.to_owned(),
        fix => format!("{} Fix: {fix}.", check.why),
    }
}
