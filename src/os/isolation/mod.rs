//! Isolates a CPU from other programs and from interrupts while a measurement runs.
//!
//! Settings that only the kernel's command line can make are checked and reported. Settings that can
//! change at run time are changed, and a guardian process restores them however this process ends.

// `mlockall` and `munlockall` are calls into C.
#![allow(unsafe_code)]

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fmt, fs, io};

use super::affinity;
use super::guardian::{Guardian, Undo};
use super::health::{self, CHOSEN, Check, ISOLATED, Observed, State, TICKLESS};
use super::irq::{self, Interrupts, Irq, numbers};
use super::limits;
use super::preempt::{Disturbance, Switches};
use super::root::{Root, read};
use super::sysfs::{Sysfs, list};

/// Why a CPU could not be isolated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The CPU.
    pub cpu: usize,
    /// The missing settings.
    pub missing: Vec<Missing>,
}

/// A missing setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The name of the setting.
    pub what: String,
    /// What was found instead.
    pub found: String,
    /// How to set it.
    pub mend: String,
}

impl Missing {
    fn new(what: &str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Missing { what: what.to_owned(), found: found.into(), mend: mend.into() }
    }

    fn of(check: &Check) -> Self {
        Missing::new(check.name, &*check.found, &*check.mend)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CPU {} is not isolated:", self.cpu)?;
        let mut missing = self.missing.iter().peekable();
        while let Some(Missing { what, found, mend }) = missing.next() {
            write!(f, "\n  {what}: {found}")?;
            // Neighbouring entries with the same remedy share it: it follows the last of them.
            if missing.peek().is_none_or(|next| next.mend != *mend) {
                write!(f, "\n    {mend}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

/// An isolated CPU. Dropping it restores everything that was changed. If this process is killed,
/// the guardian process restores it.
#[derive(Debug)]
pub struct Isolated {
    cpu: usize,
    /// The mechanism that keeps the scheduler away: the kernel's command line, or a cpuset partition.
    pub by: &'static str,
    /// Number of device interrupts that were moved to other CPUs.
    pub moved: usize,
    /// Descriptions of the steps that failed.
    pub notes: Vec<String>,
    lock: Option<AllMemory>,
    // Dropped before the guardian, which removes the control group that this process is in.
    partition: Option<Partition>,
    _guardian: Option<Guardian>,
}

// Mechanisms that isolate a CPU.
const BOOT: &str = "isolcpus";
const PARTITION: &str = "cpuset partition";

/// How long the CPU is watched before it counts as quiet.
const WINDOW: Duration = Duration::from_millis(500);

/// Most interrupts per window on a quiet CPU: the kernel keeps a tick per second.
const FEW: u64 = 5;

impl Isolated {
    /// Isolates `cpu` for this process. Takes about a second, because it watches the CPU.
    ///
    /// # Errors
    /// All missing settings. Everything is then left as it was.
    pub fn enter(root: &Root, cpu: usize) -> Result<Self, Refused> {
        let refused = |missing| Refused { cpu, missing };
        let checks = health::of_isolation(root, cpu, &Observed::now(root, cpu));
        let plan = plan(root, cpu, &checks).map_err(refused)?;
        let mut isolated = Isolated::change(root, cpu, plan).map_err(|problem| {
            refused(vec![Missing::new(ISOLATED, problem, health::boot_settings(cpu))])
        })?;
        match all_memory() {
            Ok(lock) => isolated.lock = Some(lock),
            Err(problem) => isolated.notes.push(problem),
        }
        let seen = watch(root, cpu).map_err(|problem| {
            let mend = "measure on a CPU that this process may use, on a system with /proc";
            refused(vec![Missing::new("quiet CPU", problem, mend)])
        })?;
        match seen.missing(cpu) {
            None => Ok(isolated),
            Some(missing) => Err(refused(vec![missing])),
        }
    }

    /// Posts a guardian, and then changes the settings that can change at run time. If a step fails,
    /// everything is left as it was.
    fn change(root: &Root, cpu: usize, plan: Option<Plan>) -> Result<Self, String> {
        let irqs = irq::aimed_at(root, cpu).unwrap_or_default();
        let guardian = guardian(plan.as_ref(), &irqs).map_err(|error| {
            format!("no process could be started that would put the settings back: {error}")
        })?;
        let partition = plan.map(Plan::enter).transpose()?;
        let mut notes = Vec::new();
        Ok(Isolated {
            cpu,
            by: if partition.is_some() { PARTITION } else { BOOT },
            moved: move_away(root, cpu, &irqs, &mut notes),
            notes,
            lock: None,
            partition,
            _guardian: guardian,
        })
    }

    /// Returns whether all memory of this process is locked.
    pub fn locked(&self) -> bool {
        self.lock.is_some()
    }

    /// Returns the isolated CPU.
    pub fn cpu(&self) -> usize {
        self.cpu
    }

    /// Returns whether this process is confined to this CPU.
    pub fn alone(&self) -> bool {
        self.partition.is_some()
    }
}

/// Plans the partition that has to be made; `None` if the CPU is isolated already. Fails with all missing
/// settings.
fn plan(root: &Root, cpu: usize, checks: &[Check]) -> Result<Option<Plan>, Vec<Missing>> {
    // A CPU that does not exist has no settings to report.
    let absent = |check: &&Check| check.name == CHOSEN && check.state == State::Bad;
    if let Some(check) = checks.iter().find(absent) {
        return Err(vec![Missing::of(check)]);
    }
    let mut missing = Vec::new();
    let mut plan = None;
    for check in checks {
        let setting = [ISOLATED, TICKLESS].contains(&check.name);
        match (setting, check.state) {
            (_, State::Good) | (false, State::Unknown | State::Warn) => {}
            (true, _) if check.name == ISOLATED => match Plan::of(root, cpu) {
                Ok(partition) => plan = Some(partition),
                Err(problem) => missing.push(Missing {
                    found: format!("{}; and no partition can be made: {problem}", check.found),
                    ..Missing::of(check)
                }),
            },
            _ => missing.push(Missing::of(check)),
        }
    }
    if missing.is_empty() { Ok(plan) } else { Err(missing) }
}

/// Starts the guardian that restores the planned changes; `None` if nothing will change.
fn guardian(plan: Option<&Plan>, irqs: &[Irq]) -> io::Result<Option<Guardian>> {
    let mut undo = plan.map_or(Ok(Vec::new()), Plan::undo)?;
    for irq in irqs {
        undo.push(Undo::write(&irq.file, 0, irq.affinity.as_bytes())?);
    }
    (!undo.is_empty()).then(|| Guardian::post(&undo)).transpose()
}

/// Moves device interrupts to the other CPUs, and returns how many were moved.
fn move_away(root: &Root, cpu: usize, irqs: &[Irq], notes: &mut Vec<String>) -> usize {
    let mut others = Sysfs::at(&root.sys).online().unwrap_or_default();
    others.retain(|&other| other != cpu);
    if others.is_empty() {
        return 0;
    }
    let others = list::format(&others);
    let (moved, stay): (Vec<&Irq>, Vec<&Irq>) =
        irqs.iter().partition(|irq| fs::write(&irq.file, &others).is_ok());
    // The kernel spreads the interrupts of some devices itself and refuses to move them.
    let come: Vec<&Irq> = stay.into_iter().filter(|irq| irq.comes).collect();
    if !come.is_empty() {
        notes.push(format!(
            "interrupts {} may come to CPU {cpu}: they cannot be moved (not root, or the kernel \
             spreads them: isolcpus=managed_irq,domain,{cpu} on its command line keeps those away)",
            numbers(come)
        ));
    }
    moved.len()
}

/// Interrupts and context switches on a CPU while this thread ran there.
#[derive(Debug)]
struct Seen {
    /// Number of interrupts.
    count: u64,
    /// The interrupts by kind, in words.
    interrupts: Vec<String>,
    disturbance: Disturbance,
}

/// Spins on `cpu` for [`WINDOW`], and returns what disturbed it.
fn watch(root: &Root, cpu: usize) -> Result<Seen, String> {
    let pinned = affinity::pin(cpu).map_err(|error| error.to_string())?;
    let before = Interrupts::of(root, cpu).map_err(|error| error.to_string())?;
    let switches = Switches::now();
    let began = Instant::now();
    while began.elapsed() < WINDOW {
        core::hint::spin_loop();
    }
    let disturbance = Switches::now().since(&switches);
    let after = Interrupts::of(root, cpu).map_err(|error| error.to_string())?;
    drop(pinned);
    Ok(Seen {
        count: after.total().saturating_sub(before.total()),
        interrupts: after.since(&before),
        disturbance,
    })
}

impl Seen {
    /// Returns why the CPU is not quiet; `None` if it is.
    fn missing(&self, cpu: usize) -> Option<Missing> {
        let switches = self.disturbance.involuntary.unwrap_or(0);
        if self.count <= FEW && switches == 0 {
            return None;
        }
        let mut found = format!(
            "in {} ms CPU {cpu} took {} interrupts and switched {switches} times to another \
             program",
            WINDOW.as_millis(),
            self.count
        );
        for (index, kind) in self.interrupts.iter().take(4).enumerate() {
            found.push_str(if index == 0 { ": " } else { ", " });
            found.push_str(kind);
        }
        let mend = "stop irqbalance (sudo systemctl stop irqbalance), and keep timers and other \
                    programs away: irqaffinity= with the other CPUs, nohz_full= and rcu_nocbs= \
                    with this one";
        Some(Missing::new("quiet CPU", found, mend))
    }
}

/// `mlockall`: keeps all present mappings, and all pages touched later, in memory until dropped.
#[derive(Debug)]
struct AllMemory(());

/// Locks all memory of this process.
fn all_memory() -> Result<AllMemory, String> {
    // Under a limit, later mappings beyond it would fail.
    if let Some(limit) = limits::locked_memory()
        && !limits::may_lock_any_memory()
    {
        return Err(format!(
            "memory is not locked: this process may lock {limit} bytes (ulimit -l unlimited, or \
             run as root)"
        ));
    }
    let flags = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
    // SAFETY: the call takes a number.
    match unsafe { libc::mlockall(flags) } {
        0 => Ok(AllMemory(())),
        _ => Err(format!("memory is not locked: {}", io::Error::last_os_error())),
    }
}

impl Drop for AllMemory {
    fn drop(&mut self) {
        // SAFETY: the call takes nothing.
        unsafe { libc::munlockall() };
    }
}

/// Files of a group of cgroup v2: the controllers of its children, the kind of its CPU partition, its processes.
const CONTROL: &str = "cgroup.subtree_control";
const KIND: &str = "cpuset.cpus.partition";
const MEMBERS: &str = "cgroup.procs";

/// Where to make a CPU partition that the scheduler leaves alone, and how to undo it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Plan {
    cpu: usize,
    /// The top folder of the hierarchy.
    top: PathBuf,
    /// The partition's folder.
    dir: PathBuf,
    /// The folder of the control group that this process is in.
    home: PathBuf,
    /// Whether the top group must first enable the cpuset controller for its children.
    hand_on: bool,
}

/// Returns the top folder of cgroup v2, mounted alone or beside version 1.
fn top(root: &Root) -> Option<PathBuf> {
    let dir = root.sys.join("fs/cgroup");
    let places = [dir.clone(), dir.join("unified")];
    places.into_iter().find(|dir| dir.join("cgroup.controllers").is_file())
}

/// Returns whether a list of controllers names `cpuset`.
fn names_cpuset(file: &Path) -> bool {
    read(file).is_ok_and(|text| text.split_whitespace().any(|word| word == "cpuset"))
}

impl Plan {
    /// Plans a partition that holds `cpu` alone.
    fn of(root: &Root, cpu: usize) -> Result<Self, String> {
        let top = top(root).ok_or("cgroup v2 is not mounted at /sys/fs/cgroup")?;
        if !names_cpuset(&top.join("cgroup.controllers")) {
            return Err(format!(
                "the controller cpuset is not in {}: version 1 may have it, which \
                 systemd.unified_cgroup_hierarchy=1 on the kernel's command line changes",
                top.join("cgroup.controllers").display()
            ));
        }
        let groups = read(&root.proc.join("self/cgroup")).map_err(|error| error.to_string())?;
        let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
        let own = own.ok_or("this process is in no group of cgroup v2")?;
        let control = top.join(CONTROL);
        let hand_on = !names_cpuset(&control);
        if hand_on {
            // What may not be written cannot be undone either, so it must not be planned.
            let open = fs::OpenOptions::new().write(true).open(&control);
            open.map_err(|error| refused(&control, &error))?;
        }
        Ok(Plan {
            cpu,
            dir: top.join(format!("linefill-{}", std::process::id())),
            home: top.join(own.trim_start_matches('/')),
            hand_on,
            top,
        })
    }

    /// Returns the steps that restore everything once this process has left the partition or ended.
    fn undo(&self) -> io::Result<Vec<Undo>> {
        let mut undo =
            vec![Undo::write(&self.dir.join(KIND), 0, b"member")?, Undo::remove(&self.dir)?];
        if self.hand_on {
            undo.push(Undo::write(&self.top.join(CONTROL), 0, b"-cpuset")?);
        }
        Ok(undo)
    }

    /// Makes the partition and moves this process into it. If a step fails, [`undo`](Self::undo)
    /// must revert the steps before it.
    fn enter(self) -> Result<Partition, String> {
        if self.hand_on {
            write(&self.top.join(CONTROL), "+cpuset")?;
        }
        fs::create_dir(&self.dir).map_err(|error| refused(&self.dir, &error))?;
        write(&self.dir.join("cpuset.cpus"), &self.cpu.to_string())?;
        let kind = self.dir.join(KIND);
        write(&kind, "isolated")?;
        // The kernel accepts settings that it cannot apply, and reports the failure only here.
        let made = read(&kind).map_err(|error| error.to_string())?;
        if made != "isolated" {
            return Err(format!("the partition of CPU {} is {made}", self.cpu));
        }
        write(&self.dir.join(MEMBERS), &std::process::id().to_string())?;
        Ok(Partition { members: self.home.join(MEMBERS) })
    }
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| refused(file, &error))
}

fn refused(path: &Path, error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied => " (run as root)",
        _ => "",
    };
    format!("{}: {error}{advice}", path.display())
}

/// Keeps this process in the partition until dropped.
#[derive(Debug)]
struct Partition {
    /// The `cgroup.procs` file of the group that this process came from.
    members: PathBuf,
}

impl Drop for Partition {
    /// Moves this process back to its group. The guardian restores the rest afterwards.
    fn drop(&mut self) {
        let _ = write(&self.members, &std::process::id().to_string());
    }
}
