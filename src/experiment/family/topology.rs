//! Drepper 3 and 3.1: how large a cache is beside memory, and who shares which (Figures 3.1 to
//! 3.3).

use crate::experiment::setup::CountSetup;
use crate::experiment::{
    Case, Claim, Evidence, Experiment, Machine, Untestable, all_of, between, plain_curves,
};
use crate::mem::Region;
use crate::os::Sysfs;
use crate::os::limits::memory_here;
use crate::os::sysfs::Sharing;
use crate::stats::Interval;

/// The rows of this family.
pub(super) static ALL: &[Experiment] = &[CACHE_RATIO, SCHEMATICS];

type Count = fn(Region<'_>, u64) -> Result<f64, Untestable>;

fn counted(name: &'static str, argument: u64, count: Count) -> Case {
    let setup = CountSetup {
        name,
        bytes: 0,
        count,
        argument,
    };
    Case::new(name, 0.0, setup)
}

const CACHE: &str = "bytes of the last level by CPUID";
const MEMORY: &str = "bytes of memory";

/// Bytes of the last level, or 0 if CPUID reports no cache.
fn last_level(machine: &Machine) -> u64 {
    let last = (1..=4).rev().find_map(|level| machine.data_cache(level));
    last.map_or(0, |cache| cache.size)
}

const CACHE_RATIO: Experiment = Experiment {
    id: "D2",
    name: "drepper-3-cache-ratio",
    title: "The size of the cache beside that of memory",
    question: "Is the cache still about a thousandth of main memory?",
    source: "Drepper 3: \"the cache size has always been around 1/1000th of the size of the main \
             memory (today: 4MB cache and 4GB main memory)\"",
    today: "Desktops still are where the rule has them: 32 MiB beside 32 GiB. Servers have from a \
            few hundred MiB to more than a GiB of last level beside their TiB. A virtual machine \
            shows the cache of its host and the memory of its own, so that its ratio says \
            nothing of either.",
    plot: None,
    cases: |machine| {
        vec![
            counted(CACHE, last_level(machine), |_, bytes| match bytes {
                0 => Err(Untestable("CPUID reports no cache".to_owned())),
                bytes => Ok(bytes as f64),
            }),
            counted(MEMORY, 0, |_, _| match memory_here().total {
                0 => Err(Untestable("the kernel does not tell".to_owned())),
                bytes => Ok(bytes as f64),
            }),
        ]
    },
    curves: plain_curves,
    events: &[],
    claims: &[Claim {
        text: "memory is around 1000 times as large as the last level: 500 to 2000 times",
        judge: |e| {
            let ratio = e.at(MEMORY, 0.0)?.ratio(e.at(CACHE, 0.0)?);
            let ratio = ratio.ok_or_else(|| Untestable("a size is not positive".to_owned()))?;
            Ok(between("memory over last level", ratio, 500.0, 2000.0))
        },
    }],
};

const THREADS: &str = "hyper-threads a core";
const CORES: &str = "cores";
const PACKAGES: &str = "processors";
const LEVELS: &str = "levels of cache";
const SPLIT: &str = "caches of the first level";
const DIVIDED: &str = "cores whose hyper-threads do not share one L1d";
const JOINT: &str = "L1d caches that serve several cores";
const LAST: &str = "last-level caches a processor";
const ACROSS: &str = "caches that serve several processors";

/// What is counted, and how it is found in what the kernel tells.
type Counted = (&'static str, fn(&Sharing) -> usize);

const COUNTED: [Counted; 9] = [
    (THREADS, |sharing| sharing.threads),
    (CORES, |sharing| sharing.cores),
    (PACKAGES, |sharing| sharing.packages),
    (LEVELS, |sharing| sharing.levels),
    (SPLIT, |sharing| 1 + usize::from(sharing.split)),
    (DIVIDED, |sharing| sharing.divided),
    (JOINT, |sharing| sharing.joint),
    (LAST, |sharing| sharing.last_levels),
    (ACROSS, |sharing| sharing.across),
];

const SCHEMATICS: Experiment = Experiment {
    id: "D3",
    name: "drepper-fig-3.1-3.3",
    title: "Who shares which cache",
    question: "Do threads share the first level, cores the last one, and processors none?",
    source: "Drepper 3.1, Figures 3.1 (one cache between core and memory), 3.2 (three levels, with \
             L1d and L1i apart) and 3.3 (two processors of two cores of two threads)",
    today: "Three levels with a divided first one are what every server and desktop has. L2 went \
            back from the processor to the core, so that it is the last level that cores share, and \
            where a processor is built of several dies or complexes, each of them has a last \
            level of its own: all cores of a processor share one on fewer and fewer machines. \
            A virtual machine is told what its host chooses.",
    plot: None,
    cases: |_| {
        let each = COUNTED.iter().zip(0..);
        each.map(|((name, _), index)| {
            counted(name, index, |_, index| {
                let sharing = Sysfs::live().sharing().map_err(Untestable::because)?;
                let (_, find) = COUNTED[index as usize];
                Ok(find(&sharing) as f64)
            })
        })
        .collect()
    },
    curves: plain_curves,
    events: &[],
    claims: &[
        Claim {
            text: "there are three levels of cache, the first of them divided into L1d and L1i",
            judge: |e| {
                Ok(all_of([
                    between(LEVELS, count(e, LEVELS)?, 3.0, 3.0),
                    between(SPLIT, count(e, SPLIT)?, 2.0, 2.0),
                ]))
            },
        },
        Claim {
            text: "the hyper-threads of a core share its first level",
            judge: |e| {
                several(e, THREADS, "no core shows more than one hyper-thread")?;
                Ok(between(DIVIDED, count(e, DIVIDED)?, 0.0, 0.0))
            },
        },
        Claim {
            text: "every core has a first level of its own",
            judge: |e| {
                several(e, CORES, "there is one core")?;
                Ok(between(JOINT, count(e, JOINT)?, 0.0, 0.0))
            },
        },
        Claim {
            text: "all cores of a processor share one last level",
            judge: |e| {
                several(e, CORES, "there is one core")?;
                Ok(between(LAST, count(e, LAST)?, 1.0, 1.0))
            },
        },
        Claim {
            text: "processors share no cache",
            judge: |e| {
                several(e, PACKAGES, "there is one processor")?;
                Ok(between(ACROSS, count(e, ACROSS)?, 0.0, 0.0))
            },
        },
    ],
};

fn count(e: &Evidence<'_>, name: &str) -> Result<Interval, Untestable> {
    e.at(name, 0.0)
}

/// Whether there are two or more of what a claim is about.
fn several(e: &Evidence<'_>, name: &str, otherwise: &str) -> Result<(), Untestable> {
    match count(e, name)?.hi < 2.0 {
        true => Err(Untestable(otherwise.to_owned())),
        false => Ok(()),
    }
}
