//! Events: how they are described to the kernel, on which PMU they count, and their names (the kernel's
//! own, perf's generic names, and the vendors').

// `perf_event_open` has no wrapper in C; its descriptor is adopted from a raw number.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;

use super::{Event, Refusal, Software};
use crate::cpu::{CoreType, Identity};
use crate::os::preempt::current_cpu;
use crate::os::root::{Root, Unreadable, read};
use crate::os::sysfs::list;
use crate::pmu::{Encoding, Flavour, Microarch, event};

// Constants and layout of `include/uapi/linux/perf_event.h`.
pub(super) const EXCLUDE_KERNEL: u64 = 1 << 5;
pub(super) const EXCLUDE_HV: u64 = 1 << 6;
const FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
/// PERF_FORMAT_TOTAL_TIME_ENABLED, _RUNNING and PERF_FORMAT_GROUP: `read` of a leader returns the
/// number of events, both times, and all counts.
const FORMAT: u64 = 1 << 0 | 1 << 1 | 1 << 3;

/// `struct perf_event_attr` in its second version (`PERF_ATTR_SIZE_VER1`), which every kernel accepts
/// since 2.6.39.
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
    /// `perf_event_open` for a thread (0: the calling thread) on any CPU, in the group of `leader`.
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
            // SAFETY: the kernel has just made this descriptor, and no other code has it.
            Ok(descriptor @ 0..) => Ok(unsafe { File::from_raw_fd(descriptor) }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Event {
    /// Returns an event of a PMU, counted in user mode only.
    pub fn hardware(source: &Source, encoding: Encoding) -> Event {
        Event {
            kind: source.kind,
            config: encoding.select(source.flavour),
            config1: encoding.offcore,
            user_only: true,
        }
    }

    /// Returns an event of a PMU by its raw number, as perf's `rXXXX`: the bits of PERFEVTSEL.
    pub const fn raw(source: &Source, config: u64) -> Event {
        Event { kind: source.kind, ..Event::generic(config) }
    }

    /// Returns the same event on one PMU of a hybrid CPU: the PMU's number goes into the upper half of
    /// `config` (PERF_PMU_TYPE_SHIFT, Linux 5.13). On other CPUs, returns the event unchanged.
    pub(super) fn on(self, source: &Source) -> Event {
        if !source.hybrid() {
            return self;
        }
        Event { config: self.config | u64::from(source.kind) << 32, ..self }
    }

    /// Opens the event for the calling thread. It counts at once, or with its group's `leader`.
    pub(super) fn open(&self, leader: Option<&File>) -> io::Result<File> {
        // Unless the setting is loose, unprivileged users may count in user mode only, software events
        // included. Events whose counts are the same in user mode ask for user mode at once.
        match self.open_with(leader, self.user_only) {
            Err(error) if self.counts_without_kernel(&error) => self.open_with(leader, true),
            answer => answer,
        }
    }

    /// Returns whether an event that the kernel refused with `error` is to be opened for user mode only.
    /// An event that user code cannot cause would open, and count 0.
    fn counts_without_kernel(&self, error: &io::Error) -> bool {
        let kernel_forbidden = error.raw_os_error() == Some(libc::EACCES);
        kernel_forbidden && !self.user_only && !self.is_in_kernel_alone()
    }

    fn open_with(&self, leader: Option<&File>, user_only: bool) -> io::Result<File> {
        let rings = if user_only { EXCLUDE_KERNEL | EXCLUDE_HV } else { 0 };
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

/// A PMU of the cores: one in most machines, one per kind of core in hybrid machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The kernel's name: `cpu`, or `cpu_core`, `cpu_atom` and `cpu_lowpower`.
    pub name: &'static str,
    /// The PMU's number for `perf_event_open`.
    pub kind: u32,
    /// How the PMU numbers its events.
    pub flavour: Flavour,
}

impl Source {
    /// Returns whether other cores of this CPU have another PMU.
    pub(super) fn hybrid(&self) -> bool {
        self.name != "cpu"
    }
}

/// The kernel's names for the PMUs of the cores: of all cores, or of each kind in a hybrid machine. Arrow
/// Lake-H's efficient cores are of two designs: Skymont has `cpu_atom`, and Crestmont has `cpu_lowpower` if the
/// kernel tells them apart (`intel_hybrid_pmu_type_map` in Linux's `arch/x86/events/intel/core.c`).
pub(super) const PMUS: [&str; 4] = ["cpu", "cpu_core", "cpu_atom", "cpu_lowpower"];

/// Returns the PMU that counts the events of `cpu`.
///
/// # Errors
/// If the kernel lists no PMU for this CPU; names the file that is missing or malformed.
pub fn source_of(root: &Root, cpu: usize) -> Result<Source, Unreadable> {
    let devices = root.sys.join("bus/event_source/devices");
    for name in PMUS.into_iter().filter(|name| *name != "cpu") {
        let at = devices.join(name);
        if list::read(&at.join("cpus")).is_ok_and(|cpus| cpus.contains(&cpu)) {
            return source(&at, name);
        }
    }
    source(&devices.join("cpu"), "cpu")
}

pub(super) fn named_source(root: &Root, name: &'static str) -> Result<Source, Unreadable> {
    source(&root.sys.join("bus/event_source/devices").join(name), name)
}

fn source(at: &Path, name: &'static str) -> Result<Source, Unreadable> {
    let kind = at.join("type");
    let text = read(&kind)?;
    let kind = text
        .parse()
        .map_err(|_| Unreadable::malformed(&kind, &text, "the number of an event source"))?;
    // Only AMD's event numbers have an upper part, which shows in the event's format.
    let format = read(&at.join("format/event")).unwrap_or_default();
    let flavour = if format.contains(',') { Flavour::Amd } else { Flavour::Intel };
    Ok(Source { name, kind, flavour })
}

/// PERF_COUNT_HW_*: perf's generic names, which apply to every PMU.
const GENERAL: [(&str, u64); 10] = [
    ("cycles", 0),
    ("cpu-cycles", 0),
    ("instructions", 1),
    ("cache-references", 2),
    ("cache-misses", 3),
    ("branches", 4),
    ("branch-instructions", 4),
    ("branch-misses", 5),
    ("bus-cycles", 6),
    ("ref-cycles", 9),
];

/// PERF_COUNT_HW_CACHE_*.
const CACHES: [(&str, u64); 6] =
    [("L1-dcache-", 0), ("L1-icache-", 1), ("LLC-", 2), ("dTLB-", 3), ("iTLB-", 4), ("node-", 6)];

/// PERF_COUNT_HW_CACHE_OP_* in the second byte, PERF_COUNT_HW_CACHE_RESULT_* in the third.
const ACCESSES: [(&str, u64); 6] = [
    ("loads", 0),
    ("load-misses", 1 << 16),
    ("stores", 1 << 8),
    ("store-misses", 1 << 16 | 1 << 8),
    ("prefetches", 2 << 8),
    ("prefetch-misses", 1 << 16 | 2 << 8),
];

/// Returns all of perf's generic names.
pub fn general_names() -> impl Iterator<Item = String> {
    let caches = CACHES.into_iter().flat_map(|(cache, _)| {
        let accesses = ACCESSES.into_iter();
        accesses.map(move |(access, _)| format!("{cache}{access}"))
    });
    let general = GENERAL.into_iter().map(|(name, _)| name.to_owned());
    general.chain(caches)
}

impl Event {
    /// Returns the event that `name` means on the CPU that executes this call; see
    /// [`named_on`](Self::named_on).
    ///
    /// # Errors
    /// As [`named_on`](Self::named_on).
    pub fn named(name: &str) -> Result<Event, Refusal> {
        let cpu = current_cpu().unwrap_or(0);
        Event::named_on(name, &Root::live(), cpu, &Identity::detect())
    }

    /// Returns the event that `name` means on `cpu`, one of the CPUs that `identity` describes.
    ///
    /// A name is that of a [`Software`] event, such as `page-faults`; a generic name of perf, such as
    /// `cycles` or `L1-dcache-load-misses`; or a vendor's name, such as `MEM_LOAD_RETIRED.L1_MISS`. On
    /// a hybrid CPU it means the event of the kind of core that `cpu` is. `cpu_atom/NAME/` means the
    /// event of a given kind of core.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] if this core has no such event, [`Refusal::NoTable`] if no table has the
    /// events of this core, and [`Refusal::NoPmu`] if the kernel does not list the PMU.
    pub fn named_on(
        name: &str,
        root: &Root,
        cpu: usize,
        identity: &Identity,
    ) -> Result<Event, Refusal> {
        if let Some(software) = Software::ALL.into_iter().find(|one| one.name() == name) {
            return Ok(Event::software(software));
        }
        let asked = asked_source(name);
        let (source, name) = match asked {
            Some((pmu, name)) => (named_source(root, pmu), name),
            None => (source_of(root, cpu), name),
        };
        let source = source.map_err(|_| Refusal::NoPmu);
        if let Some(general) = general(name) {
            return match source {
                Ok(source) => Ok(general.on(&source)),
                // Without a listed PMU, the kernel reports itself why it does not count. In place of a
                // PMU that was named, it would count on another one.
                Err(_) if asked.is_none() => Ok(general),
                Err(no_pmu) => Err(no_pmu),
            };
        }
        let core = core_of(identity, source.as_ref().ok());
        let code = event(name, core.ok_or(Refusal::NoTable)?).map_err(Refusal::Unknown)?;
        Ok(Event::hardware(&source?, code.encoding))
    }
}

/// Splits a name such as `cpu_atom/NAME/`, as perf writes it, into PMU and event.
fn asked_source(name: &str) -> Option<(&'static str, &str)> {
    let (pmu, rest) = name.split_once('/')?;
    let pmu = PMUS.into_iter().find(|known| *known == pmu)?;
    Some((pmu, rest.strip_suffix('/').unwrap_or(rest)))
}

fn general(name: &str) -> Option<Event> {
    let same = |known: &str| known.eq_ignore_ascii_case(name);
    if let Some((_, config)) = GENERAL.iter().find(|(known, _)| same(known)) {
        return Some(Event::generic(*config));
    }
    CACHES.iter().find_map(|(cache, number)| {
        let access = name.strip_prefix(cache)?;
        let (_, config) = ACCESSES.iter().find(|(known, _)| *known == access)?;
        Some(Event::cache(number | config))
    })
}

/// Returns the core whose events a PMU counts. On a hybrid CPU the PMU's name decides: CPUID may not
/// report the kind of core, or reports that of the core that executes the instruction.
pub fn core_of(identity: &Identity, source: Option<&Source>) -> Option<Microarch> {
    Microarch::of(&counted_core(identity, source))
}

/// Returns `identity` with the kind of core that the PMU's name gives.
fn counted_core(identity: &Identity, source: Option<&Source>) -> Identity {
    // The native model matters on Arrow Lake-H alone: 3 is Skymont and 2 is Crestmont.
    let (core_type, native_model) = match source.map(|source| source.name) {
        Some("cpu_core") => (Some(CoreType::Performance), None),
        Some("cpu_atom") => (Some(CoreType::Efficient), Some(3)),
        Some("cpu_lowpower") => (Some(CoreType::Efficient), Some(2)),
        _ => (identity.core_type, identity.native_model),
    };
    Identity { core_type, native_model, ..*identity }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{Vectors, Vendor};
    use crate::os::root::Planted;

    /// Returns a machine with these files under its list of event sources.
    fn machine(name: &str, files: &[(&str, &str)]) -> Planted {
        Planted::new(name, "sys/bus/event_source/devices", files)
    }

    #[test]
    fn a_hybrid_cpu_has_a_source_for_each_kind_of_core() {
        let machine = machine(
            "hybrid",
            &[
                ("cpu_core/type", "4\n"),
                ("cpu_core/cpus", "0-15\n"),
                ("cpu_core/format/event", "config:0-7\n"),
                ("cpu_atom/type", "10\n"),
                ("cpu_atom/cpus", "16-23\n"),
                ("cpu_atom/format/event", "config:0-7\n"),
            ],
        );
        let found = source_of(&machine.root(), 3).unwrap();
        assert_eq!((found.name, found.kind), ("cpu_core", 4));
        let found = source_of(&machine.root(), 16).unwrap();
        assert_eq!((found.name, found.kind), ("cpu_atom", 10));
        assert_eq!(found.flavour, Flavour::Intel);
        let missing = source_of(&machine.root(), 24).unwrap_err();
        assert!(missing.path.ends_with("devices/cpu/type"), "{missing}");
    }

    #[test]
    fn the_low_power_cores_of_arrow_lake_h_have_a_source_of_their_own() {
        let machine = machine(
            "low-power",
            &[
                ("cpu_core/type", "4\n"),
                ("cpu_core/cpus", "0-5\n"),
                ("cpu_atom/type", "10\n"),
                ("cpu_atom/cpus", "6-13\n"),
                ("cpu_lowpower/type", "11\n"),
                ("cpu_lowpower/cpus", "14-15\n"),
            ],
        );
        let arrow_lake_h = Identity {
            vendor: Vendor::Intel,
            family: 6,
            model: 0xc5,
            vectors: Vectors::Avx2,
            ..Identity::detect()
        };
        for (cpu, name, core) in [
            (0, "cpu_core", "Lion Cove"),
            (13, "cpu_atom", "Skymont"),
            (14, "cpu_lowpower", "Crestmont"),
        ] {
            let source = source_of(&machine.root(), cpu).unwrap();
            assert_eq!(source.name, name);
            let counted = counted_core(&arrow_lake_h, Some(&source));
            assert_eq!(counted.core().unwrap().name, core);
        }
        let (pmu, event) = asked_source("cpu_lowpower/cycles/").unwrap();
        assert_eq!((pmu, event), ("cpu_lowpower", "cycles"));
    }

    #[test]
    fn amd_is_told_by_the_upper_part_of_its_event_numbers() {
        let machine =
            machine("amd", &[("cpu/type", "4\n"), ("cpu/format/event", "config:0-7,32-35\n")]);
        let found = source_of(&machine.root(), 0).unwrap();
        assert_eq!((found.name, found.flavour), ("cpu", Flavour::Amd));
    }

    #[test]
    fn only_what_user_code_causes_is_opened_for_user_mode() {
        let forbidden = io::Error::from_raw_os_error(libc::EACCES);
        let again = |software| Event::software(software).counts_without_kernel(&forbidden);
        let opened = Software::ALL.map(|software| (software, again(software)));
        let expected = Software::ALL.map(|software| {
            let in_kernel = [Software::ContextSwitches, Software::Migrations].contains(&software);
            (software, !in_kernel)
        });
        assert_eq!(opened, expected);
        // Hardware events ask for user mode at once, also those with the numbers of the two.
        for event in [Event::CYCLES, Event::generic(3), Event::generic(4)] {
            assert!(!event.counts_without_kernel(&forbidden));
            assert!(!event.is_in_kernel_alone());
        }
        let other = io::Error::from_raw_os_error(libc::EPERM);
        assert!(!Event::software(Software::TaskClock).counts_without_kernel(&other));
    }

    #[test]
    fn a_type_that_is_no_number_is_shown() {
        let machine = machine("odd", &[("cpu/type", "four\n")]);
        let error = source_of(&machine.root(), 0).unwrap_err();
        assert!(error.to_string().contains("\"four\""), "{error}");
    }
}
