//! Events that are counted together.

use std::io;

use super::counter::Counter;
use super::{Event, Refusal, explain, paranoid};
use crate::host::{Lack, Meter};
use crate::pmu::Reading;

/// The most events that one `read` of a group returns; further events form another group.
pub(super) const MOST: usize = 16;

/// Events of the calling thread that are counted side by side.
///
/// The kernel schedules a group as a whole, so that its counts belong to the same instructions.
/// Events that exceed the counters of one group form another group, and the groups take turns:
/// their readings are then [multiplexed](Reading::multiplexed), and scaled. Software events need
/// no counter. They form separate groups, so that hardware events can be read by `rdpmc`.
#[derive(Debug, Default)]
pub struct Group {
    hardware: Vec<Together>,
    software: Vec<Together>,
    /// For each event, whether it is counted, or why not.
    answers: Vec<Result<(), Refusal>>,
}

/// A kernel group: its counters, the leader first, each with the index of its event in the list
/// asked for.
type Together = Vec<(Counter, usize)>;

impl Group {
    /// Opens `events`. Events that the kernel refuses are left out; see [`refusal`](Self::refusal).
    pub fn open(events: &[Event]) -> Group {
        let mut group = Group::default();
        for event in events {
            let answer = group.add(event, true);
            group.answers.push(answer.map(|_| ()));
        }
        group.start();
        group
    }

    /// Opens as many of `events`, from the first on, as the PMU can count at once, so that no event
    /// takes turns with another. Skips events that the kernel refuses.
    pub fn of_first(events: &[Event]) -> Group {
        let mut group = Group::default();
        for event in events {
            match group.add(event, false) {
                Ok(false) => break,
                answer => group.answers.push(answer.map(|_| ())),
            }
        }
        group.start();
        group
    }

    /// Starts all events of each group together. If a group cannot be restarted, its events count from
    /// the next context switch on.
    fn start(&self) {
        let groups = self.hardware.iter().chain(&self.software);
        for group in groups.filter(|group| group.len() > 1) {
            let _ = group[0].0.restart();
        }
    }

    /// Opens `event` in the last group of its kind. If it does not fit there, opens it in a new group,
    /// if that is the first or groups `may_take_turns`. Returns whether it was opened.
    fn add(&mut self, event: &Event, may_take_turns: bool) -> Result<bool, Refusal> {
        let place = self.answers.len();
        let groups = match event.is_software() {
            true => &mut self.software,
            false => &mut self.hardware,
        };
        if let Some(last) = groups.last_mut().filter(|last| last.len() < MOST)
            && let Ok(counter) = Counter::open_in(event, last.first().map(|(leader, _)| leader))
        {
            last.push((counter, place));
            return Ok(true);
        }
        // The group is full, or the event cannot be counted at all.
        let leader = Counter::open_in(event, None)
            .map_err(|error| explain(&error, paranoid(std::path::Path::new("/proc"))))?;
        if !groups.is_empty() && !may_take_turns {
            return Ok(false);
        }
        groups.push(vec![(leader, place)]);
        Ok(true)
    }

    /// Returns the number of events asked for.
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// Returns whether no event was asked for.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Returns why event `index` is not counted; `None` if it is counted.
    pub fn refusal(&self, index: usize) -> Option<&Refusal> {
        self.answers[index].as_ref().err()
    }

    /// Returns the counts so far, event by event; `None` for refused events.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn read(&self) -> io::Result<Vec<Option<Reading>>> {
        let mut counts = vec![Reading::default(); self.len()];
        self.read_before(&mut counts)?;
        Ok(self.answered(&counts))
    }

    /// Runs `work`, and returns its result with the counts of that time, event by event.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn scope<R>(&self, work: impl FnOnce() -> R) -> io::Result<(R, Vec<Option<Reading>>)> {
        let (mut before, mut after) = (vec![Reading::default(); self.len()], Vec::new());
        after.clone_from(&before);
        let (result, read) = self.scope_into(work, &mut before, &mut after);
        read.map(|()| (result, self.answered(&after)))
    }

    /// Like [`scope`](Self::scope), without allocating: writes the counts of `work` into `after`.
    /// `before` and `after` each need room for one reading per event; the readings of refused events
    /// stay as they are. Runs `work` even if the kernel does not answer; the second result reports
    /// that.
    #[inline]
    pub fn scope_into<R>(
        &self,
        work: impl FnOnce() -> R,
        before: &mut [Reading],
        after: &mut [Reading],
    ) -> (R, io::Result<()>) {
        let began = self.read_before(before);
        let result = work();
        let read = began.and_then(|()| self.read_behind(after));
        for (after, before) in after.iter_mut().zip(before).take(self.len()) {
            *after = after.since(before);
        }
        (result, read)
    }

    /// Reads all events, hardware events last, so that they do not count the system call for the
    /// others.
    #[inline]
    fn read_before(&self, into: &mut [Reading]) -> io::Result<()> {
        read_all(&self.software, into)?;
        read_all(&self.hardware, into)
    }

    /// Reads all events, hardware events first.
    #[inline]
    fn read_behind(&self, into: &mut [Reading]) -> io::Result<()> {
        read_all(&self.hardware, into)?;
        read_all(&self.software, into)
    }

    fn answered(&self, counts: &[Reading]) -> Vec<Option<Reading>> {
        let pairs = self.answers.iter().zip(counts);
        pairs
            .map(|(answer, count)| answer.is_ok().then_some(*count))
            .collect()
    }
}

/// Reads groups, and stores each reading at the index of its event.
#[inline]
fn read_all(groups: &[Together], into: &mut [Reading]) -> io::Result<()> {
    groups.iter().try_for_each(|group| read_one(group, into))
}

impl Meter for Group {
    fn events(&self) -> usize {
        self.len()
    }

    fn around(&self, work: &mut dyn FnMut(), into: &mut [Reading]) -> Result<(), Lack> {
        let mut before = vec![Reading::default(); into.len()];
        self.scope_into(work, &mut before, into)
            .1
            .map_err(Lack::refused)
    }
}

/// Reads one group: by `rdpmc` if all its events allow it, else by one `read`.
#[inline]
fn read_one(group: &Together, into: &mut [Reading]) -> io::Result<()> {
    let all = group.iter().all(|(counter, place)| {
        let reading = counter.read_fast();
        reading.is_ok_and(|reading| {
            into[*place] = reading;
            true
        })
    });
    if all {
        Ok(())
    } else {
        read_slowly(group, into)
    }
}

#[cold]
fn read_slowly(group: &Together, into: &mut [Reading]) -> io::Result<()> {
    let mut readings = [Reading::default(); MOST];
    let readings = &mut readings[..group.len()];
    group[0].0.read_group(readings)?;
    for ((_, place), reading) in group.iter().zip(readings) {
        into[*place] = *reading;
    }
    Ok(())
}
