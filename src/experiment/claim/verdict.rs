//! The verdict of a claim, decided from intervals.

use crate::experiment::claim::reading::Value;
use crate::experiment::{Evidence, Testable, Untestable};
use crate::prelude::*;
use crate::stats::{Interval, Side};

variants! {
    /// Whether a claim holds on this machine.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Verdict {
        /// The whole interval lies where the claim puts it.
        Holds = "holds",
        /// The whole interval lies elsewhere, which is a finding.
        DoesNotHold = "does not hold",
        /// The interval contains the threshold, by noise or because of a true tie.
        Inconclusive = "inconclusive",
        /// The claim cannot be tested on this machine.
        Untestable = "untestable",
    }
}

impl Verdict {
    /// Whether the claim holds or does not.
    pub const fn is_decided(self) -> bool {
        matches!(self, Verdict::Holds | Verdict::DoesNotHold)
    }

    /// Returns the verdict with this name.
    pub fn named(name: &str) -> Option<Self> {
        Verdict::ALL.into_iter().find(|verdict| verdict.name() == name)
    }
}

/// A verdict with the numbers it is based on.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The numbers, as a sentence.
    pub numbers: String,
    /// The first number, for comparison with a document's; `None` if there is none.
    pub value: Option<Interval>,
}

impl Judgement {
    /// Returns a judgement without a number for comparisons.
    pub fn in_words(verdict: Verdict, numbers: String) -> Self {
        Judgement { verdict, numbers, value: None }
    }

    fn on(what: &str, value: Interval, verdict: Verdict, [least, most]: [f64; 2]) -> Self {
        let [from, to] = [least, most].map(|bound| few_digits(bound, value));
        let claimed = match (least.is_finite(), most.is_finite()) {
            (true, true) if least == most => from.to_string(),
            (true, true) => format!("{from} to {to}"),
            (false, _) => format!("below {to}"),
            (true, false) => format!("{from} or more"),
        };
        let value_in_words = beside(value, [least, most]);
        Judgement {
            verdict,
            numbers: format!("{what}: {value_in_words} (claimed: {claimed})"),
            value: Some(value),
        }
    }
}

/// A judgement, or the reason why there is none.
pub type Judged = Testable<Judgement>;

/// Rounds a threshold for display. One of up to four digits is shown in full, and a whole number always. Any other
/// has three digits, or as many more, up to five, as it takes for both ends of `value` to lie on the same side of it
/// as before.
fn few_digits(bound: f64, value: Interval) -> f64 {
    let [four, five] = [4, 5].map(|digits| rounded(bound, digits));
    if four == five {
        return four;
    }
    let sides = |bound: f64| [value.lo, value.hi].map(|end| end.partial_cmp(&bound));
    let fewest = (3..=5).map(|digits| rounded(bound, digits));
    let mut deciding = fewest.filter(|rounded| sides(*rounded) == sides(bound));
    deciding.next().unwrap_or(five)
}

/// Rounds a number to this many digits, or to a whole number if it has more.
fn rounded(value: f64, digits: u8) -> f64 {
    let magnitude = value.abs().log10().floor();
    let behind = (f64::from(digits) - 1.0 - magnitude).clamp(0.0, 20.0) as usize;
    format!("{value:.behind$}").parse().unwrap_or(value)
}

/// Formats an interval beside the bounds of a claim, with enough digits to show on which side of a bound
/// each end lies, and at most three more than usual.
fn beside(value: Interval, bounds: [f64; 2]) -> String {
    let [lo, hi, center] = [value.lo, value.hi, value.center()];
    let few = value.digits();
    if lo == hi && few == 0 {
        return format!("{lo:.0}");
    }
    let hides = |digits: usize, end: f64| {
        let text = |value: f64| format!("{value:.digits$}");
        bounds.iter().any(|bound| *bound != end && text(*bound) == text(end))
    };
    let digits =
        (few..few + 3).find(|&digits| !hides(digits, lo) && !hides(digits, hi)).unwrap_or(few + 3);
    match lo == hi {
        true => format!("{lo:.digits$}"),
        false if !value.tells_a_value() => format!("{lo:.digits$} to {hi:.digits$}"),
        false => format!("{center:.digits$} [{lo:.digits$}, {hi:.digits$}]"),
    }
}

/// The least ratio of two times if a claim says that something takes longer and a machine may well show no
/// difference: 10 % more. Equal times are never told from times that differ by next to nothing, so with a
/// threshold of 1 the claim would stay open there.
pub(crate) const LONGER: f64 = 1.1;

/// The largest ratio of two values if a claim says that something is less and a machine may well show no
/// difference: 10 % less.
pub(crate) const LESS: f64 = 0.9;

/// Judges the claim that `what` is `least` or more.
///
/// # Errors
/// If there is no value.
pub fn at_least(what: &str, value: impl Value, least: f64) -> Judged {
    against(what, value.interval()?, Side::Above, least)
}

/// Judges the claim that `what` is below `most`.
///
/// # Errors
/// If there is no value.
pub fn at_most(what: &str, value: impl Value, most: f64) -> Judged {
    against(what, value.interval()?, Side::Below, most)
}

/// Judges the claim that `value` lies on the `claimed` side of `bound`.
fn against(what: &str, value: Interval, claimed: Side, bound: f64) -> Judged {
    let verdict = match value.side_of(bound) {
        Side::Across => Verdict::Inconclusive,
        side if side == claimed => Verdict::Holds,
        _ => Verdict::DoesNotHold,
    };
    let bounds = match claimed {
        Side::Above => [bound, f64::INFINITY],
        _ => [f64::NEG_INFINITY, bound],
    };
    Ok(Judgement::on(what, value, verdict, bounds))
}

/// Judges the claim that `what` lies between `least` and `most`.
///
/// # Errors
/// If there is no value.
pub fn between(what: &str, value: impl Value, least: f64, most: f64) -> Judged {
    let value = value.interval()?;
    let verdict = if least <= value.lo && value.hi <= most {
        Verdict::Holds
    } else if value.hi < least || value.lo > most {
        Verdict::DoesNotHold
    } else {
        Verdict::Inconclusive
    };
    Ok(Judgement::on(what, value, verdict, [least, most]))
}

/// Adds a note to a judgement.
///
/// # Errors
/// If there is no judgement.
pub fn noted(judged: Judged, note: impl core::fmt::Display) -> Judged {
    let judgement = judged?;
    let numbers = format!("{}; {note}", judgement.numbers);
    Ok(Judgement { numbers, ..judgement })
}

/// Judges the claim that all parts hold. Fails if a part fails; otherwise the verdict is that of the
/// least decided part. Without parts the claim is untestable.
///
/// # Errors
/// The reason of the first part that cannot be judged.
pub fn all_of(parts: impl IntoIterator<Item = Judged>) -> Judged {
    let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(whole(&parts))
}

/// Merges the judgements of all parts.
fn whole(parts: &[Judgement]) -> Judgement {
    let numbers = parts.iter().map(|part| part.numbers.as_str());
    let numbers = numbers.collect::<Vec<_>>().join("; ");
    // In descending order of precedence for the whole.
    let order = [Verdict::DoesNotHold, Verdict::Untestable, Verdict::Inconclusive, Verdict::Holds];
    let is_there = |verdict: &Verdict| parts.iter().any(|part| part.verdict == *verdict);
    match order.into_iter().find(is_there) {
        Some(verdict) => {
            Judgement { verdict, numbers, value: parts.first().and_then(|part| part.value) }
        }
        None => Judgement::in_words(Verdict::Untestable, none().0),
    }
}

/// Makes a `does not hold` untestable in a virtual machine. For claims that fail only if no other guest
/// uses the last level: other guests may have filled it meanwhile, and further passes do not decide
/// that.
///
/// # Errors
/// If there is no judgement.
pub(crate) fn unless_strangers(e: &Evidence<'_>, judged: Judged) -> Judged {
    let judgement = judged?;
    if judgement.verdict != Verdict::DoesNotHold || !e.machine.calibration.is_guest() {
        return Ok(judgement);
    }
    Ok(untestable(
        judgement,
        "in a virtual machine, other guests may have used the last level meanwhile",
    ))
}

/// Makes a judgement untestable whose numbers say nothing about the claim, for this reason.
pub(crate) fn untestable(judgement: Judgement, reason: &str) -> Judgement {
    Judgement {
        verdict: Verdict::Untestable,
        numbers: format!("{}; {reason}", judgement.numbers),
        value: None,
    }
}

/// Checks that the system reports processors and caches as the hardware has them.
///
/// # Errors
/// In a virtual machine, where the host chooses what the system reports.
pub(crate) fn told_by_hardware(e: &Evidence<'_>) -> Testable<()> {
    match e.machine.calibration.is_guest() {
        true => Err(Untestable::because(
            "this is a virtual machine, whose host chooses what CPUID and the system report",
        )),
        false => Ok(()),
    }
}

/// The extreme of several values, and its place.
#[derive(Clone, Debug)]
pub(crate) struct Extreme<P> {
    /// The place.
    pub(crate) at: P,
    /// The extreme, with the uncertainty of all values together.
    pub(crate) value: Interval,
}

/// Returns the reason why there is no extreme.
pub(crate) fn none() -> Untestable {
    Untestable("no point that the claim needs was measured".to_owned())
}

impl<P> Extreme<P> {
    /// Returns the largest of several values, each given with its place.
    ///
    /// # Errors
    /// If there is no value, or the reason of the first missing value.
    pub(crate) fn most(
        values: impl IntoIterator<Item = Testable<(P, Interval)>>,
    ) -> Testable<Self> {
        Extreme::of(values, |seen, value| (value.hi > seen.hi, seen.most(value)))
    }

    /// Returns the smallest of several values, each given with its place.
    ///
    /// # Errors
    /// If there is no value, or the reason of the first missing value.
    pub(crate) fn least(
        values: impl IntoIterator<Item = Testable<(P, Interval)>>,
    ) -> Testable<Self> {
        Extreme::of(values, |seen, value| (value.lo < seen.lo, seen.least(value)))
    }

    /// Returns the extreme by `further`, which returns whether a value exceeds the extreme so far, and
    /// the new extreme.
    fn of(
        values: impl IntoIterator<Item = Testable<(P, Interval)>>,
        further: fn(Interval, Interval) -> (bool, Interval),
    ) -> Testable<Self> {
        let mut values = values.into_iter();
        let (mut at, mut all) = values.next().ok_or_else(none)??;
        for value in values {
            let (place, value) = value?;
            let (is_further, both) = further(all, value);
            all = both;
            if is_further {
                at = place;
            }
        }
        Ok(Extreme { at, value: all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict_of(lo: f64, hi: f64) -> [Verdict; 3] {
        let value = Interval::new(lo, hi);
        [at_least("x", value, 2.0), at_most("x", value, 2.0), between("x", value, 1.0, 2.0)]
            .map(|judged| judged.unwrap().verdict)
    }

    #[test]
    fn an_interval_decides_or_says_that_it_cannot() {
        use Verdict::{DoesNotHold as No, Holds as Yes, Inconclusive as Open};
        assert_eq!(verdict_of(2.1, 2.5), [Yes, No, No]);
        assert_eq!(verdict_of(1.2, 1.5), [No, Yes, Yes]);
        assert_eq!(verdict_of(1.5, 2.5), [Open, Open, Open]);
        assert_eq!(verdict_of(0.5, 0.9), [No, Yes, No]);
    }

    #[test]
    fn a_threshold_is_shown_with_few_digits() {
        let bounds = [
            1.1 * 3.0,
            0.08008,
            1.002,
            45.625,
            69.2995170274447,
            13777.246749623091,
            1e-9,
            0.0,
            -0.5,
        ];
        let far = Interval::new(1e6, 2e6);
        let texts = bounds.map(|bound| few_digits(bound, far).to_string());
        let expected =
            ["3.3", "0.08008", "1.002", "45.6", "69.3", "13777", "0.000000001", "0", "-0.5"];
        assert_eq!(texts, expected);
        assert!(few_digits(f64::INFINITY, far).is_infinite());
    }

    /// A value between the bound and the rounded bound would look as if it were on the other side.
    #[test]
    fn a_threshold_beside_a_value_keeps_the_digits_that_decide() {
        let shown = |end: f64| few_digits(45.625, Interval::new(40.0, end)).to_string();
        assert_eq!(shown(45.0), "45.6");
        assert_eq!(shown(45.61), "45.62");
        assert_eq!(shown(45.622), "45.625");
    }

    /// The printed digits show on which side of the bound an end lies.
    #[test]
    fn numbers_have_the_digits_that_decide() {
        let numbers = |judged: Judged| judged.unwrap().numbers;
        let near = Interval::new(0.0412, 0.0499);
        assert_eq!(
            numbers(at_most("share", near, 0.05)),
            "share: 0.0453 [0.0412, 0.0499] (claimed: below 0.05)"
        );
        assert_eq!(numbers(between("a", Interval::exact(6.0), 6.0, 6.0)), "a: 6 (claimed: 6)");
        assert_eq!(
            numbers(between("a", Interval::exact(6.0), 1.0, f64::INFINITY)),
            "a: 6 (claimed: 1 or more)"
        );
        let undecided = Interval::new(1.5, 2.0 + 1e-9);
        assert_eq!(
            numbers(at_most("a", undecided, 2.0)),
            "a: 1.73205 [1.50000, 2.00000] (claimed: below 2)"
        );
        let wide = Interval::new(0.9, 2.1);
        assert_eq!(numbers(at_most("a", wide, 2.0)), "a: 0.90 to 2.10 (claimed: below 2)");
    }

    #[test]
    fn one_failed_part_fails_the_whole() {
        let yes = || at_least("a", Interval::exact(3.0), 2.0);
        let open = || at_least("b", Interval::new(1.0, 3.0), 2.0);
        let no = || at_least("c", Interval::exact(1.0), 2.0);
        let verdict = |parts: &[Judged]| all_of(parts.to_vec()).unwrap().verdict;
        assert_eq!(verdict(&[yes(), yes()]), Verdict::Holds);
        assert_eq!(verdict(&[yes(), open()]), Verdict::Inconclusive);
        assert_eq!(verdict(&[no(), open(), yes()]), Verdict::DoesNotHold);
        assert_eq!(verdict(&[]), Verdict::Untestable);
        assert_eq!(
            all_of([yes(), no()]).unwrap().numbers,
            "a: 3 (claimed: 2 or more); c: 1 (claimed: 2 or more)"
        );
        let none = |reason: &str| Err(Untestable(reason.to_owned()));
        assert_eq!(all_of([no(), none("first"), none("second")]), none("first"));
    }

    #[test]
    fn the_place_is_that_of_the_value_and_the_doubt_that_of_all() {
        let values = [(1, 2.0, 3.0), (2, 1.0, 5.0), (3, 2.5, 2.6)];
        let values = || values.map(|(at, lo, hi)| Ok((at, Interval::new(lo, hi))));
        let (most, least) = (Extreme::most(values()), Extreme::least(values()));
        let (most, least) = (most.unwrap(), least.unwrap());
        assert_eq!((most.at, most.value), (2, Interval::new(2.5, 5.0)));
        assert_eq!((least.at, least.value), (2, Interval::new(1.0, 2.6)));
    }
}
