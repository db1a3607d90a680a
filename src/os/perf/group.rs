//! Events that are counted together.

use std::io;
use std::time::{Duration, Instant};

use super::counter::Counter;
use super::{Event, Refusal, refusal};
use crate::host::{self, Lack, Meter};
use crate::pmu::Reading;

/// The most events that one `read` of a group returns; further events form another group.
pub(super) const MOST: usize = 16;

/// How long a group may take to get its counters. The kernel passes counters on every 4 ms where others
/// want them too.
const PATIENCE: Duration = Duration::from_millis(10);

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
type Together<C = Counter> = Vec<(C, usize)>;

/// What opens the counters of groups: the kernel, or a substitute.
trait Opens {
    type Counter;

    /// Opens `event`, in the group of `leader` if there is one.
    fn open(&self, event: &Event, leader: Option<&Self::Counter>) -> io::Result<Self::Counter>;

    /// Returns whether the group of `leader` gets its counters now.
    fn runs(&self, group: &Together<Self::Counter>) -> bool;

    fn restart(&self, leader: &Self::Counter);

    /// Stops the group of `leader` until it is restarted.
    fn stop(&self, leader: &Self::Counter);
}

struct Kernel;

impl Opens for Kernel {
    type Counter = Counter;

    fn open(&self, event: &Event, leader: Option<&Counter>) -> io::Result<Counter> {
        Counter::open_in(event, leader)
    }

    fn runs(&self, group: &Together) -> bool {
        let began = Instant::now();
        let mut readings = [Reading::default(); MOST];
        let readings = &mut readings[..group.len()];
        advances(
            || {
                group[0].0.read_group(readings)?;
                Ok(readings[0].running)
            },
            || began.elapsed() < PATIENCE,
        )
    }

    fn restart(&self, leader: &Counter) {
        // If a group cannot be restarted, its events count from the next context switch on.
        let _ = leader.restart();
    }

    fn stop(&self, leader: &Counter) {
        // A group that goes on takes turns with the one that is being tried, which then takes longer.
        let _ = leader.stop();
    }
}

/// Returns whether the time that `running` returns goes on while there is patience. An error is no answer,
/// and the kernel's first word, which opened the event, then stands.
fn advances(
    mut running: impl FnMut() -> io::Result<u64>,
    mut patient: impl FnMut() -> bool,
) -> bool {
    let Ok(first) = running() else { return true };
    loop {
        match running() {
            Ok(now) if now == first && patient() => {}
            Ok(now) => return now != first,
            Err(_) => return true,
        }
    }
}

/// Opens `event` in the last of `groups`. If it does not fit there, opens it in a new group, if that is the
/// first or groups `may_take_turns`. Returns whether it was opened.
///
/// The kernel accepts an event if the group would fit a PMU whose counters are all free. If another
/// has one for good (the NMI watchdog), a full group never runs, and all its counts stay 0. So a group of
/// hardware events is tried: if it ran before, and does not with the event, the event does not fit. If
/// it did not run before (on a hybrid CPU's other kind of core), trying it says nothing.
fn open_beside<K: Opens>(
    kernel: &K,
    groups: &mut Vec<Together<K::Counter>>,
    event: &Event,
    place: usize,
    may_take_turns: bool,
) -> io::Result<bool> {
    if let Some(last) = groups.last_mut().filter(|last| last.len() < MOST) {
        let ran = !event.is_software() && kernel.runs(last);
        if let Ok(counter) = kernel.open(event, last.first().map(|(leader, _)| leader)) {
            last.push((counter, place));
            if !ran {
                return Ok(true);
            }
            kernel.restart(&last[0].0);
            if kernel.runs(last) {
                return Ok(true);
            }
            // Closes the event, so that the group fits again.
            last.pop();
            kernel.restart(&last[0].0);
        }
    }
    // The group is full, or the event cannot be counted at all.
    let leader = kernel.open(event, None)?;
    if !groups.is_empty() && !may_take_turns {
        return Ok(false);
    }
    // The new group is tried alone.
    if let Some(last) = groups.last() {
        kernel.stop(&last[0].0);
    }
    groups.push(vec![(leader, place)]);
    Ok(true)
}

impl Group {
    /// Opens `events`. Events that the kernel refuses are left out; see [`refusal`](host::Group::refusal).
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

    /// Starts all events of each group together, and groups that were stopped.
    fn start(&self) {
        let groups = self.hardware.iter().chain(&self.software);
        groups.for_each(|group| Kernel.restart(&group[0].0));
    }

    /// Opens `event` beside the others of its kind; see [`open_beside`].
    fn add(&mut self, event: &Event, may_take_turns: bool) -> Result<bool, Refusal> {
        let place = self.answers.len();
        let groups = if event.is_software() { &mut self.software } else { &mut self.hardware };
        open_beside(&Kernel, groups, event, place, may_take_turns)
            .map_err(|error| refusal(event, &error))
    }

    /// Runs `work`, and writes the counts of that time into `after`, without allocating. `before` and `after`
    /// each need room for one reading per event; the readings of refused events stay as they are. Runs `work`
    /// even if the kernel does not answer; the second result reports that.
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
        for (after, before) in after.iter_mut().zip(before).take(self.answers.len()) {
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
}

/// Reads groups, and stores each reading at the index of its event.
#[inline]
fn read_all(groups: &[Together], into: &mut [Reading]) -> io::Result<()> {
    groups.iter().try_for_each(|group| read_one(group, into))
}

impl Meter for Group {
    fn events(&self) -> usize {
        self.answers.len()
    }

    fn around(&self, work: &mut dyn FnMut(), into: &mut [Reading]) -> Result<(), Lack> {
        let mut before = vec![Reading::default(); into.len()];
        self.scope_into(work, &mut before, into).1.map_err(Lack::refused)
    }
}

impl host::Group for Group {
    fn refusal(&self, place: usize) -> Option<&Refusal> {
        self.answers[place].as_ref().err()
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
    if all { Ok(()) } else { read_slowly(group, into) }
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

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;
    use crate::host::Software;

    /// A PMU whose groups may have `accepted` events, and run with at most `free`.
    struct Pmu {
        accepted: usize,
        free: usize,
        /// Events that are open in the last group.
        open: Cell<usize>,
        tries: Cell<u32>,
        /// The groups that are stopped, by their leaders.
        stopped: RefCell<Vec<usize>>,
    }

    impl Pmu {
        fn new(accepted: usize, free: usize) -> Self {
            Pmu {
                accepted,
                free,
                open: Cell::new(0),
                tries: Cell::new(0),
                stopped: RefCell::default(),
            }
        }
    }

    impl Opens for Pmu {
        /// The index of the event.
        type Counter = usize;

        fn open(&self, event: &Event, leader: Option<&usize>) -> io::Result<usize> {
            let before = leader.map_or(0, |_| self.open.get());
            if before == self.accepted && !event.is_software() {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            }
            self.open.set(before + 1);
            Ok(before)
        }

        fn runs(&self, group: &Together<usize>) -> bool {
            self.tries.set(self.tries.get() + 1);
            group.len() <= self.free
        }

        fn restart(&self, _: &usize) {}

        fn stop(&self, leader: &usize) {
            self.stopped.borrow_mut().push(*leader);
        }
    }

    /// The sizes of the groups of `count` events; `None` for the rest of them if they may not take turns.
    fn sizes(pmu: &Pmu, event: Event, count: usize, may_take_turns: bool) -> (Vec<usize>, usize) {
        let mut groups = Vec::new();
        let opened = (0..count)
            .take_while(|&place| {
                open_beside(pmu, &mut groups, &event, place, may_take_turns).unwrap()
            })
            .count();
        let places: Vec<usize> = groups.iter().flatten().map(|(_, place)| *place).collect();
        assert!(places.into_iter().eq(0..opened), "{groups:?}");
        (groups.iter().map(Vec::len).collect(), opened)
    }

    #[test]
    fn a_group_that_another_leaves_too_few_counters_is_made_smaller() {
        // Six events on a PMU of six counters, of which the watchdog has one.
        let pmu = Pmu::new(6, 5);
        assert_eq!(sizes(&pmu, Event::CYCLES, 6, true), (vec![5, 1], 6));
        assert_eq!(pmu.stopped.borrow().len(), 1, "the first group went on");
        assert_eq!(sizes(&Pmu::new(6, 5), Event::CYCLES, 6, false), (vec![5], 5));
        assert_eq!(sizes(&Pmu::new(6, 2), Event::CYCLES, 5, true), (vec![2, 2, 1], 5));
    }

    #[test]
    fn a_group_that_runs_is_as_large_as_the_kernel_accepts() {
        let free = Pmu::new(4, 4);
        assert_eq!(sizes(&free, Event::CYCLES, 6, true), (vec![4, 2], 6));
        assert_eq!(sizes(&free, Event::CYCLES, 6, false), (vec![4], 4));
    }

    #[test]
    fn a_group_that_never_runs_is_left_as_the_kernel_accepts_it() {
        // The events count on another kind of core than this one.
        let elsewhere = Pmu::new(6, 0);
        assert_eq!(sizes(&elsewhere, Event::CYCLES, 6, true), (vec![6], 6));
    }

    #[test]
    fn software_events_are_not_tried() {
        let pmu = Pmu::new(6, 0);
        let clock = Event::software(Software::TaskClock);
        assert_eq!(sizes(&pmu, clock, 8, true), (vec![8], 8));
        assert_eq!(pmu.tries.get(), 0);
    }

    #[test]
    fn an_event_that_no_group_takes_is_refused() {
        let pmu = Pmu::new(0, 0);
        let refused = open_beside(&pmu, &mut Vec::new(), &Event::CYCLES, 0, true);
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn a_time_goes_on_or_stands_until_patience_ends() {
        let advanced = |times: &[io::Result<u64>], looks: usize| {
            let mut times = times.iter();
            let mut looks = 0..looks;
            let answer = advances(
                || match times.next().expect("a look too many") {
                    Ok(time) => Ok(*time),
                    Err(_) => Err(io::Error::from_raw_os_error(libc::EIO)),
                },
                || looks.next().is_some(),
            );
            assert_eq!(times.len(), 0, "a look too few");
            answer
        };
        let silent = || Err(io::Error::from_raw_os_error(libc::EIO));
        assert!(advanced(&[Ok(7), Ok(8)], 0));
        assert!(advanced(&[Ok(0), Ok(0), Ok(0), Ok(1)], 5));
        assert!(!advanced(&[Ok(0), Ok(0)], 0));
        assert!(!advanced(&[Ok(7), Ok(7), Ok(7), Ok(7)], 2));
        assert!(advanced(&[silent()], 5));
        assert!(advanced(&[Ok(7), silent()], 5));
    }
}
