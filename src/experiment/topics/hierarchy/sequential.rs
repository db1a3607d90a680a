//! Drepper 3.3.2, sequential walks: Figures 3.10, 3.11 and 3.13.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::kernel::Step;
use crate::pattern::{Layout, Order};

pub(crate) static ALL: &[Experiment] = &[FIG_3_10, FIG_3_11, FIG_3_13];

fn cases(machine: &Machine, npads: &[usize]) -> Vec<Case> {
    let of_npad = |&npad: &usize| {
        machine.working_sets().into_iter().map(move |bytes| {
            let setup = WalkSetup::follow(Layout::npad(npad), bytes, Order::Sequential);
            Case::new(format!("NPAD={npad}"), bytes as f64, setup)
        })
    };
    npads.iter().flat_map(of_npad).collect()
}

/// The largest factor between the steps in memory and in L1d of a walk with which the prefetchers keep up.
const KEPT_UP: f64 = 2.0;

const FIG_3_10: Experiment = Experiment {
    id: "D14",
    name: "drepper-fig-3.10",
    title: "A sequential walk over 8-byte elements",
    question: "How much of a miss does the hardware prefetcher hide in a sequential walk?",
    source: "Drepper 3.3.2, Figure 3.10",
    about: "The test follows a list of 8-byte elements that lie in sequence. The chart shows the \
            time per step over the working set. Eight elements share a line, so the time to bring \
            a line is spread over eight steps. Current prefetchers run farther ahead and start \
            earlier than those of the Pentium 4, so the steps at the sizes of the caches can be \
            small or missing.",
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-3.10.csv",
        machine: PENTIUM_4,
        x: "working_set_bytes",
        columns: &[("value", "NPAD=0")],
    }]),
    cases: |machine| cases(machine, &[0]),
    events: events::WALK,
    claims: &[
        // Load times after a hit in L1d are around 4 cycles on the Pentium 4.
        measured(
            "D14.1",
            drepper("3.3.2, Figure 3.10"),
            "a sequential step in L1d takes the published load-to-use latency of this core (10 % \
             allowed)",
            |e| {
                let level = e.level("NPAD=0", e.machine.ranges.l1)?;
                let published = e.machine.published_latency(*level)?;
                between("core cycles per step in L1d", level, published * 0.9, published * 1.1)
            },
        )
        .then(4.0, PENTIUM_4),
        // Effective prefetching keeps memory at 9 cycles, where an access takes 200 and more.
        measured(
            "D14.2",
            drepper("3.3.2, Figure 3.10"),
            "prefetching keeps a sequential step of 8 bytes in memory below 4 times the time of a \
             step in L1d",
            |e| {
                let e = e.in_time();
                let slower = ratio(e.in_memory("NPAD=0"), e.level("NPAD=0", e.machine.ranges.l1)?)?;
                let judged = at_most("memory over L1d", slower, 4.0);
                // Between this and the threshold the walk also waits for memory.
                match slower.hi < KEPT_UP {
                    true => noted(judged, "the prefetchers keep up with the walk"),
                    false => judged,
                }
            },
        )
        .then(2.23, PENTIUM_4)
        .takeaway(
            Shown::Times,
            Touches::Most,
            "A sequential step in memory over one in L1d",
            "A sequential walk takes {now} as long in memory as in L1d",
        )
        .advice(
            "Read memory in sequence: prefetchers and the other elements of a line then hide part \
             of the latency.",
            "Sequential order alone does not hide the latency of memory: make elements smaller, or \
             work in blocks that fit a cache.",
        )
        .failing("The prefetchers do not keep up with a sequential walk."),
        // Three distinct levels: up to 2^14 bytes, to 2^20, and beyond; 4, 8 to 9, and 9 cycles.
        measured(
            "D14.3",
            drepper("3.3.2, Figure 3.10"),
            "a sequential walk over 8-byte elements shows the caches: a step in L2 takes more than \
             1.1 times as long as in L1d, and a step in memory more than 1.1 times as long as in \
             L2",
            |e| {
                let e = e.in_time();
                let ranges = &e.machine.ranges;
                let near = e.level("NPAD=0", ranges.l1)?;
                let l2 = e.level("NPAD=0", ranges.l2)?;
                all_of([
                    at_least("L2 over L1d", ratio(&l2, near), 1.1),
                    at_least("memory over L2", ratio(e.in_memory("NPAD=0"), l2), 1.1),
                ])
            },
        )
        .then(1.95, PENTIUM_4)
        .failing(
            "Prefetching and eight elements per line hide at least one level of the hierarchy.",
        ),
        // One would expect the 14 cycles of an access to L2, but about 9 suffice: the next line is
        // halfway loaded when it is used.
        measured(
            "D14.4",
            drepper("3.3.2, Figure 3.10"),
            "a sequential step of 8 bytes in L2 takes less than 0.75 times as long as a random \
             access to L2",
            |e| {
                let l2 = e.machine.ranges.l2;
                let access = e.machine.access_in(l2)?;
                let step = e.level("NPAD=0", l2)?;
                at_most("a sequential step over a random access", ratio(step, access), 0.75)
            },
        )
        .then(0.56, PENTIUM_4),
    ],
    ..Experiment::PLAIN
};

const FIG_3_11: Experiment = Experiment {
    id: "D15",
    name: "drepper-fig-3.11",
    title: "A sequential walk over elements of 8 to 256 bytes",
    question: "How much does the distance between elements cost in a sequential walk?",
    source: "Drepper 3.3.2, Figure 3.11",
    about: "The test follows sequential lists of elements of 8, 64, 128 and 256 bytes; NPAD is the \
            number of padding words in an element. The chart shows the time per step over the \
            working set. With 64 bytes or more, every step needs a new line, so the rate at which \
            lines arrive limits the walk. Elements of 128 and 256 bytes can also outrun a \
            prefetcher that follows neighbouring lines inside a 4 KiB page. The neighbouring lines \
            that it brings are then wasted.",
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-3.11.csv",
        machine: PENTIUM_4,
        x: "working_set_bytes",
        columns: &[
            ("NPAD=0", "NPAD=0"),
            ("NPAD=7", "NPAD=7"),
            ("NPAD=15", "NPAD=15"),
            ("NPAD=31", "NPAD=31"),
        ],
    }]),
    cases: |machine| cases(machine, &[0, 7, 15, 31]),
    events: events::WALK,
    claims: &[
        // Beyond L2 the four lines vary widely: 9, 46, 145 and 320 cycles for elements of 8, 64,
        // 128 and 256 bytes.
        measured(
            "D15.1",
            drepper("3.3.2, Figure 3.11"),
            "in memory, a sequential step takes at least 10 % longer with every larger distance of \
             the elements: 8, 64, 128 and 256 bytes",
            |e| {
                let series = ["NPAD=0", "NPAD=7", "NPAD=15", "NPAD=31"];
                let judged = all_of(series.windows(2).map(|pair| {
                    let longer = ratio(e.in_memory(pair[1]), e.in_memory(pair[0]));
                    at_least(&format!("{} over {}", pair[1], pair[0]), longer, LONGER)
                }))?;
                match held_up(e)? {
                    Some(held_up) => noted(Ok(judged), held_up),
                    None => Ok(judged),
                }
            },
        )
        .then_between(5.1, 5.2, PENTIUM_4),
        // From NPAD=7 on, each element needs its own line, and the prefetcher cannot do much: 46
        // cycles instead of 9.
        measured(
            "D15.2",
            drepper("3.3.2, Figure 3.11"),
            "in memory, a sequential walk with a new line at every step takes more than twice as \
             long per step as a walk with a new line at every eighth step",
            |e| {
                let dearer = ratio(e.in_memory("NPAD=7"), e.in_memory("NPAD=0"));
                let judged = at_least("NPAD=7 over NPAD=0", dearer, 2.0)?;
                match held_up(e)? {
                    Some(held_up) => noted(Ok(judged), held_up),
                    None if judged.verdict == Verdict::DoesNotHold => noted(
                        Ok(judged),
                        "the prefetchers bring whole lines nearly as fast as the walk reads words",
                    ),
                    None => Ok(judged),
                }
            },
        )
        .then_between(5.1, 5.2, PENTIUM_4)
        .takeaway(
            Shown::Times,
            Touches::Many,
            "One word of each line over all eight, sequential",
            "Using one word of each line takes {now} as long per step as using all eight",
        )
        .advice(
            "Pack the data that a loop reads into the same lines: a half-used line costs as much \
             as a full line.",
            "Pack the data all the same: a sparse walk takes little longer per step, but reads \
             eight times as many lines for as many elements, and fills the caches with them.",
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns a note if the walk over words waits longer for memory, per line, than a step of the walk over
/// lines takes in all. Memory then limits both walks, and their ratio is not the cost of a sparse line.
fn held_up(e: &Evidence<'_>) -> Testable<Option<String>> {
    const WORDS: &str = "NPAD=0";
    let near = e.level(WORDS, e.machine.ranges.l1)?;
    // Eight of its elements share a line.
    let waits = minus(e.in_memory(WORDS)?, near).scaled(8.0);
    let line = e.in_memory("NPAD=7")?;
    Ok((waits.lo > line.hi).then(|| {
        format!(
            "memory holds up the walk over words itself: the eight steps of a line take {waits} \
             core cycles longer than in L1d, and the one step to a line with NPAD=7 takes {line}"
        )
    }))
}

const FIG_3_13: Experiment = Experiment {
    id: "D17",
    name: "drepper-fig-3.13",
    title: "A sequential walk that only reads, and two walks that write",
    question: "How much time does a write to each element add, when every written line must go \
               back to memory?",
    source: "Drepper 3.3.2, Figure 3.13",
    about: "The test walks sequential lists of 16-byte elements. Follow only reads the pointer, \
            Inc increments a word of each element, and Addnext0 adds a word of the next element to \
            each. In memory, the written lines must go back, and these write-backs take their \
            share of the bandwidth. Inside the caches, out-of-order execution can take the \
            increment off the path from pointer to pointer, so the three walks can take equal \
            times. Addnext0 loads the next element early, which acts as a prefetch where the \
            hardware has not fetched the line yet.",
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-3.13.csv",
        machine: PENTIUM_4,
        x: "working_set_bytes",
        columns: &[("Follow", "Follow"), ("Inc", "Inc"), ("Addnext0", "Addnext0")],
    }]),
    cases: |machine| {
        // The walks of a comparison are interleaved.
        let of_size = |bytes| {
            let walk = WalkSetup::follow(Layout::npad(1), bytes, Order::Sequential);
            [Step::Follow, Step::Inc, Step::Addnext0]
                .map(|step| Case::new(format!("{step:?}"), bytes as f64, walk.with(step)).in_turn())
        };
        machine.working_sets().into_iter().flat_map(of_size).collect()
    },
    events: events::WALK,
    claims: &[
        // Beyond L2, lines that were written must go back to memory before new lines come: Inc
        // takes longer than Follow.
        measured(
            "D17.1",
            drepper("3.3.2, Figure 3.13"),
            "in memory, a sequential walk that increments each element takes at least 10 % longer \
             than a walk that only reads",
            |e| {
                let slower = paired(e, "Inc", "Follow", memory(e)?);
                let judged = at_least("Inc over Follow in memory", slower, LONGER);
                // The figure's CPU has no level between L2 and memory.
                match paired(e, "Inc", "Follow", e.machine.ranges.llc) {
                    Ok(near) => noted(judged, format!("{near} in the last level")),
                    Err(_) => judged,
                }
            },
        )
        .then_between(1.9, 2.23, PENTIUM_4)
        .failing("Written lines go back to memory beside the reads, at next to no cost."),
        // Write-backs halve the bandwidth of the bus, so that 28 cycles are needed instead of 14.
        measured(
            "D17.2",
            drepper("3.3.2, Figure 3.13"),
            "in memory, a sequential walk that increments each element takes 1.3 to 3 times as \
             long as a walk that only reads",
            |e| {
                let slower = paired(e, "Inc", "Follow", memory(e)?);
                between("Inc over Follow", slower, 1.3, 3.0)
            },
        )
        .then_between(1.9, 2.23, PENTIUM_4)
        .takeaway(
            Shown::Times,
            Touches::Many,
            "Incrementing over reading, sequential, in memory",
            "A walk that writes each element takes {now} as long as a walk that only reads",
        )
        .advice(
            "Write only what has changed: each written line travels twice.",
            "Measure the cost of writes in your loop: the paper's factor does not apply here.",
        )
        .holding("Lines that go back to memory take a share of the bandwidth.")
        .failing(
            "Lines that were written go back to memory beside the reads, or take longer than the \
             reads do.",
        ),
        // Addnext0 runs faster than Inc for some sizes, because its load of the next element is a
        // forced prefetch.
        measured(
            "D17.3",
            drepper("3.3.2, Figure 3.13"),
            "in L2, a walk that adds the next element to each (Addnext0) is no slower than a walk \
             that increments each (5 % allowed)",
            |e| {
                let l2 = e.machine.ranges.l2;
                at_most("Addnext0 over Inc", paired(e, "Addnext0", "Inc", l2), 1.05)
            },
        )
        .then_between(0.64, 0.70, PENTIUM_4),
        // Addnext0 performs as well as the plain walk as long as the working set fits into L2.
        measured(
            "D17.4",
            drepper("3.3.2, Figure 3.13"),
            "in L2, a walk that adds the next element to each (Addnext0) takes as long as a walk \
             that only reads (0.9 to 1.1 times)",
            |e| {
                let slower = paired(e, "Addnext0", "Follow", e.machine.ranges.l2);
                between("Addnext0 over Follow", slower, 0.9, 1.1)
            },
        )
        .then_between(0.99, 1.08, PENTIUM_4),
        // Addnext0 outgrows L2 sooner than Inc, because it needs more data: from L2 to twice its size,
        // 10.5 cycles become 29, and 16 of Inc become 23.
        measured(
            "D17.5",
            drepper("3.3.2, Figure 3.13"),
            "a walk that adds the next element to each (Addnext0) outgrows L2 sooner than a walk \
             that increments each: from L2 to twice its size, the time of a step grows more than \
             1.02 times as much",
            |e| {
                let within = paired(e, "Addnext0", "Inc", e.machine.ranges.l2)?;
                let l2 = e.machine.ranges.capacities.get(1);
                let bytes = l2.map_or(0.0, Capacity::whole);
                let mut points = e.series("Addnext0")?.into_iter();
                let found = points.find(|(x, _)| bytes > 0.0 && *x >= 2.0 * bytes);
                let (x, _) = found.ok_or_else(|| {
                    Untestable::because("no working set of twice the size of L2 was measured")
                })?;
                let slower = paired_at(e, "Addnext0", "Inc", x)?;
                let what =
                    format!("growth of Addnext0 from L2 to {:.0} KiB over that of Inc", x / 1024.0);
                // The walks may differ in L2 already, where neither waits for memory.
                at_least(&what, ratio(slower, within), 1.02)
            },
        )
        .then_between(1.77, 1.94, PENTIUM_4)
        .failing(
            "When the walk comes to the next element, Addnext0 has it in a cache: it needs no more \
             room than Inc.",
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the memory size as a range. Its times do not depend on how much of a shared last level
/// the ladder found.
fn memory(e: &Evidence<'_>) -> Testable<Range> {
    Ok(Range::at(e.machine.memory_size()?))
}
