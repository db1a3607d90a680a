//! What was counted, and what can be, as a record keeps it.

use crate::counters::Quantity;
use crate::experiment::{Count, Counting};
use crate::lab::record::{CountLine, CountingLine};
use crate::stats::Interval;

/// A count as a line keeps it.
pub fn count_line(count: &Count) -> CountLine {
    CountLine {
        of: count.quantity.name().to_owned(),
        lo: count.value.lo,
        hi: count.value.hi,
        multiplexed: count.multiplexed,
    }
}

/// The count that a line keeps; none if this version of linefill does not know what it is of.
pub fn count_of(line: &CountLine) -> Option<Count> {
    Some(Count {
        quantity: Quantity::named(&line.of)?,
        value: Interval::new(line.lo, line.hi),
        multiplexed: line.multiplexed,
    })
}

/// What a machine counts, as a header keeps it.
pub fn counting_lines(counting: &Counting) -> Vec<CountingLine> {
    let line = |(quantity, answer): (Quantity, Result<&str, &str>)| CountingLine {
        counts: quantity.name().to_owned(),
        by: answer.ok().map(str::to_owned),
        refused: answer.err().map(str::to_owned),
    };
    counting.answers().map(line).collect()
}

/// What a header says that the machine counts.
pub fn counting_of(lines: &[CountingLine]) -> Counting {
    let answer = |line: &CountingLine| {
        let quantity = Quantity::named(&line.counts)?;
        let refused = || line.refused.clone().unwrap_or_default();
        Some((quantity, line.by.clone().ok_or_else(refused)))
    };
    Counting::of(lines.iter().filter_map(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_back_as_they_were() {
        for multiplexed in [false, true] {
            let count = Count {
                quantity: Quantity::L1dMisses,
                value: Interval::new(0.1 + 0.2, 0.5),
                multiplexed,
            };
            let text = serde_json::to_string(&count_line(&count)).unwrap();
            assert_eq!(text.contains("multiplexed"), multiplexed, "{text}");
            let line: CountLine = serde_json::from_str(&text).unwrap();
            assert_eq!(count_of(&line), Some(count));
        }
        let stranger = CountLine {
            of: "uncertainty".into(),
            lo: 0.0,
            hi: 1.0,
            multiplexed: false,
        };
        assert_eq!(count_of(&stranger), None);
    }

    #[test]
    fn what_is_counted_and_why_not_comes_back_as_it_was() {
        let counting = Counting::of([
            (Quantity::L1dMisses, Ok("MEM_LOAD_RETIRED.L1_MISS".into())),
            (
                Quantity::LoopOps,
                Err("this core has no such buffer".into()),
            ),
        ]);
        assert_eq!(counting_of(&counting_lines(&counting)), counting);
        assert_eq!(counting_of(&[]), Counting::default());
    }
}
