//! likwid-bench, an optional peer for the comparison of bandwidths.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the program and of its package.
pub const PROGRAM: &str = "likwid-bench";

/// likwid-bench on this machine.
pub struct Likwid {
    program: PathBuf,
}

impl Likwid {
    /// The first likwid-bench on `PATH`.
    pub fn find() -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        let program = std::env::split_paths(&path)
            .map(|folder| folder.join(PROGRAM))
            .find(|program| is_executable(program))?;
        Some(Likwid { program })
    }

    /// The gigabytes per second, read and written, of `test` with a working set of `bytes` bytes and `rounds`
    /// rounds. It runs on the CPU to which this thread is pinned, because the child inherits the affinity.
    ///
    /// # Errors
    /// The program's output, if it has no figure: it may lack the test.
    pub fn bandwidth(&self, test: &str, bytes: usize, rounds: u64) -> Result<f64, String> {
        let output = Command::new(&self.program)
            .args(["-t", test, "-w", &format!("N:{bytes}B:1")])
            .args(["-i", &rounds.max(2).to_string()])
            .output()
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let figure = text.lines().find_map(|line| line.strip_prefix("MByte/s:"));
        match figure.and_then(|figure| figure.trim().parse::<f64>().ok()) {
            Some(megabytes) if megabytes > 0.0 => Ok(megabytes / 1e3),
            _ => {
                let said = String::from_utf8_lossy(&output.stderr);
                let first = said.lines().chain(text.lines()).next();
                Err(first.unwrap_or("nothing").to_owned())
            }
        }
    }
}

fn is_executable(program: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    program.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
