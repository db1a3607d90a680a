//! Counters per operation, as JSON.

use serde_json::{Value, json};

use super::{CaseRun, Counted, Refused};
use crate::counters::Each;
use crate::lab::record::Header;
use crate::os::perf::Refusal;

/// What was counted on the CPU that `header` describes, and what was refused.
pub fn json(header: &Header, counted: &Counted, refused: &Refused, runs: &[CaseRun]) -> Value {
    let refused = refused.0.iter().map(|(name, refusal)| {
        json!({ "event": name, "reason": refusal.to_string(), "mend": refusal.mend() })
    });
    json!({
        "cpu": header.cpu.brand,
        "pinned": header.pinned,
        "events": counted.names().collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
        "cases": runs.iter().map(|run| case(counted, run)).collect::<Vec<_>>(),
    })
}

fn case(counted: &Counted, run: &CaseRun) -> Value {
    let mut value = json!({
        "experiment": run.experiment.id,
        "series": run.series,
        "x": run.x,
    });
    match &run.outcome {
        Ok(each) => {
            let pairs = counted.names().zip(each);
            value["counts"] = pairs.map(|(name, each)| count(name, each)).collect();
        }
        Err(reason) => value["untestable"] = reason.to_string().into(),
    }
    value
}

fn count(name: &str, each: &Result<Each, Refusal>) -> Value {
    match each {
        Ok(each) => json!({
            "event": name,
            "value": each.value.middle(),
            "lo": each.value.lo,
            "hi": each.value.hi,
            "multiplexed": each.multiplexed(),
            "counted": each.counted,
        }),
        Err(refusal) => json!({ "event": name, "refused": refusal.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;

    #[test]
    fn a_count_says_how_much_of_the_time_it_was_counted() {
        let each = Each {
            value: Interval::new(1.0, 2.0),
            counted: 0.25,
        };
        let value = count("cycles", &Ok(each));
        assert_eq!(value["value"], 1.5);
        assert_eq!(value["multiplexed"], true);
        assert_eq!(value["counted"], 0.25);
        let value = count("cycles", &Err(Refusal::Event));
        assert_eq!(
            value["refused"],
            "this CPU's PMU does not count such an event"
        );
    }
}
