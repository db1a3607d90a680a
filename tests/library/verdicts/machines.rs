//! Made-up machines with known properties.

use std::ops::Deref;

use linefill::cpu::{Cache, CacheKind, Core, Ports, Vendor};
use linefill::experiment::{Calibration, Counting, CpuOrder, Machine, Ranges, Reach, Rung};
use linefill::os::sysfs::{CpuLocation, MemoryNode};
use linefill::stats::Interval;
use linefill::time::Rate;

pub const KIB: f64 = 1024.0;
pub const MIB: f64 = 1024.0 * KIB;

/// A cache of a model.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    pub bytes: f64,
    pub ways: u32,
    /// Core cycles of a random step that hits in it.
    pub cost: f64,
}

/// The properties of a machine.
#[derive(Clone)]
pub struct Model {
    /// The caches that a random walk uses.
    pub levels: Vec<Level>,
    /// Core cycles of a random step in memory.
    pub memory: f64,
    /// The published latency of a load in L1d, in core cycles.
    pub load_to_use: Option<u32>,
    /// The published limits of the ports, in bytes per core cycle.
    pub ports: Option<Ports>,
    /// The CPUs that threads may use.
    pub locations: Vec<CpuLocation>,
}

impl Model {
    /// Core cycles of a random step in a working set of `bytes`: the cost of the smallest level that can hold
    /// it.
    pub fn cost(&self, bytes: f64) -> f64 {
        self.levels
            .iter()
            .find(|level| bytes <= level.bytes)
            .map_or(self.memory, |level| level.cost)
    }

    /// The ladder from 4 KiB to `largest` bytes in half octaves; `noise` is a factor per point.
    pub fn ladder(&self, largest: f64, mut noise: impl FnMut(usize) -> f64) -> Vec<Rung> {
        half_octaves(largest)
            .enumerate()
            .map(|(index, working_set)| Rung {
                working_set,
                cost: Interval::exact(self.cost(working_set) * noise(index)),
            })
            .collect()
    }

    /// The sizes that CPUID reports.
    pub fn reported(&self) -> [Option<f64>; 3] {
        [0, 1, 2].map(|index| self.levels.get(index).map(|level| level.bytes))
    }

    pub fn machine(&self) -> Machine {
        let ladder = self.ladder(1024.0 * MIB, |_| 1.0);
        let caches = self.levels.iter().enumerate().map(|(index, level)| Cache {
            level: index as u8 + 1,
            kind: if index == 0 { CacheKind::Data } else { CacheKind::Unified },
            size: level.bytes as u64,
            line: 64,
            ways: Some(level.ways),
            fully_associative: false,
            shared_by: None,
            inclusive: None,
        });
        // Instructions have a separate first level, which a random walk does not use.
        let instructions = Cache {
            level: 1,
            kind: CacheKind::Instruction,
            size: 32 * KIB as u64,
            line: 64,
            ways: Some(8),
            fully_associative: false,
            shared_by: None,
            inclusive: None,
        };
        Machine {
            vendor: Vendor::Other,
            caches: caches.chain([instructions]).collect(),
            load_to_use: self.load_to_use,
            ports: self.ports,
            counting: Counting::default(),
            cpu_order: CpuOrder::around(None, self.locations.clone()),
            nodes: halves(&self.locations),
            rate: Rate::from_hz(2.3e9),
            seed: 1,
            ranges: Ranges::from_ladder(&ladder, self.reported()),
            calibration: Calibration::default(),
            ladder_refused: None,
            ladder,
            largest: 1 << 30,
            full: false,
            prefetchers_off: false,
        }
    }
}

/// Two memory nodes, each with one half of the CPUs.
fn halves(locations: &[CpuLocation]) -> Vec<MemoryNode> {
    let half = locations.len().div_ceil(2).max(1);
    let halves = locations.chunks(half).enumerate();
    let node = |(id, locations): (usize, &[CpuLocation])| MemoryNode {
        id,
        cpus: locations.iter().map(|location| location.cpu).collect(),
        distances: vec![[10, 21], [21, 10]][id].to_vec(),
        memory: Some(64 << 30),
    };
    halves.map(node).collect()
}

/// The same machine, of whose memory at most `bytes` bytes may be used.
pub fn with_memory(machine: &Machine, bytes: usize) -> Machine {
    Machine { largest: bytes, ..machine.clone() }
}

/// The same machine with these CPUs.
pub fn with_locations(
    machine: &Machine,
    locations: impl IntoIterator<Item = CpuLocation>,
) -> Machine {
    Machine {
        cpu_order: CpuOrder::around(None, locations.into_iter().collect()),
        ..machine.clone()
    }
}

/// The same machine with only its first CPUs.
pub fn first_cpus(machine: &Machine, count: usize) -> Machine {
    let locations = machine.cpu_order.locations();
    with_locations(machine, locations.iter().take(count).copied())
}

/// The same machine with only its first CPU.
pub fn first_cpu_only(machine: &Machine) -> Machine {
    first_cpus(machine, 1)
}

/// Working sets of 2^(k/2) bytes from 4 KiB up to `largest`.
pub fn half_octaves(largest: f64) -> impl Iterator<Item = f64> {
    (24..).map(|k| 2f64.powf(f64::from(k) / 2.0).floor()).take_while(move |bytes| *bytes <= largest)
}

/// CPUs of `cores` cores; the second hyper-threads have the highest numbers. `last_level` cores share a last
/// level, and `package` cores are in a package.
fn locations(cpus: usize, cores: usize, last_level: usize, package: usize) -> Vec<CpuLocation> {
    let location = |cpu: usize| {
        let core = cpu % cores;
        CpuLocation {
            cpu,
            core,
            l2: core,
            last_level: core / last_level * last_level,
            package: core / package * package,
        }
    };
    (0..cpus).map(location).collect()
}

/// An Intel server: 48 KiB with 12 ways, 2 MiB, 30 MiB.
pub fn server() -> Model {
    let level = |bytes, ways, cost| Level { bytes, ways, cost };
    Model {
        levels: vec![
            level(48.0 * KIB, 12, 5.0),
            level(2.0 * MIB, 16, 16.0),
            level(30.0 * MIB, 15, 70.0),
        ],
        memory: 400.0,
        load_to_use: Some(5),
        ports: Some(Ports { loads: [48, 96, 128], stores: [32, 64, 64] }),
        locations: locations(16, 8, 4, 4),
    }
}

/// A Zen: 32 KiB with 8 ways, 1 MiB, 32 MiB.
pub fn zen() -> Model {
    let level = |bytes, ways, cost| Level { bytes, ways, cost };
    Model {
        levels: vec![
            level(32.0 * KIB, 8, 4.0),
            level(1.0 * MIB, 8, 14.0),
            level(32.0 * MIB, 16, 50.0),
        ],
        memory: 350.0,
        load_to_use: Some(4),
        ports: Some(Ports { loads: [32, 64, 64], stores: [16, 32, 32] }),
        locations: locations(8, 8, 4, 8),
    }
}

/// The same machine, but virtual.
pub fn guest(machine: &Machine) -> Machine {
    Machine { calibration: Calibration::known(Vec::new(), true, None), ..machine.clone() }
}

/// The same machine with an unknown core of this vendor.
pub fn of_vendor(machine: &Machine, vendor: Vendor) -> Machine {
    Machine { vendor, ..machine.clone() }
}

/// The same machine, whose L1 dTLB has `entries` entries for 4 KiB pages.
pub fn with_dtlb(machine: &Machine, entries: u32) -> Machine {
    with_reported_dtlb(machine, entries, None)
}

/// The same machine with a known core, on which CPUID reports so many entries.
pub fn with_reported_dtlb(machine: &Machine, entries: u32, core: Option<&'static Core>) -> Machine {
    let dtlb = Reach { level: 1, pages: vec![4096], entries, ways: None };
    Machine { calibration: Calibration::known(vec![dtlb], false, core), ..machine.clone() }
}

/// The same machine in a quick run, with so many cores, four under each last level.
pub fn with_cores(machine: &Machine, cores: usize) -> Machine {
    Machine {
        cpu_order: CpuOrder::around(None, locations(cores, cores, 4, cores)),
        full: false,
        ..machine.clone()
    }
}

/// The same machine, of whose cores only the first two are performance cores.
pub fn of_two_kinds(machine: &Machine) -> Machine {
    let first = machine.cpu_order.locations()[..2].iter();
    let performance = first.map(|location| location.cpu).collect();
    Machine {
        cpu_order: machine.cpu_order.clone().with_performance(performance),
        ..machine.clone()
    }
}

/// A machine with all its cache levels in 128 KiB, so that its memory needs only 1 MiB.
pub fn small() -> Machine {
    let level = |bytes, ways, cost| Level { bytes, ways, cost };
    let small = Model {
        levels: vec![
            level(8.0 * KIB, 8, 5.0),
            level(32.0 * KIB, 8, 16.0),
            level(128.0 * KIB, 16, 70.0),
        ],
        ..server()
    };
    with_memory(&small.machine(), 1 << 20)
}

/// A machine and its name.
pub struct Known {
    pub name: &'static str,
    pub machine: Machine,
}

impl Deref for Known {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.machine
    }
}

/// The machines for which every row is planted, one of them also with a full run.
pub fn known() -> [Known; 3] {
    let full = Machine { full: true, ..server().machine() };
    [
        Known { name: "the server", machine: server().machine() },
        Known { name: "the Zen", machine: zen().machine() },
        Known { name: "the server in a full run", machine: full },
    ]
}
