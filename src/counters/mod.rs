//! Counts hardware and kernel events around a piece of code. Events are named as the vendor names them,
//! or by their meaning.

mod place;

use core::fmt;
use std::rc::Rc;

#[doc(hidden)]
pub use crate::host::{Each, Meter, of_kernel, of_shot};
pub use crate::host::{Event, Refusal};
pub use crate::pmu::Quantity;
pub use place::{Named, Place, UnknownName};

use crate::host::Group as _;
use crate::os::perf::{Group, Software};
use crate::pmu::Reading;

/// The most events that one [`Counters`] counts.
#[doc(hidden)]
pub const MOST: usize = 16;

/// The quantities among the usual events.
const USUAL: [Quantity; 6] = [
    Quantity::Cycles,
    Quantity::Instructions,
    Quantity::Branches,
    Quantity::BranchMisses,
    Quantity::L1dMisses,
    Quantity::DtlbWalks,
];

/// Returns the events that are counted by default: cycles, instructions, branches and misses as this
/// core counts them, and the kernel's own: the thread's clock, page faults, context switches and
/// migrations.
pub fn usual(place: &Place) -> Vec<Named> {
    let hardware = USUAL.iter().filter_map(|&of| place.counting(of).ok());
    let software = [
        Software::TaskClock,
        Software::PageFaults,
        Software::ContextSwitches,
        Software::Migrations,
    ];
    let software = software.map(|software| Named {
        name: software.name().to_owned(),
        event: Ok(Event::software(software)),
    });
    hardware.chain(software).collect()
}

/// Returns the events of a comma-separated list of names; the [usual] events if there is no list.
///
/// # Errors
/// The first name that means no event at `place`.
pub fn chosen(list: Option<&str>, place: &Place) -> Result<Vec<Named>, UnknownName> {
    match list {
        Some(names) => place.list(names),
        None => Ok(usual(place)),
    }
}

/// Runs `work` and returns its result with the counts of the [`usual`] events while it ran.
///
/// The counters are opened at a thread's first call and stay open. `rdpmc` reads them where the kernel
/// allows it, `read(2)` otherwise. The counts include the cost of the reading itself, at most some
/// hundred instructions. To reduce it, open [`Counters`] on fewer events; to eliminate it, count N and
/// 2N operations.
///
/// ```
/// let (sum, counts) = linefill::counters::scope(|| (0..1000_u64).sum::<u64>());
/// assert_eq!(sum, 499_500);
/// println!("{counts}");
/// ```
pub fn scope<R>(work: impl FnOnce() -> R) -> (R, Counts) {
    thread_local! {
        static COUNTERS: Counters = Counters::open(usual(&Place::here()));
    }
    COUNTERS.with(|counters| counters.scope(work))
}

/// Open counters of the calling thread, each with a name.
#[derive(Debug)]
pub struct Counters {
    events: Rc<[Opened]>,
    group: Group,
}

/// An event's name, with its index in the group, or why it is not counted.
type Opened = (String, Result<usize, Refusal>);

/// The counts of a piece of code, event by event.
#[derive(Clone, Debug)]
pub struct Counts {
    events: Rc<[Opened]>,
    readings: [Reading; MOST],
    /// Why there are no readings at all, if the kernel failed to return them.
    silent: Option<Refusal>,
}

impl Counters {
    /// Opens the events of `named`, up to [`MOST`] of them. If an event is refused, the [`Counts`] contain the
    /// reason, and the other events are counted.
    pub fn open(named: Vec<Named>) -> Self {
        let events: Vec<Event> = named
            .iter()
            .filter_map(|named| named.event.clone().ok())
            .take(MOST)
            .collect();
        let group = Group::open(&events);
        let mut places = 0..events.len();
        let opened = named.into_iter().map(|Named { name, event }| {
            let place = event.and_then(|_| places.next().ok_or(Refusal::TooMany(MOST)));
            let place = place.and_then(|place| match group.refusal(place) {
                None => Ok(place),
                Some(refusal) => Err(refusal.clone()),
            });
            (name, place)
        });
        Counters {
            events: opened.collect(),
            group,
        }
    }

    /// Opens the events of a comma-separated list of names, on the CPU that executes the call; see
    /// [`Place::named`].
    ///
    /// # Errors
    /// If a name means no event on this CPU.
    pub fn of(names: &str) -> Result<Self, UnknownName> {
        Place::here().list(names).map(Counters::open)
    }

    /// Runs `work` and returns its result with the counts of the events while it ran.
    #[inline]
    pub fn scope<R>(&self, work: impl FnOnce() -> R) -> (R, Counts) {
        let mut before = [Reading::default(); MOST];
        let mut counts = Counts {
            events: Rc::clone(&self.events),
            readings: before,
            silent: None,
        };
        let (result, read) = self
            .group
            .scope_into(work, &mut before, &mut counts.readings);
        if let Err(error) = read {
            counts.silent = Some(Refusal::Other(error.to_string()));
        }
        (result, counts)
    }
}

impl Counts {
    /// Returns the events in the order in which they were requested, each with its reading, or with the
    /// reason why it has none.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Result<Reading, &Refusal>)> {
        self.events.iter().map(|(name, place)| {
            let reading = match (place, &self.silent) {
                (Err(refusal), _) | (Ok(_), Some(refusal)) => Err(refusal),
                (Ok(place), None) => Ok(self.readings[*place]),
            };
            (name.as_str(), reading)
        })
    }

    /// Returns the count of the event with this name, extrapolated if the event shared its counter.
    /// `None` if the event was not requested or not counted.
    pub fn value(&self, name: &str) -> Option<f64> {
        let mut counts = self.iter();
        let (_, reading) = counts.find(|(known, _)| *known == name)?;
        reading.ok()?.scaled()
    }
}

/// Prints one line per event, as `perf stat` does.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, reading) in self.iter() {
            match reading.map(|reading| (reading.scaled(), reading)) {
                Ok((Some(value), reading)) if reading.multiplexed() => {
                    let part = 100.0 * reading.running as f64 / reading.enabled as f64;
                    writeln!(
                        f,
                        "{value:>16.0}  {name}  (scaled, counted {part:.0} % of the time)"
                    )?;
                }
                Ok((Some(value), _)) => writeln!(f, "{value:>16.0}  {name}")?,
                Ok((None, _)) => writeln!(f, "{:>16}  {name}  (never had a counter)", "-")?,
                Err(refusal) => writeln!(f, "{:>16}  {name}  ({refusal})", "-")?,
            }
        }
        Ok(())
    }
}
