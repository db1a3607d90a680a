//! The misses of the installed compiler, traced by valgrind.

use super::{CompilerSetup, KEPT, STORED, slice_of};
use crate::experiment::prelude::*;
use crate::host::Host;
use crate::sim::trace::lackey;
use crate::sim::{Cache, Design, Geometry, GeometryError, Op, Reference, Stack};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

impl CompilerSetup {
    /// Returns the misses of the installed compiler, in all sets or in the sets that the stored
    /// trace keeps.
    pub(super) fn of_installed(&self, host: &dyn Host, sampled: bool) -> Testable<f64> {
        host.programs()?;
        let levels = traced()?;
        let sets = self.size / self.ways / self.line;
        let of_line = levels.iter().filter(|levels| levels.line == self.line);
        let stack = of_line
            .flat_map(|levels| if sampled { &levels.sampled } else { &levels.behind })
            .find(|stack| stack.largest().sets() == sets)
            .ok_or_else(|| self.no_trace())?;
        Ok(stack.misses(self.ways as usize) as f64)
    }
}

/// L1i and L1d, and behind them an L2 for every number of sets and ways of Table 3.1.
pub(super) struct Levels {
    line: u64,
    instructions: Cache,
    data: Cache,
    pub(super) behind: Vec<Stack>,
    /// Like `behind`, for only the sets that the stored trace keeps.
    sampled: Vec<Stack>,
}

/// The most ways of the table, and bytes of its smallest and largest caches.
const MOST_WAYS: u64 = 8;
const SIZES: [u64; 2] = [512 << 10, 16 << 20];

impl Levels {
    pub(super) fn new(line: u64) -> Result<Self, GeometryError> {
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

/// Returns whether the stored trace keeps the set of an address.
pub(super) fn is_kept(address: u64) -> bool {
    KEPT.contains(&slice_of(address))
}

/// Returns the levels behind which the installed compiler's misses are counted, one per line size.
/// The compiler is traced once per process.
fn traced() -> Testable<&'static [Levels]> {
    static TRACED: OnceLock<Testable<Vec<Levels>>> = OnceLock::new();
    let levels = TRACED.get_or_init(|| trace(compile()?)).as_deref();
    levels.map_err(Untestable::clone)
}

/// References after which the trace ends: lackey prints a million in a second or two.
const MOST_REFERENCES: u64 = 40_000_000;

/// Traces the compiler that `child` runs under valgrind.
fn trace(mut child: Child) -> Testable<Vec<Levels>> {
    let levels = STORED.iter().map(|(line, _)| Levels::new(*line));
    let mut levels = levels.collect::<Result<Vec<_>, _>>()?;
    let traced = read_trace(&mut child, &mut levels);
    let ended = matches!(traced, Ok(references) if references < MOST_REFERENCES);
    // A child that has ended already keeps its exit status.
    if !ended {
        child.kill()?;
    }
    let status = child.wait()?;
    match traced {
        Ok(_) if !ended || status.success() => Ok(levels),
        Err(error) if status.success() || status.code().is_none() => Err(error),
        // The status of a compiler that exits at once says more than the broken pipe of its input.
        _ => Err(Untestable(format!("the compiler failed under valgrind's lackey: {status}"))),
    }
}

/// Hands the program to the compiler and reads its trace. Returns the number of references.
fn read_trace(child: &mut Child, levels: &mut [Levels]) -> Testable<u64> {
    let mut input = child.stdin.take().ok_or_else(no_output)?;
    // A pipe holds 64 KiB, ten times the program, so neither side waits for the other.
    input.write_all(program().as_bytes())?;
    drop(input);
    let trace = child.stdout.take().ok_or_else(no_output)?;
    let mut trace = BufReader::with_capacity(1 << 20, trace);
    let (mut line, mut references) = (Vec::new(), 0);
    while references < MOST_REFERENCES && trace.read_until(b'\n', &mut line)? > 0 {
        if let Some(reference) = line.strip_suffix(b"\n").and_then(lackey::parse) {
            references += 1;
            levels.iter_mut().for_each(|each| each.reference(reference));
        }
        line.clear();
    }
    Ok(references)
}

/// Starts the installed compiler under valgrind; the trace comes from its standard output.
fn compile() -> Testable<Child> {
    let missing = |what: &str, error| Untestable(format!("{what}: {error}"));
    let asked = Command::new("gcc")
        .arg("-print-prog-name=cc1")
        .output()
        .map_err(|error| missing("gcc", error))?;
    let compiler = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    if !compiler.starts_with('/') {
        return Err(Untestable(format!("gcc names no C compiler: `{compiler}`")));
    }
    Command::new("valgrind")
        .args(["--tool=lackey", "--trace-mem=yes", "--log-fd=1", &compiler])
        .args(["-quiet", "-O2", "-", "-o", "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| missing("valgrind", error))
}

fn no_output() -> Untestable {
    Untestable("valgrind was started without a pipe for its input or output".to_owned())
}

/// Returns a program for the compiler: functions with loops, branches and arithmetic.
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
    fn a_compiler_that_exits_at_once_is_told_by_its_status() {
        let mut command = Command::new("false");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        while child.try_wait().unwrap().is_none() {}
        let reason = trace(child).err().unwrap().0;
        assert!(reason.ends_with("exit status: 1"), "{reason}");
    }
}
