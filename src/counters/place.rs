//! A CPU whose events are asked for by name.

use core::fmt;

use super::Quantity;
use crate::cpu::Identity;
use crate::order;
use crate::os::Root;
use crate::os::perf::{Event, Refusal, Software, core_of, general_names, source_of};
use crate::os::preempt::current_cpu;
use crate::pmu::{Microarch, events};
use crate::spelling::distance;

/// A CPU whose events are asked for by name, and what the kernel says of its counters.
#[derive(Clone, Debug)]
pub struct Place {
    root: Root,
    cpu: usize,
    identity: Identity,
}

/// An event under the name by which it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The event, or why this machine cannot count it.
    pub event: Result<Event, Refusal>,
}

/// A name that means no event here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The name.
    pub name: String,
    /// Whose events were searched.
    pub core: Option<Microarch>,
    /// The names that are most like it, the nearest first.
    pub near: Vec<String>,
    /// Cores that do have such an event.
    pub elsewhere: Vec<Microarch>,
}

impl Place {
    /// The CPU that executes this: pin the thread first, where cores differ.
    pub fn here() -> Self {
        Place::on(Root::live(), current_cpu().unwrap_or(0), Identity::detect())
    }

    /// CPU `cpu` of the machine that `root` describes, where CPUID says `identity`.
    pub const fn on(root: Root, cpu: usize, identity: Identity) -> Self {
        Place {
            root,
            cpu,
            identity,
        }
    }

    /// The core, if its events are known by name.
    pub fn core(&self) -> Option<Microarch> {
        let source = source_of(&self.root, self.cpu).ok();
        core_of(&self.identity, source.as_ref())
    }

    /// The events in a list of names, parted by commas, each once.
    ///
    /// # Errors
    /// The first name that means nothing here.
    pub fn list(&self, names: &str) -> Result<Vec<Named>, UnknownName> {
        let mut list: Vec<Named> = Vec::new();
        for name in names.split(',').map(str::trim) {
            if !list.iter().any(|named| named.name == name) {
                list.push(self.named(name)?);
            }
        }
        Ok(list)
    }

    /// The event that `name` means: a vendor's, such as `MEM_LOAD_RETIRED.L1_MISS`; a raw number,
    /// `rXXXX` in hexadecimal, as perf takes it; one of the kernel's own, such as `page-faults`;
    /// or one of perf's general ones, such as `cycles`.
    ///
    /// # Errors
    /// If it means nothing here.
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
            // Without a table a vendor's name may be right; one without a dot or capital is not.
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

    /// The event that counts `quantity`, under the vendor's name, or under perf's general one
    /// where the vendor's are not known.
    ///
    /// # Errors
    /// Why there is none.
    pub fn counting(&self, quantity: Quantity) -> Result<Named, String> {
        let name = match self.core() {
            Some(core) => quantity.event_of(core).map(|event| event.name),
            None => general(quantity),
        };
        let whose = self.core().map_or("this CPU", Microarch::name);
        let name = name.ok_or_else(|| format!("no event of {whose} is known that counts them"))?;
        self.named(name).map_err(|unknown| unknown.to_string())
    }

    /// Every name that means something here, the kernel's first and the vendor's last.
    pub fn names(&self) -> Vec<String> {
        let software = Software::ALL.map(|event| event.name().to_owned());
        let of_core = |core| events(core).map(|event| event.name.to_owned());
        let vendors = self.core().into_iter().flat_map(of_core);
        let names = software.into_iter().chain(general_names());
        names.chain(vendors).collect()
    }

    /// The names that are most like `name`: those that it is a part of, then those that take the
    /// fewest edits, up to a third of its letters; else the one that `begins` like it.
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

/// The number in `rXXXX`.
fn raw(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('r')?;
    let hexadecimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !hexadecimal {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

/// Whether a name looks like a vendor's: with a dot, or the capitals or underscores of one.
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

/// perf's own name for a quantity, for cores without a table.
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
