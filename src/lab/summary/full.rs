//! Every verdict of a record in full, their number, and what the record says of the models.

use comfy_table::{ColumnConstraint, Row};

use crate::experiment::{Experiment, Prediction, Verdict};
use crate::lab::analysis::Analysis;
use crate::lab::answer::Counts;
use crate::lab::figures::beside_claim;
use crate::lab::record::VerdictLine;
use crate::lab::terminal::{Screen, table, table_text};

/// Formats the table of verdicts, with nothing cut off.
pub(super) fn verdicts(lines: &[VerdictLine], width: u16) -> Screen {
    let mut table = table(&["id", "verdict", "claim", "numbers"], width);
    for line in lines {
        let numbers = beside_claim(line);
        let row = [line.name(), line.verdict.name(), &line.claim, &numbers];
        table.add_row(Row::from(row));
    }
    for index in [0, 1] {
        if let Some(column) = table.column_mut(index) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    Screen::of(&table_text(&table))
}

/// Counts the claims about this machine by verdict, and the other claims: `12 hold, 3 do not hold, 1
/// inconclusive, 2 untestable; 5 more are computed, simulated or reported`.
pub(super) fn tally(lines: &[VerdictLine]) -> String {
    let counts = Counts::of(lines);
    let part = |verdict| match (counts.here(verdict), verdict) {
        (1, verdict) => format!("1 {}", verdict.name()),
        (count, Verdict::Holds) => format!("{count} hold"),
        (count, Verdict::DoesNotHold) => format!("{count} do not hold"),
        (count, verdict) => format!("{count} {}", verdict.name()),
    };
    let text = Verdict::ALL.map(part).join(", ");
    match counts.beside() {
        0 => text,
        1 => format!("{text}; 1 more is computed, simulated or reported"),
        more => format!("{text}; {more} more are computed, simulated or reported"),
    }
}

/// Formats the quantities that have several values, one per line; empty if there are none.
pub(super) fn disagreements(analysis: &Analysis) -> String {
    analysis.disagreements.iter().map(|of| format!("{of}\n")).collect()
}

/// Formats how far predictions lie from measured values; empty if nothing was predicted.
pub(super) fn predictions(analysis: &Analysis) -> String {
    let Some(outcome) = analysis.predicted() else { return String::new() };
    let percent = |error: f64| format!("{:.0} %", error * 100.0);
    let each = |poor: bool| -> Vec<String> {
        let some = analysis.predictions().filter(|(_, of)| of.poor() == poor);
        let with_error = |(experiment, of): (&Experiment, &Prediction)| {
            Some(format!("{} {}", experiment.id, percent(of.error()?)))
        };
        some.filter_map(with_error).collect()
    };
    let own = analysis.predictions().filter(|(_, of)| of.error().is_none());
    let own = own.map(|(of, _)| of.id.to_owned()).collect();
    let mut text = format!(
        "predicted beside measured, median error of {} points: {}\n",
        outcome.points,
        percent(outcome.error)
    );
    for (what, ids) in [
        ("within their bar", each(false)),
        ("poor, and the report says why", each(true)),
        ("from their own quantity, not counted", own),
    ] {
        if !ids.is_empty() {
            text += &format!("  {what}: {}\n", ids.join(", "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(verdict: Verdict) -> VerdictLine {
        VerdictLine {
            claim: "a claim of many words ".repeat(20),
            numbers: "1.00 [0.99, 1.01] ".repeat(20),
            ..VerdictLine::bare("D14", verdict)
        }
    }

    #[test]
    fn the_table_fits_and_cuts_nothing() {
        let lines = [line(Verdict::Holds), line(Verdict::DoesNotHold)];
        let text = verdicts(&lines, 80).text();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("does not hold"), "{text}");
        assert_eq!(text.matches("words").count(), 40, "{text}");
        assert!(!text.contains("..."), "{text}");
    }

    #[test]
    fn the_tally_counts_every_verdict() {
        let lines = [Verdict::Holds, Verdict::Holds, Verdict::DoesNotHold].map(line);
        assert_eq!(tally(&lines), "2 hold, 1 does not hold, 0 inconclusive, 0 untestable");
    }
}
