//! The sum of an array, compiled by the installed gcc.

use super::{Compiled, is_prefetch};
use crate::experiment::prelude::*;
use crate::experiment::shared::compiler::gcc;
use core::sync::atomic::{AtomicU32, Ordering};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::OnceLock;

const OPTION: &str = "-fprefetch-loop-arrays";

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

/// More bytes than any compiler produces for the function.
const MOST: usize = 4096;

impl Compiled {
    /// Returns the function's assembly source.
    pub(super) fn assembly(self) -> Testable<String> {
        let option = (self != Compiled::Plain).then_some(OPTION);
        let mut arguments = vec!["-x", "c", "-O2", "-ffreestanding", "-fno-pic", "-S", "-o", "-"];
        arguments.extend(["-fcf-protection=none", "-fno-stack-protector"]);
        arguments.push("-fno-asynchronous-unwind-tables");
        arguments.extend(option);
        let assembly = gcc(&arguments, SOURCE)?;
        let assembly = String::from_utf8_lossy(&assembly);
        let left_out = |line: &&str| self == Compiled::LeftOut && is_prefetch(line);
        let lines = assembly.lines().filter(|line| !left_out(line));
        Ok(lines.flat_map(|line| [line, "\n"]).collect())
    }

    /// Returns the function's machine code, compiled once per process.
    pub(super) fn code(self) -> Testable<&'static [u8]> {
        static MADE: [OnceLock<Testable<Vec<u8>>>; 3] = [const { OnceLock::new() }; 3];
        let made = MADE[self as usize].get_or_init(|| linked(&self.assembly()?));
        made.as_deref().map_err(Untestable::clone)
    }
}

/// Assembles and links the function alone, for address 0. The code refers to no address, so it runs
/// anywhere.
fn linked(assembly: &str) -> Testable<Vec<u8>> {
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

fn linked_in(folder: &Path, assembly: &str) -> Testable<Vec<u8>> {
    let output = folder.join("sum.bin");
    let Some(name) = output.to_str() else {
        return Err(Untestable("the temporary folder's name is not UTF-8".to_owned()));
    };
    let linker = "-Wl,--oformat=binary,--build-id=none,-Ttext=0,-e0";
    gcc(&["-x", "assembler", "-nostdlib", "-static", linker, "-o", name], assembly)?;
    let code = std::fs::read(&output)?;
    match code.is_empty() || code.len() > MOST {
        true => Err(Untestable(format!("gcc produced {} bytes of code", code.len()))),
        false => Ok(code),
    }
}
