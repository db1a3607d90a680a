//! A recorded CPUID dump, read in place of the CPU.
//!
//! A line is `leaf subleaf: eax ebx ecx edx`, all hexadecimal; `#` begins a comment. A leaf that is not
//! listed reads as zeros. An Intel CPU, however, answers a leaf beyond its last leaf with the last basic leaf
//! (Intel SDM volume 2A, "CPUID"). Code that does not check the last leaf therefore reads garbage here, as on
//! the CPU.

// The library's own tests include this file, and those are built without std.
extern crate std;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::vec::Vec;

use raw_cpuid::{CpuIdReader, CpuIdResult};

/// The leaves of one recorded CPU.
#[derive(Clone)]
pub struct Dump(Rc<BTreeMap<(u32, u32), CpuIdResult>>);

impl Dump {
    /// The dump `tests/fixtures/cpuid/NAME.txt`.
    pub fn of(name: &str) -> Dump {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cpuid");
        let path = folder.join(name).with_extension("txt");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let leaves = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
            .map(|line| parse(line).unwrap_or_else(|| panic!("{}: `{line}`", path.display())))
            .collect();
        Dump(Rc::new(leaves))
    }

    fn get(&self, leaf: u32, subleaf: u32) -> Option<CpuIdResult> {
        self.0.get(&(leaf, subleaf)).copied()
    }

    fn last(&self, first: u32) -> u32 {
        self.get(first, 0).map_or(0, |leaf| leaf.eax)
    }
}

impl CpuIdReader for Dump {
    fn cpuid2(&self, leaf: u32, subleaf: u32) -> CpuIdResult {
        let intel = self.get(0, 0).is_some_and(|id| id.ebx == u32::from_le_bytes(*b"Genu"));
        let range = leaf & 0xf000_0000;
        let hypervisor = range == 0x4000_0000;
        if intel && !hypervisor && leaf > self.last(range) {
            let last = self.last(0);
            return self.get(last, 0).unwrap_or(ZEROS);
        }
        self.get(leaf, subleaf).unwrap_or(ZEROS)
    }
}

const ZEROS: CpuIdResult = CpuIdResult { eax: 0, ebx: 0, ecx: 0, edx: 0 };

/// Parses a line of a dump; `None` if it does not have the form above.
fn parse(line: &str) -> Option<((u32, u32), CpuIdResult)> {
    let hex = |word: &str| u32::from_str_radix(word, 16).ok();
    let (key, registers) = line.split_once(':')?;
    let (leaf, subleaf) = key.split_once(' ')?;
    let registers = registers.split_whitespace().map(hex).collect::<Option<Vec<_>>>()?;
    let [eax, ebx, ecx, edx] = registers[..] else {
        return None;
    };
    Some(((hex(leaf)?, hex(subleaf)?), CpuIdResult { eax, ebx, ecx, edx }))
}
