//! Memory nodes: sets the policy of an area, finds the nodes on which pages lie, and makes a chosen CPU touch
//! pages first.

// Sets policies and queries, advises and writes pages by address.
#![allow(unsafe_code)]

use std::ops::Range;
use std::{io, ptr, thread};

use super::mapping::{BASE_PAGE, give_back};
use crate::host::{MemoryPolicy, OnNode};
use crate::os::affinity::pin;
use crate::os::check;
use crate::os::sysfs::Sysfs;

/// The most nodes that Linux supports: `NODES_SHIFT` is at most 10 on x86-64.
const MOST_NODES: usize = 1024;

/// Bits per word of a node mask.
const BITS: usize = usize::BITS as usize;

/// A node mask as the kernel takes it.
type Mask = [usize; MOST_NODES / BITS];

/// Pages queried per call.
const AT_A_TIME: usize = 1 << 14;

/// Returns the mask of `nodes`; `None` if a number exceeds what any kernel supports.
fn mask(nodes: &[usize]) -> Option<Mask> {
    let mut mask = [0; MOST_NODES / BITS];
    for node in nodes {
        *mask.get_mut(node / BITS)? |= 1 << (node % BITS);
    }
    Some(mask)
}

/// Returns the kernel's number of a policy, and the mask of its nodes.
fn mode(policy: &MemoryPolicy) -> io::Result<(libc::c_int, Mask)> {
    let mask = mask(policy.nodes()).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    let mode = match policy {
        MemoryPolicy::Default => libc::MPOL_DEFAULT,
        MemoryPolicy::Local => libc::MPOL_LOCAL,
        MemoryPolicy::Bind(_) => libc::MPOL_BIND,
        MemoryPolicy::Interleave(_) => libc::MPOL_INTERLEAVE,
    };
    Ok((mode, mask))
}

/// `mbind`: makes the pages of `area` that are not present yet come from the nodes of `policy`.
///
/// # Errors
/// The kernel's error: ENOSYS if it does not support nodes, EPERM from a sandbox, EINVAL for a node that
/// does not exist, has no memory or is barred from this process.
pub(super) fn place(area: Range<usize>, policy: &MemoryPolicy) -> io::Result<()> {
    if *policy == MemoryPolicy::Default {
        return Ok(());
    }
    let (mode, mask) = mode(policy)?;
    // The kernel uses one bit less than it is told.
    let (nodes, most) = match policy.nodes() {
        [] => (ptr::null(), 0),
        _ => (mask.as_ptr(), MOST_NODES + 1),
    };
    let flags: libc::c_uint = 0;
    // SAFETY: without flags no page moves, so that the content of the area stays. The mask has the number
    // of bits that the kernel reads, and outlives the call.
    check(unsafe {
        libc::syscall(libc::SYS_mbind, area.start, area.len(), mode, nodes, most, flags)
    })
}

/// `set_mempolicy`: makes this thread, and threads that it starts from then on, take pages from `node` as
/// long as it has free pages. An area's own policy takes precedence.
///
/// # Errors
/// The kernel's error.
pub fn prefer_node(node: usize) -> io::Result<()> {
    let mask = mask(&[node]).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    let (call, mode) = (libc::SYS_set_mempolicy, libc::MPOL_PREFERRED);
    // SAFETY: the mask has the number of bits that the kernel reads, and outlives the call.
    check(unsafe { libc::syscall(call, mode, mask.as_ptr(), MOST_NODES + 1) })
}

/// `move_pages` without a target: returns the node on which the page of each address lies, or a negated
/// error number.
fn status(addresses: &[usize]) -> io::Result<Vec<libc::c_int>> {
    let mut status = vec![-libc::ENOENT; addresses.len()];
    let pairs = addresses.chunks(AT_A_TIME).zip(status.chunks_mut(AT_A_TIME));
    for (addresses, status) in pairs {
        let (own, none, flags): (libc::c_int, *const libc::c_int, libc::c_int) =
            (0, ptr::null(), 0);
        // SAFETY: without a list of nodes no page moves. Both lists have as many entries as the call is told,
        // and outlive it. The call looks up addresses and does not access the memory there.
        check(unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                own,
                addresses.len(),
                addresses.as_ptr(),
                none,
                status.as_mut_ptr(),
                flags,
            )
        })?;
    }
    Ok(status)
}

/// Counts pages by node, in ascending order of the nodes, from the status of each page.
fn counted(status: &[libc::c_int]) -> io::Result<Vec<OnNode>> {
    let mut found: Vec<OnNode> = Vec::new();
    for &of in status {
        let Ok(node) = usize::try_from(of) else { return Err(io::Error::from_raw_os_error(-of)) };
        match found.iter_mut().find(|on| on.node == node) {
            Some(on) => on.pages += 1,
            None => found.push(OnNode { node, pages: 1 }),
        }
    }
    found.sort_unstable_by_key(|on| on.node);
    Ok(found)
}

/// Returns the nodes on which the pages of `area` lie, in ascending order. Queries one page per `page` bytes.
///
/// # Errors
/// The kernel's error, also for a page that is not present (ENOENT) or not mapped (EFAULT).
pub(super) fn nodes_of_area(area: Range<usize>, page: usize) -> io::Result<Vec<OnNode>> {
    let addresses: Vec<usize> = area.step_by(page).collect();
    counted(&status(&addresses)?)
}

/// `move_pages` without a target: returns the nodes on which the 4 KiB pages of an address range lie, in
/// ascending order. A larger page counts once per 4 KiB.
///
/// # Errors
/// The kernel's error: ENOSYS if it does not support nodes, EPERM from a sandbox, ENOENT for a page that
/// was never touched.
#[doc(alias = "move_pages")]
pub fn nodes_of(area: Range<usize>) -> io::Result<Vec<OnNode>> {
    let first = area.start / BASE_PAGE * BASE_PAGE;
    nodes_of_area(first..area.end, BASE_PAGE)
}

/// Returns the nodes of the machine, for a message.
pub(super) fn nodes_here() -> Vec<usize> {
    let nodes = Sysfs::live().nodes().unwrap_or_default();
    nodes.into_iter().map(|node| node.id).collect()
}

/// `madvise(MADV_DONTNEED)`, and a first touch by a thread on `cpu`: replaces the whole 4 KiB pages of
/// `bytes` by zeroed pages from the memory nearest to that CPU, and returns them. Bytes outside whole
/// pages stay as they are.
///
/// The memory must be anonymous, as that of an allocator is. Pages of a mapped file come back with the
/// content of the file.
///
/// The kernel takes a page from the node of the CPU that touches it first. If one thread touches all
/// memory, the memory is near to that thread, and far from threads on other nodes.
///
/// # Errors
/// The kernel's error. Before Linux 5.18 it cannot release locked pages and hugetlb pages. Also fails
/// if no thread can be started, or pinned to `cpu`; the content then stays.
#[doc(alias = "MADV_DONTNEED")]
pub fn first_touched_on(bytes: &mut [u8], cpu: usize) -> io::Result<&mut [u8]> {
    let before = bytes.as_ptr().align_offset(BASE_PAGE).min(bytes.len());
    let whole = (bytes.len() - before) / BASE_PAGE * BASE_PAGE;
    let pages = &mut bytes[before..before + whole];
    if whole == 0 {
        return Ok(pages);
    }
    let touched = thread::scope(|scope| {
        let touch = || {
            let pinned = pin(cpu).map_err(io::Error::other)?;
            // SAFETY: the pages are borrowed mutably, so that no other code sees them change; any content is
            // valid for bytes.
            check(unsafe { give_back(pages.as_mut_ptr().cast(), pages.len()) })?;
            for page in pages.chunks_exact_mut(BASE_PAGE) {
                // SAFETY: the address is the first byte of a page that is borrowed mutably.
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
    fn a_mask_has_the_bits_of_its_nodes() {
        let mask = mask(&[0, 3, 64, 1023]).unwrap();
        assert_eq!((mask[0], mask[1], mask[15]), (0b1001, 1, 1 << 63));
        assert!(super::mask(&[1024]).is_none());
    }

    #[test]
    fn pages_are_counted_by_node_and_one_that_is_not_there_is_an_error() {
        let on = |node, pages| OnNode { node, pages };
        assert_eq!(counted(&[1, 0, 1, 1]).unwrap(), [on(0, 1), on(1, 3)]);
        assert_eq!(counted(&[]).unwrap(), []);
        let missing = counted(&[0, -libc::ENOENT]).unwrap_err();
        assert_eq!(missing.raw_os_error(), Some(libc::ENOENT));
    }

    #[test]
    fn the_default_asks_the_kernel_for_nothing() {
        // Nothing is mapped there, so that any call would fail.
        assert!(place(4096..8192, &MemoryPolicy::Default).is_ok());
    }

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
        memory.as_mut_slice().fill(7);
        let error = first_touched_on(memory.as_mut_slice(), 8191).unwrap_err();
        assert!(error.to_string().contains("8191"), "{error}");
        assert_eq!(memory.as_mut_slice(), [7; BASE_PAGE]);
    }
}
