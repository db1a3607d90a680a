//! A CPU on which events are looked up by name.

use core::fmt;

use super::Quantity;
use crate::cpu::Identity;
use crate::order;
use crate::os::Root;
use crate::os::perf::{Event, Refusal, Software, core_of, general_names, source_of};
use crate::os::preempt::current_cpu;
use crate::pmu::{Microarch, events};
use crate::spelling::distance;

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
        Place {
            root,
            cpu,
            identity,
        }
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
            event => Ok(Named {
                name: name.to_owned(),
                event,
            }),
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
    let hexadecimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !hexadecimal {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
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
                others => write!(f, " and {others} more")?,
            }
        }
        match self.near.as_slice() {
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
