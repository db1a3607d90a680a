//! The numbers of a verdict, and those of its document, as they are printed beside the claim.

use std::collections::BTreeSet;

use super::chart::range;
use super::record::{ThenLine, VerdictLine};
use crate::stats::Interval;

/// What begins a bound in the numbers of a verdict. The bound ends at the next `)`.
const BOUND: &str = " (claimed: ";

/// Returns the numbers of a verdict, without the bounds that the claim's text contains.
pub(crate) fn beside_claim(line: &VerdictLine) -> String {
    let said = figures(&line.claim);
    let mut text = String::new();
    let mut rest = line.numbers.as_str();
    while let Some((before, from)) = rest.split_once(BOUND) {
        let (bound, after) = from.split_once(')').unwrap_or((from, ""));
        text += before;
        if !figures(bound).is_subset(&said) {
            text += &format!("{BOUND}{bound})");
        }
        rest = after;
    }
    text + rest
}

/// Returns the numbers among the words of a text, without separators of thousands.
fn figures(text: &str) -> BTreeSet<String> {
    let of_word = |word: &str| {
        let word = word.trim_matches(|c: char| "(),.;:".contains(c));
        let number: f64 = word.replace(',', "").parse().ok()?;
        Some(number.to_string())
    };
    text.split_whitespace().filter_map(of_word).collect()
}

/// Formats a document's value: `1.26 (Pentium 4)`.
pub(crate) fn then(line: &ThenLine) -> String {
    let value = range(Interval::new(line.lo, line.hi));
    match line.machine.as_str() {
        "" => value,
        machine => format!("{value} ({machine})"),
    }
}

/// Returns the name of the quantity that [`now`](VerdictLine::now) is a number of, if the judgement compares
/// several numbers with bounds.
pub(crate) fn quantity(line: &VerdictLine) -> Option<&str> {
    let mut parts = line.numbers.split("; ");
    let first = parts.find(|part| part.contains(BOUND))?;
    parts.find(|part| part.contains(BOUND))?;
    let (named, _) = first.split_once(BOUND)?;
    // The number behind the name: `2`, `2.1 [2.0, 2.2]` or `2 to 4`. Old records have no colon before it.
    let words: Vec<&str> = named.rsplitn(4, ' ').collect();
    let number = match words.as_slice() {
        [hi, lo, center, _] if hi.ends_with(']') => [*center, *lo, *hi].join(" "),
        [hi, "to", lo, _] => [*lo, "to", *hi].join(" "),
        [one, ..] => (*one).to_owned(),
        [] => return None,
    };
    let name = named.strip_suffix(&number)?.trim_end_matches([' ', ':']);
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Verdict;

    fn line(claim: &str, numbers: &str) -> VerdictLine {
        VerdictLine {
            claim: claim.to_owned(),
            numbers: numbers.to_owned(),
            ..VerdictLine::bare("D1", Verdict::Holds)
        }
    }

    #[test]
    fn a_bound_that_the_claim_states_is_not_repeated() {
        for (claim, numbers, expected) in [
            (
                "a walk takes less than 1.15 times as long",
                "walk: 1.03 [0.98, 1.08] (claimed: below 1.15); 3 passes",
                "walk: 1.03 [0.98, 1.08]; 3 passes",
            ),
            (
                "a run takes 2,000,000 cycles, and 168,500 with a cache",
                "cycles: 2000000 (claimed: 2000000); cached: 168500 (claimed: 168500)",
                "cycles: 2000000; cached: 168500",
            ),
            (
                "a walk takes at least 10 % less time",
                "walk: 0.47 (claimed: below 0.9)",
                "walk: 0.47 (claimed: below 0.9)",
            ),
            (
                "threads are half as fast (0.4 to 0.65)",
                "each of two: 0.81 (claimed: 0.4 to 0.65)",
                "each of two: 0.81",
            ),
        ] {
            assert_eq!(beside_claim(&line(claim, numbers)), expected);
        }
    }

    #[test]
    fn the_first_of_several_numbers_is_named() {
        for (numbers, expected) in [
            ("a list of 2: 2 (claimed: 2); b: 1 (claimed: 1)", Some("a list of 2")),
            ("a list of 2 2 (claimed: 2); b 1 (claimed: 1)", Some("a list of 2")),
            ("walk 2.10 [2.00, 2.20] (claimed: 2 or more); b 3 (claimed: 2)", Some("walk")),
            ("walk: 2 to 9 (claimed: below 2); b: 3 (claimed: 2)", Some("walk")),
            ("x over y: 2; x minus y: 1 (claimed: 0); z: 1 (claimed: 0)", Some("x minus y")),
            ("walk: 2 (claimed: 2); 3 passes", None),
            ("no two cores", None),
        ] {
            assert_eq!(quantity(&line("a claim", numbers)), expected, "{numbers}");
        }
    }
}
