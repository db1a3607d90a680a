//! What is counted, as the kernel is told.
// `perf_event_open` has no wrapper in C; its descriptor is adopted from a raw number.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

use super::Source;
use crate::host::Event;
use crate::pmu::Encoding;

// Constants and layout of `include/uapi/linux/perf_event.h`.
pub(super) const EXCLUDE_KERNEL: u64 = 1 << 5;
pub(super) const EXCLUDE_HV: u64 = 1 << 6;
const FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
/// PERF_FORMAT_TOTAL_TIME_ENABLED, _RUNNING and PERF_FORMAT_GROUP: `read` of a leader yields how
/// many they are, both times, and all counts.
const FORMAT: u64 = 1 << 0 | 1 << 1 | 1 << 3;

/// `struct perf_event_attr` in its second version (`PERF_ATTR_SIZE_VER1`), which every kernel since
/// 2.6.39 takes.
#[derive(Default)]
#[repr(C)]
pub(super) struct Attributes {
    pub(super) kind: u32,
    pub(super) size: u32,
    pub(super) config: u64,
    pub(super) sample_period: u64,
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    pub(super) flags: u64,
    pub(super) wakeup_events: u32,
    pub(super) bp_type: u32,
    pub(super) config1: u64,
    pub(super) config2: u64,
}

const _: () = assert!(size_of::<Attributes>() == 72);

impl Attributes {
    /// `perf_event_open` for a thread (0: the calling one) on any CPU, in the group of `leader`.
    pub(super) fn open(mut self, thread: libc::pid_t, leader: Option<&File>) -> io::Result<File> {
        self.size = size_of::<Self>() as u32;
        let any_cpu = -1;
        let group = leader.map_or(-1, |leader| leader.as_raw_fd());
        // SAFETY: `self` is valid and says its own size; the other arguments are numbers.
        let descriptor = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const self,
                thread,
                any_cpu,
                group,
                FLAG_FD_CLOEXEC,
            )
        };
        match i32::try_from(descriptor) {
            // SAFETY: the kernel has just made this descriptor, and nobody else has it.
            Ok(descriptor @ 0..) => Ok(unsafe { File::from_raw_fd(descriptor) }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Event {
    /// An event of a PMU, in user mode alone.
    pub fn hardware(source: &Source, encoding: Encoding) -> Event {
        Event {
            kind: source.kind,
            config: encoding.select(source.flavour),
            config1: encoding.offcore,
            user_only: true,
        }
    }

    /// An event of a PMU by its raw number, as perf's `rXXXX` has it: the bits of PERFEVTSEL.
    pub const fn raw(source: &Source, config: u64) -> Event {
        Event {
            kind: source.kind,
            ..Event::generic(config)
        }
    }

    /// The same event of one PMU among those of a hybrid CPU: its number goes into the upper half
    /// (PERF_PMU_TYPE_SHIFT, Linux 5.13). Elsewhere there is no other.
    pub(super) fn on(self, source: &Source) -> Event {
        if !source.hybrid() {
            return self;
        }
        Event {
            config: self.config | u64::from(source.kind) << 32,
            ..self
        }
    }

    /// Opens it for the calling thread, counting at once, or with its group's `leader`.
    pub(super) fn open(&self, leader: Option<&File>) -> io::Result<File> {
        // Unprivileged users may count in user mode alone, of software events too, unless the
        // setting is loose; an event that would be all the same in user mode asks for no more.
        match self.open_with(leader, self.user_only) {
            Err(error) if !self.user_only && matches!(error.raw_os_error(), Some(libc::EACCES)) => {
                self.open_with(leader, true)
            }
            answer => answer,
        }
    }

    fn open_with(&self, leader: Option<&File>, user_only: bool) -> io::Result<File> {
        let rings = if user_only {
            EXCLUDE_KERNEL | EXCLUDE_HV
        } else {
            0
        };
        let attributes = Attributes {
            kind: self.kind,
            config: self.config,
            read_format: FORMAT,
            flags: rings,
            config1: self.config1,
            ..Attributes::default()
        };
        attributes.open(0, leader)
    }
}
