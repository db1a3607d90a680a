//! Sestoft's array of indices: `k = a[k]`, and the five ways to fill it (note A.1 and A.2).

use super::computed::{self, Permutation};
use super::rng::{Turn, draw_ahead, fetch};
use super::{Rng, common_divisor};
use crate::mem::Region;

/// How an array of indices is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fill {
    /// `a[k] = k + 1`: one cycle, in address order.
    Sequential,
    /// `a[k] = (k + stride) mod S`: one cycle if the stride and S have no common divisor.
    Stride(usize),
    /// `a[k]` uniformly random and independent. From any start the path meets itself after about
    /// `sqrt(pi S / 2)` steps, on a cycle that is on average half as long.
    RandomFunction {
        /// The seed of the indices.
        seed: u64,
    },
    /// A random permutation: several cycles. The cycle through 0 has any length with equal probability. From
    /// 2^20 elements on, the permutation is pseudorandom.
    Permutation {
        /// The seed of the permutation.
        seed: u64,
    },
    /// A random permutation that is one cycle: the only random fill that visits all elements. From 2^20
    /// elements on, the cycle is pseudorandom.
    Cycle {
        /// The seed of the cycle.
        seed: u64,
    },
}

/// Why a chain cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChainError {
    /// The number of elements, if it is 0 or more than 32-bit indices can address.
    Size(usize),
    /// The region is too small for the elements.
    RegionTooSmall {
        /// Requested elements.
        wanted: usize,
        /// 4-byte elements that fit in the region.
        room: usize,
    },
    /// An index of a given array lies outside the array.
    Outside {
        /// The index.
        index: u32,
        /// The number of elements.
        size: usize,
    },
    /// The stride and the size have a common divisor, so the fill is not a single cycle.
    StrideDivides {
        /// The stride.
        stride: usize,
        /// The number of elements.
        size: usize,
    },
}

messages! { ChainError:
    ChainError::Size(size) => ("a chain has 1 to {} elements, not {size}", u32::MAX);
    ChainError::RegionTooSmall { wanted, room } => (
        "{wanted} elements of 4 bytes do not fit a region with room for {room}"
    );
    ChainError::Outside { index, size } => (
        "index {index} leads out of an array of {size} elements"
    );
    ChainError::StrideDivides { stride, size } => (
        "stride {stride} and size {size} have a common divisor; a single cycle needs none"
    );
}

/// An array of 32-bit indices, all inside the array, so that following them never leaves it.
#[derive(Debug)]
pub struct Chain<'m> {
    slots: &'m mut [u32],
    cursor: u32,
}

impl<'m> Chain<'m> {
    /// Fills the first `size` 32-bit words of `region`.
    ///
    /// # Errors
    /// If the size does not fit, or a constant stride would give several cycles.
    pub fn new(region: Region<'m>, size: usize, fill: Fill) -> Result<Self, ChainError> {
        if size == 0 || u32::try_from(size).is_err() {
            return Err(ChainError::Size(size));
        }
        let words = region.into_u32s();
        let room = words.len();
        let slots =
            words.get_mut(..size).ok_or(ChainError::RegionTooSmall { wanted: size, room })?;
        match fill {
            Fill::Sequential => write(slots, |index| (index + 1) % size),
            Fill::Stride(stride) if common_divisor(stride, size) != 1 => {
                return Err(ChainError::StrideDivides { stride, size });
            }
            // Both terms are below the size, which has 32 bits: their sum does not overflow.
            Fill::Stride(stride) => write(slots, |index| (index + stride % size) % size),
            Fill::RandomFunction { seed } => {
                let mut rng = Rng::new(seed);
                write(slots, |_| rng.below(size));
            }
            Fill::Permutation { seed } if size >= computed::FROM => {
                let permutation = Permutation::of(size, &mut Rng::new(seed));
                write(slots, |number| permutation.of_number(number));
            }
            Fill::Cycle { seed } if size >= computed::FROM => {
                let cycle = Permutation::of(size, &mut Rng::new(seed));
                write(slots, |number| cycle.after(number, 1));
            }
            Fill::Permutation { seed } => draw_permutation(slots, seed),
            Fill::Cycle { seed } => draw_cycle(slots, seed),
        }
        Ok(Chain { slots, cursor: 0 })
    }

    /// Uses an array that is already filled.
    ///
    /// # Errors
    /// If it is empty, too long, or holds an index outside itself.
    pub fn given(slots: &'m mut [u32]) -> Result<Self, ChainError> {
        let size = slots.len();
        if size == 0 || u32::try_from(size).is_err() {
            return Err(ChainError::Size(size));
        }
        match slots.iter().find(|&&index| index as usize >= size) {
            Some(&index) => Err(ChainError::Outside { index, size }),
            None => Ok(Chain { slots, cursor: 0 }),
        }
    }

    /// The indices.
    pub fn slots(&self) -> &[u32] {
        self.slots
    }

    /// The next index of a walk.
    pub fn cursor(&self) -> u32 {
        self.cursor
    }

    /// Moves the cursor to where a kernel stopped.
    ///
    /// # Panics
    /// If the index lies outside the array.
    pub(crate) fn set_cursor(&mut self, index: u32) {
        assert!((index as usize) < self.slots.len(), "a jump left its chain: {index}");
        self.cursor = index;
    }

    /// Length of the cycle on which a walk from index 0 ends (Brent's algorithm).
    pub fn cycle_length(&self) -> usize {
        let next = |index: u32| self.slots[index as usize];
        let mut power = 1;
        let mut length = 1;
        let mut slow = 0;
        let mut fast = next(0);
        while slow != fast {
            if power == length {
                slow = fast;
                power *= 2;
                length = 0;
            }
            fast = next(fast);
            length += 1;
        }
        length
    }
}

fn write(slots: &mut [u32], mut next: impl FnMut(usize) -> usize) {
    for (index, slot) in slots.iter_mut().enumerate() {
        *slot = next(index) as u32;
    }
}

/// Fisher and Yates' shuffle of the identity.
fn draw_permutation(slots: &mut [u32], seed: u64) {
    write(slots, |index| index);
    draw_ahead((2..=slots.len()).rev(), &mut Rng::new(seed), |turn| match turn {
        Turn::Fetch(drawn) => fetch((&raw const slots[drawn]).cast()),
        Turn::Take { below, drawn } => slots.swap(below - 1, drawn),
    });
}

/// Inserts every index after a random earlier one: each cycle arises in exactly one way.
fn draw_cycle(slots: &mut [u32], seed: u64) {
    slots[0] = 0;
    draw_ahead(1..slots.len(), &mut Rng::new(seed), |turn| match turn {
        Turn::Fetch(drawn) => fetch((&raw const slots[drawn]).cast()),
        Turn::Take { below, drawn } => {
            slots[below] = slots[drawn];
            slots[drawn] = below as u32;
        }
    });
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::{format, string::ToString as _, vec};

    fn length(size: usize, fill: Fill) -> usize {
        let mut bytes = vec![0u8; size * 4 + 256];
        let region = Region::new(&mut bytes).unwrap();
        Chain::new(region, size, fill).unwrap().cycle_length()
    }

    #[test]
    fn single_cycles_go_through_all() {
        for size in [1, 2, 3, 8, 100, 4097] {
            assert_eq!(length(size, Fill::Sequential), size);
            assert_eq!(length(size, Fill::Cycle { seed: 3 }), size);
        }
        assert_eq!(length(100, Fill::Stride(33)), 100);
        // A stride counts modulo the size, however large it is.
        assert_eq!(length(101, Fill::Stride(usize::MAX)), 101);
    }

    #[test]
    fn a_region_that_is_too_small_says_how_many_elements_it_takes() {
        let mut bytes = [0u8; 256];
        let region = Region::new(&mut bytes).unwrap();
        let room = region.len() / 4;
        let error = Chain::new(region, 65, Fill::Sequential).unwrap_err();
        let text = format!("65 elements of 4 bytes do not fit a region with room for {room}");
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn a_stride_with_a_common_divisor_is_refused() {
        let mut bytes = [0u8; 1024];
        let region = Region::new(&mut bytes).unwrap();
        assert_eq!(
            Chain::new(region, 100, Fill::Stride(10)).unwrap_err(),
            ChainError::StrideDivides { stride: 10, size: 100 }
        );
    }

    #[test]
    fn all_cycles_of_four_are_equally_likely() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..6000 {
            let mut bytes = [0u8; 256];
            let region = Region::new(&mut bytes).unwrap();
            let chain = Chain::new(region, 4, Fill::Cycle { seed }).unwrap();
            *counts.entry(chain.slots().to_vec()).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|&n| (850..1150).contains(&n)), "{counts:?}");
    }

    #[test]
    fn a_random_function_soon_runs_into_itself() {
        assert!(length(100_000, Fill::RandomFunction { seed: 5 }) < 2000);
    }
}
