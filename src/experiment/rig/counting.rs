//! Events that explain a time: what was counted of an operation, and what this machine counts.

use crate::counters::{Place, Quantity};
use crate::experiment::Untestable;
use crate::os::perf::{Counter, Event, Refusal};
use crate::stats::Interval;

/// What was counted of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// What it is.
    pub quantity: Quantity,
    /// How often an operation, by the difference of N and 2N.
    pub value: Interval,
    /// Whether the event shared its counter with others, so that the value is extrapolated.
    pub multiplexed: bool,
}

/// What a machine counts, and by which event; or why it does not. Plain data, so that it can be
/// read back from a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    answers: Vec<(Quantity, Result<String, String>)>,
}

impl Counting {
    /// Of these answers: for a quantity the vendor's name of the event, or the reason why there is
    /// none.
    pub fn of(answers: impl IntoIterator<Item = (Quantity, Result<String, String>)>) -> Self {
        Counting {
            answers: answers.into_iter().collect(),
        }
    }

    /// What the CPU of this thread counts: opens every quantity's event for a moment. Also the
    /// events of those that are counted.
    pub fn probe(place: &Place) -> (Self, Vec<(Quantity, Event)>) {
        let mut counted = Vec::new();
        let answers = Quantity::ALL.map(|quantity| {
            let answer = place.counting(quantity).and_then(|named| {
                let event = named.event.map_err(|refusal| reason(&refusal))?;
                Counter::open(&event).map_err(|refusal| reason(&refusal))?;
                counted.push((quantity, event));
                Ok(named.name)
            });
            (quantity, answer)
        });
        (Counting::of(answers), counted)
    }

    /// The answers, in the order in which they were given.
    pub fn answers(&self) -> impl Iterator<Item = (Quantity, Result<&str, &str>)> {
        self.answers.iter().map(|(quantity, answer)| {
            let answer = answer.as_ref().map(String::as_str);
            (*quantity, answer.map_err(String::as_str))
        })
    }

    /// The vendor's name of the event that counts `quantity`.
    ///
    /// # Errors
    /// Why it is not counted here.
    pub fn event(&self, quantity: Quantity) -> Result<&str, Untestable> {
        let mut answers = self.answers();
        match answers.find(|(of, _)| *of == quantity) {
            Some((_, Ok(event))) => Ok(event),
            Some((_, Err(reason))) => Err(Untestable(format!("{quantity}: {reason}"))),
            None => Err(Untestable(format!(
                "{quantity}: nobody looked whether they can be counted"
            ))),
        }
    }
}

/// Why an event is not counted, with the setting that would let it.
fn reason(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Paranoid(_) => format!("{refusal}; `{}` allows it", refusal.mend()),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::perf::{Pmu, probe};

    #[test]
    fn a_quantity_is_counted_or_says_why_not() {
        let (counting, counted) = Counting::probe(&Place::here());
        assert_eq!(counting.answers().count(), Quantity::ALL.len());
        for (quantity, answer) in counting.answers() {
            let listed = counted.iter().any(|(known, _)| *known == quantity);
            assert_eq!(answer.is_ok(), listed, "{quantity}: {answer:?}");
        }
        match probe() {
            Pmu::Available => assert!(counting.event(Quantity::Cycles).is_ok()),
            Pmu::Refused(refusal) => {
                let Untestable(why) = counting.event(Quantity::Cycles).unwrap_err();
                assert_eq!(why, format!("cycles: {}", reason(&refusal)));
            }
        }
    }

    #[test]
    fn a_setting_that_forbids_counting_is_named_with_its_mend() {
        let why = reason(&Refusal::Paranoid(Some(4)));
        assert!(
            why.contains("kernel.perf_event_paranoid=4 forbids it"),
            "{why}"
        );
        assert!(why.contains("sysctl kernel.perf_event_paranoid=1"), "{why}");
        let why = reason(&Refusal::NoPmu);
        assert_eq!(why, "the kernel sees no PMU on this CPU");
    }
}
