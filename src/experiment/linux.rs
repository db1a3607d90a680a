//! Linux as a host of experiments.

use core::sync::atomic::{AtomicBool, AtomicU32};
use core::time::Duration;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use crate::bench::DisturbanceMonitor;
use crate::counters::{Counters, Place, Quantity, chosen};
use crate::cpu::SplitLocks;
use crate::experiment::Counting;
use crate::host::{
    Alias, Arrangement, BackgroundLoad, Backing, Code, Event, Granted, Group, Guard, Host,
    HostMonitor, Lack, MemoryNode, MemoryPolicy, OnNode, Pages, Populate, Prefetchers, Process,
    Refusal, RoundOptions, Sharing, ThreadGroup, Told, View, Worker,
};
use crate::os::irq::Interrupts;
use crate::os::limits::{level_2_cache, memory_here};
use crate::os::maps::{Spread, randomised};
use crate::os::memory::{Transparent, transparent_pages};
use crate::os::perf::{self, Counter};
use crate::os::preempt::current_cpu;
use crate::os::prefetchers::{Off, Ready};
use crate::os::sysfs::CpuMask;
use crate::os::trial::{Ending, trial};
use crate::os::{
    self, BackgroundProcess, BackgroundThread, Memory, Pinned, Populated, Root, Sysfs, Unreadable,
    preempt, sampler, split_locks, threads,
};

/// How long a child process may take that does next to nothing.
const LONGEST: Duration = Duration::from_secs(10);

/// Linux as a host, through [`os`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux;

impl Host for Linux {
    fn name(&self) -> &'static str {
        "Linux"
    }

    fn memory(
        &self,
        bytes: usize,
        pages: Pages,
        policy: &MemoryPolicy,
    ) -> Result<Box<dyn Backing>, Lack> {
        Ok(Box::new(Memory::on_nodes(bytes, pages, policy).map_err(Lack::refused)?))
    }

    fn reserve(&self, bytes: usize, policy: &MemoryPolicy) -> Result<Box<dyn Backing>, Lack> {
        Ok(Box::new(Memory::reserve_on_nodes(bytes, policy).map_err(Lack::refused)?))
    }

    fn populate(&self, bytes: usize, pages: Pages) -> Result<Box<dyn Populate>, Lack> {
        let always = transparent_pages(Path::new("/sys")) == Ok(Transparent::Always);
        if always != (pages == Pages::Huge) {
            return Err(Lack::refused(format_args!(
                "mmap(MAP_POPULATE) gives no {pages} pages here: transparent huge pages are {}",
                if always { "always on" } else { "not always on" }
            )));
        }
        let bytes = bytes.next_multiple_of(pages.bytes());
        let mapped = Populated::map(bytes)
            .map_err(|error| Lack::refused(format_args!("mmap(MAP_POPULATE): {error}")))?;
        drop(mapped);
        Ok(Box::new(MapPopulate { bytes, mapped: None }))
    }

    fn first_touched_on<'m>(&self, bytes: &'m mut [u8], cpu: usize) -> Result<&'m mut [u8], Lack> {
        os::first_touched_on(bytes, cpu).map_err(Lack::refused)
    }

    fn nodes(&self) -> Result<Vec<MemoryNode>, Lack> {
        Sysfs::live().nodes().map_err(Lack::refused)
    }

    fn nodes_of(&self, first: *const u8, bytes: usize) -> Result<Vec<OnNode>, Lack> {
        os::nodes_of(first.addr()..first.addr() + bytes)
            .map_err(|error| Lack::refused(format_args!("move_pages without a target: {error}")))
    }

    fn current_cpu(&self) -> Option<usize> {
        preempt::current_cpu()
    }

    fn now(&self) -> Result<Duration, Lack> {
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        Ok(BEGAN.get_or_init(Instant::now).elapsed())
    }

    fn monitor(&self) -> Box<dyn HostMonitor> {
        Box::new(DisturbanceMonitor::here())
    }

    fn interrupts(&self, cpu: usize) -> Option<u64> {
        let interrupts = Interrupts::of(&Root::live(), cpu);
        Some(interrupts.ok()?.total())
    }

    fn counters(&self, events: &[Event]) -> Result<Box<dyn Group>, Lack> {
        Ok(Box::new(perf::Group::of_first(events)))
    }

    fn counted(&self, list: Option<&str>) -> Result<Vec<String>, Lack> {
        let named = chosen(list, &Place::here()).map_err(Lack::refused)?;
        let (_, counts) = Counters::open(named).scope(|| ());
        let mut names = Vec::new();
        let mut refused = None;
        for (name, reading) in counts.iter() {
            match reading {
                Ok(_) => names.push(name.to_owned()),
                Err(refusal) => refused = Some(format!("{name}: {refusal}")),
            }
        }
        match (names.is_empty(), refused) {
            (true, Some(reason)) => Err(Lack::Refused(reason)),
            _ => Ok(names),
        }
    }

    fn thread_group(
        &self,
        workers: &mut [Worker<'_>],
        options: RoundOptions,
        lead: &mut dyn FnMut(&mut dyn ThreadGroup),
    ) -> Result<(), Lack> {
        os::thread_group(workers, options, |group| lead(group)).map_err(Lack::refused)
    }

    fn background_thread(
        &self,
        cpu: usize,
        step: Box<dyn FnMut() + Send>,
    ) -> Result<Box<dyn Guard>, Lack> {
        Ok(Box::new(BackgroundThread::start(cpu, step).map_err(Lack::refused)?))
    }

    fn process(&self, load: BackgroundLoad) -> Result<Box<dyn Process>, Lack> {
        Ok(Box::new(BackgroundProcess::start(load).map_err(Lack::refused)?))
    }

    fn pin(&self, cpu: usize) -> Result<Box<dyn Guard>, Lack> {
        Ok(Box::new(os::pin(cpu).map_err(Lack::refused)?))
    }

    fn sleep(&self, word: &AtomicU32, value: u32, most: Duration) {
        threads::wait(word, value, most);
    }

    fn wake(&self, word: &AtomicU32) {
        threads::wake(word);
    }

    fn code(
        &self,
        bytes: usize,
        pages: Pages,
        write: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Box<dyn Code>, Lack> {
        Ok(Box::new(os::Code::new(bytes, pages, write).map_err(Lack::refused)?))
    }

    fn alias(&self, bytes: usize, view: View) -> Result<Box<dyn Alias>, Lack> {
        Ok(Box::new(os::Alias::new(bytes, view).map_err(Lack::refused)?))
    }

    fn prefetchers(&self) -> Result<Box<dyn Prefetchers>, Lack> {
        Ok(Box::new(Ready::here().map_err(Lack::refused)?))
    }

    fn split_locks(&self) -> Result<SplitLocks, Lack> {
        split_locks::allowed().map_err(Lack::refused)
    }

    fn faults(&self, work: &mut dyn FnMut()) -> Result<bool, Lack> {
        let ending = trial(LONGEST, &AtomicBool::new(false), |_| {
            work();
            Vec::new()
        });
        match ending.map_err(Lack::refused)? {
            Ending::Done(_) => Ok(false),
            Ending::Fault(_) => Ok(true),
            other => Err(Lack::refused(format_args!("a child process gave no result: {other:?}"))),
        }
    }

    fn sample(&self, period: Duration, work: &mut dyn FnMut()) -> Result<Vec<usize>, Lack> {
        sampler::sample(period, work).map_err(Lack::refused)
    }

    fn programs(&self) -> Result<(), Lack> {
        Ok(())
    }

    fn told(&self, what: Told) -> Result<f64, Lack> {
        let cpu = current_cpu().unwrap_or(0);
        let sysfs = Sysfs::live();
        let sum = |found: Vec<usize>| found.into_iter().sum::<usize>() as f64;
        match what {
            Told::Memory => match memory_here().total {
                0 => Err(Lack::refused("the kernel does not report the size of memory")),
                bytes => Ok(bytes as f64),
            },
            Told::LastLevelShare => {
                let last = sysfs.last_level(cpu).map_err(Lack::refused)?;
                Ok(last.share() as f64)
            }
            Told::CachesThatDisagree => caches_that_disagree(&sysfs, cpu),
            Told::AbsentFromOwnMask => {
                of_each(|_, cpu, threads, _| Ok(usize::from(!threads.contains(cpu)))).map(sum)
            }
            Told::OtherThreads => {
                let others = of_each(|_, _, threads, itself| Ok((threads ^ itself).count()))?;
                Ok(others.into_iter().max().unwrap_or(0) as f64)
            }
            Told::OtherThreadsAstray => of_each(|sysfs, cpu, threads, itself| {
                let sharers = sysfs.sharers_of_l1d(cpu)?;
                Ok(usize::from(threads ^ itself != &sharers ^ itself))
            })
            .map(sum),
            Told::Level2BySysconf => {
                let bytes = level_2_cache().map(|bytes| bytes as f64);
                bytes.ok_or_else(|| Lack::refused("sysconf does not report the size of L2"))
            }
            Told::Level2 => {
                // The L2 of this thread's CPU, because cores may be of two kinds.
                let caches = sysfs.caches(cpu).map_err(Lack::refused)?;
                let mut second = caches.iter().filter(|cache| cache.level == 2);
                let second = second.find(|cache| cache.holds_data());
                let bytes = second.map(|cache| cache.size as f64);
                bytes.ok_or_else(|| Lack::refused("the kernel describes no L2"))
            }
            Told::PageDirectories => {
                if !randomised(&Root::live()) {
                    return Err(Lack::refused("address space randomisation is switched off"));
                }
                let spread = Spread::of_this_process().map_err(Lack::refused)?;
                Ok(spread.directories as f64)
            }
        }
    }

    fn sharing(&self) -> Result<Sharing, Lack> {
        Sysfs::live().sharing().map_err(Lack::refused)
    }

    fn arrangement(&self) -> Result<Arrangement, Lack> {
        Sysfs::live().arrangement().map_err(Lack::refused)
    }
}

impl Guard for BackgroundThread {}
impl Guard for Pinned {}
impl Guard for Off {}
impl HostMonitor for DisturbanceMonitor {}

impl Backing for Memory {
    fn bytes(&self) -> &[u8] {
        self.as_slice()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.as_mut_slice()
    }

    fn granted(&self) -> &Granted {
        Memory::granted(self)
    }

    fn give_back(&mut self) -> Result<(), Lack> {
        let refused = |error| Lack::refused(format_args!("madvise(MADV_DONTNEED): {error}"));
        Memory::give_back(self).map_err(refused)
    }

    fn populate(&mut self) -> Result<(), Lack> {
        let refused = |error| Lack::refused(format_args!("madvise(MADV_POPULATE_WRITE): {error}"));
        Memory::populate(self).map_err(refused)
    }
}

/// `mmap(MAP_POPULATE)` of `bytes` bytes.
#[derive(Debug)]
struct MapPopulate {
    bytes: usize,
    mapped: Option<Populated>,
}

impl Populate for MapPopulate {
    fn map(&mut self) -> usize {
        let populated = Populated::map(self.bytes).expect("the kernel did so before");
        let address = populated.address();
        self.mapped = Some(populated);
        address
    }

    fn unmap(&mut self) {
        self.mapped = None;
    }
}

impl Prefetchers for Ready {
    fn switch_off(self: Box<Self>) -> Result<Box<dyn Guard>, Lack> {
        Ok(Box::new(Ready::switch_off(*self).map_err(Lack::refused)?))
    }
}

/// Returns a quantity of a CPU, given the hyper-threads of its core and the CPU itself, both as masks.
type OfCpu = fn(&Sysfs, usize, &CpuMask, &CpuMask) -> Result<usize, Unreadable>;

/// Calls `find` for every CPU that is online.
fn of_each(find: OfCpu) -> Result<Vec<usize>, Lack> {
    let sysfs = Sysfs::live();
    let online = sysfs.online().map_err(Lack::refused)?;
    let each = online.into_iter().map(|cpu| {
        let itself = CpuMask::from_iter([cpu]);
        let threads = sysfs.hyper_threads(&itself);
        find(&sysfs, cpu, &threads?, &itself)
    });
    each.collect::<Result<_, _>>().map_err(Lack::refused)
}

fn caches_that_disagree(sysfs: &Sysfs, cpu: usize) -> Result<f64, Lack> {
    let caches = sysfs.caches(cpu).map_err(Lack::refused)?;
    // For each cache, whether the product is another number than the size.
    let wrong = caches
        .iter()
        .filter_map(|cache| Some(cache.line? * cache.ways? * cache.sets? != cache.size));
    let wrong: Vec<bool> = wrong.collect();
    if wrong.is_empty() {
        return Err(Lack::refused("the kernel reports no cache with its line, ways and sets"));
    }
    Ok(wrong.into_iter().filter(|wrong| *wrong).count() as f64)
}

impl Counting {
    /// Probes what the CPU of this thread counts, by opening every quantity's event for a moment. Also
    /// returns the event of each counted quantity.
    pub fn probe(place: &Place) -> (Self, Vec<(Quantity, Event)>) {
        let mut counted = Vec::new();
        let answers = Quantity::ALL.map(|quantity| {
            let answer = place.counting(quantity).and_then(|named| {
                let event = named.event.map_err(|refusal| reason(&refusal))?;
                Counter::open(&event).map_err(|refusal| reason(&refusal))?;
                counted.push((quantity, event));
                Ok(named.name)
            });
            (quantity, answer)
        });
        (Counting::of(answers), counted)
    }
}

/// Returns why an event is not counted, with the setting that would allow it.
fn reason(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Paranoid(_) => format!("{refusal}; `{}` allows it", refusal.mend()),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    // A child process sends itself a signal.
    #![allow(unsafe_code)]

    use super::*;
    use crate::experiment::Untestable;
    use crate::os::perf::probe;

    #[test]
    fn a_fault_in_a_child_process_is_told_from_its_end() {
        assert_eq!(Linux.faults(&mut || {}), Ok(false));
        // SAFETY: the signal goes to the child, whose handler ends it.
        let refused = Linux.faults(&mut || unsafe {
            libc::raise(libc::SIGSEGV);
        });
        assert_eq!(refused, Ok(true));
        // SAFETY: ends the child.
        let left = Linux.faults(&mut || unsafe { libc::_exit(9) });
        let reason = left.unwrap_err().to_string();
        assert!(reason.contains("Left(9)"), "{reason}");
    }

    #[test]
    fn a_quantity_is_counted_or_says_why_not() {
        let (counting, counted) = Counting::probe(&Place::here());
        assert_eq!(counting.answers().count(), Quantity::ALL.len());
        for (quantity, answer) in counting.answers() {
            let listed = counted.iter().any(|(known, _)| *known == quantity);
            assert_eq!(answer.is_ok(), listed, "{quantity}: {answer:?}");
        }
        match probe() {
            Ok(()) => assert!(counting.event(Quantity::Cycles).is_ok()),
            Err(refusal) => {
                let Untestable(why) = counting.event(Quantity::Cycles).unwrap_err();
                assert_eq!(why, format!("cycles: {}", reason(&refusal)));
            }
        }
    }

    #[test]
    fn a_setting_that_forbids_counting_is_named_with_its_mend() {
        let why = reason(&Refusal::Paranoid(Some(4)));
        assert!(why.contains("kernel.perf_event_paranoid=4 forbids it"), "{why}");
        assert!(why.contains("sysctl kernel.perf_event_paranoid=1"), "{why}");
        let why = reason(&Refusal::NoPmu);
        assert_eq!(why, "the kernel sees no PMU on this CPU");
    }
}
