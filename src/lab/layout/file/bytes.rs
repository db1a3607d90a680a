//! The bytes of a file or of a section, without copying them where it can be avoided.

// Maps files, which nothing else reads without copying them.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::rc::Rc;

use memmap2::Mmap;

/// Bytes that are part of a mapped file, or were unpacked from one.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// A part of a file, which the system reads as it is looked at.
    Mapped(Rc<Mmap>, Range<usize>),
    /// Bytes of their own.
    Owned(Rc<[u8]>),
}

impl Bytes {
    /// The whole of a file.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        // SAFETY: the map is private and only read. Whoever truncates the file meanwhile ends
        // this program by SIGBUS, as with every program that maps what it reads.
        let map = unsafe { Mmap::map(&file)? };
        let all = 0..map.len();
        Ok(Bytes::Mapped(Rc::new(map), all))
    }

    /// No bytes.
    pub fn none() -> Self {
        Bytes::Owned(Rc::new([]))
    }

    /// A part of these, if they have it.
    pub fn part(&self, offset: u64, size: u64) -> Option<Self> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        self.get(start..end)?;
        Some(match self {
            Bytes::Mapped(map, range) => {
                Bytes::Mapped(Rc::clone(map), range.start + start..range.start + end)
            }
            Bytes::Owned(bytes) => Bytes::Owned(bytes[start..end].into()),
        })
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map, range) => &map[range.clone()],
            Bytes::Owned(bytes) => bytes,
        }
    }
}
