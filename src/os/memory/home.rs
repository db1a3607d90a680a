//! Pages that a chosen CPU touches first.
// Advises and writes pages by address.
#![allow(unsafe_code)]

use std::{io, thread};

use super::mapping::{BASE_PAGE, give_back};
use crate::os::affinity::pin;

/// `madvise(MADV_DONTNEED)`, and a first touch by a thread on `cpu`: the whole 4 KiB pages of `bytes`
/// become new ones, all zeroes, from the memory that is nearest to that CPU. What of `bytes` is no
/// whole page stays as it is. Returns the whole pages.
///
/// The kernel takes a page from the node of the CPU that touches it first. Memory that one thread has
/// touched for all is near to that thread, and far from others on other nodes.
///
/// # Errors
/// The kernel's answer: locked pages and hugetlb pages stay before Linux 5.18; or no thread
/// can be had, or kept on `cpu`.
#[doc(alias = "MADV_DONTNEED")]
pub fn first_touched_on(bytes: &mut [u8], cpu: usize) -> io::Result<&mut [u8]> {
    let before = bytes.as_ptr().align_offset(BASE_PAGE).min(bytes.len());
    let whole = (bytes.len() - before) / BASE_PAGE * BASE_PAGE;
    let pages = &mut bytes[before..before + whole];
    if whole == 0 {
        return Ok(pages);
    }
    let (first, length) = (pages.as_mut_ptr().cast(), pages.len());
    // SAFETY: the pages are borrowed mutably, so that nobody else sees them change; whatever they
    // become is bytes.
    let answer = unsafe { give_back(first, length) };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    let touched = thread::scope(|scope| {
        let touch = || {
            let pinned = pin(cpu).map_err(io::Error::other)?;
            for page in pages.chunks_exact_mut(BASE_PAGE) {
                // SAFETY: it is the first byte of a page that is borrowed mutably.
                unsafe { page.as_mut_ptr().write_volatile(0) };
            }
            drop(pinned);
            Ok(())
        };
        let thread = thread::Builder::new().spawn_scoped(scope, touch);
        let thread = thread.map_err(|error| {
            io::Error::other(format!("no thread to touch pages on CPU {cpu}: {error}"))
        })?;
        let ended = |_| Err(io::Error::other("the thread that touches pages ended"));
        thread.join().unwrap_or_else(ended)
    });
    touched?;
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::{Memory, Pages, allowed};

    #[test]
    fn whole_pages_are_new_and_the_rest_stays() {
        let mut memory = Memory::new(4 * BASE_PAGE, Pages::Base).unwrap();
        let bytes = memory.as_mut_slice();
        bytes.fill(7);
        let cpu = *allowed().last().unwrap();
        let part = &mut bytes[100..3 * BASE_PAGE + 50];
        let pages = first_touched_on(part, cpu).unwrap();
        assert_eq!(pages.len(), 2 * BASE_PAGE);
        assert_eq!(pages.as_ptr().addr() % BASE_PAGE, 0);
        assert!(pages.iter().all(|byte| *byte == 0));
        let zeroes = bytes.iter().filter(|byte| **byte == 0).count();
        assert_eq!(zeroes, 2 * BASE_PAGE);
    }

    #[test]
    fn less_than_a_page_stays_and_a_cpu_that_does_not_exist_is_named() {
        let mut bytes = [7; 100];
        assert!(first_touched_on(&mut bytes, 8191).unwrap().is_empty());
        assert_eq!(bytes, [7; 100]);
        let mut memory = Memory::new(BASE_PAGE, Pages::Base).unwrap();
        let error = first_touched_on(memory.as_mut_slice(), 8191).unwrap_err();
        assert!(error.to_string().contains("8191"), "{error}");
    }
}
