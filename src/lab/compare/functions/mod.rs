//! Compares timings of the user's own functions with earlier timings.

mod source;

use glob::Pattern;
use serde_json::json;

pub(crate) use source::{Function, NEW, Source, Value};

use super::gate::{glob, parts};
use super::print::ratio_text;
use super::{Beyond, GateError, Larger, difference};
use crate::lab::format::{self, Check, Output, Sheet};
use crate::lab::size::counted;
use crate::lab::terminal::{STRONG, Screen};
use crate::order;
use crate::stats::Interval;

/// Least uncertainty of each value, as a share. The samples of one run do not show the variation due to
/// other physical pages or another time.
const BETWEEN_RUNS: f64 = 0.01;

/// A function that both sources have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    pub name: String,
    /// The first source's value, and the other's.
    pub values: [Value; 2],
    /// Unit of the values; empty if it is unknown.
    pub unit: &'static str,
    /// The other source's value over the first's; `None` if a value may be zero.
    pub ratio: Option<Interval>,
}

impl Pair {
    fn of(first: &Function, other: &Function) -> Pair {
        // Core cycles do not depend on the clock rate.
        let (values, unit) = match (first.cycles, other.cycles) {
            (Some(first), Some(other)) => ([first, other], "cycles"),
            _ => {
                let unit = if first.unit == other.unit { first.unit } else { "" };
                ([first.value, other.value], unit)
            }
        };
        let [before, now] = values.map(|value| value.range.widened(BETWEEN_RUNS));
        Pair { name: first.name.clone(), values, unit, ratio: now.quotient(before) }
    }

    /// Returns the ratio of the values themselves.
    fn times(&self) -> Option<f64> {
        let [first, other] = self.values.map(|value| value.at);
        self.ratio.map(|_| other / first)
    }

    /// Returns whether this function lies beyond a gate's limit; `None` if that cannot be said. A value that
    /// may be zero is compared without a ratio.
    fn beyond(&self, gate: &FunctionGate) -> Option<bool> {
        if let Some(ratio) = self.ratio {
            return Some(gate.beyond.holds(ratio, gate.limit));
        }
        let [before, now] = self.values.map(|value| value.range.widened(BETWEEN_RUNS));
        let surely = match gate.beyond {
            Beyond::Above => now.lo > gate.limit * before.hi,
            Beyond::Below => now.hi < gate.limit * before.lo,
        };
        surely.then_some(true)
    }

    /// Formats the name and the ratio, or both values if there is no ratio.
    fn words(&self) -> String {
        let (name, [before, now]) = (&self.name, self.values);
        match (self.times(), self.ratio) {
            (Some(times), Some(ratio)) => format!("{name}: {}", ratio_text(times, ratio)),
            _ => format!("{name}: {before} -> {now} {}", self.unit).trim_end().to_owned(),
        }
    }

    /// Returns the logarithms of two factors between the values: the least one that the interval of the
    /// ratio allows, and that of the values.
    fn effect(&self) -> (f64, f64) {
        let sure = self.ratio.map_or(0.0, |ratio| match ratio {
            Interval { lo, .. } if lo > 1.0 => lo.ln(),
            Interval { hi, .. } if hi < 1.0 => -hi.ln(),
            _ => 0.0,
        });
        (sure, self.times().map_or(0.0, |times| times.ln().abs()))
    }
}

/// A condition on the ratios of functions: `GLOB > RATIO`.
#[derive(Clone, Debug)]
pub(crate) struct FunctionGate {
    text: String,
    pattern: Pattern,
    beyond: Beyond,
    limit: f64,
}

impl std::str::FromStr for FunctionGate {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Self, GateError> {
        let (pattern, beyond, limit, text) = parts(text)?;
        if pattern.is_empty() {
            return Err(GateError::Empty(pattern.to_owned()));
        }
        Ok(FunctionGate { pattern: glob(pattern)?, text, beyond, limit })
    }
}

/// The functions of two sources compared.
#[derive(Debug)]
pub(crate) struct Functions {
    /// Names of the two sources.
    pub names: [String; 2],
    /// Functions that both sources have, the largest effect first.
    pub pairs: Vec<Pair>,
    /// Functions of the first source alone, then functions of the second source alone.
    pub alone: [Vec<String>; 2],
    judged: Vec<Judged>,
}

/// A gate with what it found.
#[derive(Debug)]
struct Judged {
    gate: FunctionGate,
    /// The functions that failed, each with its numbers.
    failures: Vec<String>,
    /// Number of functions checked.
    looked_at: usize,
    /// The functions that were not checked, because a value may be zero.
    skipped: Vec<String>,
}

pub(crate) fn compared(first: &Source, other: &Source) -> Functions {
    let named = |source: &Source, name: &str| {
        let place = source.functions.binary_search_by(|of| of.name.as_str().cmp(name));
        place.ok().map(|place| source.functions[place].clone())
    };
    let alone = |of: &Source, beside: &Source| {
        let own = of.functions.iter().filter(|of| named(beside, &of.name).is_none());
        own.map(|of| of.name.clone()).collect()
    };
    let both = first.functions.iter().filter_map(|of| Some(Pair::of(of, &named(other, &of.name)?)));
    let mut pairs: Vec<Pair> = both.collect();
    order::by(&mut pairs, |a, b| {
        let ((sure, seems), (sure_of_b, seems_of_b)) = (a.effect(), b.effect());
        sure_of_b.total_cmp(&sure).then(seems_of_b.total_cmp(&seems))
    });
    Functions {
        names: [first.name.clone(), other.name.clone()],
        pairs,
        alone: [alone(first, other), alone(other, first)],
        judged: Vec::new(),
    }
}

impl Functions {
    /// Checks the ratios against gates. A function fails if the whole interval of its ratio lies beyond the
    /// limit.
    ///
    /// # Errors
    /// If nothing matches a gate, or no matching function can be checked, because a gate that can never fail
    /// is a mistake.
    pub fn judge(&mut self, gates: &[FunctionGate]) -> Result<(), GateError> {
        for gate in gates {
            let (mut failures, mut skipped, mut looked_at) = (Vec::new(), Vec::new(), 0);
            for pair in self.pairs.iter().filter(|pair| gate.pattern.matches(&pair.name)) {
                let Some(beyond) = pair.beyond(gate) else {
                    skipped.push(pair.name.clone());
                    continue;
                };
                looked_at += 1;
                if beyond {
                    failures.push(pair.words());
                }
            }
            if looked_at == 0 {
                return Err(match &skipped[..] {
                    [] => GateError::NoFunction(gate.text.clone()),
                    _ => GateError::MaybeZero(gate.text.clone(), skipped.join("`, `")),
                });
            }
            self.judged.push(Judged { gate: gate.clone(), failures, looked_at, skipped });
        }
        Ok(())
    }

    pub fn passed(&self) -> bool {
        self.judged.iter().all(|judged| judged.failures.is_empty())
    }

    /// Formats the results of the gates, a paragraph each.
    pub fn verdicts(&self) -> impl Iterator<Item = String> {
        self.judged.iter().map(|judged| {
            let Judged { gate, failures, looked_at, skipped } = judged;
            let verdict = match failures[..] {
                [] => {
                    let functions = counted(*looked_at, "function");
                    format!("gate `{}` passed: {functions}", gate.text)
                }
                _ => format!(
                    "gate `{}` failed: {} of {looked_at} functions {} {}\n  {}",
                    gate.text,
                    failures.len(),
                    gate.beyond.word(),
                    gate.limit,
                    failures.join("\n  ")
                ),
            };
            match skipped[..] {
                [] => verdict,
                _ => format!(
                    "{verdict}\n  not checked, because a value may be zero: {}",
                    skipped.join(", ")
                ),
            }
        })
    }

    fn sheet(&self) -> Sheet {
        let [first, other] = &self.names;
        let title = format!("{other} over {first}");
        let mut sheet = Sheet::new(&title, &["function", "first", "other", "", "other over first"]);
        for pair in &self.pairs {
            let with_unit = |value| format!("{value} {}", pair.unit).trim_end().to_owned();
            let [before, now] = pair.values.map(with_unit);
            let (words, ratio) = match (pair.ratio, pair.times()) {
                (Some(ratio), Some(times)) => {
                    let words = match pair.effect().0 > 0.0 {
                        true => difference::times(times, Larger::Slower),
                        false => "no difference shown".to_owned(),
                    };
                    (words, ratio_text(times, ratio))
                }
                _ => ("-".to_owned(), "a value may be zero".to_owned()),
            };
            sheet.row([&pair.name, &before, &now, &words, &ratio]);
        }
        sheet
    }

    /// Returns the functions that only one source has, and what is not known of the values.
    fn notes(&self) -> String {
        let words = |name: &String, alone: &Vec<String>| match alone[..] {
            [] => String::new(),
            _ => format!("only in {name}: {}\n", alone.join(", ")),
        };
        let named = self.names.iter().zip(&self.alone);
        let mut notes: String = named.map(|(name, alone)| words(name, alone)).collect();
        if self.pairs.iter().any(|pair| pair.unit.is_empty()) {
            notes += "Criterion does not store the unit: nanoseconds, unless a bench measures \
                      something else.\n";
        }
        notes
    }
}

impl Output for Functions {
    fn name(&self) -> String {
        format!("linefill compare: {}", self.names.join(", "))
    }

    fn screen(&self, width: u16) -> Screen {
        let sheet = self.sheet();
        let mut screen = Screen::default();
        screen.paint(STRONG, &sheet.title).end();
        screen.add(&sheet.text(width)).end();
        screen.add(&self.notes());
        screen
    }

    fn json(&self) -> serde_json::Value {
        let ends = |of: Value| json!([of.range.lo, of.at, of.range.hi]);
        let pair = |pair: &Pair| {
            json!({
                "function": pair.name,
                "unit": pair.unit,
                "first": ends(pair.values[0]),
                "other": ends(pair.values[1]),
                "ratio": pair.ratio.map(|ratio| json!([ratio.lo, pair.times(), ratio.hi])),
            })
        };
        let gates = self.judged.iter().map(|judged| {
            json!({
                "gate": judged.gate.text,
                "passed": judged.failures.is_empty(),
                "looked_at": judged.looked_at,
                "failures": judged.failures,
                "skipped": judged.skipped,
            })
        });
        json!({
            "sources": self.names,
            "functions": self.pairs.iter().map(pair).collect::<Vec<_>>(),
            "alone": self.alone,
            "gates": gates.collect::<Vec<_>>(),
        })
    }

    fn sheets(&self) -> Vec<Sheet> {
        vec![self.sheet()]
    }

    fn checks(&self) -> Vec<Check> {
        self.judged
            .iter()
            .zip(self.verdicts())
            .map(|(judged, text)| Check {
                group: "gates".to_owned(),
                name: judged.gate.text.clone(),
                outcome: format::Outcome::of(judged.failures.is_empty()),
                text,
            })
            .collect()
    }
}
