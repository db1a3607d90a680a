//! Reads of a tensor, bare and with a harness around them.

use crate::experiment::prelude::*;
use crate::kernel::{Access, Get, Kernel, ReadTensor, Work};
use crate::mem::Region;
use crate::pattern::{Shape, Storage, Tensor};
use crate::time::{start, stop};
use core::hint::black_box;

/// A tensor, and how its elements are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorSetup {
    /// Its dimensions.
    pub shape: Shape,
    /// How it is stored.
    pub storage: Storage,
    /// How an element is found.
    pub get: Get,
}

impl TensorSetup {
    /// The series' tensor in one run.
    pub const fn flat(get: Get) -> Self {
        TensorSetup {
            shape: Shape::SERIES,
            storage: Storage::Flat,
            get,
        }
    }

    /// The series' tensor, nested.
    pub const fn nested(storage: Storage, get: Get) -> Self {
        TensorSetup {
            shape: Shape::SERIES,
            storage,
            get,
        }
    }

    /// Stores the tensor in `region`, ready for the first read of a pass.
    pub(crate) fn reads<'m>(&self, region: Region<'m>) -> Result<ReadTensor<'m>, Untestable> {
        let tensor = Tensor::new(region, self.shape, self.storage)?;
        Ok(ReadTensor::new(tensor, self.get)?)
    }
}

impl Setup for TensorSetup {
    fn bytes(&self) -> usize {
        self.storage.bytes(self.shape)
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        Ok(Workload::steady(
            self.reads(region)?,
            u64::from(ReadTensor::PASS),
        ))
    }
}

/// The same reads in stretches, each with a harness around it: a call, and the clock read before
/// and after. An operation is a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HarnessSetup {
    /// What is read.
    pub of: TensorSetup,
    /// Reads of a stretch.
    pub reads: u32,
}

impl Setup for HarnessSetup {
    fn bytes(&self) -> usize {
        self.of.bytes()
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let stretches = u64::from(ReadTensor::PASS / self.reads.max(1));
        Ok(Workload::steady(
            Harness {
                kernel: self.of.reads(region)?,
                reads: self.reads,
            },
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
        Work {
            loads: one.loads * self.reads,
            bytes_read: one.bytes_read * self.reads,
            ..one
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        self.kernel.trace(operations * u64::from(self.reads), sink)
    }
}
