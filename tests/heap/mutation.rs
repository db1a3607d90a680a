//! Runs every parser on mutations of its corpus: bytes are flipped, cut off, doubled and spliced, and numbers
//! become huge. The mutations are the same in every run. No parser may panic, take long or allocate much, and
//! an error must name its place.
#![cfg(feature = "lab")]

// Shared with the fuzz targets.
mod drivers;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use linefill::cpu::{Caches, Identity, Tlbs, read_tsc_hz};
use linefill::os::sysfs::Sysfs;
use linefill::pattern::Rng;
use raw_cpuid::{CpuIdReader, CpuIdResult};

use crate::allocator;
use crate::common::dump::Dump;
use crate::common::machine::Machine;

/// The maximum number of bytes that a mutation may have allocated: simulated caches and pages need most.
const MEMORY: usize = 400 << 20;

/// The maximum time for a mutation on a busy machine: most take a millisecond.
const TIME: Duration = Duration::from_secs(60);

/// Runs one kind of input at a time, so that no other test changes the allocated bytes.
static TURN: Mutex<()> = Mutex::new(());

/// The files of a folder, sorted: file systems list them in different orders.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The corpus of a fuzz target, sorted by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let paths = files_in(&folder);
    assert!(paths.len() >= 5, "{folder:?} has {} files", paths.len());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.into_iter().map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

/// Numbers that parsers may not expect, as texts and as bytes.
const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "-0.0",
    "5e-324",
    "1e300",
    "-1e300",
    "1e999",
    "18446744073709551615",
    "9e15",
    "4294967295",
    "4294967296",
    "1e-9",
    "null",
    "\"x\"",
];

/// Mutates `bytes` once or several times. `other` is another file of the corpus.
fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(bytes.len() + 1);
        let until = at + rng.below(bytes.len() - at + 1).min(64);
        match rng.below(9) {
            0 => bytes.truncate(at),
            1 => {
                for _ in 0..1 + rng.below(8) {
                    let at = rng.below(bytes.len().max(1));
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte ^= 1 << rng.below(8);
                    }
                }
            }
            2 => {
                let stretch = &mut bytes[at..until];
                let byte = [0, 0xFF, 0x80, 0x7F, b'\n', b'9'][rng.below(6)];
                stretch.fill(byte);
            }
            3 => drop(bytes.drain(at..until)),
            4 => {
                let again = bytes[at..until].to_vec();
                for _ in 0..1 + rng.below(20) {
                    bytes.splice(at..at, again.iter().copied());
                }
            }
            5 => {
                let from = rng.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend(&other[from..]);
            }
            // Replaces a number in digits by another.
            6 | 7 => {
                let digit = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'e');
                let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit) else {
                    continue;
                };
                let start = at + start;
                let length = bytes[start..].iter().take_while(|byte| digit(byte)).count();
                let number = NUMBERS[rng.below(NUMBERS.len())];
                bytes.splice(start..start + length, number.bytes());
            }
            _ => {
                let width = [1, 2, 4, 8][rng.below(4)];
                let value = [0, 1, u64::MAX, 1 << 31, 1 << 48, 0x7FFF_FFFF_FFFF_FFFF][rng.below(6)];
                if let Some(place) = bytes.get_mut(at..at + width) {
                    place.copy_from_slice(&value.to_le_bytes()[..width]);
                }
            }
        }
    }
}

/// Runs `parse` on the input `name`, and panics with that input if `parse` panics, takes long or allocates
/// much.
fn ends_well<T>(name: &str, input: &[u8], parse: impl FnOnce() -> T) -> T {
    let before = allocator::most_from_now();
    let began = Instant::now();
    let culprit = || match std::str::from_utf8(input) {
        Ok(text) if text.len() < 2000 => format!("{name}: {text:?}"),
        _ => format!("{name}: {:?}...", &input[..input.len().min(2000)]),
    };
    let Ok(parsed) = catch_unwind(AssertUnwindSafe(parse)) else {
        panic!("a panic at {}", culprit());
    };
    let (took, most) = (began.elapsed(), allocator::most() - before);
    assert!(took < TIME, "{took:?} at {}", culprit());
    assert!(most < MEMORY, "{most} bytes at {}", culprit());
    parsed
}

/// Parses each file of a corpus, and `rounds` mutations of it.
fn each(target: &str, rounds: u32, mut parse: impl FnMut(&[u8])) {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let files = corpus(target);
    let mut rng = Rng::new(18);
    for (name, bytes) in &files {
        ends_well(name, bytes, || parse(bytes));
        for round in 0..rounds {
            let mut mutated = bytes.clone();
            let other = &files[rng.below(files.len())].1;
            mutate(&mut rng, &mut mutated, other);
            ends_well(&format!("{name}, mutation {round}"), &mutated, || parse(&mutated));
        }
    }
}

#[test]
fn records() {
    let (mut taken, mut refused) = (0, 0);
    each("record", 60, |bytes| match drivers::record(bytes, false) {
        Ok(reading) => {
            taken += 1;
            assert!(reading.record.lines().next().is_some());
        }
        Err((line, problem)) => {
            refused += 1;
            assert!(!problem.is_empty());
            // An error in a line has its number.
            assert_eq!(line.is_none(), problem.contains("it is empty"), "{problem}");
        }
    });
    assert!(taken > 20 && refused > 200, "{taken} taken, {refused} refused");
}

#[test]
fn traces() {
    let (mut taken, mut refused) = (0, 0);
    each("trace", 80, |bytes| match drivers::trace(bytes) {
        Ok(tally) => {
            taken += 1;
            assert!(tally.total() > 0);
        }
        Err(problem) => {
            refused += 1;
            assert!(problem.starts_with("trace"), "{problem}");
        }
    });
    assert!(taken > 20 && refused > 20, "{taken} taken, {refused} refused");
}

#[test]
fn configurations() {
    let (mut taken, mut refused) = (0, 0);
    each("configuration", 100, |bytes| {
        match drivers::configuration(bytes) {
            Ok(_) => taken += 1,
            Err(problem) => {
                refused += 1;
                // The message names the wrong part and the reason.
                assert!(problem.starts_with('`') && problem.contains("`: "), "{problem}");
            }
        }
    });
    assert!(taken > 20 && refused > 200, "{taken} taken, {refused} refused");
}

#[test]
fn debug_information() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("mutation-{}", std::process::id()));
    let (mut taken, mut refused) = (0, 0);
    each("dwarf", 60, |bytes| match drivers::debug_information(bytes, &file) {
        Ok(_) => taken += 1,
        Err(problem) => {
            refused += 1;
            assert!(!problem.is_empty());
        }
    });
    fs::remove_file(&file).unwrap();
    assert!(taken > 20 && refused > 200, "{taken} taken, {refused} refused");
}

/// A CPU with some wrong answers.
#[derive(Clone)]
struct Mutated {
    dump: Dump,
    seed: u64,
}

impl CpuIdReader for Mutated {
    fn cpuid2(&self, eax: u32, ecx: u32) -> CpuIdResult {
        let mut answer = self.dump.cpuid2(eax, ecx);
        // The same question always gets the same answer.
        let mut rng = Rng::new(self.seed ^ u64::from(eax) << 32 ^ u64::from(ecx));
        let CpuIdResult { eax, ebx, ecx, edx } = &mut answer;
        for register in [eax, ebx, ecx, edx] {
            match rng.below(12) {
                0 => *register = 0,
                1 => *register = u32::MAX,
                2 => *register ^= 1 << rng.below(32),
                3 => *register = rng.bits() as u32,
                _ => {}
            }
        }
        answer
    }
}

#[test]
fn answers_of_cpuid() {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cpuid");
    for path in files_in(&fixtures) {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let dump = Dump::of(&name);
        for seed in 0..100 {
            let cpu = Mutated { dump: dump.clone(), seed };
            ends_well(&format!("{name}, mutation {seed}"), &[], || {
                let identity = Identity::read(cpu.clone());
                let _ = (identity.microarch(), identity.load_to_use(), identity.hypervisor_name());
                for cache in Caches::read(cpu.clone()).iter() {
                    let _ = (cache.sets(), cache.share());
                    assert!(cache.size > 0 && cache.line > 0);
                }
                assert!(Tlbs::read(cpu.clone()).iter().all(|tlb| tlb.entries > 0));
                let _ = read_tsc_hz(cpu);
            });
        }
    }
}

#[test]
fn files_of_the_kernel() {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sysfs");
    let mut rng = Rng::new(18);
    for path in files_in(&fixtures) {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        for round in 0..6 {
            let mut lines: Vec<String> = Vec::new();
            for line in text.lines() {
                let Some((place, content)) = line.split_once('=').filter(|_| rng.below(4) == 0)
                else {
                    lines.push(line.to_owned());
                    continue;
                };
                let mut content = content.as_bytes().to_vec();
                mutate(&mut rng, &mut content, b"0-65535,0-65535,0-65535,0-65535");
                let content = String::from_utf8_lossy(&content).replace(['\n', '='], ",");
                lines.push(format!("{place}={content}"));
            }
            let machine = Machine::empty().with(&lines.join("\n"));
            ends_well(&format!("{name}, mutation {round}"), &[], || {
                let sysfs = Sysfs::at(&machine.root().sys);
                let online = sysfs.online().unwrap_or_default();
                for &cpu in online.iter().take(8) {
                    let _ = (sysfs.caches(cpu), sysfs.last_level(cpu), sysfs.topology(cpu));
                }
                let _ = (sysfs.nodes(), sysfs.sharing(), sysfs.arrangement());
                let _ = sysfs.locations(&online[..online.len().min(64)]);
            });
        }
    }
}
