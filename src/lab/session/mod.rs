//! Prepares a run: one CPU, a clock, a memory limit, and the header that describes them.

mod limit;

pub(super) use limit::nodes;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::date;
use super::record::{CacheLine, FORMAT, Header, IsolationLine, PrefetchersLine, SettingLine};
use crate::bench::DisturbanceMonitor;
use crate::counters::{Place, Quantity};
use crate::cpu::{Cache, Caches, Features, Identity, tsc_hz};
use crate::experiment::{self, Context, Counting, Effort, Linux, Placement};
use crate::os::health::{self, State};
use crate::os::isolation::Isolated;
use crate::os::perf::Event;
use crate::os::preempt::current_cpu;
use crate::os::prefetchers::{self, Off};
use crate::os::settings::settings;
use crate::os::sysfs::{self, CpuLocation};
use crate::os::{
    Pages, Pinned, Root, Sysfs, affinity, allowed, calibrate, limits, measuring_cpu, pin,
    pin_to_measure,
};
use crate::recorded::{counting_lines, cpu_line, reported_sizes};
use crate::time::{Rate, yardstick};

/// The length of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Profile {
    /// About three minutes: working sets at powers of two.
    #[default]
    Quick,
    /// About twenty minutes: half steps between the powers of two, more distances, longer samples.
    Full,
}

impl Profile {
    /// Returns the profile's name in a record.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Quick => "quick",
            Profile::Full => "full",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Profile::Quick, Profile::Full].into_iter().find(|profile| profile.name() == name)
    }

    pub const fn effort(self) -> Effort {
        match self {
            Profile::Quick => Effort::QUICK,
            Profile::Full => Effort::FULL,
        }
    }

    /// Returns the time for measuring everything. The report takes additional time.
    pub const fn length(self) -> Duration {
        match self {
            Profile::Quick => Duration::from_secs(170),
            Profile::Full => Duration::from_secs(1140),
        }
    }
}

/// The options of a run.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The CPU to measure on; if `None`, the CPU least likely to be disturbed.
    pub cpu: Option<usize>,
    /// Whether to keep everything else off that CPU during the run.
    pub isolated: bool,
    /// Whether to switch the hardware prefetchers off during the run.
    pub prefetchers_off: bool,
    /// The largest working set in bytes; if `None`, it depends on the available memory.
    pub memory: Option<u64>,
    pub profile: Profile,
    /// The time for measuring; if `None`, the length of the profile.
    pub budget: Option<Duration>,
    /// Page size that overrides the experiments' own.
    pub pages: Option<Pages>,
    /// The memory node for all memory; if `None`, the system chooses.
    pub node: Option<usize>,
    /// Where further threads are placed.
    pub placement: Placement,
    /// The seed of every random layout.
    pub seed: u64,
    /// CPU features not to use, comma-separated.
    pub masked: String,
    /// The selected ids and globs.
    pub selection: Vec<String>,
}

/// A prepared run. The thread stays on its CPU as long as the session lives.
#[derive(Debug)]
pub struct Session {
    /// The header of the record, which describes the session.
    pub header: Header,
    /// The facts that set-ups may need.
    pub context: Context,
    /// The quantities that can be counted, each with its event.
    pub counters: Vec<(Quantity, Event)>,
    /// The rate of the time-stamp counter.
    pub rate: Rate,
    /// The CPU whose interrupts are counted.
    pub interrupts: Option<usize>,
    _prefetchers: Option<Off>,
    // Dropped before `_isolated`: the thread gets its CPUs back before the partition is removed.
    _pinned: Option<Pinned>,
    _isolated: Option<Isolated>,
}

/// Returns the root under which the kernel describes the machine: `/`, or the recording in `LINEFILL_ROOT`.
pub fn root() -> Root {
    match std::env::var_os("LINEFILL_ROOT") {
        Some(dir) => Root::under(Path::new(&dir)),
        None => Root::live(),
    }
}

/// Returns the folder of installed debug files: `/usr/lib/debug`, below `LINEFILL_ROOT` if it is set.
pub fn debug_tree() -> PathBuf {
    let root = std::env::var_os("LINEFILL_ROOT").map_or_else(|| "/".into(), PathBuf::from);
    root.join("usr/lib/debug")
}

/// Returns the CPU features not to use: the comma-separated list in `LINEFILL_MASK`.
pub fn mask() -> String {
    std::env::var("LINEFILL_MASK").unwrap_or_default()
}

/// Returns the CPU to measure on by default, if the system reports any: the CPU to which threads can be
/// pinned, or, if the system refuses to pin any, the best choice.
pub fn default_cpu(root: &Root) -> Option<usize> {
    match pin_to_measure(root) {
        Ok(pinned) => Some(pinned.cpu()),
        Err(_) => measuring_cpu(root, &allowed()).map(|choice| choice.cpu),
    }
}

/// Pins this thread to `wanted`, or to the CPU least likely to be disturbed. If the system refuses, the
/// thread stays unpinned, and a note says so.
///
/// # Errors
/// If `wanted` does not exist, or this process may not use it: `taskset` or a cpuset excludes it.
pub fn hold(wanted: Option<usize>, root: &Root) -> Result<(Option<Pinned>, Vec<String>)> {
    if let Some(cpu) = wanted {
        affinity::permitted(cpu, root).with_context(|| format!("--cpu {cpu}"))?;
        return pinned_to(cpu);
    }
    match pin_to_measure(root) {
        Ok(pinned) => Ok((Some(pinned), Vec::new())),
        Err(refusal) => Ok((None, vec![unpinned(&refusal)])),
    }
}

fn pinned_to(cpu: usize) -> Result<(Option<Pinned>, Vec<String>)> {
    match pin(cpu) {
        Ok(pinned) => Ok((Some(pinned), Vec::new())),
        Err(error) if error.refusal.is_some() => Ok((None, vec![unpinned(&error)])),
        Err(error) => Err(error).with_context(|| format!("--cpu {cpu}")),
    }
}

/// Isolates `wanted`, or the CPU least likely to be disturbed. The error names every missing setting, and says how to
/// set it.
fn isolate(wanted: Option<usize>, root: &Root) -> Result<Isolated> {
    let cpu =
        wanted.or_else(|| default_cpu(root)).context("--isolated: the system names no CPU")?;
    Isolated::enter(root, cpu).context("--isolated")
}

/// Switches the prefetchers off on all CPUs that threads may use, and returns the number of these CPUs.
fn switch_off(root: &Root, locations: &[CpuLocation], identity: &Identity) -> Result<(Off, usize)> {
    let cpus: Vec<usize> = locations.iter().map(|location| location.cpu).collect();
    let switches = identity.core().and_then(|core| core.prefetchers.value());
    let off = Off::on(root, &cpus, switches).context("--prefetchers off")?;
    Ok((off, cpus.len()))
}

fn unpinned(reason: &dyn core::fmt::Display) -> String {
    format!("not pinned, so the scheduler may move the measurement: {reason}")
}

impl Session {
    /// Moves to the CPU, calibrates the clock against the system's (a quarter of a second), and checks for
    /// conditions that would spoil a measurement.
    ///
    /// # Errors
    /// If the CPU does not exist, the mask names an unknown feature, more memory is requested than there is,
    /// or isolation or switching the prefetchers off fails. The message names the value and what would be
    /// accepted, or what is missing.
    pub fn open(request: &Request, root: &Root) -> Result<Self> {
        let features = Features::detect()
            .without(&request.masked)
            .map_err(|error| anyhow::anyhow!("LINEFILL_MASK={}: {error}", request.masked))?;
        let memory = limits::machine_memory(root).unwrap_or_else(|_| limits::memory_here());
        let largest = limit::largest(
            request.memory,
            last_level(),
            memory.available,
            limits::address_space(),
        )?;
        let nodes = nodes(root);
        if let Some(node) = request.node {
            limit::prefer(node, &nodes, root)?;
        }
        // After this line the thread is on the measuring CPU, which the following code describes.
        let isolated = request.isolated.then(|| isolate(request.cpu, root)).transpose()?;
        // A partition may have a CPU that the mask at the start lacks.
        let (pinned, mut notes) = match &isolated {
            Some(isolated) => pinned_to(isolated.cpu())?,
            None => hold(request.cpu, root)?,
        };
        let identity = Identity::detect();
        let rate = calibrate().context("the time-stamp counter cannot be calibrated")?;
        let cpu = pinned.as_ref().map(Pinned::cpu);
        let (counting, counters) = Counting::probe(&place(root, cpu, identity));
        notes.extend(unwatched());
        notes.extend(spoilers(root, cpu));
        notes.extend(isolated.iter().flat_map(|of| of.notes.clone()));
        // Further threads of this process are confined to the partition too.
        let locations = match &isolated {
            Some(isolated) if isolated.alone() => locations_of(root, &[isolated.cpu()]),
            _ => locations(root, cpu),
        };
        let off =
            request.prefetchers_off.then(|| switch_off(root, &locations, &identity)).transpose()?;
        let budget = request.budget.unwrap_or(request.profile.length());
        let settings = settings(root, cpu).into_iter();
        let setting = |(name, value): (&str, _)| SettingLine { name: name.to_owned(), value };
        let header = Header {
            format: FORMAT,
            linefill: env!("CARGO_PKG_VERSION").to_owned(),
            revision: option_env!("LINEFILL_REVISION").map(str::to_owned),
            rustc: env!("LINEFILL_RUSTC").to_owned(),
            started: date::now(),
            cpu: cpu_line(&identity, features),
            os: kernel_version(root),
            hypervisor: identity.hypervisor_name().map(str::to_owned),
            memory: Some(memory.total),
            pinned: cpu,
            tick_hz: rate.hz(),
            stated_tick_hz: tsc_hz().map(|hz| hz as f64),
            core_per_tick: core_per_tick(),
            seed: request.seed,
            profile: request.profile.name().to_owned(),
            pages: request.pages.map(|pages| pages.to_string()),
            selection: request.selection.clone(),
            masked: request.masked.clone(),
            largest,
            load_to_use: identity.load_to_use(),
            ports: identity.ports(),
            counting: counting_lines(&counting),
            locations,
            performance: affinity::performance_cores(root),
            nodes,
            node: request.node,
            passes: experiment::LOOKS.into_iter().max().unwrap_or(0),
            budget: Some(budget.as_secs_f64()),
            placement: Some(request.placement.name().to_owned()),
            kernel_caches: kernel_caches(root, cpu),
            isolation: isolated.as_ref().map(|of| IsolationLine {
                by: of.by.to_owned(),
                moved: of.moved,
                locked: of.locked(),
            }),
            settings: settings.map(setting).collect(),
            prefetchers_off: off.as_ref().map(|(_, cpus)| *cpus),
            prefetchers: cpu.map(|cpu| prefetchers_of(root, cpu, &identity)),
            notes,
            resumed: None,
            earlier: 0.0,
            host: None,
            watch: None,
        };
        Ok(Session {
            header,
            counters,
            context: Context { features, host: &Linux },
            rate,
            interrupts: isolated.as_ref().map(|of| of.cpu()),
            _prefetchers: off.map(|(off, _)| off),
            _pinned: pinned,
            _isolated: isolated,
        })
    }
}

/// Returns the place whose counters a run uses: `cpu`, or the CPU that the thread is on.
pub fn place(root: &Root, cpu: Option<usize>, identity: Identity) -> Place {
    let cpu = cpu.or_else(current_cpu).unwrap_or(0);
    Place::on(root.clone(), cpu, identity)
}

/// Returns a note if the kernel does not report whether a thread was preempted.
pub fn unwatched() -> Option<String> {
    (!DisturbanceMonitor::sees_switches()).then(|| {
        "samples: getrusage is refused here (by a sandbox?), so that those during which the thread \
         left its CPU are not marked"
            .to_owned()
    })
}

/// Returns notes on conditions that make timings unreliable.
fn spoilers(root: &Root, cpu: Option<usize>) -> Vec<String> {
    let Some(cpu) = cpu else { return Vec::new() };
    health::examine(root, cpu)
        .into_iter()
        .filter(|check| check.state == State::Bad)
        .map(|check| format!("{}: {}", check.name, check.found))
        .collect()
}

fn kernel_version(root: &Root) -> Option<String> {
    let release = std::fs::read_to_string(root.proc.join("sys/kernel/osrelease")).ok()?;
    Some(format!("Linux {}", release.trim()))
}

fn prefetchers_of(root: &Root, cpu: usize, identity: &Identity) -> PrefetchersLine {
    let switches = identity.core().and_then(|core| core.prefetchers.value());
    match prefetchers::look(root, cpu, switches) {
        Ok(setting) => PrefetchersLine::Set(setting.to_string()),
        Err(refused) => PrefetchersLine::Unknown(refused.to_string()),
    }
}

/// Returns the largest working set of a run in bytes if none is requested.
pub(super) fn largest(root: &Root) -> Result<u64> {
    let memory = limits::machine_memory(root).unwrap_or_else(|_| limits::memory_here());
    limit::largest(None, last_level(), memory.available, limits::address_space())
}

/// Returns the bytes of the last level behind L2 that CPUID reports, 0 if it reports none.
fn last_level() -> u64 {
    let caches: Vec<Cache> = Caches::detect().iter().cloned().collect();
    let [_, _, last] = reported_sizes(&caches);
    last.map_or(0, |bytes| bytes as u64)
}

/// Returns the CPUs that threads may use, and the measuring CPU even if the affinity mask lacks it.
pub(super) fn locations(root: &Root, cpu: Option<usize>) -> Vec<CpuLocation> {
    let mut cpus = allowed();
    cpus.extend(cpu.filter(|cpu| !cpus.contains(cpu)));
    locations_of(root, &cpus)
}

fn locations_of(root: &Root, cpus: &[usize]) -> Vec<CpuLocation> {
    Sysfs::at(&root.sys).locations(cpus)
}

fn kernel_caches(root: &Root, cpu: Option<usize>) -> Vec<CacheLine> {
    let Some(cpu) = cpu else { return Vec::new() };
    Sysfs::at(&root.sys).caches(cpu).unwrap_or_default().iter().map(kernel_cache_line).collect()
}

/// Number of yardstick measurements, of which the median counts.
const LOOKS: usize = 15;

/// Measures the core cycles per tick. `None` if the yardstick failed.
fn core_per_tick() -> Option<f64> {
    let mut looks = [0; LOOKS];
    looks.fill_with(yardstick::ticks);
    looks.sort_unstable();
    match looks[LOOKS / 2] {
        0 => None,
        ticks => Some(yardstick::CYCLES as f64 / ticks as f64),
    }
}

/// Converts a cache as the kernel describes it.
fn kernel_cache_line(cache: &sysfs::Cache) -> CacheLine {
    let small = |number: Option<u64>| number.and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
    CacheLine {
        level: cache.level as u8,
        holds: cache.kind.name().to_owned(),
        bytes: cache.size,
        ways: small(cache.ways),
        line: small(cache.line),
        sets: cache.sets.unwrap_or(0),
        fully_associative: false,
        shared_by: u32::try_from(cache.shared_by.len()).ok(),
        inclusive: None,
    }
}
