//! Pins a thread to a CPU, and chooses the CPU when the user names none.

// `sched_setaffinity` and `sched_getaffinity` are calls into C that take a bit mask.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::OnceLock;

use super::check;
use super::preempt::current_cpu;
use super::root::Root;
use super::sysfs::list;

/// CPUs in a mask. The kernel's own limit on x86-64 (`NR_CPUS`) is 8192.
const MASK_CPUS: usize = 8192;
const WORDS: usize = MASK_CPUS / 64;

/// A CPU mask as the kernel reads it: bit `n` of the array stands for CPU `n`.
#[derive(Clone, PartialEq, Eq)]
struct Mask([u64; WORDS]);

impl Mask {
    fn one(cpu: usize) -> Option<Self> {
        let mut words = [0; WORDS];
        *words.get_mut(cpu / 64)? |= 1 << (cpu % 64);
        Some(Self(words))
    }

    fn cpus(&self) -> Vec<usize> {
        (0..MASK_CPUS).filter(|cpu| self.0[cpu / 64] >> (cpu % 64) & 1 == 1).collect()
    }

    /// `sched_getaffinity`: the mask of the calling thread.
    fn of_this_thread() -> io::Result<Self> {
        let mut words = [0u64; WORDS];
        let (bytes, set) = (size_of_val(&words), words.as_mut_ptr().cast());
        // SAFETY: the kernel writes at most the given number of bytes, all of which `words` has.
        // A `cpu_set_t` is plain words, so the cast pointer is aligned for it.
        check(unsafe { libc::sched_getaffinity(0, bytes, set) })?;
        Ok(Self(words))
    }

    /// `sched_setaffinity`: sets the mask of the calling thread.
    fn apply(&self) -> io::Result<()> {
        let (bytes, set) = (size_of_val(&self.0), self.0.as_ptr().cast());
        // SAFETY: the kernel reads the given number of bytes, all of which the array has.
        check(unsafe { libc::sched_setaffinity(0, bytes, set) })
    }
}

/// Proof that the calling thread runs on one CPU only.
///
/// ```
/// let last = *linefill::os::allowed().last().expect("a CPU");
/// let pinned = linefill::os::pin(last)?;
/// assert_eq!(pinned.cpu(), last);
/// # Ok::<(), linefill::os::AffinityError>(())
/// ```
///
/// Stays on its thread (it is neither `Send` nor `Sync`). A thread with several guards runs on the CPU of
/// the newest. When that is dropped, the thread runs on the CPU of the newest that is left, and after the
/// last guard by the mask that it had before the first. Threads spawned meanwhile inherit the one-CPU mask:
/// pin them too.
#[derive(Debug)]
pub struct Pinned {
    /// Also in the list of the thread's guards, by which a guard finds itself there.
    cpu: Rc<usize>,
}

#[derive(Default)]
struct Guards {
    /// The mask before the first guard.
    before: Option<Mask>,
    /// The CPUs, the newest guard's last.
    cpus: Vec<Rc<usize>>,
}

thread_local! {
    static GUARDS: RefCell<Guards> = RefCell::default();
}

/// `sched_setaffinity` for a thread that never gets its old mask back. Allocates nothing, so that a
/// child may call it after fork.
pub(super) fn keep_on(cpu: usize) -> io::Result<()> {
    match Mask::one(cpu) {
        Some(mask) => mask.apply(),
        None => Err(io::Error::from_raw_os_error(libc::EINVAL)),
    }
}

/// Returns the CPU that this thread is pinned to; `None` if the thread may run on several.
pub fn only() -> Option<usize> {
    let mut cpus = Mask::of_this_thread().ok()?.cpus();
    cpus.pop().filter(|_| cpus.is_empty())
}

/// Why a thread was not pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AffinityError {
    /// The CPU asked for.
    pub cpu: usize,
    /// The CPUs that this process may use.
    pub allowed: Vec<usize>,
    /// The kernel's error; `None` if the CPU does not exist or is barred from this process.
    pub refusal: Option<String>,
}

messages! { AffinityError:
    Self { cpu, allowed, refusal } => (
        "cannot run on CPU {cpu}: {}this process may use {}",
        refusal.as_ref().map_or_else(String::new, |refusal| format!("{refusal}; ")),
        match &allowed[..] {
            [] => "CPUs the kernel did not name".to_owned(),
            allowed => format!("CPU {}", list::format(allowed)),
        }
    );
}

/// `sched_getaffinity`: returns the CPUs that this process may use, in ascending order.
///
/// The list is the mask of the thread that first asked or pinned, taken before any pinning. It
/// honours `taskset` and cpusets, and stays the same while threads are pinned. It is empty if the
/// kernel refuses to answer.
#[doc(alias = "sched_getaffinity")]
pub fn allowed() -> Vec<usize> {
    static FIRST: OnceLock<Vec<usize>> = OnceLock::new();
    FIRST.get_or_init(|| Mask::of_this_thread().map(|mask| mask.cpus()).unwrap_or_default()).clone()
}

/// `sched_setaffinity`: pins the calling thread to `cpu` until the guard is dropped.
///
/// # Errors
/// [`AffinityError`] if the CPU does not exist, is offline or is outside this process's cpuset, or
/// if the kernel refuses. The thread then runs where it ran before.
#[doc(alias = "sched_setaffinity")]
pub fn pin(cpu: usize) -> Result<Pinned, AffinityError> {
    let allowed = allowed();
    let none_such = AffinityError { cpu, allowed: allowed.clone(), refusal: None };
    let refused =
        |error: io::Error| AffinityError { refusal: Some(error.to_string()), ..none_such.clone() };
    let now = Mask::of_this_thread().map_err(refused)?;
    let Some(mask) = Mask::one(cpu) else { return Err(none_such) };
    // The kernel decides, not the inherited mask: `isolcpus` keeps isolated CPUs out of every mask,
    // and a thread reaches them only by naming them.
    mask.apply().map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) if !allowed.contains(&cpu) => none_such.clone(),
        _ => refused(error),
    })?;
    let pinned = Pinned { cpu: Rc::new(cpu) };
    GUARDS.with_borrow_mut(|guards| {
        guards.before.get_or_insert(now);
        guards.cpus.push(pinned.cpu.clone());
    });
    // A sandbox may accept the call and ignore it.
    match current_cpu() {
        Some(found) if found != cpu => Err(AffinityError {
            refusal: Some(format!("the kernel accepted, but the thread runs on CPU {found}")),
            ..none_such
        }),
        _ => Ok(pinned),
    }
}

impl Pinned {
    /// Returns the guard's CPU, to which the thread is pinned unless there is a newer guard.
    pub fn cpu(&self) -> usize {
        *self.cpu
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // There is no list any more where the guard lies in a thread-local that outlives it: the thread ends.
        let _ = GUARDS.try_with(|guards| {
            let Guards { before, cpus } = &mut *guards.borrow_mut();
            let newest = cpus.last().is_some_and(|cpu| Rc::ptr_eq(cpu, &self.cpu));
            cpus.retain(|cpu| !Rc::ptr_eq(cpu, &self.cpu));
            if !newest {
                return;
            }
            let mask = match cpus.last() {
                Some(cpu) => Mask::one(**cpu),
                None => before.take(),
            };
            // A CPU may have gone offline meanwhile. The thread then stays where it is, and no caller is
            // left to take the error.
            let _ = mask.map(|mask| mask.apply());
        });
    }
}

/// A CPU to measure on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The CPU.
    pub cpu: usize,
    /// Why it was chosen.
    pub why: &'static str,
}

/// Returns the CPU least likely to be disturbed: an isolated CPU if there is one, else the last of
/// `allowed`, on a hybrid CPU the last performance core. The first CPU handles most interrupts, so
/// later ones are preferred. `None` if `allowed` is empty and no CPU is isolated.
///
/// Isolated CPUs are in no process's mask, so `allowed` does not tell whether this process can use one:
/// [`pin_to_measure`] finds out.
pub fn measuring_cpu(root: &Root, allowed: &[usize]) -> Option<Choice> {
    isolated_cpu(root).or_else(|| shared_cpu(root, allowed))
}

/// Checks that this process's mask has `cpu`, or that the CPU is isolated: `isolcpus` keeps it out of every
/// mask. The kernel would accept other CPUs too, against a user who excluded them by `taskset`.
#[cfg(any(feature = "lab", test))]
pub(crate) fn permitted(cpu: usize, root: &Root) -> Result<(), AffinityError> {
    let allowed = allowed();
    let isolated = || listed(&root.sys.join("devices/system/cpu/isolated"));
    if allowed.is_empty() || allowed.contains(&cpu) || isolated().contains(&cpu) {
        return Ok(());
    }
    Err(AffinityError { cpu, allowed, refusal: None })
}

fn isolated_cpu(root: &Root) -> Option<Choice> {
    let cpus = root.sys.join("devices/system/cpu");
    let online = listed(&cpus.join("online"));
    let isolated = listed(&cpus.join("isolated"));
    let cpu = isolated.into_iter().find(|cpu| online.contains(cpu))?;
    Some(Choice { cpu, why: "isolated" })
}

/// Returns the best of the CPUs on which the scheduler places other threads too.
fn shared_cpu(root: &Root, allowed: &[usize]) -> Option<Choice> {
    let performance = performance_cores(root);
    if let Some(&cpu) = allowed.iter().rfind(|cpu| performance.contains(cpu)) {
        return Some(Choice { cpu, why: "the last performance core" });
    }
    allowed.last().map(|&cpu| Choice { cpu, why: "the last one allowed" })
}

/// Returns the CPUs of the performance cores of a hybrid CPU; of others, none.
pub(crate) fn performance_cores(root: &Root) -> Vec<usize> {
    // The file exists on hybrid CPUs only: it is the event source of the performance cores.
    listed(&root.sys.join("devices/cpu_core/cpus"))
}

/// Returns the CPUs of Arrow Lake-H's low-power cores, if the kernel tells them apart; of others, none.
pub(crate) fn low_power_cores(root: &Root) -> Vec<usize> {
    listed(&root.sys.join("devices/cpu_lowpower/cpus"))
}

/// Pins the calling thread to the CPU least likely to be disturbed. An isolated CPU may lie outside the
/// cpuset of this process: the thread is then pinned to the CPU that would be chosen without it.
///
/// # Errors
/// The last refusal's reason. The thread then runs where it ran before.
pub fn pin_to_measure(root: &Root) -> Result<Pinned, String> {
    let mut refusal = "the system names no CPU".to_owned();
    let choices = [isolated_cpu(root), shared_cpu(root, &allowed())];
    for choice in choices.into_iter().flatten() {
        match pin(choice.cpu) {
            Ok(pinned) => return Ok(pinned),
            Err(error) => refusal = error.to_string(),
        }
    }
    Err(refusal)
}

/// Returns the CPUs listed in a file; none if the file is missing or malformed.
fn listed(path: &Path) -> Vec<usize> {
    list::read(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::root::Planted;

    #[test]
    fn pinning_holds_and_is_undone() {
        let before = Mask::of_this_thread().unwrap().cpus();
        let last = *allowed().last().unwrap();
        let pinned = pin(last).unwrap();
        assert_eq!(pinned.cpu(), last);
        assert_eq!(Mask::of_this_thread().unwrap().cpus(), [last]);
        assert_eq!(current_cpu(), Some(last));
        drop(pinned);
        assert_eq!(Mask::of_this_thread().unwrap().cpus(), before);
    }

    #[test]
    fn a_pinned_thread_still_knows_the_allowed_cpus_and_nests() {
        let all = allowed();
        let _outer = pin(all[0]).unwrap();
        assert_eq!(allowed(), all);
        let last = *all.last().unwrap();
        let inner = pin(last).unwrap();
        assert_eq!(current_cpu(), Some(last));
        drop(inner);
        assert_eq!(current_cpu(), Some(all[0]));
    }

    /// A guard that replaces another is taken before the other is dropped.
    #[test]
    fn guards_may_be_dropped_in_any_order() {
        let before = Mask::of_this_thread().unwrap().cpus();
        let all = allowed();
        let [first, last] = [all[0], *all.last().unwrap()];
        let now = || Mask::of_this_thread().unwrap().cpus();
        let mut pinned = pin(first).unwrap();
        assert_eq!((now(), pinned.cpu()), (vec![first], first));
        pinned = pin(last).unwrap();
        assert_eq!((now(), pinned.cpu()), (vec![last], last));
        let newer = pin(first).unwrap();
        drop(pinned);
        assert_eq!(now(), [first]);
        drop(newer);
        assert_eq!(now(), before);
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named_with_the_allowed_ones() {
        for cpu in [MASK_CPUS - 1, MASK_CPUS, usize::MAX] {
            let error = pin(cpu).unwrap_err();
            assert_eq!(error.cpu, cpu);
            assert_eq!(error.allowed, allowed());
            assert!(error.to_string().contains(&cpu.to_string()), "{error}");
            assert!(error.to_string().contains(&list::format(&allowed())), "{error}");
        }
    }

    #[test]
    fn the_message_holds_the_answer_of_the_kernel() {
        let error = AffinityError {
            cpu: 3,
            allowed: vec![0, 1, 2, 5],
            refusal: Some("Operation not permitted".into()),
        };
        assert_eq!(
            error.to_string(),
            "cannot run on CPU 3: Operation not permitted; this process may use CPU 0-2,5"
        );
    }

    #[test]
    fn an_isolated_cpu_comes_before_a_performance_core_and_that_before_the_last_one() {
        let isolated = [("system/cpu/online", "0-7"), ("system/cpu/isolated", "5-6")];
        for (files, allowed, wanted) in [
            // No mask has an isolated CPU.
            (&isolated[..], &[0, 1, 2, 3, 4, 7][..], Some(5)),
            (&[("cpu_core/cpus", "0-3")], &[0, 1, 2, 3, 4, 5], Some(3)),
            (&[], &[0, 1], Some(1)),
            (&[], &[], None),
        ] {
            let machine = Planted::new("choice", "sys/devices", files);
            let choice = measuring_cpu(&machine.root(), allowed);
            assert_eq!(choice.map(|choice| choice.cpu), wanted, "{files:?}");
        }
    }

    #[test]
    fn a_cpu_outside_the_mask_is_permitted_if_it_is_isolated() {
        let files = [("system/cpu/isolated", "8190")];
        let machine = Planted::new("permitted", "sys/devices", &files);
        let here = allowed();
        let of = |cpu| permitted(cpu, &machine.root());
        assert_eq!(of(here[0]), Ok(()));
        assert_eq!(of(8190), Ok(()));
        let error = of(8191).unwrap_err();
        assert_eq!((error.cpu, error.allowed), (8191, here));
    }

    #[test]
    fn an_isolated_cpu_outside_the_cpuset_is_passed_over_for_a_performance_core() {
        let first = allowed()[0];
        let performance = first.to_string();
        // No CPU has the last number that a mask can hold.
        let files = [
            ("system/cpu/online", "0-8191"),
            ("system/cpu/isolated", "8191"),
            ("cpu_core/cpus", &performance),
        ];
        let machine = Planted::new("choice-outside", "sys/devices", &files);
        let pinned = pin_to_measure(&machine.root()).unwrap();
        assert_eq!(pinned.cpu(), first);
    }
}
