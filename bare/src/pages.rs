//! Memory in pages of the size that is asked for, in ring 0 and in ring 3.

use core::arch::x86_64::__cpuid;
use core::fmt::{self, Display, Formatter};

use linefill::pattern::Rng;
use linefill_bare_memory::{Area, Error, Mapped, Physical, Size, Tables, Window};

use crate::console::Console;

/// Addresses for mappings: the upper half of those that page tables of four levels translate. No machine
/// has so much memory that it would be mapped onto itself here.
const WINDOW: Area = Area {
    start: 1 << 46,
    end: 1 << 47,
};

/// CPUID leaf 8000_0001h, EDX: pages of 1 GiB.
const CPUID_GIANT_PAGES: u32 = 1 << 26;

/// Why memory in such pages cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The CPU has no pages of 1 GiB.
    Giant,
    /// So many bytes in such pages are not free in one piece.
    Memory(u64, Size),
    /// They cannot be mapped.
    Tables(Error),
}

impl Display for Refused {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Giant => f.write_str("this CPU has no pages of 1 GiB"),
            Refused::Memory(bytes, size) => {
                let mib = bytes.div_ceil(1 << 20);
                write!(
                    f,
                    "no {mib} MiB of memory are free in one piece for pages of {size}"
                )
            }
            Refused::Tables(error) => error.fmt(f),
        }
    }
}

/// Free memory, and where it is mapped.
pub struct Pages {
    physical: Physical,
    window: Window,
    order: Rng,
}

impl Pages {
    /// The free memory of `physical`, mapped by `tables`, which are those in use.
    pub fn new(physical: Physical, tables: Tables) -> Self {
        Pages {
            physical,
            window: Window::new(tables, WINDOW),
            order: Rng::new(0),
        }
    }

    /// Memory of at least `bytes` in pages of `size`. It is not zeroed.
    pub fn take(&mut self, bytes: u64, size: Size) -> Result<Mapped, Refused> {
        if size == Size::Giant && __cpuid(0x8000_0001).edx & CPUID_GIANT_PAGES == 0 {
            return Err(Refused::Giant);
        }
        // Whole pages of 2 MiB at least, so that what comes back fits together again.
        let unit = size.bytes().max(Size::Large.bytes());
        let bytes = bytes.max(1).checked_next_multiple_of(unit);
        let memory = bytes.and_then(|bytes| self.physical.take(bytes, unit));
        let memory = memory.ok_or(Refused::Memory(bytes.unwrap_or(u64::MAX), size))?;
        let order = &mut self.order;
        let mut below = |bound: u64| order.below(bound as usize) as u64;
        let mapped = self
            .window
            .map(memory, size, &mut self.physical, &mut below);
        mapped.map_err(|error| {
            self.physical.give_back(memory);
            Refused::Tables(error)
        })
    }

    /// Bytes that are free.
    pub fn free(&self) -> u64 {
        self.physical.pool().bytes()
    }

    /// Takes memory back.
    ///
    /// # Safety
    /// Nobody uses it any more.
    pub unsafe fn give_back(&mut self, mapped: Mapped) {
        self.window.unmap(mapped, &mut self.physical);
    }

    /// The size of its pages as a walk of the tables finds it; `None` if they are not all of one size.
    pub fn pages_of(&self, mapped: &Mapped) -> Option<Size> {
        self.window.pages_of(mapped)
    }
}

/// Checks for every size of page that the CPU translates addresses as the tables say: what is written by
/// one address of a page is read by the other.
pub fn check(console: &mut Console<'_>, pages: &mut Pages) {
    let free = pages.free() >> 20;
    console.say(format_args!("{free} MiB of memory are free"));
    for size in Size::ALL {
        match pages.take(size.bytes(), size) {
            Ok(mapped) => {
                let right = pages.pages_of(&mapped) == Some(size) && translated(pages, &mapped);
                console.check(format_args!("pages of {size}"), right);
                // SAFETY: `translated` keeps no reference.
                unsafe { pages.give_back(mapped) };
            }
            Err(refused) => console.say(format_args!("pages of {size}: {refused}")),
        }
    }
}

/// Whether words throughout a mapping are found where the tables lead to.
fn translated(pages: &Pages, mapped: &Mapped) -> bool {
    let step = (mapped.memory.bytes() / 512).max(Size::Base.bytes());
    let words = (0..mapped.memory.bytes()).step_by(step as usize);
    let word = |address: u64| core::ptr::with_exposed_provenance_mut::<u64>(address as usize);
    for at in words.clone() {
        // SAFETY: the memory is mapped there, and nobody else has it.
        unsafe { word(mapped.address + at).write_volatile(!at) };
    }
    words.clone().all(|at| {
        let physical = pages.window.physical(mapped.address + at);
        let accessible = physical.is_none_or(|physical| pages.physical.is_accessible(physical));
        // SAFETY: memory that is mapped onto itself.
        !accessible
            || physical.is_some_and(|at_itself| unsafe { word(at_itself).read_volatile() } == !at)
    })
}

/// What only a host of experiments asks for.
#[cfg(feature = "experiments")]
impl Pages {
    /// Memory that is mapped onto itself, for good.
    pub fn take_accessible(&mut self, bytes: u64) -> Option<Area> {
        self.physical.take_accessible(bytes, Size::Large.bytes())
    }

    /// Maps the memory of a mapping in pages of 4 KiB once more, in the same order.
    pub fn map_again(&mut self, mapped: &Mapped) -> Result<Mapped, Refused> {
        let again = self.window.map_again(mapped, &mut self.physical);
        again.map_err(Refused::Tables)
    }

    /// Takes a second mapping away. The memory stays that of the first.
    pub fn forget(&mut self, mapped: Mapped) {
        self.window.forget(mapped, &mut self.physical);
    }
}
