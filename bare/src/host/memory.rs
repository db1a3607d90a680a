//! Memory mapped in pages of a requested size: for data, for code, and at two addresses at once.

use core::slice;
use core::sync::atomic::AtomicU32;

use linefill::host::{Alias, Backing, Code, Granted, Host, Lack, Pages as PageSize};
use linefill::kernel::Function;
use linefill_bare_memory::{Mapped, Size};

use super::{HOST, with_pages};

/// The page size for the name in an experiment.
const fn size_of(pages: PageSize) -> Option<Size> {
    match pages {
        PageSize::Base => Some(Size::Base),
        PageSize::Huge => Some(Size::Large),
        PageSize::Giant => Some(Size::Giant),
        _ => None,
    }
}

/// Memory that the host allocated.
#[derive(Debug)]
pub struct Own {
    mapped: Mapped,
    bytes: usize,
    granted: Granted,
}

impl Own {
    /// Allocates `bytes` bytes of zeros in these pages.
    ///
    /// # Errors
    /// If there is no such memory.
    pub fn new(bytes: usize, pages: PageSize) -> Result<Self, Lack> {
        let size = size_of(pages).ok_or_else(|| HOST.lacks("pages of this size"))?;
        let (mapped, found) = with_pages(|all| {
            let mapped = all.take(bytes as u64, size).map_err(Lack::refused)?;
            let found = all.pages_of(&mapped);
            Ok((mapped, found))
        })?;
        let granted = match found {
            Some(found) if found == size => Granted::Own(pages),
            _ => Granted::Unknown("the page tables hold other pages".into()),
        };
        let mut own = Own { mapped, bytes, granted };
        own.bytes_mut().fill(0);
        Ok(own)
    }

    fn address(&self) -> usize {
        self.mapped.address as usize
    }
}

impl Backing for Own {
    fn bytes(&self) -> &[u8] {
        let at = core::ptr::with_exposed_provenance(self.address());
        // SAFETY: this number of bytes is mapped there until `self` is dropped, and nothing else uses them.
        unsafe { slice::from_raw_parts(at, self.bytes) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let at = core::ptr::with_exposed_provenance_mut(self.address());
        // SAFETY: as in `bytes`.
        unsafe { slice::from_raw_parts_mut(at, self.bytes) }
    }

    fn granted(&self) -> &Granted {
        &self.granted
    }

    fn give_back(&mut self) -> Result<(), Lack> {
        Err(HOST.lacks("pages that come back when they are touched"))
    }

    fn populate(&mut self) -> Result<(), Lack> {
        Err(HOST.lacks("pages that are not there yet"))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: no reference to the memory outlives `self`.
        with_pages(|all| unsafe { all.give_back(self.mapped) });
    }
}

/// Memory with code. All memory is executable here.
#[derive(Debug)]
pub struct Executable(Own);

impl Executable {
    /// Allocates `bytes` bytes in these pages, and lets `write` fill them.
    ///
    /// # Errors
    /// If there is no such memory.
    pub fn new(
        bytes: usize,
        pages: PageSize,
        write: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Self, Lack> {
        let mut own = Own::new(bytes, pages)?;
        write(own.bytes_mut());
        Ok(Executable(own))
    }
}

impl Code for Executable {
    fn function(&self, offset: usize) -> Function {
        assert!(offset < self.0.bytes, "{offset} of {} bytes", self.0.bytes);
        function(self.0.address() + offset)
    }
}

fn function(address: usize) -> Function {
    let at: *const () = core::ptr::with_exposed_provenance(address);
    // SAFETY: a function pointer is an address; the caller of the function guarantees that there is code at
    // it.
    unsafe { core::mem::transmute::<*const (), Function>(at) }
}

/// Memory that is mapped at two addresses.
#[derive(Debug)]
pub struct Twice {
    first: Own,
    second: Mapped,
}

impl Twice {
    /// Allocates `bytes` bytes of zeros.
    ///
    /// # Errors
    /// If there is no such memory.
    pub fn new(bytes: usize) -> Result<Self, Lack> {
        let bytes = bytes.next_multiple_of(Size::Base.bytes() as usize);
        let first = Own::new(bytes, PageSize::Base)?;
        let second = with_pages(|all| all.map_again(&first.mapped)).map_err(Lack::refused)?;
        Ok(Twice { first, second })
    }

    fn second_address(&self) -> usize {
        self.second.address as usize
    }
}

impl Drop for Twice {
    fn drop(&mut self) {
        with_pages(|all| all.forget(&self.second));
    }
}

impl Alias for Twice {
    fn first(&self) -> *mut u8 {
        core::ptr::with_exposed_provenance_mut(self.first.address())
    }

    fn second(&self) -> *mut u8 {
        core::ptr::with_exposed_provenance_mut(self.second_address())
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.first.bytes_mut()[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        let inside = offset.is_multiple_of(4) && offset < self.first.bytes;
        assert!(inside, "{offset} of {} bytes", self.first.bytes);
        // SAFETY: these are four aligned bytes of memory that lives as long as `self`.
        unsafe { AtomicU32::from_ptr(self.first().add(offset).cast()) }
    }

    fn function(&self, offset: usize) -> Function {
        assert!(offset < self.first.bytes, "{offset} of {} bytes", self.first.bytes);
        function(self.second_address() + offset)
    }
}
