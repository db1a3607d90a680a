//! The installed C compiler.

use crate::experiment::prelude::*;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Runs gcc on an input and returns its standard output.
pub(crate) fn gcc(arguments: &[&str], input: &str) -> Testable<Vec<u8>> {
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
