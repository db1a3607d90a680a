//! Runs a program under valgrind, and reads the accesses of its threads.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use object::{Object as _, ObjectSegment as _, ObjectSymbol as _, SymbolKind};

use super::trace::Trace;
use crate::os::clock::{pause, readable};

/// Passes valgrind the pipe as file descriptor 9. The program's output goes to the standard error.
const SHELL: &str = "exec valgrind --tool=lackey --trace-mem=yes --trace-sched=yes \
                     --fair-sched=try --log-fd=9 -- \"$@\" 9>&1 >&2";

/// Number of valgrind's own last lines that are kept, to explain why there was no trace.
const KEPT: usize = 3;

/// The longest wait before the next check whether to stop.
const LOOK: Duration = Duration::from_millis(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// Address of the first byte in the running program.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
    /// Address of the first byte in the file.
    pub linked: u64,
}

/// The accesses of a program's threads, and the program's variables.
#[derive(Debug)]
pub struct Traced {
    pub trace: Trace,
    pub variables: Vec<Variable>,
    /// The program's file, if it was found.
    pub file: Option<PathBuf>,
    /// How the program ended, if it failed.
    pub status: Option<String>,
    pub how: How,
}

/// How accesses were observed.
#[derive(Debug, PartialEq)]
pub enum How {
    /// All accesses, by valgrind, and why the PMU did not sample them, if it was asked to.
    Valgrind { not_by_pmu: Option<String> },
    /// Some accesses, by the PMU.
    Pmu(Sampling),
}

/// How the PMU sampled a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
    /// The events, each with its period.
    pub events: Vec<(String, u64)>,
    pub seconds: f64,
    /// Number of samples lost because a ring was full.
    pub lost: u64,
    /// Number of samples that are not accesses of the process.
    pub blank: u64,
    /// Why some threads were not watched, if any.
    pub unwatched: Option<String>,
}

/// Runs `command` under valgrind until it ends or `stop` is set, and reads its accesses.
///
/// # Errors
/// If valgrind cannot be run, or does not run the command. The message gives the reason.
pub fn traced(command: &[OsString], line: u64, stop: &AtomicBool) -> Result<Traced> {
    let (name, _) = command.split_first().context("no command")?;
    if Command::new("valgrind").arg("--version").output().is_err() {
        bail!("valgrind, which traces the accesses, cannot be run here (Debian: valgrind)");
    }
    let mut child = Command::new("sh")
        .args(["-c", SHELL, "sh"])
        .args(command)
        .stdout(Stdio::piped())
        .spawn()
        .context("sh cannot be run")?;
    let mut trace = Trace::new(line);
    let mut variables: Option<Vec<Variable>> = None;
    let mut said: Vec<String> = Vec::new();
    let pipe = child.stdout.take().context("no pipe from valgrind")?;
    let mut reader = BufReader::new(UntilStopped { pipe, stop });
    let mut text = Vec::new();
    let mut read = || -> Result<()> {
        while !stop.load(Ordering::Relaxed) {
            text.clear();
            match reader.read_until(b'\n', &mut text) {
                Ok(0) => break,
                // The line may be cut off.
                Ok(_) if stop.load(Ordering::Relaxed) => break,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            }
            if !trace.read(&text)? {
                said.push(String::from_utf8_lossy(&text).trim().to_owned());
                if said.len() > KEPT {
                    said.remove(0);
                }
            } else if variables.is_none() && trace.threads() > 0 {
                // The program is loaded now, and waits for room in the pipe.
                let variables_of = |path: PathBuf| variables_of(&path, child.id());
                variables = Some(found(name).and_then(variables_of).unwrap_or_default());
            }
        }
        Ok(())
    };
    let outcome = read();
    // A program that replaced itself by another, untraced one has closed the pipe and goes on.
    while !stop.load(Ordering::Relaxed) && child.try_wait().context("valgrind")?.is_none() {
        pause(LOOK);
    }
    if outcome.is_err() || stop.load(Ordering::Relaxed) {
        // An error is ignored: the child may have ended by itself.
        let _ = child.kill();
    }
    let status = child.wait().context("valgrind")?;
    outcome?;
    if trace.accesses == 0 && !stop.load(Ordering::Relaxed) {
        let said = match said.join(" ") {
            said if said.is_empty() => said,
            said => format!(": {said}"),
        };
        bail!("valgrind did not run {} ({status}){said}", name.display());
    }
    Ok(Traced {
        trace,
        variables: variables.unwrap_or_default(),
        file: found(name),
        status: (!status.success()).then(|| status.to_string()),
        how: How::Valgrind { not_by_pmu: None },
    })
}

/// A pipe that ends when `stop` is set, even if nothing is written to it.
struct UntilStopped<'s> {
    pipe: ChildStdout,
    stop: &'s AtomicBool,
}

impl Read for UntilStopped<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while !self.stop.load(Ordering::Relaxed) {
            if readable(&self.pipe, LOOK).unwrap_or(true) {
                return self.pipe.read(bytes);
            }
        }
        Ok(0)
    }
}

/// Returns the variables of the program at `path` in process `id`. `None` if the system or the program's
/// file does not show them.
pub(super) fn variables_of(path: &Path, id: u32) -> Option<Vec<Variable>> {
    let path = path.canonicalize().ok()?;
    let maps = fs::read_to_string(format!("/proc/{id}/maps")).ok()?;
    let start = start_of(path.to_str()?, &maps)?;
    let bytes = fs::read(&path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let linked = file.segments().map(|segment| segment.address()).min()?;
    let moved = start.wrapping_sub(linked);
    let data = file.symbols().filter(|symbol| {
        symbol.kind() == SymbolKind::Data && symbol.size() > 0 && symbol.is_definition()
    });
    let variable = |symbol: object::Symbol<'_, '_>| {
        Some(Variable {
            name: symbol.name().ok()?.to_owned(),
            address: symbol.address().wrapping_add(moved),
            size: symbol.size(),
            linked: symbol.address(),
        })
    };
    Some(data.filter_map(variable).collect())
}

/// Returns the address at which the first byte of the file `path` is mapped, from the text of
/// `/proc/PID/maps`.
fn start_of(path: &str, maps: &str) -> Option<u64> {
    maps.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (range, offset) = (words.next()?, words.nth(1)?);
        // The path is the last field, the only one with slashes, and may contain spaces.
        let file = line.find('/').map(|at| &line[at..]);
        let is_it = file == Some(path) && u64::from_str_radix(offset, 16) == Ok(0);
        let first = range.split('-').next().filter(|_| is_it)?;
        u64::from_str_radix(first, 16).ok()
    })
}

/// Returns the file of a command, as the shell would find it.
pub(super) fn found(command: &OsString) -> Option<PathBuf> {
    let path = Path::new(command);
    if path.components().count() > 1 {
        return Some(path.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(path)).find(|place| place.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_mapped_where_its_whole_path_is() {
        let maps = "\
7f00-7f01 r--p 00000000 08:01 11    /usr/lib/app
5500-5501 r--p 00000000 08:01 12    /app
5501-5502 r-xp 00001000 08:01 12    /app
";
        assert_eq!(start_of("/app", maps), Some(0x5500));
        assert_eq!(start_of("/lib/app", maps), None);
    }
}
