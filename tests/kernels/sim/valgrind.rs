//! Programs under valgrind: the output of lackey, and the counts of cachegrind.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use linefill::sim::trace::lackey;
use linefill::sim::{Geometry, Hierarchy, HierarchyDesign, Reference};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/trace/program.c");

/// A cache in the format of cachegrind's options: size, ways, line.
pub fn geometry(text: &str) -> Geometry {
    let mut numbers = text.split(',').map(|number| number.parse().expect("a number"));
    let mut next = || numbers.next().expect("three numbers");
    Geometry::new(next(), next(), next()).expect("a cache")
}

/// Empty caches I1, D1 and LL, each given in that format.
pub fn hierarchy(caches: [&str; 3]) -> Hierarchy {
    let [i1, d1, ll] = caches.map(geometry);
    Hierarchy::new(&HierarchyDesign::cachegrind(i1, d1, ll)).expect("lines of one size")
}

/// The simulator's counts in cachegrind's order: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw.
pub fn counts(hierarchy: &Hierarchy) -> [u64; 9] {
    let fetches = hierarchy.instructions().expect("I1").counters().fetches;
    let (first, last) = (hierarchy.counters(0), hierarchy.counters(1));
    [
        fetches.total(),
        fetches.misses,
        last.fetches.misses,
        first.reads.total(),
        first.reads.misses,
        last.reads.misses,
        first.writes.total(),
        first.writes.misses,
        last.writes.misses,
    ]
}

/// A program with its arguments.
pub struct Program {
    command: Vec<PathBuf>,
    place: PathBuf,
}

impl Program {
    /// The program of `fixtures/trace`, built by this machine's compiler in the folder `place`. It repeats
    /// its work `rounds` times. The compiler's choice of instructions does not matter.
    pub fn build(place: &Path, rounds: u64) -> io::Result<Self> {
        std::fs::create_dir_all(place)?;
        let file = place.join(format!("program-{rounds}"));
        let mut compiler = Command::new("cc");
        compiler
            .args(["-O1", "-static", "-nostdlib", "-ffreestanding"])
            .args(["-fno-stack-protector", "-fcf-protection=none"])
            .args(["-fno-pie", "-no-pie"])
            .arg(format!("-DROUNDS={rounds}"))
            .arg("-o")
            .args([&file, Path::new(SOURCE)]);
        run(&mut compiler)?;
        Ok(Program { command: vec![file], place: place.to_owned() })
    }

    /// This machine's assembler on a file with this number of functions: an everyday program.
    #[allow(dead_code, reason = "for benches, which have the time")]
    pub fn assembler(place: &Path, functions: u64) -> io::Result<Self> {
        std::fs::create_dir_all(place)?;
        let source = place.join(format!("functions-{functions}.c"));
        let assembly = source.with_extension("s");
        let function = |of: u64| {
            format!(
                "int f{of}(int *a, int n) {{ int s = {of}; \
                 for (int j = 0; j < n; j++) s += a[j] * (s ^ {of}); return s; }}\n"
            )
        };
        std::fs::write(&source, (0..functions).map(function).collect::<String>())?;
        let mut compiler = Command::new("cc");
        run(compiler.args(["-O1", "-S", "-o"]).args([&assembly, &source]))?;
        let name = Command::new("cc").arg("-print-prog-name=as").output()?;
        let name = String::from_utf8_lossy(&name.stdout).trim().to_owned();
        let command = [name.into(), assembly, "-o".into(), "/dev/null".into()];
        Ok(Program { command: command.into(), place: place.to_owned() })
    }

    /// The trace that lackey prints.
    pub fn trace(&self) -> io::Result<Vec<Reference>> {
        let log = self.place.join("lackey");
        let tool = ["--tool=lackey", "--trace-mem=yes"];
        self.under(tool.map(String::from), "--log-file", &log)?;
        let text = std::fs::read(&log)?;
        let lines = text.split(|&byte| byte == b'\n');
        Ok(lines.filter_map(lackey::parse).collect())
    }

    /// Cachegrind's counts for caches with these sizes, ways and lines: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw
    /// DLmw.
    pub fn counts(&self, [i1, d1, ll]: [&str; 3]) -> io::Result<[u64; 9]> {
        let out = self.place.join("cachegrind");
        let options = [
            "--tool=cachegrind".to_owned(),
            "--cache-sim=yes".to_owned(),
            format!("--I1={i1}"),
            format!("--D1={d1}"),
            format!("--LL={ll}"),
        ];
        self.under(options, "--cachegrind-out-file", &out)?;
        summary(&std::fs::read_to_string(&out)?)
            .ok_or_else(|| io::Error::other("cachegrind wrote no summary of nine counts"))
    }

    /// Runs the program under valgrind's translator alone, without a simulation.
    #[allow(dead_code, reason = "for benches, which subtract it")]
    pub fn translated(&self) -> io::Result<()> {
        let log = self.place.join("none");
        self.under(["--tool=none".to_owned()], "--log-file", &log)
    }

    fn under<const N: usize>(
        &self,
        options: [String; N],
        option_of_output: &str,
        output: &Path,
    ) -> io::Result<()> {
        let mut to = OsStr::new(option_of_output).to_owned();
        to.push("=");
        to.push(output);
        let mut valgrind = Command::new("valgrind");
        run(valgrind.args(options).arg(to).args(&self.command))
    }
}

fn run(command: &mut Command) -> io::Result<()> {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{command:?}: {status}"))),
    }
}

fn summary(text: &str) -> Option<[u64; 9]> {
    let mut lines = text.lines();
    let events = "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw";
    lines.find(|line| line.trim_end() == events)?;
    let numbers = lines.find_map(|line| line.strip_prefix("summary: "))?;
    let numbers: Vec<u64> = numbers.split(' ').map_while(|n| n.parse().ok()).collect();
    numbers.try_into().ok()
}
