//! Free memory, lent in large pieces and, for page tables, in frames of 4 KiB.

use crate::{Area, Lend, Pool, Size};

/// Bytes of a piece that frames are cut from.
const PIECE: u64 = Size::Large.bytes();

/// The free memory of a machine.
#[derive(Debug)]
pub struct Physical {
    pool: Pool,
    /// The program can access memory below this address by its physical address.
    accessible: u64,
    /// The first frame that came back, which holds the address of the next one; 0 if there is none.
    first: u64,
    /// What no frame was cut from yet.
    rest: Area,
}

impl Physical {
    /// The memory of `pool`, of which what lies below `accessible` is mapped onto itself.
    ///
    /// # Safety
    /// It is so as long as this lives, and nobody else uses the memory.
    pub unsafe fn new(pool: Pool, accessible: u64) -> Self {
        Physical {
            pool,
            accessible,
            first: 0,
            rest: Area::default(),
        }
    }

    /// What is free, frames apart.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Whether the memory at this address is mapped onto itself.
    pub fn is_accessible(&self, address: u64) -> bool {
        address < self.accessible
    }

    /// So many bytes whose address is a multiple of `align`, a power of two; `None` if no area has them.
    pub fn take(&mut self, bytes: u64, align: u64) -> Option<Area> {
        self.pool.take(bytes, align, u64::MAX)
    }

    /// The same of memory that is mapped onto itself.
    pub fn take_accessible(&mut self, bytes: u64, align: u64) -> Option<Area> {
        self.pool.take(bytes, align, self.accessible)
    }

    /// Takes back what [`take`](Self::take) gave.
    pub fn give_back(&mut self, area: Area) {
        // An area that the pool cannot keep is lost: no harm but less memory.
        let _ = self.pool.add(area);
    }
}

impl Lend for Physical {
    fn lend(&mut self) -> Option<u64> {
        let frame = if self.first != 0 {
            let frame = self.first;
            // SAFETY: it is accessible, and its last owner gave it back.
            self.first = unsafe { pointer(frame).read() };
            frame
        } else {
            if self.rest.bytes() == 0 {
                self.rest = self.take_accessible(PIECE, Size::Base.bytes())?;
            }
            let frame = self.rest.start;
            self.rest.start += Size::Base.bytes();
            frame
        };
        // SAFETY: nobody but this owns it.
        unsafe {
            pointer(frame)
                .cast::<u8>()
                .write_bytes(0, Size::Base.bytes() as usize)
        };
        Some(frame)
    }

    fn give_back(&mut self, frame: u64) {
        // SAFETY: `lend` gave it, and its owner does not use it any more.
        unsafe { pointer(frame).write(self.first) };
        self.first = frame;
    }
}

fn pointer(frame: u64) -> *mut u64 {
    core::ptr::with_exposed_provenance_mut(frame as usize)
}
