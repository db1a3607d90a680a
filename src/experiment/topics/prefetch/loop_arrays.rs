//! Drepper 6.3.2: a compiler that inserts prefetches into loops over arrays.

// Calls machine code that the C compiler has just produced.
#![allow(unsafe_code)]

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::host::{Code, Pages};
use crate::kernel::{Access, Kernel, Work};

#[cfg(feature = "std")]
mod gcc;

pub(crate) static ALL: &[Experiment] = &[LOOP_ARRAYS];

const WITHOUT: &str = "compiled without the option";
const WITH: &str = "compiled with -fprefetch-loop-arrays";
const LEFT_OUT: &str = "with the option, its prefetches left out";

/// The series of each way to compile the sum.
const SERIES: [(&str, Compiled); 3] =
    [(WITHOUT, Compiled::Plain), (WITH, Compiled::Prefetching), (LEFT_OUT, Compiled::LeftOut)];

const PREFETCHES: [&str; 2] = [
    "prefetches in the code without the option",
    "prefetches in the code with -fprefetch-loop-arrays",
];

/// Bytes of the small array.
const SMALL: usize = 1024;

const LOOP_ARRAYS: Experiment = Experiment {
    id: "E39",
    name: "drepper-prefetch-loop-arrays",
    title: "The compiler's own prefetches in array loops",
    question: "Do prefetches that gcc inserts into a loop over an array save time?",
    source: "Drepper 6.3.2: gcc -fprefetch-loop-arrays",
    about: "The installed gcc compiles the sum of an array twice at -O2, with the option and \
            without. With the option, gcc assumes a memory latency, derives a prefetch distance \
            from it, and unrolls the loop to prefetch each line once. A third loop is the second \
            one with its prefetches removed, so that it shows the effect of the unrolling alone. \
            The bars show an array in L1d and one in memory. Hardware prefetchers follow a plain \
            array well, which leaves little for software prefetches to gain. rustc has no such \
            option, and LLVM does not run its pass for it on x86-64.",
    plot: Some(Plot::bars(Axis::bytes("array"), Axis::linear("time per line"), Unit::CoreCycles)),
    cases: |machine| {
        let mut cases = Vec::new();
        for bytes in [SMALL, machine.in_memory()] {
            cases.extend(SERIES.map(|(series, compiled)| {
                Case::new(series, bytes as f64, SumSetup { bytes, compiled }).in_turn()
            }));
        }
        for (argument, name) in (0..).zip(PREFETCHES) {
            let setup = CountSetup::asked(name, argument, |host, index| {
                host.programs()?;
                Ok(prefetches(&SERIES[index as usize].1.assembly()?) as f64)
            });
            cases.push(setup.at(0.0));
        }
        cases
    },
    curves: |e| e.curves_of(|label| !PREFETCHES.contains(&label)),
    events: events::PREFETCHES,
    claims: &[
        // gcc emits prefetches by itself in one case, a loop over an array: it decides whether they
        // make sense and how far ahead to prefetch.
        counted(
            "E39.1",
            drepper("6.3.2"),
            "gcc puts prefetches into a loop that sums an array if -fprefetch-loop-arrays is \
             given, and none otherwise",
            |e| {
                let [without, with] = PREFETCHES;
                all_of([
                    at_least("prefetches with the option", e.at(with, 0.0), 1.0),
                    between("without it", e.at(without, 0.0), 0.0, 0.0),
                ])
            },
        ),
        measured(
            "E39.2",
            ours("the option also unrolls the loop: what does a program gain from both?"),
            "in memory, the sum of an array takes at least 3 % less time if gcc compiles its loop \
             with -fprefetch-loop-arrays than without",
            |e| {
                let x = e.machine.memory_size()?;
                at_most("with the option over without", with_over(e, WITHOUT, x), 0.97)
            },
        )
        .failing("Memory sets the pace of the sum, unrolled or not."),
        measured(
            "E39.3",
            ours("the option also unrolls the loop: does a small array lose time by both?"),
            "the sum of an array of 1 KiB takes at least 3 % more time if gcc compiles its loop \
             with -fprefetch-loop-arrays than without",
            |e| at_least("with the option over without", with_over(e, WITHOUT, SMALL as f64), 1.03),
        )
        .failing("Unrolling the loop saves at least as much time as the prefetches cost."),
        // The compiler decides whether prefetching makes sense. The unrolling of the loop is left out,
        // because the document speaks of prefetches.
        measured(
            "E39.4",
            drepper("6.3.2"),
            "in memory, the sum of an array takes at least 3 % less time with the prefetches of \
             -fprefetch-loop-arrays than with the same unrolled loop without them",
            |e| {
                let x = e.machine.memory_size()?;
                at_most("prefetching over not", with_over(e, LEFT_OUT, x), 0.97)
            },
        )
        .failing(
            "The hardware prefetchers follow the array by themselves, and the compiler's \
             prefetches bring its lines no earlier.",
        ),
        // For small arrays the option can be a disadvantage.
        measured(
            "E39.5",
            drepper("6.3.2"),
            "the sum of an array of 1 KiB takes at least 3 % more time with the prefetches of \
             -fprefetch-loop-arrays than with the same unrolled loop without them",
            |e| at_least("prefetching over not", with_over(e, LEFT_OUT, SMALL as f64), 1.03),
        )
        .failing("The core executes the prefetches beside the sum, in slots that are free."),
    ],
    ..Experiment::PLAIN
};

/// Returns the time per line with the option divided by that of another loop.
fn with_over(e: &Evidence<'_>, other: &str, x: f64) -> Testable<Interval> {
    // If a point is missing, its own reason is reported.
    e.at(other, x)?;
    e.at(WITH, x)?;
    paired(e, WITH, other, Range::at(x))
}

/// How the loop is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compiled {
    /// Without the option: the plain loop.
    Plain,
    /// With the option, which inserts prefetches.
    Prefetching,
    /// With the option, but its prefetches removed: this leaves the option's other changes.
    LeftOut,
}

/// Set-up of an array that compiled C sums up. An operation is a line of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SumSetup {
    pub bytes: usize,
    pub compiled: Compiled,
}

impl Setup for SumSetup {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let host = context.host;
        host.programs()?;
        let compiled = self.compiled.code()?;
        let mut write = |bytes: &mut [u8]| bytes[..compiled.len()].copy_from_slice(compiled);
        let code = host.code(compiled.len(), Pages::Base, &mut write)?;
        let lines = self.bytes / LINE;
        let numbers = &mut region.into_u32s()[..lines * NUMBERS];
        for (index, number) in numbers.iter_mut().enumerate() {
            *number = (index as u32).wrapping_mul(0x9E37_79B9);
        }
        let mut sum = CompiledSum { code, numbers, at: 0 };
        // The command `gcc` may start another compiler, so the sum is checked before it is timed.
        let expected = sum.trace(1, &mut |_| ());
        sum.at = 0;
        if sum.run(1) != expected {
            return Err(Untestable("the compiled function returned a wrong sum".to_owned()));
        }
        Ok(Workload::steady(sum, lines as u64))
    }
}

/// Numbers per line.
const NUMBERS: usize = LINE / size_of::<u32>();

#[repr(C)]
struct Array {
    first: *const u32,
    count: u64,
}

struct CompiledSum<'m> {
    code: Box<dyn Code>,
    numbers: &'m [u32],
    /// The line at which the next call continues.
    at: usize,
}

impl CompiledSum<'_> {
    /// Returns the index and the numbers of the next lines: at most `most` lines, none beyond the
    /// end.
    fn next(&mut self, most: u64) -> (usize, &[u32]) {
        let lines = self.numbers.len() / NUMBERS;
        let first = self.at;
        let count = (lines - first).min(usize::try_from(most).unwrap_or(lines));
        self.at = (first + count) % lines;
        (first, &self.numbers[first * NUMBERS..][..count * NUMBERS])
    }
}

impl Kernel for CompiledSum<'_> {
    /// Returns the sum of the numbers on the lines that it reads.
    fn run(&mut self, operations: u64) -> u64 {
        let function = self.code.function(0);
        let (mut left, mut sum) = (operations, 0_u64);
        while left > 0 {
            let (_, numbers) = self.next(left);
            left -= (numbers.len() / NUMBERS) as u64;
            let array = Array { first: numbers.as_ptr(), count: numbers.len() as u64 };
            let argument = (&raw const array).addr() as u64;
            // SAFETY: at offset 0 lies gcc's code of `SOURCE` for x86-64, alone and complete: a
            // System V function that takes a pointer to an array and reads the array's numbers.
            sum = sum.wrapping_add(unsafe { function(argument) });
        }
        sum
    }

    fn work(&self) -> Work {
        Work::default().load(NUMBERS as u32, (LINE / NUMBERS) as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let (mut left, mut sum) = (operations, 0_u64);
        while left > 0 {
            let (first, numbers) = self.next(left);
            for (index, number) in numbers.iter().enumerate() {
                sink(Access::load(first * LINE + index * size_of::<u32>(), 4));
                sum = sum.wrapping_add(u64::from(*number));
            }
            left -= (numbers.len() / NUMBERS) as u64;
        }
        sum
    }
}

fn is_prefetch(line: &str) -> bool {
    line.trim_start().starts_with("prefetch")
}

fn prefetches(assembly: &str) -> usize {
    assembly.lines().filter(|line| is_prefetch(line)).count()
}

#[cfg(not(feature = "std"))]
impl Compiled {
    fn assembly(self) -> Testable<String> {
        Err(Untestable::without_std())
    }

    fn code(self) -> Testable<&'static [u8]> {
        Err(Untestable::without_std())
    }
}
