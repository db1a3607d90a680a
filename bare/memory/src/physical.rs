//! Free memory, lent in large pieces and, for page tables, in frames of 4 KiB.

use crate::{Area, Lend, Pool, Size};

/// Bytes of the pieces that frames are cut from.
const PIECE: u64 = Size::Large.bytes();

/// The free memory of a machine.
#[derive(Debug)]
pub struct Physical {
    pool: Pool,
    /// The program can access memory below this address by its physical address.
    accessible: u64,
    /// The first frame of the list of returned frames. Each holds the address of the next; 0 ends the list.
    first: u64,
    /// The part of the current piece that is not cut into frames yet.
    rest: Area,
}

impl Physical {
    /// Takes over the memory of `pool`. Memory below `accessible` is mapped onto itself.
    ///
    /// # Safety
    /// The memory below `accessible` stays mapped onto itself as long as the result lives, and nothing else
    /// uses the memory of `pool`.
    pub unsafe fn new(pool: Pool, accessible: u64) -> Self {
        Physical { pool, accessible, first: 0, rest: Area::default() }
    }

    /// Returns the free memory, without the frames that were given back.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Returns whether the memory at `address` is mapped onto itself.
    pub fn is_accessible(&self, address: u64) -> bool {
        address < self.accessible
    }

    /// Takes `bytes` bytes at a multiple of `align`, a power of two. `None` if no area is large enough.
    pub fn take(&mut self, bytes: u64, align: u64) -> Option<Area> {
        self.pool.take(bytes, align, u64::MAX)
    }

    /// Like [`take`](Self::take), but only takes memory that is mapped onto itself.
    pub fn take_accessible(&mut self, bytes: u64, align: u64) -> Option<Area> {
        self.pool.take(bytes, align, self.accessible)
    }

    /// Like [`take_accessible`](Self::take_accessible), but halves the size until an area is large enough. `None` if
    /// none has `align` bytes.
    pub fn take_accessible_up_to(&mut self, bytes: u64, align: u64) -> Option<Area> {
        let mut bytes = bytes / align * align;
        while bytes > 0 {
            let taken = self.take_accessible(bytes, align);
            if taken.is_some() {
                return taken;
            }
            bytes = bytes / 2 / align * align;
        }
        None
    }

    /// Takes back memory from [`take`](Self::take).
    pub fn give_back(&mut self, area: Area) {
        // An area that the pool has no room for is lost. The only harm is less memory.
        let _ = self.pool.add(area);
    }
}

impl Lend for Physical {
    fn lend(&mut self) -> Option<u64> {
        let frame = if self.first != 0 {
            let frame = self.first;
            // SAFETY: the frame is accessible, and its last owner gave it back.
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
        // SAFETY: the frame is accessible and owned by this function alone.
        unsafe { pointer(frame).cast::<u8>().write_bytes(0, Size::Base.bytes() as usize) };
        Some(frame)
    }

    fn give_back(&mut self, frame: u64) {
        // SAFETY: `lend` gave the frame out, and its owner does not use it any more.
        unsafe { pointer(frame).write(self.first) };
        self.first = frame;
    }
}

fn pointer(frame: u64) -> *mut u64 {
    core::ptr::with_exposed_provenance_mut(frame as usize)
}
