//! Memory in pages of a chosen size and the pages granted, pages at two addresses, and code made at run
//! time.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Debug};
use core::sync::atomic::AtomicU32;

use super::{Lack, Nodes, OnNode};
use crate::kernel::Function;
use crate::mem::{LINE, PAGE};

/// The page size of a working set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pages {
    /// 4 KiB pages, with transparent huge pages kept away.
    Base,
    /// 2 MiB pages: from the hugetlb pool, else transparent huge pages.
    Huge,
    /// 1 GiB pages, from the hugetlb pool only.
    Giant,
}

impl Pages {
    /// Returns the bytes per page.
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
        /// The source of the pages.
        via: Via,
    },
    /// 1 GiB pages everywhere, from the reserved pool.
    Giant,
    /// 4 KiB and 2 MiB pages.
    Mixed {
        /// Bytes in 2 MiB pages.
        huge_bytes: usize,
    },
    /// Pages of this size everywhere, in the host's own page tables.
    Own(Pages),
    /// Pages on the nodes that were asked for.
    Placed {
        /// The pages granted.
        pages: Box<Granted>,
        /// The number of pages found on each node.
        on: Vec<OnNode>,
    },
    /// The kernel does not report the pages, for this reason.
    Unknown(String),
}

/// The source of huge pages.
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
            Self::Huge { via: Via::Transparent } => f.write_str("2 MiB (transparent)"),
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
    /// Returns the pages granted, without their nodes.
    pub fn pages(&self) -> &Granted {
        match self {
            Self::Placed { pages, .. } => pages,
            pages => pages,
        }
    }
}

/// Memory that a host provides.
pub trait Backing: Debug + Send {
    /// Returns the bytes, as many as were asked for.
    fn bytes(&self) -> &[u8];

    /// Returns the bytes for writing.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// Returns the pages granted.
    fn granted(&self) -> &Granted;

    /// Gives every page back. From then on each page reads as zeros, and the next touch of it faults.
    ///
    /// # Errors
    /// If the pages cannot be given back.
    fn give_back(&mut self) -> Result<(), Lack>;

    /// Makes the host touch every page in one call.
    ///
    /// # Errors
    /// If there is no such call.
    fn populate(&mut self) -> Result<(), Lack>;
}

/// A call that maps populated pages, to be timed.
pub trait Populate: Debug {
    /// Maps the pages, and returns the address of the first.
    ///
    /// # Panics
    /// If the call is refused although it succeeded before.
    fn map(&mut self) -> usize;

    /// Unmaps what was mapped last, if it is mapped.
    fn unmap(&mut self);
}

/// Memory of an allocator, in whatever pages it uses: for kernels that are counted and not timed.
#[derive(Debug)]
pub struct Heap {
    memory: Vec<u8>,
    /// Offset of the first line.
    first: usize,
    bytes: usize,
    granted: Granted,
}

impl Heap {
    /// Allocates `bytes` zeroed bytes that start on a line.
    ///
    /// # Errors
    /// If the allocator has not enough memory.
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

/// Code that is written once, and executable from then on.
pub trait Code: Debug + Send {
    /// Returns the function at `offset`. Its caller must ensure that the code there is a function.
    ///
    /// # Panics
    /// If `offset` lies outside the code.
    fn function(&self, offset: usize) -> Function;
}

/// The permissions of the second view of an [`Alias`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Readable and writable, like the first view.
    Data,
    /// Readable and executable.
    Code,
}

/// The same physical pages at two addresses, the first of which is writable.
pub trait Alias: Debug + Send + Sync {
    /// Returns the start of the first view, which is readable and writable.
    fn first(&self) -> *mut u8;

    /// Returns the start of the second view, which is writable or executable.
    fn second(&self) -> *mut u8;

    /// Writes `bytes` at `offset` through the first view.
    ///
    /// # Panics
    /// If the bytes do not fit.
    fn write(&mut self, offset: usize, bytes: &[u8]);

    /// Returns the four bytes at `offset` of the first view. Any thread may store them as a whole, also
    /// while the second view is read or executed.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 4, or lies outside the view.
    fn word(&self, offset: usize) -> &AtomicU32;

    /// Returns the function at `offset` of the second view. Its caller must ensure that the code there is
    /// a function.
    ///
    /// # Panics
    /// If the second view is not executable, or `offset` lies outside it.
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
