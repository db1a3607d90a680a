//! From text to an object file, by the assembler of the machine.

use std::ffi::OsString;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io, process};

use anyhow::{Context as _, Result, bail};

/// The first bytes of an ELF file.
const ELF: &[u8] = b"\x7fELF";

/// The compilers that are tried, and the assembler.
const TOOLS: [&str; 4] = ["cc", "gcc", "clang", "as"];

/// Options for a file that a compiler reads: code that finds its data relative to itself, without tables
/// for unwinding.
const OPTIONS: [&str; 4] = ["-c", "-O2", "-fPIE", "-fno-asynchronous-unwind-tables"];

/// Assembles text.
///
/// # Errors
/// What the assembler says, or that there is none.
pub fn text(text: &str) -> Result<Vec<u8>> {
    assemble(
        &|tool: &OsString| {
            let mut command = Command::new(tool);
            match is_bare(tool) {
                true => command.args(["--64", "-"]),
                false => command.args(["-c", "-x", "assembler", "-"]),
            };
            Some(command)
        },
        text.as_bytes(),
    )
}

/// Makes an object file of `path`: as it is if it is one, else by the compiler, which knows by the
/// ending what it holds.
///
/// # Errors
/// That it cannot be read, or as [`text`].
pub fn file(path: &Path) -> Result<Vec<u8>> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.starts_with(ELF) {
        return Ok(bytes);
    }
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending {
        Some("S" | "s" | "c") => {}
        _ => bail!(
            "{}: what is in it? Name it .S or .s (assembly), .c, or give an object file",
            path.display()
        ),
    }
    let plain = ending == Some("s");
    assemble(
        &|tool: &OsString| {
            let mut command = Command::new(tool);
            match is_bare(tool) {
                true if plain => command.arg("--64"),
                // It knows neither C nor the preprocessor.
                true => return None,
                false => command.args(OPTIONS),
            };
            command.arg(path);
            Some(command)
        },
        &[],
    )
}

/// Whether this is the assembler itself.
fn is_bare(tool: &OsString) -> bool {
    Path::new(tool).file_name().is_some_and(|name| name == "as")
}

/// Runs the first tool that there is and that can do it, with `input` on its standard input.
fn assemble(command: &dyn Fn(&OsString) -> Option<Command>, input: &[u8]) -> Result<Vec<u8>> {
    let said = env::var_os("CC").filter(|tool| !tool.is_empty());
    let tools: Vec<OsString> = match said {
        Some(tool) => vec![tool],
        None => TOOLS.map(OsString::from).into(),
    };
    let out = Output::new();
    let mut passed = false;
    for tool in &tools {
        let Some(mut command) = command(tool) else {
            passed = true;
            continue;
        };
        command.arg("-o").arg(&out.0);
        let told = match run(&mut command, input) {
            Ok(told) => told,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => bail!("{} cannot be run: {error}", tool.display()),
        };
        if !told.status.success() {
            let message = String::from_utf8_lossy(&told.stderr);
            bail!(
                "{} refuses the code:\n{}",
                tool.display(),
                message.trim_end()
            );
        }
        return fs::read(&out.0).with_context(|| format!("{} left no object file", tool.display()));
    }
    let names: Vec<String> = tools
        .iter()
        .map(|tool| tool.display().to_string())
        .collect();
    bail!(
        "there is no assembler here for that: {} not found{}. Install gcc or clang (Debian: gcc), name \
         another by CC, or give an object file that was made elsewhere",
        names.join(", "),
        if passed {
            ", or without a preprocessor (as)"
        } else {
            ""
        }
    )
}

fn run(command: &mut Command, input: &[u8]) -> io::Result<process::Output> {
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = streams.stderr(Stdio::piped()).spawn()?;
    // A tool that stops reading has said why.
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input);
    }
    child.wait_with_output()
}

/// The file that the tool writes, which is removed in the end.
struct Output(PathBuf);

impl Output {
    fn new() -> Self {
        let name = format!("linefill-time-{}.o", process::id());
        Output(env::temp_dir().join(name))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
