//! The orders in which a list is walked.

/// The order in which a ring visits its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// In address order (Drepper, Figure 3.9, lower list).
    Sequential,
    /// A random cycle through all elements (Drepper, Figure 3.9, upper list). Below 2^20 elements all cycles
    /// are equally likely; of more elements, the seed selects one of 2^64 pseudorandom cycles.
    Random {
        /// The seed of the cycle.
        seed: u64,
    },
    /// Random inside blocks of `pages` base pages, the blocks in address order (Drepper, Figure 3.17):
    /// limits the number of pages in use at a time.
    RandomInBlocks {
        /// Pages per block; a block holds at least one element.
        pages: usize,
        /// The seed of the order inside the blocks.
        seed: u64,
    },
    /// In descending address order.
    Backward,
    /// Every `elements`-th element from the first to the end of the list, then from another start, until all
    /// have been visited. If the stride is a power of two, the starts are ordered so that at least a quarter
    /// of the list is visited between an element and its neighbours: in a long list, lines fetched along
    /// with an element have been evicted by then.
    Strided {
        /// Elements from one visit to the next; 0 counts as 1.
        elements: usize,
    },
    /// Interleaved over `streams` equal parts of the list: an element of each part at a time, every part in
    /// address order. A part has the list's length over `streams`, rounded up, and the last may be shorter.
    Streams {
        /// Number of parts, of which a list shorter than its square may have fewer; 0 counts as 1.
        streams: usize,
    },
    /// Runs of `elements` neighbours, the runs in random order.
    Runs {
        /// Elements per run; 0 counts as 1. The last run has the remaining elements.
        elements: usize,
        /// The order inside a run, which starts at its first element.
        path: Path,
        /// The seed of the order of the runs, and of random paths.
        seed: u64,
    },
}

/// The order of the elements in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Path {
    /// In address order.
    Forward,
    /// With steps that grow by one element: 1, 2, 3 and so on, modulo the length of the run if that is a
    /// power of two. Any other run takes the path of the next power of two and skips the elements beyond its
    /// end.
    Triangular,
    /// Random, and different in every run.
    Random,
}

/// Returns the element indices of a list of `count` in [`Order::Strided`].
pub(super) fn strided(count: usize, stride: usize) -> impl Iterator<Item = usize> {
    let stride = stride.clamp(1, count);
    let bits = stride.next_power_of_two().trailing_zeros();
    let starts = (0..1_usize << bits).map(move |start| reversed(start, bits));
    starts
        .filter(move |start| *start < stride)
        .flat_map(move |start| (start..count).step_by(stride))
}

/// Returns the element indices of a list of `count` in [`Order::Streams`].
pub(super) fn interleaved(count: usize, streams: usize) -> impl Iterator<Item = usize> {
    let part = count.div_ceil(streams.max(1));
    (0..part).flat_map(move |start| (start..count).step_by(part))
}

/// Returns the elements of a run of `count`, as distances from its first, in [`Path::Triangular`].
///
/// The triangular numbers modulo a power of two are a permutation (Knuth, The Art of Computer
/// Programming, volume 3, section 6.4, exercise 20).
pub(super) fn triangular(count: usize) -> impl Iterator<Item = usize> {
    let room = count.next_power_of_two();
    (0..room).map(move |step| triangle(step) % room).filter(move |distance| *distance < count)
}

/// Returns the sum of the numbers up to `step`, modulo 2^64. One of two neighbours is even and is halved.
fn triangle(step: usize) -> usize {
    let (half, other) = match step % 2 {
        0 => (step / 2, step + 1),
        _ => (step / 2 + 1, step),
    };
    half.wrapping_mul(other)
}

/// Returns the lowest `bits` bits of `value` in reverse order.
fn reversed(value: usize, bits: u32) -> usize {
    value.reverse_bits().checked_shr(usize::BITS - bits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn all(order: impl Iterator<Item = usize>) -> Vec<usize> {
        order.collect()
    }

    #[test]
    fn orders_are_what_they_say() {
        assert_eq!(all(strided(10, 4)), [0, 4, 8, 2, 6, 1, 5, 9, 3, 7]);
        assert_eq!(all(strided(5, 1)), [0, 1, 2, 3, 4]);
        assert_eq!(all(strided(3, 0)), [0, 1, 2]);
        assert_eq!(all(strided(3, 9)), [0, 2, 1]);
        assert_eq!(all(interleaved(6, 2)), [0, 3, 1, 4, 2, 5]);
        assert_eq!(all(interleaved(7, 3)), [0, 3, 6, 1, 4, 2, 5]);
        assert_eq!(all(interleaved(3, 0)), [0, 1, 2]);
        assert_eq!(all(triangular(8)), [0, 1, 3, 6, 2, 7, 5, 4]);
        assert_eq!(all(triangular(5)), [0, 1, 3, 2, 4]);
        // Beyond 2^32 the product of both neighbours has more than 64 bits.
        assert_eq!(triangle((1 << 33) - 1) % (1 << 33), 1 << 32);
    }

    #[test]
    fn neighbours_lie_a_quarter_of_a_strided_list_apart() {
        for stride in [2, 4, 8, 64, 256] {
            let count = 1 << 14;
            let mut at = std::vec![0; count];
            for (step, index) in strided(count, stride).enumerate() {
                at[index] = step;
            }
            let apart = at.windows(2).map(|pair| pair[0].abs_diff(pair[1]));
            let least = apart.min().unwrap();
            assert!(least + 1 >= count / 4, "{least} of {count} at {stride}");
        }
    }
}
