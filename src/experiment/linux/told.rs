//! Numbers that Linux reports about its machine and this process.

use crate::host::{Lack, Told};
use crate::os::limits::{level_2_cache, memory_here};
use crate::os::maps::{Spread, randomised};
use crate::os::preempt::current_cpu;
use crate::os::sysfs::CpuMask;
use crate::os::{Root, Sysfs, Unreadable};

/// Returns the number.
///
/// # Errors
/// If the kernel does not report it.
pub(super) fn number(what: Told) -> Result<f64, Lack> {
    let cpu = current_cpu().unwrap_or(0);
    let sysfs = Sysfs::live();
    let sum = |found: Vec<usize>| found.into_iter().sum::<usize>() as f64;
    match what {
        Told::Memory => match memory_here().total {
            0 => Err(Lack::refused(
                "the kernel does not report the size of memory",
            )),
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
    let mut told = 0;
    let mut wrong = 0;
    for cache in caches {
        let (Some(line), Some(ways), Some(sets)) = (cache.line, cache.ways, cache.sets) else {
            continue;
        };
        told += 1;
        if line * ways * sets != cache.size {
            wrong += 1;
        }
    }
    if told == 0 {
        return Err(Lack::refused(
            "the kernel reports no cache with its line, ways and sets",
        ));
    }
    Ok(f64::from(wrong))
}
