//! A gate for continuous integration: `walk/* > 1.05`.

use std::str::FromStr;

use glob::{MatchOptions, Pattern};

use super::difference::{Difference, family_of};
use crate::experiment::topics::families;
use crate::experiment::{Named, all, find, nearest};
use crate::lab::chart::place as at;
use crate::lab::rank::greatest_first;
use crate::lab::record::MACHINE;
use crate::spelling::distance;
use crate::stats::Interval;

/// Names for several families.
const GROUPS: [(&str, &[&str]); 1] = [(
    "walk",
    &[MACHINE, "hierarchy", "sequential", "pages", "random"],
)];

/// Which ratios fail: other record over first, of the series that match.
#[derive(Clone, Debug)]
pub struct Gate {
    /// The gate as it was given.
    pub text: String,
    family: Pattern,
    experiment: Option<Pattern>,
    series: Option<Pattern>,
    /// On which side of the limit a ratio fails.
    pub beyond: Beyond,
    /// The limit.
    pub limit: f64,
}

/// On which side of its limit a gate fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// `>`.
    Above,
    /// `<`.
    Below,
}

/// What is wrong with a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateError {
    /// Neither `>` nor `<`.
    NoOperator(String),
    /// Nothing before the operator, or between two slashes.
    Empty(String),
    /// A part of the pattern is no glob.
    NoGlob {
        /// The part.
        part: String,
        /// What is wrong with it.
        why: String,
    },
    /// What follows the operator is no ratio.
    NoRatio(String),
    /// The first part names no family, and no experiment either.
    NoFamily {
        /// The part.
        part: String,
        /// What is spelt much like it, if anything is.
        near: Option<String>,
    },
    /// The second part names no experiment.
    NoExperiment {
        /// The part.
        part: String,
        /// What is spelt much like it, if anything is.
        near: Option<String>,
    },
    /// No point matches that both records have.
    Nothing(String),
    /// No function matches of which there is a ratio.
    NoFunction(String),
}

messages! { GateError:
    GateError::NoOperator(text) => (
        "`{text}` has neither `>` nor `<`; a gate is FAMILY/EXPERIMENT/SERIES > RATIO, such \
            as `walk/* > 1.05`"
    );
    GateError::Empty(text) => (
        "a part of the pattern `{text}` is empty; `*` stands for all, as in `walk/*`"
    );
    GateError::NoGlob { part, why } => ("`{part}` is no glob: {why}");
    GateError::NoRatio(text) => (
        "`{text}` is no ratio; one is a number above 0, such as 1.05 for 5 % more"
    );
    GateError::NoFamily { part, near } => (
        "`{part}` is no family and no experiment{near} `linefill list` shows all, and `walk` stands \
            for all list walks", near = meant(near.as_deref())
    );
    GateError::NoExperiment { part, near } => (
        "`{part}` is no experiment{near} `linefill list` shows all", near = meant(near.as_deref())
    );
    GateError::NoFunction(text) => (
        "no function that both have matches `{text}`, so that it could never fail; a gate on \
            functions is NAME > RATIO, and `*` stands for any part of a name"
    );
    GateError::Nothing(text) => (
        "no point that the records share matches `{text}`, so that it could never fail"
    );
}

/// Asks whether this was meant.
fn meant(near: Option<&str>) -> String {
    near.map_or_else(
        || ";".to_owned(),
        |near| format!("; did you mean `{near}`?"),
    )
}

/// A pattern and how large what it matches may be.
pub(super) struct Limit<'t> {
    /// What is before the operator.
    pub pattern: &'t str,
    /// On which side of the limit a ratio fails.
    pub beyond: Beyond,
    /// The limit.
    pub limit: f64,
    /// All of it, evenly spaced.
    pub text: String,
}

impl<'t> Limit<'t> {
    /// Reads `PATTERN > RATIO`, or `<`.
    pub fn read(text: &'t str) -> Result<Self, GateError> {
        // The last operator is meant: a name may have one in it.
        let at = text
            .rfind(['>', '<'])
            .ok_or_else(|| GateError::NoOperator(text.trim().to_owned()))?;
        let (pattern, ratio) = (text[..at].trim(), text[at + 1..].trim());
        let beyond = match text.as_bytes()[at] {
            b'>' => Beyond::Above,
            _ => Beyond::Below,
        };
        let limit: Option<f64> = ratio.parse().ok();
        let limit = limit.filter(|limit| *limit > 0.0 && limit.is_finite());
        let limit = limit.ok_or_else(|| GateError::NoRatio(ratio.to_owned()))?;
        Ok(Limit {
            pattern,
            beyond,
            limit,
            text: format!("{pattern} {} {ratio}", &text[at..=at]),
        })
    }
}

impl Beyond {
    /// Whether the whole of an interval lies beyond `limit`.
    pub(super) fn holds(self, value: Interval, limit: f64) -> bool {
        match self {
            Beyond::Above => value.lo > limit,
            Beyond::Below => value.hi < limit,
        }
    }

    /// The side in words.
    pub(super) fn word(self) -> &'static str {
        match self {
            Beyond::Above => "above",
            Beyond::Below => "below",
        }
    }
}

impl FromStr for Gate {
    type Err = GateError;

    /// Reads `FAMILY/EXPERIMENT/SERIES > RATIO`, or `<`: globs, of which the last may be left out.
    /// The first part may also be an experiment, by id or name, and `walk` stands for all list
    /// walks. Upper and lower case are the same.
    fn from_str(text: &str) -> Result<Self, GateError> {
        let Limit {
            pattern,
            beyond,
            limit,
            text,
        } = Limit::read(text)?;

        // A series may have slashes in its name.
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

pub(super) fn glob(part: &str) -> Result<Pattern, GateError> {
    Pattern::new(part).map_err(|error| GateError::NoGlob {
        part: part.to_owned(),
        why: error.to_string(),
    })
}

/// Whether a part stands for several names, so that it cannot be looked up.
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
    let near = names.iter().min_by_key(far);
    let near = near.filter(|name| 3 * far(name) <= part.chars().count());
    Err(GateError::NoFamily {
        part: part.to_owned(),
        near: near.map(|&name| name.to_owned()),
    })
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
    Err(GateError::NoExperiment {
        part: part.to_owned(),
        near: near.map(str::to_owned),
    })
}

/// A point beyond a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The record.
    pub side: String,
    /// The experiment's id.
    pub id: String,
    /// The series.
    pub series: String,
    /// Place on the horizontal axis.
    pub x: f64,
    /// The same in words.
    pub place: String,
    /// Its value over the first record's.
    pub times: f64,
    /// The interval of that.
    pub ratio: Interval,
}

/// What a gate came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Points that it looked at.
    pub points: usize,
    /// Those beyond it, the furthest first.
    pub failures: Vec<Failure>,
}

impl Gate {
    /// Holds the differences of each record, by its name, against the gate. A point fails if the
    /// whole interval of its ratio lies beyond the limit.
    ///
    /// # Errors
    /// If nothing matches: a gate that can never fail is a mistake.
    pub fn judge(&self, records: &[(&str, &[Difference])]) -> Result<Outcome, GateError> {
        let mut outcome = Outcome::default();
        for (side, differences) in records {
            let matching = differences
                .iter()
                .filter(|of| self.matches(&of.id, &of.name, &of.series));
            for difference in matching {
                for place in &difference.places {
                    let (Some(ratio), Some(times)) = (place.ratio, place.times()) else {
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
            return Err(GateError::Nothing(self.text.clone()));
        }
        // What surely lies beyond, not what may.
        let far = |failure: &Failure| match self.beyond {
            Beyond::Above => failure.ratio.lo,
            Beyond::Below => 1.0 / failure.ratio.hi,
        };
        greatest_first(&mut outcome.failures, far);
        Ok(outcome)
    }

    /// Whether the whole of an interval lies beyond the limit.
    pub(in crate::lab) fn is_beyond(&self, value: Interval) -> bool {
        self.beyond.holds(value, self.limit)
    }

    /// Whether it looks at a series of an experiment, by the id and name of that.
    pub(in crate::lab) fn matches(&self, id: &str, name: &str, series: &str) -> bool {
        let options = MatchOptions {
            case_sensitive: false,
            ..MatchOptions::new()
        };
        let is = |pattern: &Pattern, name: &str| pattern.matches_with(name, options);
        let of_experiment = |pattern: &Pattern| is(pattern, id) || is(pattern, name);
        let family = family_of(id);
        let in_group = GROUPS
            .iter()
            .any(|(group, families)| is(&self.family, group) && families.contains(&family));
        (is(&self.family, family) || in_group || of_experiment(&self.family))
            && self.experiment.as_ref().is_none_or(of_experiment)
            && self
                .series
                .as_ref()
                .is_none_or(|pattern| is(pattern, series))
    }
}
