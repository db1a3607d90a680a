//! Drepper 3 and 3.1: the size of the cache in relation to memory, and who shares which cache
//! (Figures 3.1 to 3.3); 3.5.3: how cores share the levels beyond the first; 6.3.4: how a program
//! finds the hyper-threads of its core and the size of L2.

use crate::experiment::claim::verdict::told_by_hardware;
use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::host::{Arrangement, Sharing, Told};

pub(crate) static ALL: &[Experiment] = &[CACHE_RATIO, SCHEMATICS, ARRANGEMENT, SIBLINGS];

const CACHE: &str = "bytes of all last-level caches";
const INSTANCES: &str = "last-level caches";
const MEMORY: &str = "bytes of memory";

/// Returns a number of caches or of their bytes, if the system describes a cache.
fn described(number: u64) -> Testable<f64> {
    match number {
        0 => Err(Untestable("the system describes no cache".to_owned())),
        number => Ok(number as f64),
    }
}

const CACHE_RATIO: Experiment = Experiment {
    id: "D2",
    name: "drepper-3-cache-ratio",
    title: "The size of the cache in relation to memory",
    question: "Is the cache still about a thousandth of main memory?",
    source: "Drepper 3: \"the cache size has always been around 1/1000th of the size of the main \
             memory (today: 4MB cache and 4GB main memory)\"",
    about: "The size of main memory is divided by the sizes of all last-level caches together, as \
            the kernel reports them. Dies and cores of two kinds may have last levels of different \
            sizes. Desktops with 32 GiB of memory and 32 MiB of last level follow the paper's \
            rule. Servers have a last level of a few hundred MiB to more than a GiB, beside TiBs \
            of memory. A virtual machine sees the whole cache of its host and only its own part of \
            the memory, so its ratio says nothing about the hardware.",
    cases: |_| {
        vec![
            CountSetup::asked(CACHE, 0, |host, _| described(host.sharing()?.last_level_bytes))
                .at(0.0),
            CountSetup::asked(INSTANCES, 0, |host, _| {
                let sharing = host.sharing()?;
                described((sharing.last_levels * sharing.packages) as u64)
            })
            .at(0.0),
            CountSetup::told(MEMORY, Told::Memory).at(0.0),
        ]
    },
    // The size of the cache has always been around a thousandth of main memory: 4 MB and 4 GB.
    claims: &[reported(
        "D2.1",
        drepper("3"),
        "main memory is around 1000 times as large as all last-level caches together (500 to 2000 \
         times)",
        |e| {
            told_by_hardware(e)?;
            let caches = count(e, INSTANCES)?.middle();
            let ratio = count(e, MEMORY)?.ratio(*count(e, CACHE)?);
            let ratio = ratio.ok_or_else(|| Untestable("a size is not positive".to_owned()))?;
            noted(
                between("memory over all last levels", ratio, 500.0, 2000.0),
                format!("last-level caches: {caches}"),
            )
        },
    )
    .then(1024.0, "4 MB of cache, 4 GB of memory (2007)")],
    ..Experiment::PLAIN
};

const THREADS: &str = "hyper-threads per core";
const CORES: &str = "cores";
const PACKAGES: &str = "processors";
const LEVELS: &str = "levels of cache";
const SPLIT: &str = "caches of the first level";
const DIVIDED: &str = "cores whose hyper-threads do not share one L1d";
const JOINT: &str = "L1d caches that serve several cores";
const LAST: &str = "last-level caches per processor";
const ACROSS: &str = "caches that serve several processors";

/// The name of a quantity, and its value in the kernel's description.
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
    question: "Do the threads of a core share the first level, cores the last level, and \
               processors no cache?",
    source: "Drepper 3.1, Figures 3.1 (one cache between core and memory), 3.2 (three levels, with \
             L1d and L1i apart) and 3.3 (two processors of two cores of two threads)",
    about: "The test counts threads, cores, processors and caches as the kernel reports them. \
            Since the paper, L2 has moved from the processor back to the core, and cores share the \
            third level. If a processor consists of several dies or core complexes, each of them \
            has its own last level. A virtual machine sees an arrangement that its host chooses, \
            which says nothing about the hardware.",
    cases: |_| {
        let each = COUNTED.iter().zip(0..);
        each.map(|((name, _), index)| {
            let setup = CountSetup::asked(name, index, |host, index| {
                let (_, find) = COUNTED[index as usize];
                Ok(find(&host.sharing()?) as f64)
            });
            setup.at(0.0)
        })
        .collect()
    },
    claims: &[
        // Three levels of cache, the first divided into L1d and L1i.
        reported(
            "D3.1",
            drepper("3.1, Figure 3.2"),
            "the system reports three levels of cache, with the first level divided into L1d and \
             L1i",
            |e| {
                count(e, LEVELS)?;
                told_by_hardware(e)?;
                all_of([
                    between(LEVELS, count(e, LEVELS), 3.0, 3.0),
                    between(SPLIT, count(e, SPLIT), 2.0, 2.0),
                ])
            },
        )
        .then(3.0, ""),
        // The threads of a core share the level 1 caches.
        reported(
            "D3.2",
            drepper("3.1, Figure 3.3"),
            "the hyper-threads of a core share its first-level caches, as the system reports",
            |e| {
                several(e, THREADS, "no core shows more than one hyper-thread")?;
                between(DIVIDED, count(e, DIVIDED), 0.0, 0.0)
            },
        ),
        // The cores have individual level 1 caches.
        reported(
            "D3.3",
            drepper("3.1, Figure 3.3"),
            "every core has first-level caches of its own, as the system reports",
            |e| {
                several(e, CORES, "the system has only one core")?;
                between(JOINT, count(e, JOINT), 0.0, 0.0)
            },
        ),
        // All cores of the CPU share the higher-level caches.
        reported(
            "D3.4",
            drepper("3.1, Figure 3.3"),
            "all cores of a processor share one last-level cache, as the system reports",
            |e| {
                several(e, CORES, "the system has only one core")?;
                between(LAST, count(e, LAST), 1.0, 1.0)
            },
        ),
        // The two processors do not share any caches.
        reported(
            "D3.5",
            drepper("3.1, Figure 3.3"),
            "two processors share no cache, as the system reports",
            |e| {
                several(e, PACKAGES, "the system has only one processor")?;
                between(ACROSS, count(e, ACROSS), 0.0, 0.0)
            },
        ),
    ],
    ..Experiment::PLAIN
};

fn count(e: &Evidence<'_>, name: &str) -> Testable<Reading> {
    e.at(name, 0.0)
}

/// Checks that there are two or more of the things that a claim is about, as the hardware reports them.
fn several(e: &Evidence<'_>, name: &str, otherwise: &str) -> Testable<()> {
    match count(e, name)?.hi < 2.0 {
        true => Err(Untestable(otherwise.to_owned())),
        false => told_by_hardware(e),
    }
}

const ARRANGED: &str = "arrangement of the caches";

/// Returns the number of an arrangement, which is 1 for the first.
fn number(of: Arrangement) -> f64 {
    let index = Arrangement::ALL.iter().position(|other| *other == of);
    index.map_or(0.0, |index| index as f64 + 1.0)
}

const ARRANGEMENT: Experiment = Experiment {
    id: "D43",
    name: "drepper-3.5.3-placement",
    title: "How cores share the caches beyond the first level",
    question: "Are the caches of a current processor arranged in one of the ways of 2007?",
    source: "Drepper 3.5.3: early multi-core processors have separate L2 caches and none beyond; \
             Intel's dual cores share one L2, and its quad cores have one L2 for each pair of \
             cores; AMD's family 10h has separate L2 caches and one shared L3",
    about: "The test reads `shared_cpu_map` of every CPU and numbers the arrangement. 1: each core \
            has its own L2, without an L3. 2: all cores share one L2, without an L3. 3: groups of \
            cores share an L2, without an L3. 4: each core has an L2, and all share one L3. 5: \
            each core has an L2, and there are several L3. 6: cores share an L2 below an L3. 7: \
            there is one core. Processors with several core complexes or dies have an L3 in each. \
            Threads that share data should run on the cores of one complex, and threads that do \
            not on different ones. Clusters of efficient cores share an L2. A virtual machine sees \
            an arrangement that its host chooses. D44 tests what sharing costs, and X12 what it \
            saves.",
    cases: |_| {
        vec![CountSetup::asked(ARRANGED, 0, |host, _| Ok(number(host.arrangement()?))).at(0.0)]
    },
    claims: &[
        // The four ways: separate L2 caches and none beyond; one L2 for a dual core; one L2 for
        // each pair of a quad core; separate L2 caches and a unified L3.
        reported(
            "D43.1",
            drepper("3.5.3"),
            "the caches of the cores are arranged in one of the four ways of 2007, as the \
             system reports",
            |e| between(ARRANGED, arranged(e), 1.0, 4.0),
        ),
        // Later Intel models share the L2 of dual cores, or of each pair of a quad core.
        reported(
            "D43.2",
            drepper("3.5.3"),
            "cores share an L2 cache, as on Intel's processors of 2007",
            |e| {
                let arranged = arranged(e)?;
                let shared = [Arrangement::SharedL2, Arrangement::L2OfGroups, Arrangement::L2InL3];
                let shared = shared.map(number).contains(&arranged.lo);
                let what = format!("{ARRANGED} {}; 1 if cores share an L2:", arranged.lo);
                between(&what, Interval::exact(f64::from(u8::from(shared))), 1.0, 1.0)
            },
        ),
        // AMD's family 10h has separate L2 caches and a unified L3.
        reported(
            "D43.3",
            drepper("3.5.3"),
            "each core has its own L2 cache and all cores share the L3, as on AMD's family 10h",
            |e| {
                let wanted = number(Arrangement::SharedL3);
                between(ARRANGED, arranged(e), wanted, wanted)
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the number of the arrangement, if processors have several cores.
fn arranged(e: &Evidence<'_>) -> Testable<Interval> {
    let arranged = count(e, ARRANGED)?;
    if arranged.lo == number(Arrangement::OneCore) {
        return Err(Untestable("each processor has only one core".to_owned()));
    }
    told_by_hardware(e)?;
    Ok(*arranged)
}

const ABSENT: &str = "CPUs that their own mask of level 1 leaves out";
const OTHERS: &str = "hyper-threads beside a CPU: its mask XOR itself";
const ASTRAY: &str = "CPUs whose other hyper-threads are not who shares their L1d";
const BY_SYSCONF: &str = "bytes of L2 by sysconf";
const BY_SYSFS: &str = "bytes of L2 by sysfs";
const BY_CPUID: &str = "bytes of L2 by CPUID";

const SIBLINGS: Experiment = Experiment {
    id: "E43",
    name: "drepper-libnuma",
    title: "How a program finds the hyper-threads of its core and the size of L2",
    question: "Does the mask of a core's hyper-threads, without the CPU itself, name the CPUs for \
               a helper thread, and do all sources agree on the size of L2?",
    source: "Drepper 6.3.4: `NUMA_cpu_level_mask` of level 1, `CPU_XOR` with the CPU itself, and \
             `sysconf(_SC_LEVEL2_CACHE_SIZE)`",
    about: "The paper's libNUMA never became part of a system. The kernel's `thread_siblings` is \
            the same mask: all hyper-threads of a CPU's core. XOR with the CPU itself leaves the \
            CPUs that share its L1d, and a helper thread should run on one of them. If a core has \
            one thread, XOR leaves nothing, and the paper then does without a helper. `sysconf` \
            asks CPUID for the size of L2, and so does the kernel. The two can differ in a virtual \
            machine, and between cores of two kinds.",
    cases: |machine| {
        let by_cpuid = machine.data_cache(2).map_or(0, |cache| cache.size);
        vec![
            CountSetup::told(ABSENT, Told::AbsentFromOwnMask).at(0.0),
            CountSetup::told(OTHERS, Told::OtherThreads).at(0.0),
            CountSetup::told(ASTRAY, Told::OtherThreadsAstray).at(0.0),
            CountSetup::told(BY_SYSCONF, Told::Level2BySysconf).at(0.0),
            CountSetup::told(BY_SYSFS, Told::Level2).at(0.0),
            CountSetup::computed(BY_CPUID, by_cpuid, |bytes| match bytes {
                0 => Err(Untestable("CPUID reports no L2".to_owned())),
                bytes => Ok(bytes as f64),
            })
            .at(0.0),
        ]
    },
    claims: &[
        // The mask of level 1 for a CPU, XOR the CPU itself, leaves the other hyper-threads: so
        // the CPU is in its mask.
        reported(
            "E43.1",
            drepper("6.3.4"),
            "the kernel's mask of a CPU's hyper-threads contains the CPU itself, so XOR removes it",
            |e| between(ABSENT, count(e, ABSENT), 0.0, 0.0),
        ),
        // A helper thread, which shares the cache, is bound to a CPU that XOR leaves.
        reported(
            "E43.2",
            drepper("6.3.4"),
            "the hyper-threads that XOR leaves in the kernel's mask are the CPUs that share L1d \
             with the CPU",
            |e| {
                if count(e, OTHERS)?.hi < 1.0 {
                    return Err(Untestable::because("no core has a second hyper-thread"));
                }
                told_by_hardware(e)?;
                between(ASTRAY, count(e, ASTRAY), 0.0, 0.0)
            },
        ),
        // The size of L2 is asked for by sysconf(_SC_LEVEL2_CACHE_SIZE).
        reported(
            "E43.3",
            drepper("6.3.4"),
            "sysconf, the kernel and CPUID agree on the size of L2",
            |e| {
                let told = count(e, BY_SYSCONF)?.lo;
                if told <= 0.0 {
                    return Err(Untestable("sysconf does not report the size of L2".to_owned()));
                }
                all_of([BY_SYSFS, BY_CPUID].map(|by| {
                    between(&format!("{by}, {told} by sysconf:"), count(e, by), told, told)
                }))
            },
        ),
    ],
    ..Experiment::PLAIN
};
