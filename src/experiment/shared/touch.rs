//! The first touch of a page.

use crate::experiment::prelude::*;
use crate::kernel::Work;
use crate::measure::Shot;
use crate::mem::Region;
use crate::os::hugepages::{Transparent, transparent};
use crate::os::{Granted, Memory, Pages, Populated};
use core::hint::black_box;
use std::path::Path;

/// How pages are mapped or touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Touch {
    /// A byte of each is written, for the first time.
    Write,
    /// A byte of each is read, for the first time.
    Read,
    /// A byte of each is written, for the first time, after one was read.
    WriteAfterRead,
    /// A byte of each is written, not for the first time.
    Again,
    /// One `madvise(MADV_POPULATE_WRITE)` for all.
    Populate,
    /// One `mmap(MAP_POPULATE)` for all.
    MapPopulate,
}

/// Pages that are touched. An operation is a page. The set-up has its own pages, not a region's:
/// before each shot they are given back to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TouchSetup {
    /// The size of the pages.
    pub pages: Pages,
    /// How many pages.
    pub count: usize,
    /// How they are touched.
    pub touch: Touch,
}

impl Setup for TouchSetup {
    fn bytes(&self) -> usize {
        0
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let page = self.pages.bytes();
        let mut memory = Memory::new(page * self.count, self.pages)?;
        if self.pages == Pages::Huge && !matches!(memory.granted(), Granted::Huge { .. }) {
            return Err(Untestable(format!(
                "2 MiB pages were requested, and the kernel gave: {}",
                memory.granted()
            )));
        }
        memory
            .give_back()
            .map_err(|error| Untestable(format!("madvise(MADV_DONTNEED): {error}")))?;
        match self.touch {
            Touch::Populate => memory
                .populate()
                .map_err(|error| Untestable(format!("madvise(MADV_POPULATE_WRITE): {error}")))?,
            Touch::MapPopulate => map_populate(self.pages, memory.mapped())?,
            _ => {}
        }
        Ok(Workload::shot(
            TouchShot {
                memory,
                page,
                touch: self.touch,
                populated: None,
            },
            Work {
                stores: 1,
                bytes_written: page as u32,
                ..Work::default()
            },
        ))
    }
}

/// Checks that `mmap(MAP_POPULATE)` gives the requested pages.
fn map_populate(pages: Pages, bytes: usize) -> Result<(), Untestable> {
    let always = transparent(Path::new("/sys")) == Ok(Transparent::Always);
    if always != (pages == Pages::Huge) {
        return Err(Untestable(format!(
            "mmap(MAP_POPULATE) gives no {pages} pages here: transparent huge pages are {}",
            if always { "always on" } else { "not always on" }
        )));
    }
    Populated::map(bytes)
        .map(drop)
        .map_err(|error| Untestable(format!("mmap(MAP_POPULATE): {error}")))
}

struct TouchShot {
    memory: Memory,
    /// Bytes of a page.
    page: usize,
    touch: Touch,
    /// What the last shot mapped.
    populated: Option<Populated>,
}

impl TouchShot {
    fn write(&mut self) -> u64 {
        let mut pages = 0;
        for page in self.memory.as_mut_slice().chunks_exact_mut(self.page) {
            *black_box(&mut page[0]) = 1;
            pages += 1;
        }
        pages
    }

    fn read(&self) -> u64 {
        let pages = self.memory.as_slice().chunks_exact(self.page);
        pages.map(|page| u64::from(*black_box(&page[0]))).sum()
    }
}

/// The kernel repeats for every shot what it did at set-up: the same call on the same pages.
const ONCE_MORE: &str = "the kernel did so before";

impl Shot for TouchShot {
    fn prepare(&mut self) {
        self.populated = None;
        if self.touch == Touch::Again {
            self.write();
            return;
        }
        self.memory.give_back().expect(ONCE_MORE);
        if self.touch == Touch::WriteAfterRead {
            black_box(self.read());
        }
    }

    fn shoot(&mut self) -> u64 {
        match self.touch {
            Touch::Write | Touch::WriteAfterRead | Touch::Again => self.write(),
            Touch::Read => self.read(),
            Touch::Populate => {
                self.memory.populate().expect(ONCE_MORE);
                self.operations()
            }
            Touch::MapPopulate => {
                let populated = Populated::map(self.memory.mapped()).expect(ONCE_MORE);
                let address = populated.address() as u64;
                self.populated = Some(populated);
                address
            }
        }
    }

    fn operations(&self) -> u64 {
        (self.memory.len() / self.page) as u64
    }
}
