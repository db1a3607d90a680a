//! Drepper 6.3.2: a compiler that puts prefetches into loops over arrays.

// Calls machine code that the C compiler has just produced.
#![allow(unsafe_code)]

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::kernel::{Access, Kernel, Work};
use crate::mem::{LINE, Region};
use crate::os::{Code, Pages};
use crate::stats::Interval;
use std::fs::DirBuilder;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[LOOP_ARRAYS];

/// The compiler's option.
const OPTION: &str = "-fprefetch-loop-arrays";

const WITHOUT: &str = "compiled without the option";
const WITH: &str = "compiled with -fprefetch-loop-arrays";
const LEFT_OUT: &str = "with the option, its prefetches left out";

/// The series of the sums.
const SERIES: [(&str, Compiled); 3] = [
    (WITHOUT, Compiled::Plain),
    (WITH, Compiled::Prefetching),
    (LEFT_OUT, Compiled::LeftOut),
];

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
    seen: &[],
    plot: Some(Plot::bars(
        Axis::bytes("array"),
        Axis::linear("time per line"),
        Unit::CoreCycles,
    )),
    cases: |machine| {
        let mut cases = Vec::new();
        for bytes in [SMALL, machine.in_memory()] {
            for (series, compiled) in SERIES {
                let setup = SumSetup { bytes, compiled };
                cases.push(Case::new(series, bytes as f64, setup).in_turn());
            }
        }
        for (argument, name) in (0..).zip(PREFETCHES) {
            let setup = CountSetup {
                name,
                bytes: 0,
                count: |_, index| Ok(prefetches(&SERIES[index as usize].1.assembly()?) as f64),
                argument,
            };
            cases.push(Case::new(name, 0.0, setup));
        }
        cases
    },
    curves: |e| {
        let mut curves = plain_curves(e);
        curves.retain(|curve| !PREFETCHES.contains(&curve.label.as_str()));
        curves
    },
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
        // The compiler decides whether prefetching makes sense.
        measured(
            "E39.2",
            drepper("6.3.2"),
            "in memory, the sum of an array takes at least 3 % less time if gcc compiles its loop \
             with -fprefetch-loop-arrays than without",
            |e| {
                let bytes = e.machine.in_memory();
                e.machine.place_in_memory(bytes)?;
                at_most(
                    "with the option over without",
                    with_over(e, WITHOUT, bytes),
                    0.97,
                )
            },
        )
        .failing(
            "The hardware prefetchers follow the array by themselves, and the compiler's \
             prefetches bring its lines no earlier.",
        ),
        // For small arrays the option can be a disadvantage.
        measured(
            "E39.3",
            drepper("6.3.2"),
            "the sum of an array of 1 KiB takes at least 3 % more time if gcc compiles its loop \
             with -fprefetch-loop-arrays than without",
            |e| {
                at_least(
                    "with the option over without",
                    with_over(e, WITHOUT, SMALL),
                    1.03,
                )
            },
        )
        .failing("Unrolling the loop saves at least as much time as the prefetches cost."),
        measured(
            "E39.4",
            ours("the option also unrolls the loop: what do its prefetches save by themselves?"),
            "in memory, the sum of an array takes at least 3 % less time with the prefetches of \
             -fprefetch-loop-arrays than with the same unrolled loop without them",
            |e| {
                let bytes = e.machine.in_memory();
                e.machine.place_in_memory(bytes)?;
                at_most("prefetching over not", with_over(e, LEFT_OUT, bytes), 0.97)
            },
        )
        .failing(
            "The option's gain or loss in memory comes from the unrolling, not from the \
             prefetches.",
        ),
        measured(
            "E39.5",
            ours("the option also unrolls the loop: what do its prefetches cost by themselves?"),
            "the sum of an array of 1 KiB takes at least 3 % more time with the prefetches of \
             -fprefetch-loop-arrays than with the same unrolled loop without them",
            |e| at_least("prefetching over not", with_over(e, LEFT_OUT, SMALL), 1.03),
        ),
    ],
};

/// The time per line with the option over that of another loop.
fn with_over(e: &Evidence<'_>, other: &str, bytes: usize) -> Result<Interval, Untestable> {
    let x = bytes as f64;
    // If a point is missing, its own reason is reported.
    e.at(other, x)?;
    e.at(WITH, x)?;
    paired(e, WITH, other, Range { lo: x, hi: x })
}

/// How the loop is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compiled {
    /// The plain loop.
    Plain,
    /// With prefetches.
    Prefetching,
    /// With prefetches, which are then removed: this leaves the option's other changes.
    LeftOut,
}

/// An array that compiled C sums. An operation is a line of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SumSetup {
    /// Bytes of the array.
    pub bytes: usize,
    /// How its sum is compiled.
    pub compiled: Compiled,
}

impl Setup for SumSetup {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let compiled = self.compiled.code()?;
        let code = Code::new(compiled.len(), Pages::Base, |bytes| {
            bytes[..compiled.len()].copy_from_slice(compiled);
        })?;
        let lines = self.bytes / LINE;
        let numbers = &mut region.into_u32s()[..lines * NUMBERS];
        for (index, number) in numbers.iter_mut().enumerate() {
            *number = (index as u32).wrapping_mul(0x9E37_79B9);
        }
        let mut sum = CompiledSum {
            code,
            numbers,
            at: 0,
        };
        // The command `gcc` may start another compiler: the sum is checked before it is timed.
        let expected = sum.trace(1, &mut |_| ());
        sum.at = 0;
        if sum.run(1) != expected {
            return Err(Untestable(
                "the compiled function returned a wrong sum".to_owned(),
            ));
        }
        Ok(Workload::steady(sum, lines as u64))
    }
}

/// Numbers of a line.
const NUMBERS: usize = LINE / size_of::<u32>();

/// The function in C.
const SOURCE: &str = "\
struct array { const unsigned *first; unsigned long count; };
unsigned long sum(const struct array *array)
{
    const unsigned *numbers = array->first;
    unsigned long count = array->count, sum = 0, i;
    for (i = 0; i < count; i++)
        sum += numbers[i];
    return sum;
}
";

#[repr(C)]
struct Array {
    first: *const u32,
    count: u64,
}

struct CompiledSum<'m> {
    code: Code,
    numbers: &'m [u32],
    /// The line at which the next call continues.
    at: usize,
}

impl CompiledSum<'_> {
    /// The numbers of the next lines: at most `most` lines, and none beyond the end.
    fn next(&mut self, most: u64) -> (usize, &[u32]) {
        let lines = self.numbers.len() / NUMBERS;
        let first = self.at;
        let count = (lines - first).min(usize::try_from(most).unwrap_or(lines));
        self.at = (first + count) % lines;
        (first, &self.numbers[first * NUMBERS..][..count * NUMBERS])
    }
}

impl Kernel for CompiledSum<'_> {
    /// Returns the sum of the numbers on the lines.
    fn run(&mut self, operations: u64) -> u64 {
        let (mut left, mut sum) = (operations, 0_u64);
        while left > 0 {
            let (_, numbers) = self.next(left);
            left -= (numbers.len() / NUMBERS) as u64;
            let array = Array {
                first: numbers.as_ptr(),
                count: numbers.len() as u64,
            };
            let argument = (&raw const array).addr() as u64;
            // SAFETY: at 0 lies gcc's code of `SOURCE` for x86-64, alone and complete: a System V
            // function of a pointer to an array, which reads the array's numbers.
            sum = sum.wrapping_add(unsafe { self.code.call(0, argument) });
        }
        sum
    }

    fn work(&self) -> Work {
        Work {
            loads: NUMBERS as u32,
            bytes_read: LINE as u32,
            ..Work::default()
        }
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

impl Compiled {
    /// The function in assembly.
    fn assembly(self) -> Result<String, Untestable> {
        let option = (self != Compiled::Plain).then_some(OPTION);
        let mut arguments = vec![
            "-x",
            "c",
            "-O2",
            "-ffreestanding",
            "-fno-pic",
            "-S",
            "-o",
            "-",
        ];
        arguments.extend(["-fcf-protection=none", "-fno-stack-protector"]);
        arguments.push("-fno-asynchronous-unwind-tables");
        arguments.extend(option);
        let assembly = gcc(&arguments, SOURCE)?;
        let assembly = String::from_utf8_lossy(&assembly);
        let left_out = |line: &&str| self == Compiled::LeftOut && is_prefetch(line);
        let lines = assembly.lines().filter(|line| !left_out(line));
        Ok(lines.flat_map(|line| [line, "\n"]).collect())
    }

    /// The function's machine code, compiled once per process.
    fn code(self) -> Result<&'static [u8], Untestable> {
        static MADE: [OnceLock<Result<Vec<u8>, Untestable>>; 3] = [const { OnceLock::new() }; 3];
        let made = MADE[self as usize].get_or_init(|| linked(&self.assembly()?));
        made.as_deref().map_err(Untestable::clone)
    }
}

fn is_prefetch(line: &str) -> bool {
    line.trim_start().starts_with("prefetch")
}

/// The prefetches in an assembly source.
fn prefetches(assembly: &str) -> usize {
    assembly.lines().filter(|line| is_prefetch(line)).count()
}

/// Runs gcc on an input, and returns its standard output.
fn gcc(arguments: &[&str], input: &str) -> Result<Vec<u8>, Untestable> {
    let failed = |error| Untestable(format!("gcc: {error}"));
    let machine = Command::new("gcc").arg("-dumpmachine").output();
    let machine = machine.map_err(failed)?.stdout;
    if !machine.starts_with(b"x86_64") {
        let machine = String::from_utf8_lossy(&machine).into_owned();
        return Err(Untestable(format!("gcc compiles for {}", machine.trim())));
    }
    let mut child = Command::new("gcc")
        .arg("-m64")
        .args(arguments)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut pipe) = child.stdin.take() {
        // If gcc ends before it has read everything, its own message says why.
        let _ = pipe.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().next().unwrap_or("no message").to_owned();
        return Err(Untestable(format!("gcc: {}, {first}", output.status)));
    }
    Ok(output.stdout)
}

/// The function alone, linked for address 0. It refers to no address, so it runs anywhere.
fn linked(assembly: &str) -> Result<Vec<u8>, Untestable> {
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let name = format!("linefill-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    // A folder of this name that exists already is an error: its contents would be executed.
    DirBuilder::new().mode(0o700).create(&folder)?;
    let code = linked_in(&folder, assembly);
    std::fs::remove_dir_all(&folder)?;
    code
}

fn linked_in(folder: &Path, assembly: &str) -> Result<Vec<u8>, Untestable> {
    let output = folder.join("sum.bin");
    let Some(name) = output.to_str() else {
        return Err(Untestable(
            "the temporary folder's name is not UTF-8".to_owned(),
        ));
    };
    let linker = "-Wl,--oformat=binary,--build-id=none,-Ttext=0,-e0";
    gcc(
        &[
            "-x",
            "assembler",
            "-nostdlib",
            "-static",
            linker,
            "-o",
            name,
        ],
        assembly,
    )?;
    let code = std::fs::read(&output)?;
    match code.is_empty() || code.len() > MOST {
        true => Err(Untestable(format!(
            "gcc produced {} bytes of code",
            code.len()
        ))),
        false => Ok(code),
    }
}

/// More bytes than any compiler produces for the function.
const MOST: usize = 4096;
