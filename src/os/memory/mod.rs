//! Memory to measure in: populated pages of a wanted size between two guard pages.

mod error;
mod granted;
mod home;
mod mapping;
mod populated;

use std::io;
use std::path::Path;

pub use crate::host::{Granted, Pages, Via};
pub(super) use error::Size;
pub use error::{LockRefused, MemoryError};
pub use home::first_touched_on;
pub use populated::Populated;

use super::hugepages::{self, Transparent};
use super::limits;
use crate::mem::{LINE, Region};
use mapping::{BASE_PAGE, GIANT_PAGE, HUGE_PAGE, Mapping};

/// `mmap`: zeroed, populated bytes that start on a page of the wanted size, between a guard page
/// (4 KiB without any access) before and one behind.
///
/// The size is rounded up to whole pages; the slice has the bytes asked for, the guard follows
/// the last page. Every page is written once at creation, so that no fault falls into a
/// measurement, and what page sizes the kernel really gave is read back from
/// `/proc/self/smaps`.
///
/// ```
/// use linefill::os::{Memory, Pages};
/// let mut memory = Memory::new(10_000, Pages::Base)?;
/// memory.as_mut_slice().fill(7);
/// assert_eq!(memory.len(), 10_000);
/// assert_eq!(memory.as_slice().as_ptr().addr() % 4096, 0);
/// # Ok::<(), linefill::os::MemoryError>(())
/// ```
#[doc(alias = "mmap")]
#[derive(Debug)]
pub struct Memory {
    mapping: Mapping,
    len: usize,
    pages: Pages,
    granted: Granted,
}

impl Memory {
    /// Maps and populates `bytes` bytes.
    ///
    /// # Errors
    /// - [`MemoryError::Empty`] for zero bytes.
    /// - [`MemoryError::TooLarge`] for more than the machine can give without swapping. This is
    ///   checked before mapping: the kernel would promise the memory and kill the process later.
    /// - [`MemoryError::Refused`] with the kernel's answer and the limit that explains it.
    /// - [`MemoryError::NoHugePages`] when 2 MiB pages were asked for and not one was given, and
    ///   [`MemoryError::NoGiantPages`] when 1 GiB pages were, and not all were given.
    pub fn new(bytes: usize, pages: Pages) -> Result<Self, MemoryError> {
        if bytes == 0 {
            return Err(MemoryError::Empty);
        }
        let available = limits::memory_here().available;
        let rounded = match bytes.checked_next_multiple_of(pages.bytes()) {
            Some(rounded) if rounded as u64 <= spendable(available) => rounded,
            _ => {
                return Err(MemoryError::TooLarge {
                    requested: bytes,
                    available,
                });
            }
        };
        let mapping = match pages {
            Pages::Base => base(bytes, rounded)?,
            Pages::Huge => huge(bytes, rounded)?,
            Pages::Giant => giant(rounded)?,
        };
        let granted = granted::of(mapping.area(), Path::new("/proc/self/smaps"));
        if pages == Pages::Huge && granted == Granted::Base {
            return Err(MemoryError::NoHugePages(
                "the kernel accepted the request and gave base pages only: memory is too \
                 fragmented, or transparent huge pages are off for this process"
                    .into(),
            ));
        }
        Ok(Self {
            mapping,
            len: bytes,
            pages,
            granted,
        })
    }

    /// `mmap(MAP_NORESERVE)`: zeroed bytes in 4 KiB pages, each of which comes when it is touched.
    /// They may be many more than there is memory: only what is touched takes memory, and page
    /// tables for it.
    ///
    /// # Errors
    /// - [`MemoryError::Empty`] for zero bytes.
    /// - [`MemoryError::Refused`] with the kernel's answer and the limit that explains it: of
    ///   address space, or of promised memory where the kernel keeps accounts of that.
    #[doc(alias = "MAP_NORESERVE")]
    pub fn reserve(bytes: usize) -> Result<Self, MemoryError> {
        if bytes == 0 {
            return Err(MemoryError::Empty);
        }
        let refused = |step| move |error| MemoryError::refused(bytes, step, &error);
        let rounded = bytes.checked_next_multiple_of(BASE_PAGE);
        let mapping = rounded
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
            .and_then(Mapping::reserve_addresses)
            .map_err(refused("mmap"))?;
        mapping.open().map_err(refused("mprotect"))?;
        keep_small(&mapping, bytes)?;
        Ok(Self {
            mapping,
            len: bytes,
            pages: Pages::Base,
            granted: Granted::Base,
        })
    }

    /// What page sizes the kernel really gave, as read right after population.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// The page size asked for.
    pub fn pages(&self) -> Pages {
        self.pages
    }

    /// Bytes asked for: the length of the slice.
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes up to the guard page behind: the size asked for, rounded up to whole pages.
    pub fn mapped(&self) -> usize {
        self.mapping.area().len()
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.mapping.bytes()[..self.len]
    }

    /// The bytes, to lay out a pattern in.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.mapping.bytes_mut()[..self.len]
    }

    /// The bytes as a region of whole cache lines; the last line is filled up where the size is
    /// not a multiple of one.
    pub fn region(&mut self) -> Region<'_> {
        let lines = self.len.next_multiple_of(LINE);
        Region::new(&mut self.mapping.bytes_mut()[..lines])
            .expect("a mapping starts on a page and holds at least one")
    }

    /// `madvise(MADV_DONTNEED)`: gives every page back. Each reads as zeroes from then on, and
    /// faults when it is touched next, as in a mapping that is new.
    ///
    /// # Errors
    /// The kernel's answer: locked pages and hugetlb pages stay before Linux 5.18.
    #[doc(alias = "MADV_DONTNEED")]
    pub fn give_back(&mut self) -> io::Result<()> {
        self.mapping.discard()
    }

    /// `madvise(MADV_POPULATE_WRITE)`: has every page touched by the kernel in one call.
    ///
    /// # Errors
    /// The kernel's answer: Linux before 5.14 does not know the advice.
    #[doc(alias = "MADV_POPULATE_WRITE")]
    pub fn populate(&mut self) -> io::Result<()> {
        self.mapping.populate_at_once()
    }

    /// `mlock`: keeps every page in memory until this is dropped.
    ///
    /// # Errors
    /// [`LockRefused`] with the kernel's answer and `RLIMIT_MEMLOCK`; the memory stays usable.
    #[doc(alias = "mlock")]
    pub fn lock(&self) -> Result<(), LockRefused> {
        self.mapping.lock().map_err(|error| LockRefused {
            bytes: self.mapped(),
            limit: limits::locked_memory(),
            answer: error.to_string(),
        })
    }
}

/// Bytes that may be taken of what is available: all but 1/32, which page tables and the
/// process itself need.
fn spendable(available: u64) -> u64 {
    available - available / 32
}

fn base(requested: usize, rounded: usize) -> Result<Mapping, MemoryError> {
    let refused = |step| move |error| MemoryError::refused(requested, step, &error);
    // Aligned like huge pages, for the sake of L1d. Zen tells the ways of a set apart by a hash of
    // the linear address in which a page and its neighbour across a multiple of 64 MiB collide: a
    // working set of 16 KiB that lies across one misses L1d at every step (2.8 ticks become 12.7
    // on Zen 4). Behind a multiple of 2 MiB no working set of L1d's size meets such a boundary.
    let mapping = Mapping::reserve(rounded, HUGE_PAGE).map_err(refused("mmap"))?;
    mapping.open().map_err(refused("mprotect"))?;
    keep_small(&mapping, requested)?;
    mapping.populate().map_err(refused("populating"))?;
    Ok(mapping)
}

/// Keeps transparent huge pages away.
fn keep_small(mapping: &Mapping, requested: usize) -> Result<(), MemoryError> {
    match mapping.advise(libc::MADV_NOHUGEPAGE) {
        // A kernel built without transparent huge pages does not know the advice, nor needs it.
        Err(error) if error.raw_os_error() != Some(libc::EINVAL) => {
            Err(MemoryError::refused(requested, "madvise", &error))
        }
        _ => Ok(()),
    }
}

fn giant(rounded: usize) -> Result<Mapping, MemoryError> {
    let pool = |error: io::Error| MemoryError::NoGiantPages(format!("hugetlb pool: {error}"));
    let mapping = Mapping::reserve_hugetlb(rounded, GIANT_PAGE).map_err(pool)?;
    mapping.populate().map_err(pool)?;
    Ok(mapping)
}

fn huge(requested: usize, rounded: usize) -> Result<Mapping, MemoryError> {
    let from_pool = Mapping::reserve_hugetlb(rounded, HUGE_PAGE).and_then(|mapping| {
        mapping.populate()?;
        Ok(mapping)
    });
    match from_pool {
        Ok(mapping) => Ok(mapping),
        Err(pool) => transparent(requested, rounded, &pool),
    }
}

fn transparent(requested: usize, rounded: usize, pool: &io::Error) -> Result<Mapping, MemoryError> {
    let no_huge = |why: &str| {
        MemoryError::NoHugePages(format!(
            "hugetlb pool: {pool}; transparent huge pages: {why}"
        ))
    };
    match hugepages::transparent(Path::new("/sys")) {
        Ok(Transparent::Never) => return Err(no_huge("set to never")),
        // Where the setting cannot be read, the kernel's answer to `madvise` decides.
        Ok(Transparent::Always | Transparent::Madvise) | Err(_) => {}
    }
    let refused = |step| move |error| MemoryError::refused(requested, step, &error);
    let mapping = Mapping::reserve(rounded, HUGE_PAGE).map_err(refused("mmap"))?;
    mapping.open().map_err(refused("mprotect"))?;
    mapping
        .advise(libc::MADV_HUGEPAGE)
        .map_err(|error| no_huge(&error.to_string()))?;
    mapping.populate().map_err(refused("populating"))?;
    Ok(mapping)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_available_memory_is_left() {
        assert_eq!(spendable(32 << 20), 31 << 20);
        assert_eq!(spendable(0), 0);
    }
}
