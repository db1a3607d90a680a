//! Memory in pages of a requested size, in ring 0 and in ring 3.

use core::fmt::{self, Display, Formatter};

use linefill::pattern::Rng;
use linefill_bare_memory::{Area, Error, Mapped, Physical, Size, Tables, Window};

use crate::console::Console;
use crate::cpuid::cpuid;

/// Addresses for mappings: the upper half of the addresses that `Tables` translates with four levels. No
/// machine has enough memory for the identity mapping to reach them.
const WINDOW: Area = Area { start: 1 << 46, end: 1 << 47 };

/// CPUID leaf 8000_0001h, EDX: pages of 1 GiB.
const CPUID_GIANT_PAGES: u32 = 1 << 26;

/// Why memory in pages of a size is not available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The CPU has no pages of 1 GiB.
    Giant,
    /// There is no free area with this number of bytes for such pages.
    Memory(u64, Size),
    /// The pages cannot be mapped.
    Tables(Error),
}

impl Display for Refused {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Giant => f.write_str("this CPU has no pages of 1 GiB"),
            Refused::Memory(bytes, size) => {
                let mib = bytes.div_ceil(1 << 20);
                write!(f, "no {mib} MiB of memory are free in one piece for pages of {size}")
            }
            Refused::Tables(error) => error.fmt(f),
        }
    }
}

/// Free memory, and the addresses to map it at.
pub struct Pages {
    physical: Physical,
    window: Window,
    order: Rng,
}

impl Pages {
    /// Uses the free memory of `physical`. `tables` are the active page tables.
    pub fn new(physical: Physical, tables: Tables) -> Self {
        Pages { physical, window: Window::new(tables, WINDOW), order: Rng::new(0) }
    }

    /// Allocates at least `bytes` bytes in pages of `size`. The memory is not zeroed.
    pub fn take(&mut self, bytes: u64, size: Size) -> Result<Mapped, Refused> {
        self.take_by(Physical::take, bytes, size)
    }

    /// Like [`take`](Self::take), with memory that `take` chooses.
    fn take_by(
        &mut self,
        take: fn(&mut Physical, u64, u64) -> Option<Area>,
        bytes: u64,
        size: Size,
    ) -> Result<Mapped, Refused> {
        if size == Size::Giant && cpuid(0x8000_0001, 0).edx & CPUID_GIANT_PAGES == 0 {
            return Err(Refused::Giant);
        }
        // Allocates multiples of 2 MiB at least, so that returned memory can be merged.
        let unit = size.bytes().max(Size::Large.bytes());
        let bytes = bytes.max(1).checked_next_multiple_of(unit);
        let memory = bytes.and_then(|bytes| take(&mut self.physical, bytes, unit));
        let memory = memory.ok_or(Refused::Memory(bytes.unwrap_or(u64::MAX), size))?;
        let order = &mut self.order;
        let mut below = |bound: u64| order.below(bound as usize) as u64;
        let mapped = self.window.map(memory, size, &mut self.physical, &mut below);
        mapped.map_err(|error| {
            self.physical.give_back(memory);
            Refused::Tables(error)
        })
    }

    /// The number of free bytes.
    pub fn free(&self) -> u64 {
        self.physical.pool().bytes()
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// No code uses it any more.
    pub unsafe fn give_back(&mut self, mapped: Mapped) {
        self.window.unmap(mapped, &mut self.physical);
    }

    /// Whether the program can also access the memory of a mapping by its physical address.
    fn is_accessible(&self, mapped: &Mapped) -> bool {
        self.physical.is_accessible(mapped.memory.end - 1)
    }

    /// The size of the mapping's pages, from a walk of the tables. `None` if the sizes differ.
    pub fn pages_of(&self, mapped: &Mapped) -> Option<Size> {
        self.window.pages_of(mapped)
    }
}

/// Checks for every page size that the CPU translates addresses as the tables say: a value written at one
/// address of a page must be read at its other address. Memory without another address is left unchecked.
pub fn check(console: &mut Console<'_>, pages: &mut Pages) {
    let free = pages.free() >> 20;
    console.say(format_args!("{free} MiB of memory are free"));
    for size in Size::ALL {
        let accessible = pages.take_by(Physical::take_accessible, size.bytes(), size);
        match accessible.or_else(|_| pages.take(size.bytes(), size)) {
            Ok(mapped) => {
                let right = pages.pages_of(&mapped) == Some(size);
                if right && !pages.is_accessible(&mapped) {
                    console.say(format_args!(
                        "pages of {size}: not compared, as their memory is not mapped onto itself"
                    ));
                } else {
                    let right = right && translated(pages, &mapped);
                    console.check(format_args!("pages of {size}"), right);
                }
                // SAFETY: `translated` keeps no reference.
                unsafe { pages.give_back(mapped) };
            }
            Err(refused) => console.say(format_args!("pages of {size}: {refused}")),
        }
    }
}

/// Whether the words throughout a mapping of accessible memory are at the physical addresses in the tables.
fn translated(pages: &Pages, mapped: &Mapped) -> bool {
    let step = (mapped.memory.bytes() / 512).max(Size::Base.bytes());
    let words = (0..mapped.memory.bytes()).step_by(step as usize);
    let word = |address: u64| core::ptr::with_exposed_provenance_mut::<u64>(address as usize);
    for at in words.clone() {
        // SAFETY: the memory is mapped there, and nothing else uses it.
        unsafe { word(mapped.address + at).write_volatile(!at) };
    }
    words.clone().all(|at| {
        let physical = pages.window.physical(mapped.address + at);
        physical.is_some_and(|at_itself| {
            // SAFETY: this memory is mapped onto itself.
            pages.physical.is_accessible(at_itself)
                && unsafe { word(at_itself).read_volatile() } == !at
        })
    })
}

/// Methods that only a host of experiments needs.
#[cfg(feature = "experiments")]
impl Pages {
    /// Takes up to `bytes` bytes of memory that is mapped onto itself, permanently: half, a quarter and so on if
    /// there is less in one piece.
    pub fn take_accessible_up_to(&mut self, bytes: u64) -> Option<Area> {
        let large = Size::Large.bytes();
        self.physical.take_accessible_up_to(bytes, large)
    }

    /// Maps the memory of a mapping again, in pages of 4 KiB in the same order.
    pub fn map_again(&mut self, mapped: &Mapped) -> Result<Mapped, Refused> {
        let again = self.window.map_again(mapped, &mut self.physical);
        again.map_err(Refused::Tables)
    }

    /// Removes a second mapping. Its memory still belongs to the first.
    pub fn forget(&mut self, mapped: &Mapped) {
        self.window.forget(mapped, &mut self.physical);
    }
}
