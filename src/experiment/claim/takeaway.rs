//! The finding in a claim's number, whatever the verdict.

use super::verdict::Verdict;
use crate::prelude::*;

/// The text of a claim's number in a list of findings, and advice.
///
/// Only claims whose document has a number for the same quantity have a takeaway, because a finding
/// compares the document's number with this machine's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Takeaway {
    /// The quantity, as the first cell of a row: `Random over sequential access, in memory`.
    pub subject: &'static str,
    /// A sentence without its full stop, with `{now}` for this machine's number. It must be true
    /// whatever the number is.
    pub headline: &'static str,
    /// How the number is shown.
    pub shown: Shown,
    /// How many programs the finding concerns.
    pub touches: Touches,
    /// What to do if the claim holds, and if it does not.
    pub(super) advice: [&'static str; 2],
}

/// How a number is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// As a factor: `3.7x`.
    Times,
    /// As a share: 0.23 is `23 %`.
    Share,
    /// As the saved share: 0.23 of the time is `77 %` saved.
    Saved,
}

/// How many programs a finding concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touches {
    /// Programs that do one special thing.
    Few,
    /// Programs of one kind: numerical code, servers, ...
    Some,
    /// Many programs that are tuned for speed.
    Many,
    /// Nearly all programs whose data does not fit a cache.
    Most,
}

impl Touches {
    /// Returns the weight of a change in a ranking.
    pub const fn weight(self) -> f64 {
        match self {
            Touches::Few => 0.3,
            Touches::Some => 0.6,
            Touches::Many => 1.0,
            Touches::Most => 1.4,
        }
    }
}

impl Takeaway {
    /// Returns what to do, or an empty string if the claim is not decided.
    pub const fn advice_on(&self, verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Holds => self.advice[0],
            Verdict::DoesNotHold => self.advice[1],
            Verdict::Inconclusive | Verdict::Untestable => "",
        }
    }
}

impl Shown {
    /// Returns the length of a bar for this number: the factor, the share, or the saved share.
    pub fn amount(self, value: f64) -> f64 {
        match self {
            Shown::Times | Shown::Share => value,
            Shown::Saved => 1.0 - value,
        }
    }

    /// Returns the number with its unit, in two digits: `3.7x`, `77 %`.
    pub fn text(self, value: f64) -> String {
        match self {
            Shown::Times => format!("{}x", factor(value)),
            Shown::Share | Shown::Saved => percent(self.amount(value)),
        }
    }

    /// Returns the number as a word of a sentence: `3.7 times`, `77 %`.
    pub fn words(self, value: f64) -> String {
        match self {
            Shown::Times => format!("{} times", factor(value)),
            Shown::Share | Shown::Saved => percent(self.amount(value)),
        }
    }
}

/// Formats a factor in two digits, or in three below 2, where two are too few.
fn factor(value: f64) -> String {
    match value.abs() {
        size if size >= 9.95 => format!("{value:.0}"),
        size if size >= 1.95 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent.abs() < 9.95 && share != 0.0 {
        true => format!("{percent:.1} %"),
        false => format!("{percent:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_digits() {
        let times = [194.3, 9.6, 3.66, 1.02].map(|value| Shown::Times.text(value));
        assert_eq!(times, ["194x", "9.6x", "3.7x", "1.02x"]);
        assert_eq!(Shown::Times.words(43.2), "43 times");
        let saved = [0.23, 0.945, 1.05].map(|value| Shown::Saved.text(value));
        assert_eq!(saved, ["77 %", "5.5 %", "-5.0 %"]);
        assert_eq!(Shown::Share.text(0.034), "3.4 %");
    }

    #[test]
    fn advice_follows_the_verdict() {
        let of = Takeaway {
            subject: "a",
            headline: "b {now}",
            shown: Shown::Times,
            touches: Touches::Many,
            advice: ["c", "d"],
        };
        let advice = Verdict::ALL.map(|verdict| of.advice_on(verdict));
        assert_eq!(advice, ["c", "d", "", ""]);
    }
}
