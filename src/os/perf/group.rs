//! Events that are counted together.

use std::io;

use super::counter::Counter;
use super::refusal::explain;
use super::{Event, Refusal, paranoid};
use crate::pmu::Reading;

/// Events of the calling thread that are counted side by side.
///
/// The kernel schedules a group as a whole, so that its counts belong to the same instructions.
/// What does not fit into the counters of one group goes on in another, and the two take turns:
/// their readings are then [multiplexed](Reading::multiplexed), and scaled.
#[derive(Debug)]
pub struct Group {
    /// Groups of the kernel, the leader first in each.
    groups: Vec<Vec<Counter>>,
    /// For each event the group and the place in it, or why it is not counted.
    places: Vec<Result<(usize, usize), Refusal>>,
}

impl Group {
    /// Opens `events`. Those that the kernel refuses are left out; see [`refusal`](Self::refusal).
    pub fn open(events: &[Event]) -> Group {
        let mut group = Group {
            groups: Vec::new(),
            places: Vec::new(),
        };
        for event in events {
            let place = group
                .add(event)
                .map_err(|error| explain(&error, paranoid(std::path::Path::new("/proc"))));
            group.places.push(place);
        }
        group
    }

    fn add(&mut self, event: &Event) -> io::Result<(usize, usize)> {
        if let Some(last) = self.groups.last_mut()
            && let Ok(counter) = Counter::open_in(event, last.first())
        {
            last.push(counter);
            return Ok((
                self.groups.len() - 1,
                self.groups[self.groups.len() - 1].len() - 1,
            ));
        }
        // The group is full, or the event cannot be counted at all.
        let leader = Counter::open_in(event, None)?;
        self.groups.push(vec![leader]);
        Ok((self.groups.len() - 1, 0))
    }

    /// How many events were asked for.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Why event `index` is not counted, if it is not.
    pub fn refusal(&self, index: usize) -> Option<&Refusal> {
        self.places[index].as_ref().err()
    }

    /// What was counted so far of each event, `None` for those that are refused.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn read(&self) -> io::Result<Vec<Option<Reading>>> {
        let mut counts = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            counts.push(read_group(group)?);
        }
        let place = |place: &Result<(usize, usize), Refusal>| {
            place.as_ref().ok().map(|&(group, at)| counts[group][at])
        };
        Ok(self.places.iter().map(place).collect())
    }

    /// Runs `work` and returns its result with what was counted meanwhile, event by event.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn scope<R>(&self, work: impl FnOnce() -> R) -> io::Result<(R, Vec<Option<Reading>>)> {
        let before = self.read()?;
        let result = work();
        let mut counts = self.read()?;
        for (count, before) in counts.iter_mut().zip(&before) {
            if let (Some(count), Some(before)) = (count, before) {
                *count = count.since(before);
            }
        }
        Ok((result, counts))
    }
}

/// The counts of one group: by `rdpmc` if that reads all of them, by one `read` otherwise.
fn read_group(group: &[Counter]) -> io::Result<Vec<Reading>> {
    if group.iter().all(|counter| counter.fast().is_ok()) {
        return group.iter().map(Counter::read).collect();
    }
    let mut readings = vec![Reading::default(); group.len()];
    group[0].read_group(&mut readings)?;
    Ok(readings)
}
