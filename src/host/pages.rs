//! Memory in pages of a wanted size and what pages it really got, pages at two addresses, and code made at
//! run time.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Debug};
use core::sync::atomic::AtomicU32;

use super::{Lack, Nodes, OnNode};
use crate::kernel::Function;
use crate::mem::{LINE, PAGE};

/// The page size that a working set is laid out in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pages {
    /// 4 KiB pages, with transparent huge pages kept away.
    Base,
    /// 2 MiB pages: from the hugetlb pool, else transparent ones.
    Huge,
    /// 1 GiB pages, which come from the hugetlb pool alone.
    Giant,
}

impl Pages {
    /// Bytes of one such page.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Base => PAGE,
            Self::Huge => 2 << 20,
            Self::Giant => 1 << 30,
        }
    }
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Base => "4 KiB",
            Self::Huge => "2 MiB",
            Self::Giant => "1 GiB",
        })
    }
}

/// The pages behind a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Granted {
    /// 4 KiB pages everywhere.
    Base,
    /// 2 MiB pages everywhere.
    Huge {
        /// Where they come from.
        via: Via,
    },
    /// 1 GiB pages everywhere, from the reserved pool.
    Giant,
    /// 4 KiB and 2 MiB pages.
    Mixed {
        /// Bytes in 2 MiB pages.
        huge_bytes: usize,
    },
    /// Pages of this size everywhere, in page tables of the host's own.
    Own(Pages),
    /// Pages on the nodes that were asked for.
    Placed {
        /// What pages.
        pages: Box<Granted>,
        /// How many were found on each node.
        on: Vec<OnNode>,
    },
    /// The kernel did not tell: why.
    Unknown(String),
}

/// Where huge pages come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Via {
    /// The reserved pool (`MAP_HUGETLB`).
    HugeTlb,
    /// Transparent huge pages (`MADV_HUGEPAGE`).
    Transparent,
}

impl fmt::Display for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base => f.write_str("4 KiB"),
            Self::Huge { via: Via::HugeTlb } => f.write_str("2 MiB (hugetlb)"),
            Self::Huge {
                via: Via::Transparent,
            } => f.write_str("2 MiB (transparent)"),
            Self::Giant => f.write_str("1 GiB (hugetlb)"),
            Self::Mixed { huge_bytes } => write!(f, "mixed: {huge_bytes} bytes in 2 MiB pages"),
            Self::Own(pages) => fmt::Display::fmt(pages, f),
            Self::Placed { pages, on } => {
                let nodes: Vec<usize> = on.iter().map(|on| on.node).collect();
                write!(f, "{pages}, {}", Nodes(&nodes))
            }
            Self::Unknown(reason) => write!(f, "unknown: {reason}"),
        }
    }
}

impl Granted {
    /// What pages they are, wherever they lie.
    pub fn pages(&self) -> &Granted {
        match self {
            Self::Placed { pages, .. } => pages,
            pages => pages,
        }
    }
}

/// Memory that a host gave.
pub trait Backing: Debug + Send {
    /// The bytes: as many as were asked for.
    fn bytes(&self) -> &[u8];

    /// The bytes, to lay out a pattern in.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// What pages they really got.
    fn granted(&self) -> &Granted;

    /// Gives every page back. Each reads as zeroes from then on, and faults when it is touched next.
    ///
    /// # Errors
    /// If pages stay.
    fn give_back(&mut self) -> Result<(), Lack>;

    /// Has every page touched in one call.
    ///
    /// # Errors
    /// If there is no such call.
    fn populate(&mut self) -> Result<(), Lack>;
}

/// A call that maps populated pages, to be timed.
pub trait Populate: Debug {
    /// Maps them, and returns the address of the first.
    ///
    /// # Panics
    /// If the call is refused that was tried before.
    fn map(&mut self) -> usize;

    /// Unmaps what was mapped last, if it is mapped.
    fn unmap(&mut self);
}

/// Memory of an allocator, in whatever pages it has: for what is counted and not timed.
#[derive(Debug)]
pub struct Heap {
    memory: Vec<u8>,
    /// Where the first line begins.
    first: usize,
    bytes: usize,
    granted: Granted,
}

impl Heap {
    /// So many zeroed bytes, from the start of a line.
    ///
    /// # Errors
    /// If there is not so much memory.
    pub fn new(bytes: usize) -> Result<Self, Lack> {
        let mut memory = Vec::new();
        let refused = || Lack::refused(format_args!("the allocator has no {bytes} bytes"));
        let all = bytes.checked_add(LINE).ok_or_else(refused)?;
        memory.try_reserve_exact(all).map_err(|_| refused())?;
        memory.resize(all, 0);
        Ok(Heap {
            first: memory.as_ptr().align_offset(LINE),
            memory,
            bytes,
            granted: Granted::Unknown("memory of an allocator".into()),
        })
    }
}

impl Backing for Heap {
    fn bytes(&self) -> &[u8] {
        &self.memory[self.first..][..self.bytes]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.first..][..self.bytes]
    }

    fn granted(&self) -> &Granted {
        &self.granted
    }

    fn give_back(&mut self) -> Result<(), Lack> {
        Err(Lack::refused("memory of an allocator keeps its pages"))
    }

    fn populate(&mut self) -> Result<(), Lack> {
        Err(Lack::refused("memory of an allocator keeps its pages"))
    }
}

/// Code that was written once, and is executable ever after.
pub trait Code: Debug + Send {
    /// The function at `offset`. To call it is the caller's risk.
    ///
    /// # Panics
    /// If `offset` lies outside.
    fn function(&self, offset: usize) -> Function;
}

/// What the second view of an [`Alias`] may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Be read and written, like the first.
    Data,
    /// Be read and executed.
    Code,
}

/// The same physical pages at two addresses, the first of which is writable.
pub trait Alias: Debug + Send + Sync {
    /// The first view: readable and writable.
    fn first(&self) -> *mut u8;

    /// The second view: writable, or executable.
    fn second(&self) -> *mut u8;

    /// Writes `bytes` at `offset` through the first view.
    ///
    /// # Panics
    /// If they do not fit.
    fn write(&mut self, offset: usize, bytes: &[u8]);

    /// The four bytes at `offset` of the first view, to be stored whole, by any thread and while the
    /// second view is read or executed.
    ///
    /// # Panics
    /// If `offset` is no multiple of 4, or lies outside.
    fn word(&self, offset: usize) -> &AtomicU32;

    /// The function at `offset` of the second view. To call it is the caller's risk.
    ///
    /// # Panics
    /// If the second view is not executable or `offset` lies outside.
    fn function(&self, offset: usize) -> Function;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_an_allocator_begins_on_a_line_and_is_as_long_as_asked_for() {
        for bytes in [0, 1, 64, 100_000] {
            let mut heap = Heap::new(bytes).unwrap();
            assert_eq!(heap.bytes().as_ptr().addr() % LINE, 0);
            heap.bytes_mut().fill(7);
            assert_eq!(heap.bytes(), alloc::vec![7; bytes]);
        }
        assert!(Heap::new(usize::MAX).is_err());
        assert!(Heap::new(isize::MAX as usize - LINE).is_err());
    }
}
