//! Cold caches, TLBs and branch predictors, for code that is timed after a preparation.

// Flushes the lines of a borrowed value by address, and calls code generated at run time.
#![allow(unsafe_code)]

use core::hint::black_box;

use crate::cpu::{Caches, Features, flush_bytes};
use crate::mem::{LINE, PAGE};
use crate::os::code::CodeError;
use crate::os::{Code, Memory, MemoryError, Pages};

/// Flushes every line of `value` from all caches to memory, by `clflushopt` or `clflush`. A slice or a
/// string is flushed with all its elements. Data that pointers inside the value point to are not
/// flushed.
///
/// ```
/// let words = vec![1_u64; 1000];
/// linefill::bench::flush(&words[..]);
/// ```
#[doc(alias = "clflush")]
pub fn flush<T: ?Sized>(value: &T) {
    let bytes = size_of_val(value);
    if bytes == 0 {
        return;
    }
    let first = (&raw const *value).cast::<u8>();
    let before = first.addr() % LINE;
    // SAFETY: the lines that hold a value are mapped and readable.
    unsafe {
        flush_bytes(first.wrapping_sub(before), before + bytes, &Features::detect());
    }
}

/// Pages touched to evict all other translations from the TLBs: second-level TLBs have up to 4,096
/// entries.
const PAGES: usize = 16_384;

/// Branches executed to evict all other branches from the predictors: the largest predictors hold 24,576
/// targets, and their histories a few hundred branches.
const BRANCHES: usize = 32_768;

/// Bytes of a branch and of the code that decides it.
const BRANCH: usize = 12;

/// Preparation of cold hardware state before a shot. Made once, used before each shot:
///
/// ```
/// use linefill::bench::{Bench, Cold, flush};
///
/// let mut bench = Bench::new()?;
/// let mut cold = Cold::nothing().tlbs()?.predictors()?;
/// let table: Vec<u64> = (0..8).collect();
/// let prepare = || {
///     cold.prepare();
///     flush(&table[..]);
/// };
/// println!("{}", bench.one_shot_fn(prepare, || table[3]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Cold {
    caches: Option<Memory>,
    tlbs: Option<Memory>,
    predictors: Option<Code>,
    /// Changes with each shot, so that no two preparations are alike.
    round: u64,
}

/// The reason why something cannot be made cold here.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColdError {
    /// The memory for the eviction was refused.
    Memory(MemoryError),
    /// The code for the eviction was refused, as some security modules do with executable memory.
    Code(CodeError),
}

messages! { ColdError:
    ColdError::Memory(error) => ("caches and TLBs stay warm: {error}");
    ColdError::Code(error) => ("branch predictors stay warm: {error}");
}

impl Cold {
    /// Returns a preparation that leaves everything as it is.
    pub fn nothing() -> Self {
        Cold::default()
    }

    /// Also evicts all data caches up to the last level, by reading twice as many bytes as CPUID reports
    /// for the last level (64 MiB where it reports none), which takes milliseconds. Where the data to
    /// evict are known, [`flush`] is faster and more reliable: a last level may keep lines whatever is
    /// read.
    ///
    /// # Errors
    /// If the memory is refused.
    pub fn caches(self) -> Result<Self, ColdError> {
        let last = Caches::detect().last_level().map(|cache| cache.size);
        let bytes = last.map_or(64 << 20, |bytes| 2 * bytes as usize);
        let memory = Memory::new(bytes, Pages::Base).map_err(ColdError::Memory)?;
        Ok(Cold { caches: Some(memory), ..self })
    }

    /// Also evicts the TLBs of loads, by a load from each of 16,384 pages. All of them map the same 4
    /// KiB of zeros, so that the caches lose only 64 lines and the space of the page tables: 128 KiB.
    ///
    /// # Errors
    /// If the reservation of addresses is refused.
    pub fn tlbs(self) -> Result<Self, ColdError> {
        let memory = Memory::reserve(PAGES * PAGE).map_err(ColdError::Memory)?;
        Ok(Cold { tlbs: Some(memory), ..self })
    }

    /// Also evicts branch predictors, the first-level instruction cache and the cache of decoded
    /// instructions, by executing 32,768 other branches, half of them taken at random. No user-mode
    /// instruction clears a predictor, so a predictor may keep something whatever is executed.
    ///
    /// # Errors
    /// If executable memory is refused.
    pub fn predictors(self) -> Result<Self, ColdError> {
        let code = Code::new(BRANCHES * BRANCH + 4, Pages::Base, write_branches);
        Ok(Cold { predictors: Some(code.map_err(ColdError::Code)?), ..self })
    }

    /// Makes the chosen hardware state cold. Call it before each shot.
    pub fn prepare(&mut self) {
        self.round += 1;
        if let Some(memory) = &self.caches {
            let lines = memory.as_slice().chunks(LINE);
            black_box(lines.fold(0_u8, |sum, line| sum.wrapping_add(line[0])));
        }
        if let Some(code) = &self.predictors {
            // SAFETY: `write_branches` wrote a function at the first byte.
            black_box(unsafe { code.call(0, self.round) });
        }
        if let Some(memory) = &self.tlbs {
            // A different line of each page, so that the loads do not share a set of L1d.
            let pages = memory.as_slice().chunks(PAGE).enumerate();
            let touched = pages.map(|(page, bytes)| bytes[page * LINE % PAGE]);
            black_box(touched.fold(0_u8, u8::wrapping_add));
        }
    }
}

/// Writes a function that draws a number before each of its branches, and takes the branch if the number
/// is negative.
fn write_branches(bytes: &mut [u8]) {
    let (branches, rest) = bytes.as_chunks_mut::<BRANCH>();
    for branch in branches {
        // imul edi, edi, 1664525; add edi, 41; js over the nop; nop
        *branch = [0x69, 0xFF, 0x0D, 0x66, 0x19, 0x00, 0x83, 0xC7, 0x29, 0x78, 0x01, 0x90];
    }
    // mov eax, edi; ret; padding.
    rest.copy_from_slice(&[0x89, 0xF8, 0xC3, 0x90]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code computes the same numbers as plain Rust, and half of its branches are taken.
    #[test]
    fn the_code_draws_the_numbers_that_decide_its_branches() {
        let code = Code::new(BRANCHES * BRANCH + 4, Pages::Base, write_branches).unwrap();
        for seed in [1_u32, 2, 77] {
            let (mut number, mut taken) = (seed, 0);
            for _ in 0..BRANCHES {
                number = u32::wrapping_add(number.wrapping_mul(1_664_525), 41);
                taken += usize::from((number as i32) < 0);
            }
            // SAFETY: as in `prepare`.
            let drawn = unsafe { code.call(0, u64::from(seed)) };
            assert_eq!(drawn, u64::from(number));
            assert!(taken.abs_diff(BRANCHES / 2) < BRANCHES / 50, "{taken}");
        }
    }
}
