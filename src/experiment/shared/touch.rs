//! The first touch of a page.

use crate::experiment::prelude::*;
use crate::host::{Backing, Granted, MemoryPolicy, Pages, Populate, Worker};
use crate::kernel::{Access, Kernel, Work};
use crate::measure::Shot;
use core::hint::black_box;

/// How pages are mapped or touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Touch {
    /// A byte of each page is written, for the first time.
    Write,
    /// A byte of each page is read, for the first time.
    Read,
    /// A byte of each page is written for the first time, after a byte was read.
    WriteAfterRead,
    /// A byte of each page is written, not for the first time.
    Again,
    /// One `madvise(MADV_POPULATE_WRITE)` for all pages.
    Populate,
    /// One `mmap(MAP_POPULATE)` for all pages.
    MapPopulate,
}

/// Pages that are touched. One operation is one page. The set-up has its own pages instead of a
/// region's: before each shot they are given back to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TouchSetup {
    pub pages: Pages,
    pub count: usize,
    pub touch: Touch,
}

impl Setup for TouchSetup {
    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let page = self.pages.bytes();
        let mut memory =
            context.host.memory(page * self.count, self.pages, &MemoryPolicy::Default)?;
        if self.pages == Pages::Huge && !matches!(memory.granted(), Granted::Huge { .. }) {
            return Err(Untestable(format!(
                "2 MiB pages were requested, and the kernel gave: {}",
                memory.granted()
            )));
        }
        memory.give_back()?;
        if self.touch == Touch::Populate {
            memory.populate()?;
        }
        let call = match self.touch {
            Touch::MapPopulate => Some(context.host.populate(page * self.count, self.pages)?),
            _ => None,
        };
        let work = Work { stores: 1, bytes_written: page as u32, ..Work::default() };
        Ok(Workload::shot(TouchShot { memory, page, touch: self.touch, call }, work))
    }
}

struct TouchShot {
    memory: Box<dyn Backing>,
    /// Bytes per page.
    page: usize,
    touch: Touch,
    /// The call that maps populated pages, if the call is timed.
    call: Option<Box<dyn Populate>>,
}

impl TouchShot {
    fn write(&mut self) -> u64 {
        let mut pages = 0;
        for page in self.memory.bytes_mut().chunks_exact_mut(self.page) {
            *black_box(&mut page[0]) = 1;
            pages += 1;
        }
        pages
    }

    fn read(&self) -> u64 {
        let pages = self.memory.bytes().chunks_exact(self.page);
        pages.map(|page| u64::from(*black_box(&page[0]))).sum()
    }
}

/// Message of calls that cannot fail: each shot repeats a call of the set-up, on the same pages.
const ONCE_MORE: &str = "the kernel did so before";

impl Shot for TouchShot {
    fn prepare(&mut self) {
        if let Some(call) = &mut self.call {
            call.unmap();
        }
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
            Touch::MapPopulate => self.call.as_mut().map_or(0, |call| call.map() as u64),
        }
    }

    fn operations(&self) -> u64 {
        (self.memory.bytes().len() / self.page) as u64
    }
}

/// 4 KiB pages that threads of one process touch for the first time, give back and touch again. Each
/// thread has its own pages. One operation is one page of each thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TouchGroupSetup {
    /// Pages per thread.
    pub pages: usize,
    pub cpus: Vec<usize>,
}

impl Setup for TouchGroupSetup {
    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let page = Pages::Base.bytes();
        let worker = |&cpu: &usize| -> Testable<Worker<'m>> {
            let mut memory =
                context.host.memory(page * self.pages, Pages::Base, &MemoryPolicy::Default)?;
            memory.give_back()?;
            Ok(Worker::new(cpu, FirstTouches { memory, next: 0 }))
        };
        let workers = self.cpus.iter().map(worker).collect::<Result<_, _>>()?;
        Ok(Workload::at_once(workers, SampleOf::Median, self.pages as u64))
    }
}

/// Writes to one page after another, and gives all pages back after the last.
struct FirstTouches {
    memory: Box<dyn Backing>,
    next: usize,
}

impl Kernel for FirstTouches {
    fn run(&mut self, operations: u64) -> u64 {
        let page = Pages::Base.bytes();
        for _ in 0..operations {
            if self.next == self.memory.bytes().len() / page {
                self.memory.give_back().expect(ONCE_MORE);
                self.next = 0;
            }
            *black_box(&mut self.memory.bytes_mut()[self.next * page]) = 1;
            self.next += 1;
        }
        self.next as u64
    }

    fn work(&self) -> Work {
        Work { stores: 1, bytes_written: Pages::Base.bytes() as u32, ..Work::default() }
    }

    /// Reports the byte of each page, and touches it.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let page = Pages::Base.bytes();
        let pages = self.memory.bytes().len() / page;
        let place = |number: u64| (self.next + number as usize) % pages * page;
        (0..operations).for_each(|number| sink(Access::store(place(number), 1)));
        self.run(operations)
    }
}
