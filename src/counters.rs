//! Counts hardware and kernel events around a piece of code. Events are named as the vendor names them,
//! or by their meaning.

use core::fmt;
use std::rc::Rc;

#[doc(hidden)]
pub use crate::host::{Each, Meter, of_kernel, of_shot};
pub use crate::host::{Event, Refusal};
pub use crate::pmu::Quantity;

use crate::cpu::Identity;
use crate::host::Group as _;
use crate::order;
use crate::os::Root;
use crate::os::perf::{Group, Software, core_of, general_names, source_of};
use crate::os::preempt::current_cpu;
use crate::pmu::{Microarch, Reading, events};
use crate::spelling::distance;

/// The most events that one [`Counters`] counts.
#[doc(hidden)]
pub const MOST: usize = 16;

/// Returns the events that are counted by default: cycles, instructions, branches and misses as this
/// core counts them, and the kernel's own: the thread's clock, page faults, context switches and
/// migrations.
pub fn usual(place: &Place) -> Vec<Named> {
    let hardware = [
        Quantity::Cycles,
        Quantity::Instructions,
        Quantity::Branches,
        Quantity::BranchMisses,
        Quantity::L1dMisses,
        Quantity::DtlbWalks,
    ];
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
    hardware.into_iter().filter_map(|of| place.counting(of).ok()).chain(software).collect()
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
        let events: Vec<Event> =
            named.iter().filter_map(|named| named.event.clone().ok()).take(MOST).collect();
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
        Counters { events: opened.collect(), group }
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
        let mut counts = Counts { events: Rc::clone(&self.events), readings: before, silent: None };
        let (result, read) = self.group.scope_into(work, &mut before, &mut counts.readings);
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

/// A CPU on which events are looked up by name, with what the kernel reports about its counters.
#[derive(Clone, Debug)]
pub struct Place {
    root: Root,
    cpu: usize,
    identity: Identity,
}

/// An event, under the name by which it was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The event, or why this machine cannot count it.
    pub event: Result<Event, Refusal>,
}

/// A name that means no event on this CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownName {
    /// The name.
    pub name: String,
    /// The core whose events were searched, if it has an event table.
    pub core: Option<Microarch>,
    /// The most similar names, the closest first.
    pub near: Vec<String>,
    /// Other cores that have an event of this name.
    pub elsewhere: Vec<Microarch>,
}

impl Place {
    /// Returns the CPU that executes the call. Pin the thread first if the machine's cores differ.
    pub fn here() -> Self {
        Place::on(Root::live(), current_cpu().unwrap_or(0), Identity::detect())
    }

    /// Returns CPU `cpu` of the machine that `root` describes, with the CPUID data in `identity`.
    #[doc(hidden)]
    pub const fn on(root: Root, cpu: usize, identity: Identity) -> Self {
        Place { root, cpu, identity }
    }

    /// Returns the CPU's core, if it has an event table.
    pub fn core(&self) -> Option<Microarch> {
        let source = source_of(&self.root, self.cpu).ok();
        core_of(&self.identity, source.as_ref())
    }

    /// Returns the events of a comma-separated list of names, each once.
    ///
    /// # Errors
    /// The first name that means no event on this CPU.
    pub fn list(&self, names: &str) -> Result<Vec<Named>, UnknownName> {
        let mut list: Vec<Named> = Vec::new();
        for name in names.split(',').map(str::trim) {
            if !list.iter().any(|named| named.name == name) {
                list.push(self.named(name)?);
            }
        }
        Ok(list)
    }

    /// Returns the event called `name`, which may be a vendor's name, such as
    /// `MEM_LOAD_RETIRED.L1_MISS`; a raw number, `rXXXX` in hexadecimal, as perf takes it; one of the
    /// kernel's own events, such as `page-faults`; or one of perf's general events, such as `cycles`.
    ///
    /// # Errors
    /// If the name means no event on this CPU.
    pub fn named(&self, name: &str) -> Result<Named, UnknownName> {
        let event = match raw(name) {
            Some(config) => source_of(&self.root, self.cpu)
                .map(|source| Event::raw(&source, config))
                .map_err(|_| Refusal::NoPmu),
            None => Event::named_on(name, &self.root, self.cpu, &self.identity),
        };
        match event {
            Err(Refusal::Unknown(unknown)) => Err(UnknownName {
                name: name.to_owned(),
                core: Some(unknown.microarch),
                near: self.near(name, unknown.nearest),
                elsewhere: unknown.elsewhere().collect(),
            }),
            // Without a table, a name that looks like a vendor's may be right; any other name is wrong.
            Err(Refusal::NoTable) if !vendors(name) => Err(UnknownName {
                name: name.to_owned(),
                core: None,
                near: self.near(name, None),
                elsewhere: Vec::new(),
            }),
            event => Ok(Named { name: name.to_owned(), event }),
        }
    }

    /// Returns the event that counts `quantity`, under the vendor's name, or under perf's general name
    /// if this CPU has no event table.
    ///
    /// # Errors
    /// Why no event counts it.
    pub fn counting(&self, quantity: Quantity) -> Result<Named, String> {
        let name = match self.core() {
            Some(core) => quantity.event_of(core).map(|event| event.name),
            None => general(quantity),
        };
        let whose = self.core().map_or("this CPU", Microarch::name);
        let name = name.ok_or_else(|| format!("no event of {whose} is known that counts them"))?;
        self.named(name).map_err(|unknown| unknown.to_string())
    }

    /// Returns every name that means an event on this CPU: first the kernel's, then perf's general
    /// names, last the vendor's.
    pub fn names(&self) -> Vec<String> {
        let software = Software::ALL.map(|event| event.name().to_owned());
        let of_core = |core| events(core).map(|event| event.name.to_owned());
        let vendors = self.core().into_iter().flat_map(of_core);
        let names = software.into_iter().chain(general_names());
        names.chain(vendors).collect()
    }

    /// Returns the names that are most similar to `name`: names that contain it, then names at the
    /// smallest edit distance, up to a third of its letters. If there are none, returns `begins`, the
    /// name with the same beginning.
    fn near(&self, name: &str, begins: Option<&str>) -> Vec<String> {
        const MOST: usize = 3;
        let name = name.to_ascii_lowercase();
        let mut ranked: Vec<(usize, String)> = self
            .names()
            .into_iter()
            .map(|other| {
                let lower = other.to_ascii_lowercase();
                let part = name.len() > 2 && lower.contains(&name);
                let edits = if part { 0 } else { distance(&name, &lower) };
                (edits, other)
            })
            .filter(|(edits, _)| 3 * edits <= name.len())
            .collect();
        order::by_key(&mut ranked, |(edits, _)| *edits);
        ranked.truncate(MOST);
        match ranked.is_empty() {
            true => begins.map(str::to_owned).into_iter().collect(),
            false => ranked.into_iter().map(|(_, other)| other).collect(),
        }
    }
}

/// Returns the number in `rXXXX`.
fn raw(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('r')?;
    // Without this check, a sign would be accepted.
    let hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| hexadecimal)
}

/// Returns whether a name looks like a vendor's: no hyphen, but a dot, an underscore or a capital.
fn vendors(name: &str) -> bool {
    let mark = |byte: u8| byte == b'.' || byte == b'_' || byte.is_ascii_uppercase();
    !name.contains('-') && name.bytes().any(mark)
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = self.core.map_or("this CPU", Microarch::name);
        write!(f, "unknown event `{}`: no event of {whose}", self.name)?;
        if let Some(first) = self.elsewhere.first() {
            write!(f, ", though of {}", first.name())?;
            match self.elsewhere.len() - 1 {
                0 => {}
                1 => write!(f, " and 1 other core")?,
                others => write!(f, " and {others} other cores")?,
            }
        }
        match self.near.as_slice() {
            [] if !self.elsewhere.is_empty() => Ok(()),
            [] => write!(f, "; nothing here is spelt like it"),
            [one] => write!(f, "; did you mean `{one}`?"),
            [others @ .., last] => {
                write!(f, "; did you mean `{}` or `{last}`?", others.join("`, `"))
            }
        }
    }
}

impl core::error::Error for UnknownName {}

/// Returns perf's general name for a quantity, for cores without an event table.
const fn general(quantity: Quantity) -> Option<&'static str> {
    match quantity {
        Quantity::Cycles => Some("cycles"),
        Quantity::Instructions => Some("instructions"),
        Quantity::ReferenceCycles => Some("ref-cycles"),
        Quantity::Branches => Some("branches"),
        Quantity::BranchMisses => Some("branch-misses"),
        Quantity::L1dMisses => Some("L1-dcache-load-misses"),
        Quantity::DtlbMisses => Some("dTLB-load-misses"),
        _ => None,
    }
}
