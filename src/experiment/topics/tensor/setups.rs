//! Reads of a tensor: timed alone, timed with a harness, and counted.

use crate::experiment::prelude::*;
use crate::host::{Event, Host};
use crate::kernel::{Access, Get, Kernel, ReadTensor, Work};
use crate::pattern::{Shape, Storage, Tensor};
use crate::pmu::Reading;
use crate::sim::{Cache, Design, Geometry, Reference};
use crate::time::{start, stop};
use alloc::collections::BTreeSet;
use core::hint::black_box;

/// Set-up of reads of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorSetup {
    pub shape: Shape,
    pub storage: Storage,
    pub get: Get,
}

impl TensorSetup {
    /// Returns the series' tensor in one flat array.
    pub const fn flat(get: Get) -> Self {
        TensorSetup { shape: Shape::SERIES, storage: Storage::Flat, get }
    }

    /// Returns the series' tensor in nested arrays.
    pub const fn nested(storage: Storage, get: Get) -> Self {
        TensorSetup { shape: Shape::SERIES, storage, get }
    }

    /// Stores the tensor in `region`, ready for the first read of a pass.
    pub(crate) fn reads<'m>(&self, region: Region<'m>) -> Testable<ReadTensor<'m>> {
        let tensor = Tensor::new(region, self.shape, self.storage)?;
        Ok(ReadTensor::new(tensor, self.get)?)
    }
}

impl Setup for TensorSetup {
    fn bytes(&self) -> usize {
        self.storage.bytes(self.shape)
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        Ok(Workload::steady(self.reads(region)?, u64::from(ReadTensor::PASS)))
    }
}

/// Set-up of reads in stretches, each with a harness around it: a call, and the clock read before
/// and after. An operation is a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HarnessSetup {
    pub of: TensorSetup,
    /// Reads per stretch.
    pub reads: u32,
}

impl Setup for HarnessSetup {
    fn bytes(&self) -> usize {
        self.of.bytes()
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let stretches = u64::from(ReadTensor::PASS / self.reads.max(1));
        Ok(Workload::steady(
            Harness { kernel: self.of.reads(region)?, reads: self.reads },
            stretches.min(1000),
        ))
    }
}

struct Harness<'m> {
    kernel: ReadTensor<'m>,
    reads: u32,
}

impl Kernel for Harness<'_> {
    /// Returns the checksum of the last stretch.
    fn run(&mut self, operations: u64) -> u64 {
        let mut checksum = 0;
        for _ in 0..operations {
            let began = start();
            checksum = black_box(&mut self.kernel).run(black_box(u64::from(self.reads)));
            black_box(stop() - began);
        }
        checksum
    }

    fn work(&self) -> Work {
        let one = self.kernel.work();
        Work { loads: one.loads * self.reads, bytes_read: one.bytes_read * self.reads, ..one }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        self.kernel.trace(operations * u64::from(self.reads), sink)
    }
}

/// A quantity that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tally {
    /// Touched units of this many bytes, such as lines or pages.
    Units(usize),
    /// Bytes from the first touched byte to the last.
    Span,
    /// Loads per read.
    Loads,
    /// Loads per pass.
    LoadsOfAPass,
    /// Bits in which the sum of a pass, an `f32`, agrees with the flat tensor's sum, from 0 to 32.
    EqualBits,
    /// Instructions per pass.
    Instructions,
    /// Branches per pass.
    Branches,
    /// Misses of a pass in an LRU cache that is empty at first.
    Misses(Geometry),
    /// Misses of a second pass in the same cache.
    LaterMisses(Geometry),
    /// Counts of an event per pass, by the CPU's counters.
    Counted(Event),
}

/// Set-up that counts over the reads of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TallySetup {
    pub of: TensorSetup,
    pub what: Tally,
}

/// The flat tensor, whose sum the sums of the others are compared with.
const FLAT: TensorSetup = TensorSetup::flat(Get::Strides);

const PASS: u64 = ReadTensor::PASS as u64;

impl Setup for TallySetup {
    fn bytes(&self) -> usize {
        self.of.bytes().max(FLAT.bytes())
    }

    fn is_count(&self) -> bool {
        true
    }

    fn prepare<'m>(&self, mut region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let mut reads = self.of.reads(region.reborrow())?;
        let get = self.of.get;
        let a_pass = |each: u32| f64::from(each) * PASS as f64;
        Ok(Workload::Count(match self.what {
            Tally::Units(bytes) => units(&self.period(reads), bytes) as f64,
            Tally::Span => span(&self.period(reads)) as f64,
            Tally::Loads => self.period(reads).len() as f64 / self.numbers() as f64,
            Tally::LoadsOfAPass => a_pass(reads.work().loads),
            Tally::Instructions => a_pass(get.instructions()),
            Tally::Branches => a_pass(get.branches()),
            Tally::EqualBits => {
                let ours = reads.run(PASS);
                let theirs = FLAT.reads(region)?.run(PASS);
                f64::from(u32::BITS - (ours ^ theirs).count_ones())
            }
            Tally::Misses(geometry) => misses(&mut reads, &mut empty(geometry)) as f64,
            Tally::LaterMisses(geometry) => {
                let cache = &mut empty(geometry);
                let first = misses(&mut reads, cache);
                (misses(&mut reads, cache) - first) as f64
            }
            Tally::Counted(event) => counted(context.host, &mut reads, event)?,
        }))
    }
}

impl TallySetup {
    /// Returns the number of reads after which the places repeat, or that of a pass if it is
    /// shorter.
    fn numbers(&self) -> u64 {
        let divisors = self.of.get.divisors(self.of.shape);
        (divisors.period() as u64).min(PASS)
    }

    /// Returns the accesses of [`numbers`](Self::numbers) reads.
    fn period(&self, mut reads: ReadTensor<'_>) -> Vec<Access> {
        let mut accesses = Vec::new();
        reads.trace(self.numbers(), &mut |access| accesses.push(access));
        accesses
    }
}

/// Returns the number of touched units of `bytes` bytes.
fn units(accesses: &[Access], bytes: usize) -> usize {
    let touched = accesses.iter().flat_map(|access| {
        let last = access.offset + access.bytes as usize - 1;
        access.offset / bytes..=last / bytes
    });
    touched.collect::<BTreeSet<usize>>().len()
}

/// Returns the bytes from the first touched byte to the last.
fn span(accesses: &[Access]) -> usize {
    let first = accesses.iter().map(|access| access.offset).min();
    let end = accesses.iter().map(|access| access.offset + access.bytes as usize).max();
    end.unwrap_or(0) - first.unwrap_or(0)
}

fn empty(geometry: Geometry) -> Cache {
    Cache::new(Design::lru(geometry))
}

/// Serves a pass. Returns the misses of the cache in this pass and all before it.
fn misses(reads: &mut ReadTensor<'_>, cache: &mut Cache) -> u64 {
    reads.trace(PASS, &mut |access| {
        cache.reference(Reference::of(access, 0));
    });
    cache.counters().reads.misses
}

/// Returns the CPU's count per pass: the count around two passes minus the count around one, so
/// that events that happen once cancel.
fn counted(host: &dyn Host, reads: &mut ReadTensor<'_>, event: Event) -> Testable<f64> {
    let group = host.counters(&[event])?;
    if let Some(refusal) = group.refusal(0) {
        return Err(Untestable::because(refusal));
    }
    reads.run(PASS);
    let mut around = |passes: u64| {
        let mut count = [Reading::default()];
        group.around(
            &mut || {
                black_box(reads.run(passes * PASS));
            },
            &mut count,
        )?;
        count[0]
            .scaled()
            .ok_or_else(|| Untestable("the event was never assigned a counter".to_owned()))
    };
    let (one, two) = (around(1)?, around(2)?);
    Ok((two - one).max(0.0))
}
