//! Advice on padding and shared data.

use super::{Layout, Measured, Scheme, Shared, sharers};
use crate::order;

/// Least ratio from which padding pays: a smaller gain may be an accident of the layout.
const PAYS: f64 = 1.1;

/// Returns advice in sentences, from the lines that are shared if the structure begins at `start`, and from
/// the measurements.
pub fn advice(scheme: &Scheme, start: u64, measured: Option<&Measured>) -> Vec<String> {
    let shared = sharers(scheme, &Layout::structure(scheme, start));
    let mut lines = Vec::new();
    if shared.iter().any(|one| one.falsely) {
        lines.push(apart(scheme, &shared));
        lines.extend(measured.map(|measured| gain(scheme, measured)));
        lines.extend(measured.and_then(|measured| pairs(scheme, measured)));
    }
    let fields = order::distinct(shared.iter().filter(|one| one.truly).flat_map(together));
    if !fields.is_empty() {
        lines.push(format!(
            "No padding keeps several threads from {}: they touch the same bytes. Give each thread \
             its own, and add them up where they are read.",
            names(scheme, &fields)
        ));
    }
    if shared.is_empty() {
        lines.push(
            "There is nothing to pad: no thread writes to a line that another one needs."
                .to_owned(),
        );
    }
    lines
}

/// Returns the fields of a line that several threads touch, at least one of them to write.
fn together(shared: &Shared) -> Vec<usize> {
    let of = |field: usize| shared.touches.iter().filter(move |touch| touch.field == field);
    let several = |field: usize| {
        let first = of(field).next().map(|touch| touch.thread);
        of(field).any(|touch| touch.write) && of(field).any(|touch| Some(touch.thread) != first)
    };
    shared.touches.iter().map(|touch| touch.field).filter(|&field| several(field)).collect()
}

fn names(scheme: &Scheme, fields: &[usize]) -> String {
    let name = |&field: &usize| format!("`{}`", scheme.fields[field].name);
    let names: Vec<String> = fields.iter().map(name).collect();
    match names.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => names.join(""),
    }
}

/// Says which fields to keep apart, how, and how much space that takes.
fn apart(scheme: &Scheme, shared: &[Shared]) -> String {
    let falsely = shared.iter().filter(|one| one.falsely);
    let fields = order::distinct(falsely.flat_map(|one| &one.touches).map(|touch| touch.field));
    let line = scheme.line;
    let sizes = fields.iter().map(|&field| scheme.fields[field].size);
    let now: u64 = sizes.clone().sum();
    let then: u64 = sizes.map(|size| size.next_multiple_of(line)).sum();
    format!(
        "Keep {} on lines of their own: `#[repr(align({line}))]` on a type around each in Rust, \
         `alignas({line})` before each in C and C++, and nothing else on those lines. They take \
         {then} bytes then, and {now} now.",
        names(scheme, &fields)
    )
}

fn gain(scheme: &Scheme, measured: &Measured) -> String {
    let line = scheme.line;
    match measured.over(0, 1) {
        None => "What it gains was not measured.".to_owned(),
        Some(gain) if gain.lo > PAYS => format!(
            "It pays: a round takes {gain} times as long as with {line} bytes for each field."
        ),
        Some(gain) if gain.hi < PAYS => format!(
            "It gains nothing that can be measured here with these accesses: a round takes {gain} \
             times as long as with {line} bytes for each field."
        ),
        Some(gain) => format!(
            "Whether it pays is not decided: a round takes {gain} times as long as with {line} \
             bytes for each field. Measure again on a quiet machine."
        ),
    }
}

/// Says whether fields should be kept on separate pairs of lines.
fn pairs(scheme: &Scheme, measured: &Measured) -> Option<String> {
    let (line, pair) = (scheme.line, 2 * scheme.line);
    Some(match measured.over(1, 2)? {
        over if over.lo > PAYS => format!(
            "{pair} bytes are better still, by {over} times: neighbouring lines disturb each other \
             here."
        ),
        over if over.hi < PAYS => {
            format!("{line} bytes suffice on this CPU. CPUs that fetch lines in pairs need {pair}.")
        }
        over => format!(
            "Whether {pair} bytes are better still is not decided: a round takes {over} times as \
             long with {line} bytes. Measure again on a quiet machine."
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::VARIANTS;
    use super::super::planted::{counters, scheme};
    use super::*;
    use crate::experiment::Untestable;
    use crate::stats::Interval;

    fn measured(rounds: [f64; 3], doubt: f64) -> Measured {
        let round = |nanos: f64| (Ok(Interval::exact(nanos).widened(doubt)), None);
        assert_eq!(rounds.len(), VARIANTS.len());
        Measured {
            threads: vec![(0, 0), (1, 1)],
            trip_cpus: [0, 1],
            trip: Err(Untestable("planted".to_owned())),
            rounds: rounds.map(round).to_vec(),
        }
    }

    fn text(scheme: &Scheme, measured: Option<&Measured>) -> String {
        advice(scheme, 0, measured).join("\n")
    }

    #[test]
    fn advice_follows_what_was_measured() {
        let of = |rounds, doubt| text(&counters(), Some(&measured(rounds, doubt)));
        let pays = of([80.0, 10.0, 10.0], 0.01);
        assert!(pays.contains("It pays: a round takes 8.00 ["), "{pays}");
        assert!(pays.contains("64 bytes suffice"), "{pays}");
        assert!(pays.contains("They take 128 bytes then, and 16 now"), "{pays}");
        let nothing = of([10.0, 10.0, 10.0], 0.01);
        assert!(nothing.contains("gains nothing that can be measured"), "{nothing}");
        let open = of([10.0, 10.0, 10.0], 0.3);
        assert!(open.contains("is not decided"), "{open}");
        let better = of([80.0, 20.0, 10.0], 0.01);
        assert!(better.contains("128 bytes are better still"), "{better}");
        let unclear = of([800.0, 10.0, 10.0], 0.3);
        assert!(
            unclear.contains("Whether 128 bytes are better still is not decided")
                && !unclear.contains("suffice"),
            "{unclear}"
        );
        let none = text(&counters(), None);
        assert!(none.contains("Keep `f0` and `f8`") && !none.contains("pays"), "{none}");
    }

    #[test]
    fn what_padding_does_not_end_is_said() {
        let both = scheme(&[(0, 8), (64, 8)], &[(0, 0, true), (1, 0, true)]);
        let found = text(&both, None);
        assert!(found.contains("several threads from `f0`"), "{found}");
        assert!(!found.contains("Keep"), "{found}");
        let nobody = scheme(&[(0, 8), (64, 8)], &[(0, 0, true), (1, 1, true)]);
        assert!(text(&nobody, None).contains("nothing to pad"));
    }
}
