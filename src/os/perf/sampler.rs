//! A sampled event, and the ring into which the kernel writes its samples.
// Maps the ring, which the kernel writes to meanwhile.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::access::{Record, SAMPLE_TYPE, decode, pieces};
use super::event::{Attributes, EXCLUDE_HV, EXCLUDE_KERNEL};
use super::{Refusal, Sampled, explain, paranoid};
use crate::mem::PAGE;
use crate::os::check;
use crate::os::memory::Mapped;

/// Pages of the ring, a power of two. They hold 1638 samples.
const PAGES: usize = 16;
/// Bytes mapped: the ring, and the page before it, which holds its head and tail.
const MAPPED: usize = (1 + PAGES) * PAGE;

/// `data_head` and `data_tail` in `struct perf_event_mmap_page`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

const DISABLED: u64 = 1;
/// The lowest bit of `precise_ip`.
const PRECISE: u32 = 15;
/// PERF_EVENT_IOC_ENABLE, `_IO('$', 0)`.
const ENABLE: libc::Ioctl = 0x2400;

/// An event that samples a thread.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// The event, and the leader of its group if it needs one.
    _files: (File, Option<File>),
    ring: Ring,
}

impl Sampler {
    /// Checks whether this process may sample its own accesses by `event`.
    pub(crate) fn probe(event: &Sampled) -> Result<(), Refusal> {
        let answer = Sampler::open(event, 0).map(|_| ());
        answer.map_err(|error| explain(&error, paranoid(Path::new("/proc")), false))
    }

    /// Starts sampling `thread` (0: the calling thread).
    pub(crate) fn open(event: &Sampled, thread: libc::pid_t) -> io::Result<Self> {
        let rings = if event.user_only { EXCLUDE_KERNEL | EXCLUDE_HV } else { 0 };
        let leader = event.leader.map(|config| {
            let flags = rings | DISABLED;
            Attributes { kind: event.kind, config, flags, ..Attributes::default() }
        });
        let leader = leader.map(|leader| leader.open(thread, None)).transpose()?;
        let attributes = Attributes {
            kind: event.kind,
            config: event.config[0],
            sample_period: event.period,
            sample_type: SAMPLE_TYPE,
            flags: rings | event.precise << PRECISE,
            config1: event.config[1],
            config2: event.config[2],
            ..Attributes::default()
        };
        let file = attributes.open(thread, leader.as_ref())?;
        let ring = Ring::map(&file)?;
        if let Some(leader) = &leader {
            // SAFETY: the descriptor is open, and the request takes a number and no pointer.
            check(unsafe { libc::ioctl(leader.as_raw_fd(), ENABLE, 0) })?;
        }
        Ok(Sampler { _files: (file, leader), ring })
    }

    /// Passes the records written since the last call to `into`.
    pub(crate) fn drain(&mut self, into: impl FnMut(Record)) {
        decode(&self.ring.take(), into);
    }
}

#[derive(Debug)]
struct Ring(Mapped);

impl Ring {
    fn map(file: &File) -> io::Result<Self> {
        // Writable, so that the kernel keeps unread records and counts lost records.
        let access = libc::PROT_READ | libc::PROT_WRITE;
        Mapped::new(MAPPED, access, libc::MAP_SHARED, Some(file)).map(Ring)
    }

    /// Copies the unread bytes of the ring, and frees their space.
    fn take(&mut self) -> Vec<u8> {
        let word = |offset| {
            // SAFETY: both words lie in the mapped page, aligned, and are only accessed atomically.
            unsafe { AtomicU64::from_ptr(self.0.start().as_ptr().add(offset).cast()) }
        };
        let [head, tail] = [HEAD, TAIL].map(word);
        // Pairs with the kernel's barrier between the records and the head.
        let (to, from) = (head.load(Ordering::Acquire), tail.load(Ordering::Relaxed));
        let mut bytes = Vec::new();
        for piece in pieces(PAGES * PAGE, from, to) {
            let length = bytes.len();
            bytes.resize(length + piece.len(), 0);
            // SAFETY: the piece lies in the ring, behind the first page; the kernel does not write between
            // tail and head; the vector has room for the piece.
            unsafe {
                let start = self.0.start().as_ptr().add(PAGE + piece.start);
                start.copy_to_nonoverlapping(bytes.as_mut_ptr().add(length), piece.len());
            }
        }
        tail.store(to, Ordering::Release);
        bytes
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::untested;

    /// Page faults: an event with addresses that needs no PMU.
    pub(crate) fn page_faults() -> Sampled {
        Sampled {
            name: "page-faults".to_owned(),
            period: 1,
            kind: 1,
            config: [2, 0, 0],
            user_only: true,
            ..Sampled::default()
        }
    }

    #[test]
    fn the_kernel_writes_addresses_and_threads_into_the_ring() {
        if let Err(refusal) = Sampler::probe(&page_faults()) {
            // As in a sandbox.
            assert_ne!(refusal, Refusal::NoPmu);
            return untested::machine(&format!("page faults are not sampled: {refusal}"));
        }
        let mut sampler = Sampler::open(&page_faults(), 0).unwrap();
        // More than the ring holds, in several parts.
        let mut last = 0..0;
        for _ in 0..3 {
            let mut seen = BTreeSet::new();
            let (anywhere, pages) = (std::ptr::null_mut(), 1000);
            let (access, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE);
            let flags = private | libc::MAP_ANONYMOUS;
            // SAFETY: a fresh mapping, whose advice keeps its content.
            let memory = unsafe {
                let at = libc::mmap(anywhere, pages * PAGE, access, flags, -1, 0);
                assert_ne!(at, libc::MAP_FAILED);
                libc::madvise(at, pages * PAGE, libc::MADV_NOHUGEPAGE);
                at.cast::<u8>()
            };
            let start = memory as u64;
            last = start..start + (pages * PAGE) as u64;
            for page in 0..pages {
                // SAFETY: within the mapping, which no other code accesses.
                unsafe { memory.add(page * PAGE).write_volatile(1) };
            }
            sampler.drain(|record| match record {
                Record::Sample { process, address, .. } => {
                    assert_eq!(process, std::process::id());
                    if last.contains(&address) {
                        seen.insert((address - start) / PAGE as u64);
                    }
                }
                Record::Lost(_) => panic!("there is room for 1000 samples"),
            });
            // SAFETY: nothing refers to it any more.
            unsafe { libc::munmap(memory.cast(), pages * PAGE) };
            // The kernel may repeat a fault, and then reports it again.
            assert_eq!(seen.len(), pages, "a fault per page");
        }
        // This thread also touches other pages, but no fault is reported twice.
        sampler.drain(|record| match record {
            Record::Sample { address, .. } => assert!(!last.contains(&address), "read twice"),
            Record::Lost(count) => panic!("{count} samples were lost"),
        });
    }
}
