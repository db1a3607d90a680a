//! Memory for measurements: populated pages of a chosen size between two guard pages.

mod error;
mod granted;
mod mapping;
mod policy;

use std::io;
use std::path::Path;

pub use crate::host::{Granted, Pages, Via};
pub(super) use error::Size;
pub use error::{LockRefused, MemoryError};
pub use granted::{Populated, Transparent, huge_page_pool, transparent_pages};
pub use policy::{first_touched_on, nodes_of, prefer_node};

use super::limits;
use super::sysfs::Sysfs;
use crate::host::MemoryPolicy;
use crate::mem::{LINE, Region};
use mapping::{BASE_PAGE, GIANT_PAGE, HUGE_PAGE, Mapping};
pub(super) use mapping::{Mapped, Shared};

/// `mmap`: zeroed, populated bytes that start on a page of the chosen size, with a guard page (4 KiB
/// without access) before them and another behind them.
///
/// The size is rounded up to whole pages. The slice has the bytes asked for; the guard follows the
/// last page. Every page is written once at creation, so that no page fault falls into a
/// measurement. The page sizes that the kernel granted are read back from `/proc/self/smaps`.
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
    ///   checked before mapping: the kernel would promise the memory and kill the process later. Pages of
    ///   the hugetlb pool are no part of that memory, and the kernel itself refuses more than the pool has.
    /// - [`MemoryError::Refused`] with the kernel's error and the limit that explains it.
    /// - [`MemoryError::NoHugePages`] if 2 MiB pages were asked for and none was granted, and
    ///   [`MemoryError::NoGiantPages`] if 1 GiB pages were asked for and not all were granted.
    pub fn new(bytes: usize, pages: Pages) -> Result<Self, MemoryError> {
        Self::on_nodes(bytes, pages, &MemoryPolicy::Default)
    }

    /// `mbind`, and `move_pages` without a target: like [`new`](Self::new), on the nodes of `policy`. The
    /// policy is set before the first touch. Afterwards the kernel is asked for the node of each page.
    ///
    /// # Errors
    /// As [`new`](Self::new), and
    /// - [`MemoryError::NoPolicy`] with the kernel's error if it refuses the nodes or the query,
    /// - [`MemoryError::NodeTooSmall`] for more than a node has outside the hugetlb pool: the kernel would
    ///   kill a process,
    /// - [`MemoryError::Elsewhere`] for pages that lie on other nodes.
    #[doc(alias = "mbind")]
    #[doc(hidden)]
    pub fn on_nodes(
        bytes: usize,
        pages: Pages,
        policy: &MemoryPolicy,
    ) -> Result<Self, MemoryError> {
        if bytes == 0 {
            return Err(MemoryError::Empty);
        }
        let rounded = bytes.checked_next_multiple_of(pages.bytes());
        let rounded = rounded.ok_or_else(|| too_large(bytes))?;
        let mapping = match pages {
            Pages::Base => base(bytes, rounded, policy)?,
            Pages::Huge => huge(bytes, rounded, policy)?,
            Pages::Giant => giant(rounded, policy)?,
        };
        let granted = granted::of(mapping.area(), Path::new("/proc/self/smaps"));
        if pages == Pages::Huge && granted == Granted::Base {
            return Err(MemoryError::NoHugePages(
                "the kernel accepted the request and gave base pages only: memory is too \
                 fragmented, or transparent huge pages are off for this process"
                    .into(),
            ));
        }
        let granted = match policy.nodes() {
            [] => granted,
            _ => placed(&mapping, granted, policy)?,
        };
        Ok(Self { mapping, len: bytes, pages, granted })
    }

    /// `mmap(MAP_NORESERVE)`: reserves zeroed bytes in 4 KiB pages, each of which is allocated when it is
    /// touched. The size may exceed the memory: only touched pages take memory, for themselves and their
    /// page tables.
    ///
    /// # Errors
    /// - [`MemoryError::Empty`] for zero bytes.
    /// - [`MemoryError::Refused`] with the kernel's error and the limit that explains it: of address
    ///   space, or of committed memory if the kernel limits that.
    #[doc(alias = "MAP_NORESERVE")]
    pub fn reserve(bytes: usize) -> Result<Self, MemoryError> {
        Self::reserve_on_nodes(bytes, &MemoryPolicy::Default)
    }

    /// Like [`reserve`](Self::reserve), with pages from the nodes of `policy`.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve), and [`MemoryError::NoPolicy`] if the kernel refuses the nodes.
    #[doc(hidden)]
    pub fn reserve_on_nodes(bytes: usize, policy: &MemoryPolicy) -> Result<Self, MemoryError> {
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
        place(&mapping, policy)?;
        Ok(Self { mapping, len: bytes, pages: Pages::Base, granted: Granted::Base })
    }

    /// Returns the page sizes that the kernel granted, as read right after population.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// Returns the page size asked for.
    pub fn pages(&self) -> Pages {
        self.pages
    }

    /// Returns the bytes asked for, which is the length of the slice.
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the bytes up to the guard page at the end: the size asked for, rounded up to whole pages.
    pub fn mapped(&self) -> usize {
        self.mapping.area().len()
    }

    /// Returns the bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.mapping.bytes()[..self.len]
    }

    /// Returns the bytes for writing.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.mapping.bytes_mut()[..self.len]
    }

    /// Returns the bytes as a region of whole cache lines. If the size is not a multiple of a line, the
    /// region includes the rest of the last line.
    pub fn region(&mut self) -> Region<'_> {
        let lines = self.len.next_multiple_of(LINE);
        Region::new(&mut self.mapping.bytes_mut()[..lines])
            .expect("a mapping starts on a page and holds at least one")
    }

    /// `madvise(MADV_DONTNEED)`: gives every page back to the kernel. From then on each page reads as
    /// zeros, and the next touch of it faults, as in a new mapping.
    ///
    /// # Errors
    /// The kernel's error. Before Linux 5.18 it cannot release locked pages and hugetlb pages.
    #[doc(alias = "MADV_DONTNEED")]
    pub fn give_back(&mut self) -> io::Result<()> {
        self.mapping.discard()
    }

    /// `madvise(MADV_POPULATE_WRITE)`: makes the kernel touch every page in one call.
    ///
    /// # Errors
    /// The kernel's error. Linux before 5.14 does not support the advice.
    #[doc(alias = "MADV_POPULATE_WRITE")]
    pub fn populate(&mut self) -> io::Result<()> {
        self.mapping.populate_at_once()
    }

    /// `mlock`: keeps every page in memory until this is dropped.
    ///
    /// A process has one lock per page: `munlockall` anywhere in it unlocks these pages too. The lab calls it
    /// when it gives an isolated CPU back.
    ///
    /// # Errors
    /// [`LockRefused`] with the kernel's error and `RLIMIT_MEMLOCK`; the memory stays usable.
    #[doc(alias = "mlock")]
    pub fn lock(&self) -> Result<(), LockRefused> {
        self.mapping.lock().map_err(|error| LockRefused {
            bytes: self.mapped(),
            limit: limits::locked_memory(),
            answer: error.to_string(),
        })
    }
}

/// Returns how many of the available bytes may be taken: all but 1/32, which page tables and the
/// process itself need.
fn spendable(available: u64) -> u64 {
    available - available / 32
}

fn too_large(requested: usize) -> MemoryError {
    MemoryError::TooLarge { requested, available: limits::memory_here().available }
}

/// Checks that the machine, and a node to which all bytes are to be bound, have enough memory outside the
/// hugetlb pool.
fn fits(requested: usize, rounded: usize, policy: &MemoryPolicy) -> Result<(), MemoryError> {
    if rounded as u64 > spendable(limits::memory_here().available) {
        return Err(too_large(requested));
    }
    fits_node(rounded, policy)
}

/// Checks that a node to which all bytes are to be bound has enough memory.
fn fits_node(bytes: usize, policy: &MemoryPolicy) -> Result<(), MemoryError> {
    let MemoryPolicy::Bind(node) = *policy else { return Ok(()) };
    match Sysfs::live().available_on(node) {
        Ok(available) if bytes as u64 > spendable(available) => {
            Err(MemoryError::NodeTooSmall { node, requested: bytes, available })
        }
        // If the kernel does not report the node's memory, its answer to the policy decides.
        _ => Ok(()),
    }
}

fn no_policy(policy: &MemoryPolicy, step: &'static str, answer: &io::Error) -> MemoryError {
    MemoryError::NoPolicy {
        asked: policy.clone(),
        step,
        answer: answer.to_string(),
        nodes: policy::nodes_here(),
    }
}

fn place(mapping: &Mapping, policy: &MemoryPolicy) -> Result<(), MemoryError> {
    policy::place(mapping.area(), policy).map_err(|error| no_policy(policy, "mbind", &error))
}

/// Adds the nodes on which the pages lie to what was granted, and checks them against the policy.
fn placed(
    mapping: &Mapping,
    granted: Granted,
    policy: &MemoryPolicy,
) -> Result<Granted, MemoryError> {
    let page = match granted {
        Granted::Huge { .. } => HUGE_PAGE,
        Granted::Giant => GIANT_PAGE,
        _ => BASE_PAGE,
    };
    let on = policy::nodes_of_area(mapping.area(), page)
        .map_err(|error| no_policy(policy, "move_pages", &error))?;
    match policy.is_met_by(&on) {
        true => Ok(Granted::Placed { pages: Box::new(granted), on }),
        false => Err(MemoryError::Elsewhere { asked: policy.clone(), got: on }),
    }
}

/// Maps and populates pages of `page` bytes from the hugetlb pool, on the nodes of `policy`.
fn from_pool(rounded: usize, page: usize, policy: &MemoryPolicy) -> io::Result<Mapping> {
    let mapping = Mapping::reserve_hugetlb(rounded, page)?;
    policy::place(mapping.area(), policy)?;
    mapping.populate_from_pool(page)?;
    Ok(mapping)
}

fn base(requested: usize, rounded: usize, policy: &MemoryPolicy) -> Result<Mapping, MemoryError> {
    fits(requested, rounded, policy)?;
    let refused = |step| move |error| MemoryError::refused(requested, step, &error);
    // Aligned like huge pages because of L1d. Zen selects the way of a set by a hash of the linear
    // address. A page and its neighbour across a multiple of 64 MiB collide in this hash: a working set
    // of 16 KiB across such a boundary misses L1d at every step (12.7 instead of 2.8 ticks on Zen 4).
    // From a multiple of 2 MiB on, no working set of L1d's size meets such a boundary.
    let mapping = Mapping::reserve(rounded, HUGE_PAGE).map_err(refused("mmap"))?;
    mapping.open().map_err(refused("mprotect"))?;
    keep_small(&mapping, requested)?;
    place(&mapping, policy)?;
    mapping.populate().map_err(refused("populating"))?;
    Ok(mapping)
}

/// Prevents transparent huge pages.
fn keep_small(mapping: &Mapping, requested: usize) -> Result<(), MemoryError> {
    match mapping.advise(libc::MADV_NOHUGEPAGE) {
        // A kernel built without transparent huge pages neither knows nor needs the advice.
        Err(error) if error.raw_os_error() != Some(libc::EINVAL) => {
            Err(MemoryError::refused(requested, "madvise", &error))
        }
        _ => Ok(()),
    }
}

fn giant(rounded: usize, policy: &MemoryPolicy) -> Result<Mapping, MemoryError> {
    let pool = |error: io::Error| MemoryError::NoGiantPages(format!("hugetlb pool: {error}"));
    from_pool(rounded, GIANT_PAGE, policy).map_err(pool)
}

fn huge(requested: usize, rounded: usize, policy: &MemoryPolicy) -> Result<Mapping, MemoryError> {
    match from_pool(rounded, HUGE_PAGE, policy) {
        Ok(mapping) => Ok(mapping),
        // Free pages of the pool do not count as available memory, so only the other pages are checked.
        Err(pool) => {
            fits(requested, rounded, policy)?;
            transparent(requested, rounded, policy, &pool)
        }
    }
}

fn transparent(
    requested: usize,
    rounded: usize,
    policy: &MemoryPolicy,
    pool: &io::Error,
) -> Result<Mapping, MemoryError> {
    let no_huge = |why: &str| {
        MemoryError::NoHugePages(format!("hugetlb pool: {pool}; transparent huge pages: {why}"))
    };
    match transparent_pages(Path::new("/sys")) {
        Ok(Transparent::Never) => return Err(no_huge("set to never")),
        // If the setting cannot be read, the kernel's answer to `madvise` decides.
        Ok(Transparent::Always | Transparent::Madvise) | Err(_) => {}
    }
    let refused = |step| move |error| MemoryError::refused(requested, step, &error);
    let mapping = Mapping::reserve(rounded, HUGE_PAGE).map_err(refused("mmap"))?;
    mapping.open().map_err(refused("mprotect"))?;
    mapping.advise(libc::MADV_HUGEPAGE).map_err(|error| no_huge(&error.to_string()))?;
    place(&mapping, policy)?;
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
