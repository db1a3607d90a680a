//! A gate for continuous integration: `walk/* > 1.05`.

use std::str::FromStr;

use glob::{MatchOptions, Pattern};

use super::difference::{Difference, family_of};
use crate::experiment::topics::families;
use crate::experiment::{Named, all, find, nearest};
use crate::lab::chart::place as at;
use crate::lab::record::MACHINE;
use crate::order::{greatest_first, unique};
use crate::spelling::distance;
use crate::stats::Interval;

/// Names that stand for several families.
const GROUPS: [(&str, &[&str]); 1] =
    [("walk", &[MACHINE, "levels", "sequential", "pages", "random", "capacity"])];

/// A condition on ratios of the other record's values to the first's, for the series that match.
#[derive(Clone, Debug)]
pub struct Gate {
    /// The gate as the user wrote it.
    pub text: String,
    family: Pattern,
    experiment: Option<Pattern>,
    series: Option<Pattern>,
    /// Side of the limit on which a ratio fails.
    pub beyond: Beyond,
    pub limit: f64,
}

/// The side of a limit on which a ratio fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// `>`.
    Above,
    /// `<`.
    Below,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateError {
    /// The gate has neither `>` nor `<`.
    NoOperator(String),
    /// A part of the pattern is empty.
    Empty(String),
    /// A part of the pattern is not a valid glob.
    NoGlob { part: String, why: String },
    /// The text after the operator is not a ratio.
    NoRatio(String),
    /// The first part is neither a family nor an experiment; the most similar name, if any is similar.
    NoFamily { part: String, near: Option<String> },
    /// The second part is not an experiment; the most similar name, if any is similar.
    NoExperiment { part: String, near: Option<String> },
    /// No point that both records have matches.
    Nothing(String),
    /// No function that both sources have matches.
    NoFunction(String),
    /// The functions or experiments that match, the second text, may have a value of zero and thus no ratio.
    MaybeZero(String, String),
}

messages! { GateError:
    GateError::NoOperator(text) => (
        "`{text}` has neither `>` nor `<`; a gate is FAMILY/EXPERIMENT/SERIES > RATIO, such as \
         `walk/* > 1.05`"
    );
    GateError::Empty(text) => (
        "a part of the pattern `{text}` is empty; `*` stands for all, as in `walk/*`"
    );
    GateError::NoGlob { part, why } => ("`{part}` is not a valid glob: {why}");
    GateError::NoRatio(text) => (
        "`{text}` is not a ratio; a ratio is a number above 0, such as 1.05 for 5 % more"
    );
    GateError::NoFamily { part, near } => (
        "`{part}` is neither a family nor an experiment{near} `linefill list` shows all, and \
         `walk` stands for the families levels, sequential, pages, random and capacity, and for \
         the ladder",
        near = meant(near.as_deref())
    );
    GateError::NoExperiment { part, near } => (
        "`{part}` is not an experiment{near} `linefill list` shows all",
        near = meant(near.as_deref())
    );
    GateError::NoFunction(text) => (
        "no function that both have matches `{text}`, so that it could never fail; a gate on \
         functions is NAME > RATIO, and `*` stands for any part of a name"
    );
    GateError::MaybeZero(text, names) => (
        "`{text}` matches only `{names}`, where a value may be zero, so that a ratio may not exist"
    );
    GateError::Nothing(text) => (
        "no point that the records share matches `{text}`, so that it could never fail"
    );
}

fn meant(near: Option<&str>) -> String {
    near.map_or_else(|| ";".to_owned(), |near| format!("; did you mean `{near}`?"))
}

/// Splits `PATTERN > RATIO` or `PATTERN < RATIO` into the pattern, the side of the limit on which a ratio
/// fails, the limit, and the whole gate with single spaces around the operator.
pub(super) fn parts(text: &str) -> Result<(&str, Beyond, f64, String), GateError> {
    // The last operator counts, because the pattern may contain one.
    let at = text.rfind(['>', '<']).ok_or_else(|| GateError::NoOperator(text.trim().to_owned()))?;
    let (pattern, ratio) = (text[..at].trim(), text[at + 1..].trim());
    let beyond = if text[at..].starts_with('>') { Beyond::Above } else { Beyond::Below };
    let limit: Option<f64> = ratio.parse().ok();
    let limit = limit.filter(|limit| *limit > 0.0 && limit.is_finite());
    let limit = limit.ok_or_else(|| GateError::NoRatio(ratio.to_owned()))?;
    Ok((pattern, beyond, limit, format!("{pattern} {} {ratio}", &text[at..=at])))
}

impl Beyond {
    /// Returns whether the whole interval lies beyond `limit`.
    pub(super) fn holds(self, value: Interval, limit: f64) -> bool {
        match self {
            Beyond::Above => value.lo > limit,
            Beyond::Below => value.hi < limit,
        }
    }

    /// Returns the word for the side.
    pub(in crate::lab) fn word(self) -> &'static str {
        match self {
            Beyond::Above => "above",
            Beyond::Below => "below",
        }
    }
}

impl FromStr for Gate {
    type Err = GateError;

    /// Parses `FAMILY/EXPERIMENT/SERIES > RATIO`, or the same with `<`. The parts of the pattern are globs,
    /// and the last one or two may be omitted. The first part may also be the id or name of an experiment,
    /// and `walk` stands for several families and the ladder. Letter case is ignored.
    fn from_str(text: &str) -> Result<Self, GateError> {
        let (pattern, beyond, limit, text) = parts(text)?;
        // The name of a series may contain slashes.
        let mut parts = pattern.splitn(3, '/').map(str::trim);
        let mut part = || parts.next();
        let family = part().unwrap_or_default();
        let (experiment, series) = (part(), part());
        if [Some(family), experiment, series].contains(&Some("")) {
            return Err(GateError::Empty(pattern.to_owned()));
        }
        check_family(family)?;
        experiment.map_or(Ok(()), check_experiment)?;
        Ok(Gate {
            text,
            family: glob(family)?,
            experiment: experiment.map(glob).transpose()?,
            series: series.map(glob).transpose()?,
            beyond,
            limit,
        })
    }
}

pub(in crate::lab) fn glob(part: &str) -> Result<Pattern, GateError> {
    Pattern::new(part)
        .map_err(|error| GateError::NoGlob { part: part.to_owned(), why: error.to_string() })
}

/// Returns whether a part is a glob, which may stand for several names and cannot be looked up.
fn is_glob(part: &str) -> bool {
    part.contains(['*', '?', '['])
}

fn is_experiment(part: &str) -> bool {
    let named = |name: &str| name.eq_ignore_ascii_case(part);
    named(MACHINE) || find(part).is_some() || all().iter().any(|row| named(row.name))
}

fn check_family(part: &str) -> Result<(), GateError> {
    let groups = GROUPS.iter().map(|(group, _)| *group);
    let families = families().map(|family| family.name);
    let names: Vec<&str> = groups.chain(families).chain([MACHINE]).collect();
    let known = names.iter().any(|name| name.eq_ignore_ascii_case(part));
    if known || is_glob(part) || is_experiment(part) {
        return Ok(());
    }
    let far = |name: &&&str| distance(&part.to_ascii_lowercase(), name);
    let near = names.iter().min_by_key(far).filter(|name| 3 * far(name) <= part.chars().count());
    Err(GateError::NoFamily { part: part.to_owned(), near: near.map(|&name| name.to_owned()) })
}

fn check_experiment(part: &str) -> Result<(), GateError> {
    if is_glob(part) || is_experiment(part) {
        return Ok(());
    }
    let near = nearest(part).map(|named| match named {
        Named::Row(row) => row.id,
        Named::Family(family) => family.experiments[0].id,
        Named::Topic(topic) => topic.families[0].experiments[0].id,
    });
    Err(GateError::NoExperiment { part: part.to_owned(), near: near.map(str::to_owned) })
}

/// A point that fails a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Name of the record.
    pub side: String,
    /// The experiment's id.
    pub id: String,
    pub series: String,
    pub x: f64,
    /// The place in words.
    pub place: String,
    /// The record's value over the first record's.
    pub times: f64,
    pub ratio: Interval,
}

/// The result of a gate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Number of points checked.
    pub points: usize,
    /// Points that failed, the furthest from the limit first.
    pub failures: Vec<Failure>,
}

impl Gate {
    /// Checks the differences of each named record. A point fails if the whole interval of its ratio lies
    /// beyond the limit.
    ///
    /// # Errors
    /// If nothing matches, because a gate that can never fail is a mistake.
    pub fn judge(&self, records: &[(&str, &[Difference])]) -> Result<Outcome, GateError> {
        let mut outcome = Outcome::default();
        let mut without: Vec<&str> = Vec::new();
        for (side, differences) in records {
            let matches = |of: &&Difference| self.matches(&of.id, &of.name, &of.series);
            for difference in differences.iter().filter(matches) {
                for place in &difference.places {
                    let (Some(ratio), Some(times)) = (place.ratio, place.times()) else {
                        without.push(&difference.id);
                        continue;
                    };
                    outcome.points += 1;
                    if self.is_beyond(ratio) {
                        outcome.failures.push(Failure {
                            side: (*side).to_owned(),
                            id: difference.id.clone(),
                            series: difference.series.clone(),
                            x: place.x,
                            place: at(&difference.axis, place.x),
                            times,
                            ratio,
                        });
                    }
                }
            }
        }
        if outcome.points == 0 {
            return Err(match &unique(without)[..] {
                [] => GateError::Nothing(self.text.clone()),
                of => GateError::MaybeZero(self.text.clone(), of.join("`, `")),
            });
        }
        // Failures are ordered by the end of the interval that is nearer to the limit.
        let far = |failure: &Failure| match self.beyond {
            Beyond::Above => failure.ratio.lo,
            Beyond::Below => 1.0 / failure.ratio.hi,
        };
        greatest_first(&mut outcome.failures, far);
        Ok(outcome)
    }

    /// Returns whether the whole interval lies beyond the limit.
    pub(in crate::lab) fn is_beyond(&self, value: Interval) -> bool {
        self.beyond.holds(value, self.limit)
    }

    /// Returns whether the gate applies to a series of the experiment with this id and name.
    pub(in crate::lab) fn matches(&self, id: &str, name: &str, series: &str) -> bool {
        let options = MatchOptions { case_sensitive: false, ..MatchOptions::new() };
        let is = |pattern: &Pattern, name: &str| pattern.matches_with(name, options);
        let of_experiment = |pattern: &Pattern| is(pattern, id) || is(pattern, name);
        let family = family_of(id);
        let in_group = GROUPS
            .iter()
            .any(|(group, families)| is(&self.family, group) && families.contains(&family));
        (is(&self.family, family) || in_group || of_experiment(&self.family))
            && self.experiment.as_ref().is_none_or(of_experiment)
            && self.series.as_ref().is_none_or(|pattern| is(pattern, series))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_of_families_that_exist() {
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            let known = *name == MACHINE || families().any(|family| family.name == *name);
            assert!(known, "{name}");
        }
    }

    #[test]
    fn a_gate_on_walks_covers_the_walks_of_one_thread() {
        let gate: Gate = "walk/* > 1.05".parse().unwrap();
        for id in [MACHINE, "B11", "D7", "D8", "D14", "D15", "D16", "D17", "D18", "D19", "D21"] {
            assert!(gate.matches(id, "", "NPAD=0"), "{id}");
        }
        for id in ["D26", "D35", "X20"] {
            assert!(!gate.matches(id, "", "NPAD=0"), "{id}");
        }
    }
}
