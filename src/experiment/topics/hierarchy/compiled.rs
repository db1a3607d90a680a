//! L2 misses of a C compiler at work: a stored trace, and the compiler that is installed here.

use crate::experiment::prelude::*;
use crate::mem::Region;
use crate::sim::trace::{Decoder, MAGIC, lackey};
use crate::sim::{Cache, Design, Geometry, GeometryError, Op, Reference, Stack};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// Which compiler's misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compiler {
    /// Misses of the stored trace, which has one set in 128 (`reference/README.md`).
    Stored,
    /// The same, in one of the trace's eight slices of sets.
    StoredSlice(u8),
    /// Misses of the installed compiler, traced by valgrind.
    Installed,
    /// The same, in the sets that the stored trace keeps, times 128.
    InstalledSampled,
}

/// Misses of a compiler in an L2 under LRU, behind L1i and L1d of 32 KiB and 8 ways each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompilerSetup {
    /// Which compiler's misses.
    pub of: Compiler,
    /// Bytes of L2.
    pub size: u64,
    /// Ways of L2.
    pub ways: u64,
    /// Bytes of a line: 32 or 64.
    pub line: u64,
}

impl Setup for CompilerSetup {
    fn bytes(&self) -> usize {
        0
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let misses = match self.of {
            Compiler::Stored => self.in_stored_trace(|_| true)?,
            Compiler::StoredSlice(index) => {
                let slice = KEPT.get(usize::from(index)).copied();
                self.in_stored_trace(|address| Some(slice_of(address)) == slice)?
            }
            Compiler::Installed => self.of_installed(|levels| &levels.behind)?,
            Compiler::InstalledSampled => self.of_installed(|levels| &levels.sampled)? * SAMPLED,
        };
        Ok(Workload::Count(misses))
    }
}

/// The stored trace: what missed in L1, by size of line.
const STORED: [(u64, &[u8]); 2] = [
    (
        32,
        include_bytes!("../../../../reference/gcc-l1-misses-32.lft"),
    ),
    (
        64,
        include_bytes!("../../../../reference/gcc-l1-misses-64.lft"),
    ),
];

/// The stored trace has one set of this many.
const SAMPLED: f64 = 128.0;

/// The sets of the stored trace: addresses whose bits 6 to 15 are one of these numbers, which were
/// drawn at random.
const KEPT: [u64; 8] = [198, 249, 445, 492, 650, 691, 919, 956];

/// Whether the stored trace keeps what lies at an address.
fn is_kept(address: u64) -> bool {
    KEPT.contains(&slice_of(address))
}

fn slice_of(address: u64) -> u64 {
    address >> 6 & 1023
}

/// How many slices it keeps.
pub(crate) const SLICES: u8 = KEPT.len() as u8;

impl CompilerSetup {
    fn in_stored_trace(&self, counts: impl Fn(u64) -> bool) -> Result<f64, Untestable> {
        let stored = STORED.iter().find(|(line, _)| *line == self.line);
        let records = stored.and_then(|(_, bytes)| bytes.strip_prefix(MAGIC));
        let records = records.ok_or_else(|| self.no_trace())?;
        let geometry = Geometry::new(self.size, self.ways, self.line);
        let mut cache = Cache::new(Design::lru(geometry?));
        // Sets are independent of each other, so sets that are not counted can be left out.
        let taken = Decoder::default().decode(records, |reference| {
            if counts(reference.address) {
                cache.reference(reference);
            }
        });
        match taken? {
            all if all == records.len() => Ok(cache.counters().misses() as f64 * SAMPLED),
            part => Err(Untestable(format!(
                "the stored trace cannot be decoded beyond byte {part}"
            ))),
        }
    }

    fn of_installed(&self, behind: fn(&Levels) -> &[Stack]) -> Result<f64, Untestable> {
        static TRACED: OnceLock<Result<Vec<Levels>, Untestable>> = OnceLock::new();
        let levels = TRACED.get_or_init(trace_installed).as_ref();
        let levels = levels.map_err(Untestable::clone)?;
        let sets = self.size / self.ways / self.line;
        let of_line = levels.iter().filter(|levels| levels.line == self.line);
        let stack = of_line
            .flat_map(behind)
            .find(|stack| stack.largest().sets() == sets)
            .ok_or_else(|| self.no_trace())?;
        Ok(stack.misses(self.ways as usize) as f64)
    }

    fn no_trace(&self) -> Untestable {
        let CompilerSetup {
            size, ways, line, ..
        } = self;
        Untestable(format!(
            "there is no trace for an L2 of {size} bytes with {ways} ways and lines of {line} bytes"
        ))
    }
}

/// L1i, L1d, and behind them L2 of every number of sets and ways of Table 3.1 at once.
struct Levels {
    line: u64,
    instructions: Cache,
    data: Cache,
    behind: Vec<Stack>,
    /// The same for the sets that the stored trace keeps.
    sampled: Vec<Stack>,
}

/// The most ways of the table, and bytes of its smallest and largest caches.
const MOST_WAYS: u64 = 8;
const SIZES: [u64; 2] = [512 << 10, 16 << 20];

impl Levels {
    fn new(line: u64) -> Result<Self, GeometryError> {
        let first = Cache::new(Design::lru(Geometry::new(32 << 10, 8, line)?));
        let most_sets = SIZES[1] / line;
        let numbers = (0..).map(|k| (SIZES[0] / MOST_WAYS / line) << k);
        let stacks = numbers
            .take_while(|&sets| sets <= most_sets)
            .map(|sets| Stack::new(sets, line, MOST_WAYS));
        let behind: Vec<Stack> = stacks.collect::<Result<_, _>>()?;
        Ok(Levels {
            line,
            instructions: first.clone(),
            data: first,
            sampled: behind.clone(),
            behind,
        })
    }

    fn reference(&mut self, reference: Reference) {
        let first = match reference.op {
            Op::Fetch => &mut self.instructions,
            _ => &mut self.data,
        };
        if !first.reference(reference) {
            let kept = is_kept(reference.address);
            let sampled = self.sampled.iter_mut().filter(|_| kept);
            for stack in self.behind.iter_mut().chain(sampled) {
                stack.reference(reference);
            }
        }
    }
}

/// References after which the trace ends: lackey prints a million in a second or two.
const MOST_REFERENCES: u64 = 40_000_000;

/// Traces the installed compiler once.
fn trace_installed() -> Result<Vec<Levels>, Untestable> {
    let levels = STORED.map(|(line, _)| Levels::new(line));
    let levels: Result<Vec<Levels>, GeometryError> = levels.into_iter().collect();
    let mut levels = levels?;
    let mut child = compile()?;
    let mut trace = child.stdout.take().ok_or_else(no_output)?;
    let mut bytes = vec![0; 1 << 20];
    let (mut held, mut references) = (0, 0);
    while references < MOST_REFERENCES {
        let read = trace.read(&mut bytes[held..]);
        let read = read?;
        if read == 0 {
            break;
        }
        let end = held + read;
        let whole = bytes[..end].iter().rposition(|&byte| byte == b'\n');
        let whole = whole.map_or(0, |last| last + 1);
        for line in bytes[..whole].split(|&byte| byte == b'\n') {
            if let Some(reference) = lackey::parse(line) {
                references += 1;
                levels.iter_mut().for_each(|each| each.reference(reference));
            }
        }
        bytes.copy_within(whole..end, 0);
        held = end - whole;
    }
    let enough = references >= MOST_REFERENCES;
    if enough {
        child.kill()?;
    }
    let status = child.wait()?;
    match enough || status.success() {
        true => Ok(levels),
        false => Err(Untestable(format!(
            "the compiler failed under valgrind's lackey: {status}"
        ))),
    }
}

/// Starts the installed compiler under valgrind; the trace comes from its standard output.
fn compile() -> Result<Child, Untestable> {
    let missing = |what: &str, error| Untestable(format!("{what}: {error}"));
    let asked = Command::new("gcc")
        .arg("-print-prog-name=cc1")
        .output()
        .map_err(|error| missing("gcc", error))?;
    let compiler = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    if !compiler.starts_with('/') {
        return Err(Untestable(format!("gcc names no C compiler: `{compiler}`")));
    }
    let mut child = Command::new("valgrind")
        .args(["--tool=lackey", "--trace-mem=yes", "--log-fd=1", &compiler])
        .args(["-quiet", "-O2", "-", "-o", "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| missing("valgrind", error))?;
    let mut input = child.stdin.take().ok_or_else(no_output)?;
    // A pipe holds 64 KiB, ten times the program, so neither side waits for the other.
    input.write_all(program().as_bytes())?;
    Ok(child)
}

fn no_output() -> Untestable {
    Untestable("valgrind was started without a pipe for its input or output".to_owned())
}

/// A program for the compiler: functions with loops, branches and arithmetic.
fn program() -> String {
    let function = |k: u32| {
        format!(
            "int f{k}(int *a, int n) {{ int s = {k};\n\
             for (int i = 0; i < n; i++) {{ if (a[i] > s) s += a[i] * {}; else s ^= a[i] >> {};\n\
             if (s & {}) a[i] = s / {}; }}\n return s; }}\n",
            k + 3,
            k % 7,
            1 << (k % 9),
            k + 2
        )
    };
    (0..6).map(function).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_traces_are_whole_and_yield_what_stack_distances_yield() {
        for (line, bytes) in STORED {
            let mut levels = Levels::new(line).unwrap();
            let records = bytes.strip_prefix(MAGIC).unwrap();
            let mut references = 0_u64;
            let taken = Decoder::default().decode(records, |reference| {
                references += 1;
                assert!(is_kept(reference.address) || is_kept(reference.last()));
                for stack in &mut levels.behind {
                    stack.reference(reference);
                }
            });
            assert_eq!(taken, Ok(records.len()));
            assert!(references > 40_000);
            for (size, ways) in [(512 << 10, 1), (2 << 20, 8), (16 << 20, 1), (16 << 20, 4)] {
                let setup = CompilerSetup {
                    of: Compiler::Stored,
                    size,
                    ways,
                    line,
                };
                let sets = size / ways / line;
                let stack = levels.behind.iter().find(|s| s.largest().sets() == sets);
                let misses = stack.unwrap().misses(ways as usize) as f64 * SAMPLED;
                assert_eq!(setup.in_stored_trace(|_| true), Ok(misses));
            }
        }
    }

    #[test]
    fn a_line_without_a_trace_is_no_zero() {
        let setup = CompilerSetup {
            of: Compiler::Stored,
            size: 1 << 20,
            ways: 8,
            line: 128,
        };
        let refused = setup.in_stored_trace(|_| true);
        assert!(refused.unwrap_err().0.contains("128 bytes"));
    }
}
