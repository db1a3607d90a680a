//! Event counters, which are programmed again for each measurement.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use linefill::experiment::Counting;
use linefill::host::{Event, Group, Lack, Meter, Refusal};
use linefill::pmu::{Capabilities, Counters, Cpu, Quantity, Reading, Slot};

use crate::counters::Known;

/// The quantities that are counted here, with their events. With a reason instead of capabilities, none is
/// counted.
pub fn counting(
    capabilities: Result<Capabilities, &'static str>,
) -> (Counting, Vec<(Quantity, Event)>) {
    let answer = |quantity| {
        let maker = capabilities?.maker;
        let event =
            Known::of(quantity, maker).ok_or("no event of this CPU is known that counts them")?;
        Ok::<_, &str>(event.name())
    };
    let answers = Quantity::ALL.map(|quantity| (quantity, answer(quantity)));
    let counted = answers.iter().filter(|(_, answer)| answer.is_ok());
    let events = counted.map(|&(quantity, _)| (quantity, Event::of_quantity(quantity)));
    let events = events.collect();
    let owned = |answer: Result<&str, &str>| answer.map(str::to_owned).map_err(str::to_owned);
    let answers = answers.map(|(quantity, answer)| (quantity, owned(answer)));
    (Counting::of(answers), events)
}

/// Events that are counted together.
#[derive(Debug)]
pub struct Programmed {
    capabilities: Capabilities,
    places: Vec<Result<Quantity, Refusal>>,
}

impl Programmed {
    /// The first of `events`, as many as there are counters for. If the first one has no counter, only that
    /// event, with its refusal.
    pub fn of_first(events: &[Event], capabilities: Capabilities) -> Self {
        let mut places = Vec::new();
        let mut cpu = Cpu;
        // SAFETY: the capabilities are those of this CPU in ring 0, or the command line guarantees them.
        let mut counters = unsafe { Counters::new(&mut cpu, capabilities) };
        for event in events {
            let quantity = event.quantity().ok_or(Refusal::Event);
            let place = quantity
                .and_then(|quantity| add(&mut counters, quantity, capabilities).map(|_| quantity));
            if place.is_err() && !places.is_empty() {
                break;
            }
            let last = place.is_err();
            places.push(place);
            if last {
                break;
            }
        }
        Programmed { capabilities, places }
    }
}

/// Assigns a counter to a quantity.
fn add(
    counters: &mut Counters<'_, Cpu>,
    quantity: Quantity,
    capabilities: Capabilities,
) -> Result<Slot, Refusal> {
    let event = Known::of(quantity, capabilities.maker).ok_or(Refusal::NoTable)?;
    event.add(counters).map_err(|_| Refusal::Busy)
}

impl Meter for Programmed {
    fn events(&self) -> usize {
        self.places.len()
    }

    fn around(&self, work: &mut dyn FnMut(), into: &mut [Reading]) -> Result<(), Lack> {
        let mut cpu = Cpu;
        // SAFETY: as in `of_first`.
        let mut counters = unsafe { Counters::new(&mut cpu, self.capabilities) };
        let slots: Vec<Option<Slot>> = self
            .places
            .iter()
            .map(|place| add(&mut counters, place.clone().ok()?, self.capabilities).ok())
            .collect();
        counters.start();
        work();
        counters.stop();
        for (slot, reading) in slots.into_iter().zip(into) {
            if let Some(count) = slot.and_then(|slot| counters.read(slot)) {
                // No other code uses the counters, so the event was counted all the time.
                *reading = Reading { value: count.value, enabled: 1, running: 1 };
            }
        }
        Ok(())
    }
}

impl Group for Programmed {
    fn refusal(&self, place: usize) -> Option<&Refusal> {
        self.places.get(place)?.as_ref().err()
    }
}
