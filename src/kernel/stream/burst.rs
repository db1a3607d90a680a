//! Independent loads or stores of one width, eight at a time: the cost of an access by its place (Drepper,
//! section 6.2.1: Figures 6.4 and 6.6).

// Calls assembly with addresses inside the region.
#![allow(unsafe_code)]

use crate::cpu::Features;
use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Kernel, Width, Work};
use crate::mem::{Region, Span};

/// Accesses per burst.
pub const BURST: usize = 8;

/// The direction of the accesses, and their instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transfer {
    /// Loads at any address.
    Load,
    /// Stores at any address.
    Store,
    /// `movdqa`: aligned loads of 16 bytes.
    LoadAligned,
    /// `movdqa`: aligned stores of 16 bytes.
    StoreAligned,
}

impl Transfer {
    /// Whether the transfer stores.
    pub const fn stores(self) -> bool {
        matches!(self, Transfer::Store | Transfer::StoreAligned)
    }

    const fn aligned(self) -> bool {
        matches!(self, Transfer::LoadAligned | Transfer::StoreAligned)
    }
}

/// The places of the accesses: access `k` of burst `j` is at byte
/// `first + (j * step) % window + k * apart`.
///
/// The constructors accept any numbers. A product that overflows is `usize::MAX`, and such places fit in
/// no region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Places {
    first: usize,
    apart: usize,
    step: usize,
    window: usize,
}

impl Places {
    /// The same eight places in every burst, at a distance of `apart` bytes.
    pub const fn fixed(first: usize, apart: usize) -> Self {
        Places { first, apart, step: 0, window: 1 }
    }

    /// `count` places at a distance of `stride` bytes, in ascending order.
    pub const fn sequential(first: usize, stride: usize, count: usize) -> Self {
        Places {
            first,
            apart: stride,
            step: Span::of(stride).times(BURST).bytes(),
            window: Span::of(stride).times(count).bytes(),
        }
    }

    /// The places of [`sequential`](Self::sequential) in an order that no prefetcher follows. A burst
    /// touches each eighth of the places once; the next burst is 0.618 of an eighth further on, wrapping
    /// around.
    pub const fn scattered(first: usize, stride: usize, count: usize) -> Self {
        let eighth = count / BURST;
        // Odd, so that every place is visited.
        let leap = (eighth / 1000 * 618 + eighth % 1000 * 618 / 1000) | 1;
        let across = Span::of(stride).times(eighth).bytes();
        Places { first, apart: across, step: Span::of(stride).times(leap).bytes(), window: across }
    }

    /// Bytes of region that accesses of `width` bytes need; `usize::MAX` if the number overflows.
    pub const fn span(&self, width: usize) -> usize {
        self.needed(width).bytes()
    }

    const fn needed(&self, width: usize) -> Span {
        let last = Span::of(self.window - self.grain());
        let burst = Span::of(self.apart).times(BURST - 1);
        let first = Span::of(self.first).plus(last);
        first.plus(burst).plus(Span::of(width))
    }

    /// A divisor of every index modulo the window: the lowest set bit of the step, or the window.
    const fn grain(&self) -> usize {
        let low = self.step & self.step.wrapping_neg();
        // In either case at most the window.
        if low == 0 || low > self.window { self.window } else { low }
    }

    /// Returns the byte offset of access `k` of the burst with this index. May wrap for places that have
    /// not been checked against a region.
    pub(crate) const fn place(&self, index: u64, k: usize) -> usize {
        let begin = index as usize & self.window.wrapping_sub(1);
        let apart = k.wrapping_mul(self.apart);
        self.first.wrapping_add(begin).wrapping_add(apart)
    }

    /// Returns the index of the burst with this number.
    pub(crate) const fn index(&self, burst: u64) -> u64 {
        burst.wrapping_mul(self.step as u64)
    }
}

/// Why accesses cannot be made at some [`Places`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BurstError {
    /// The places repeat after this many bytes, which is not a power of two.
    Window(usize),
    /// The region is too small for the accesses.
    RegionTooSmall {
        /// Bytes that the accesses need; `usize::MAX` if the number overflows.
        needed: usize,
        /// Bytes of the region.
        region: usize,
    },
    /// The width in bytes; an aligned instruction needs 16.
    Width(usize),
    /// A distance in bytes that is not a multiple of 16, which an aligned instruction needs.
    Misaligned(usize),
}

messages! { BurstError:
    BurstError::Window(bytes) => (
        "places that repeat every {bytes} bytes; a power of two is needed"
    );
    BurstError::RegionTooSmall { needed, region } => (
        "the accesses span {needed}, the region has {region}", needed = Span::of(*needed)
    );
    BurstError::Width(bytes) => ("there is no `movdqa` of {bytes} bytes; 16 are needed");
    BurstError::Misaligned(bytes) => (
        "`movdqa` at a distance of {bytes} bytes; multiples of 16 are needed"
    );
}

/// Bursts of eight accesses of one width. An operation is a burst.
///
/// A store writes the index of the next burst, in bytes and not wrapped, repeated every 8 bytes.
#[derive(Debug)]
pub struct Burst<'m> {
    region: Region<'m>,
    places: Places,
    transfer: Transfer,
    width: Width,
    /// Bursts so far.
    done: u64,
}

impl<'m> Burst<'m> {
    /// Creates bursts that begin at the first place.
    ///
    /// # Errors
    /// If the region is too small, the places do not repeat at a power of two, or an aligned instruction
    /// would be misaligned or have another width than 16.
    pub fn new(
        region: Region<'m>,
        places: Places,
        transfer: Transfer,
        width: Width,
    ) -> Result<Self, BurstError> {
        if !places.window.is_power_of_two() {
            return Err(BurstError::Window(places.window));
        }
        let needed = places.needed(width.bytes());
        needed
            .within(region.len(), |needed, region| BurstError::RegionTooSmall { needed, region })?;
        if transfer.aligned() {
            if width.bytes() != 16 {
                return Err(BurstError::Width(width.bytes()));
            }
            let distances = [places.first, places.apart, places.step];
            if let Some(odd) = distances.into_iter().find(|bytes| bytes % 16 != 0) {
                return Err(BurstError::Misaligned(odd));
            }
        }
        Ok(Burst { region, places, transfer, width, done: 0 })
    }

    /// Bursts per round over all places.
    pub fn round(&self) -> u64 {
        (self.places.window / self.places.grain()) as u64
    }
}

impl Kernel for Burst<'_> {
    /// Returns the low 8 bytes of the value moved last, or all 4 bytes for a width of 4; 0 for no
    /// operations.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return 0;
        }
        let kernel = kernel(self.transfer, self.width).call;
        let Places { first, apart, step, window } = self.places;
        let index = self.places.index(self.done);
        let mask = window as u64 - 1;
        let at = self.region.bytes_mut()[first..].as_mut_ptr();
        // SAFETY: `new` has checked that all places lie in the region, which is borrowed mutably and
        // starts on a line, and that they are aligned if the instruction requires it; the width's token
        // proves that the CPU has the instruction.
        let last = unsafe { kernel(at, index, step as u64, mask, apart, operations) };
        self.done = self.done.wrapping_add(operations);
        last
    }

    fn work(&self) -> Work {
        let (count, bytes) = (BURST as u32, self.width.bytes() as u32);
        match self.transfer.stores() {
            true => Work::default().store(count, bytes),
            false => Work::default().load(count, bytes),
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let bytes = self.width.bytes();
        let mut last = self.places.first;
        for _ in 0..operations {
            let index = self.places.index(self.done);
            self.done = self.done.wrapping_add(1);
            let value = self.places.index(self.done).to_le_bytes();
            for k in 0..BURST {
                last = self.places.place(index, k);
                if !self.transfer.stores() {
                    sink(Access::load(last, bytes as u32));
                    continue;
                }
                sink(Access::store(last, bytes as u32));
                for part in self.region.bytes_mut()[last..last + bytes].chunks_mut(8) {
                    part.copy_from_slice(&value[..part.len()]);
                }
            }
        }
        let (mut moved, low) = ([0; 8], bytes.min(8));
        if operations > 0 {
            moved[..low].copy_from_slice(&self.region.bytes()[last..last + low]);
        }
        u64::from_le_bytes(moved)
    }
}

family! {
    /// The function type of all bursts.
    ///
    /// Returns the low 8 bytes of the value moved last, or all 4 bytes for a width of 4.
    ///
    /// # Safety
    /// The eight accesses of each burst are at `first + (index & mask) + k * apart` for `k` from 0 to 7;
    /// `index` grows by `step` per burst. All lie in memory valid for reads, or for writes if the kernel
    /// stores; `bursts` is not 0; the CPU has the instruction. If the name ends in `_aligned`, all
    /// addresses are multiples of 16.
    pub type Bursts = unsafe extern "sysv64" fn(
        first: *mut u8,
        index: u64,
        step: u64,
        mask: u64,
        apart: usize,
        bursts: u64,
    ) -> u64;

    /// Returns the kernel of a transfer. Aligned transfers have 16 bytes.
    fn kernel(transfer: Transfer, width: Width) {
        (Transfer::Load, Width::W4) => linefill_burst_load4,
        (Transfer::Load, Width::W8) => linefill_burst_load8,
        (Transfer::Load, Width::W16) => linefill_burst_load16,
        (Transfer::Load, Width::W32(_)) => linefill_burst_load32,
        (Transfer::Load, Width::W64(_)) => linefill_burst_load64,
        (Transfer::Store, Width::W4) => linefill_burst_store4,
        (Transfer::Store, Width::W8) => linefill_burst_store8,
        (Transfer::Store, Width::W16) => linefill_burst_store16,
        (Transfer::Store, Width::W32(_)) => linefill_burst_store32,
        (Transfer::Store, Width::W64(_)) => linefill_burst_store64,
        (Transfer::LoadAligned, _) => linefill_burst_load16_aligned,
        (Transfer::StoreAligned, _) => linefill_burst_store16_aligned,
    }
}

/// Places that suit an aligned instruction.
const ALIGNED: [Places; 4] = [
    Places::fixed(0, 16),
    Places::sequential(16, 64, 64),
    Places::sequential(0, 4096, 8),
    Places::scattered(32, 64, 512),
];

/// Places across lines and pages, some of them overlapping.
const ANY: [Places; 5] = [
    Places::fixed(61, 0),
    Places::fixed(3, 7),
    Places::sequential(57, 64, 128),
    Places::sequential(4093, 4096, 16),
    Places::scattered(63, 128, 256),
];

impl Oracle<'_, '_> {
    pub(crate) fn bursts(&mut self, features: Features) {
        use Transfer::{Load, LoadAligned, Store, StoreAligned};
        let any = [Load, Store].map(|transfer| Width::BYTES.map(|bytes| (transfer, bytes)));
        let aligned = [(LoadAligned, 16), (StoreAligned, 16)];
        for (transfer, bytes) in any.into_iter().flatten().chain(aligned) {
            let Some(width) = Width::of(bytes, features) else { continue };
            let any: &[Places] = match transfer {
                Load | Store => &ANY,
                LoadAligned | StoreAligned => &[],
            };
            let places = ALIGNED.into_iter().chain(any.iter().copied());
            let name = kernel(transfer, width).name;
            self.check(name, places, |&places, memory, then| {
                then(&mut Burst::new(memory, places, transfer, width).ok()?)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern crate std;
    use std::collections::BTreeSet;

    /// Returns the places of one round.
    fn round(places: Places) -> BTreeSet<usize> {
        let bursts = places.window / places.grain();
        let of = |burst| (0..BURST).map(move |k| places.place(places.index(burst), k));
        (0..bursts as u64).flat_map(of).collect()
    }

    #[test]
    fn a_round_comes_by_every_place_once_in_either_order() {
        for (stride, count) in [(64, 8), (64, 128), (4096, 8), (128, 1024)] {
            let all: BTreeSet<_> = (0..count).map(|index| 5 + index * stride).collect();
            for places in
                [Places::sequential(5, stride, count), Places::scattered(5, stride, count)]
            {
                assert_eq!(round(places), all, "{places:?}");
                assert_eq!(places.span(4), 5 + (count - 1) * stride + 4);
                assert_eq!(places.window / places.grain() * BURST, count);
            }
        }
        assert_eq!(round(Places::fixed(3, 0)), BTreeSet::from([3]));
        assert_eq!(Places::fixed(3, 10).span(8), 81);
    }

    #[test]
    fn places_that_cannot_be_counted_are_refused() {
        const HUGE: usize = 1 << 61;
        let mut bytes = [0; 1024];
        for places in [
            Places::fixed(0, 0x2492_4924_9249_2493),
            Places::fixed(usize::MAX - 7, 0),
            Places::sequential(0, HUGE, 1),
            Places::sequential(8, HUGE, 8),
            Places::sequential(usize::MAX, 64, 8),
            Places::scattered(0, HUGE, 64),
            Places::scattered(0, 1, usize::MAX),
        ] {
            let region = Region::new(&mut bytes).unwrap();
            let refused = Burst::new(region, places, Transfer::Store, Width::W8).unwrap_err();
            let (BurstError::Window(bytes) | BurstError::RegionTooSmall { needed: bytes, .. }) =
                refused
            else {
                panic!("{places:?}: {refused}");
            };
            assert!(bytes > 1 << 60, "{places:?}: {refused}");
        }
    }

    #[test]
    fn what_cannot_be_accessed_is_refused_by_value() {
        let refused = |places, transfer, width| {
            let mut bytes = [0; 1024 + 128];
            let (region, _) = Region::new(&mut bytes).unwrap().split(1024).unwrap();
            Burst::new(region, places, transfer, width).unwrap_err()
        };
        assert_eq!(
            refused(Places::sequential(0, 48, 8), Transfer::Load, Width::W8),
            BurstError::Window(384)
        );
        assert_eq!(
            refused(Places::fixed(1000, 8), Transfer::Store, Width::W8),
            BurstError::RegionTooSmall { needed: 1064, region: 1024 }
        );
        assert_eq!(
            refused(Places::fixed(0, 16), Transfer::LoadAligned, Width::W8),
            BurstError::Width(8)
        );
        assert_eq!(
            refused(Places::fixed(0, 24), Transfer::StoreAligned, Width::W16),
            BurstError::Misaligned(24)
        );
    }
}
