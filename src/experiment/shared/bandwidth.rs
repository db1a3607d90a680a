//! Memory that is read, written, updated or copied at full speed by one thread, by several threads, or
//! beside a second process.

use crate::experiment::machine::predict::{Flow, moved};
use crate::experiment::prelude::*;
use crate::host::{BackgroundLoad, Worker};
use crate::kernel::{BLOCK, Bandwidth, Motion, SharedBandwidth, Vector};

/// The instructions that move the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mover {
    /// Loads and stores of this many bytes.
    Vectors(usize),
    /// One string instruction.
    String,
}

impl Mover {
    fn vector(self, context: &Context) -> Testable<Vector> {
        match self {
            Mover::String => Ok(Vector::Sse2),
            Mover::Vectors(bytes) => Vector::of(bytes, context.features).ok_or_else(|| {
                Untestable(format!("vectors of {bytes} bytes need a feature that this CPU lacks"))
            }),
        }
    }
}

/// Blocks, and the operation on them. One operation is a block of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BandwidthSetup {
    /// Bytes of all blocks, in all parts if there are several.
    pub bytes: usize,
    pub motion: Motion,
    pub mover: Mover,
}

impl BandwidthSetup {
    pub const fn new(bytes: usize, motion: Motion, mover: Mover) -> Self {
        BandwidthSetup { bytes, motion, mover }
    }
}

impl Setup for BandwidthSetup {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let bandwidth = Bandwidth::new(region, self.motion, self.mover.vector(context)?)?;
        let period = bandwidth.pass();
        Ok(Workload::steady(bandwidth, period))
    }

    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let width = match self.mover {
            Mover::Vectors(bytes) => Some(bytes),
            Mover::String => None,
        };
        let [loaded, stored, updated, bypassing] = match self.motion {
            Motion::Read => [1, 0, 0, 0],
            Motion::ReadHalves => [2, 0, 0, 0],
            Motion::ReadQuarters => [4, 0, 0, 0],
            Motion::Write | Motion::RepStosb => [0, 1, 0, 0],
            Motion::Update => [0, 0, 1, 0],
            Motion::Copy | Motion::RepMovsb => [1, 1, 0, 0],
            Motion::Add | Motion::AddThree | Motion::Triad => [self.motion.parts() - 1, 1, 0, 0],
            Motion::WriteNonTemporal => [0, 0, 0, 1],
            Motion::TriadNonTemporal => [2, 0, 0, 1],
            Motion::CopyNonTemporal => [1, 0, 0, 1],
        }
        .map(|blocks| blocks * BLOCK);
        let flow = Flow { loaded, stored, updated, bypassing, width };
        moved(parameters, self.bytes, flow, &STREAMS)
    }
}

/// The work of a second process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Background {
    pub bytes: usize,
    /// The operation on them, with the same vectors.
    pub motion: Motion,
    pub cpu: usize,
}

/// Blocks, the operation on them, and a second process beside it. One operation is a block of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BesideSetup {
    pub measured: BandwidthSetup,
    pub background: Background,
}

impl Setup for BesideSetup {
    fn bytes(&self) -> usize {
        self.measured.bytes
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let Background { bytes, motion, cpu } = self.background;
        // Two processes on one CPU would take turns.
        if context.host.current_cpu() == Some(cpu) {
            return Err(Untestable(
                "the second process needs another CPU than the measuring thread".to_owned(),
            ));
        }
        let vector = self.measured.mover.vector(context)?;
        let kernel = Bandwidth::new(region, self.measured.motion, vector)?;
        let period = kernel.pass();
        Ok(Workload::Steady {
            kernel: Box::new(kernel),
            period,
            beside: Some(BackgroundLoad { cpu, bytes, motion, vector }),
        })
    }
}

/// Which blocks each of several threads works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// All threads work on the same blocks, and begin at evenly spaced places.
    All,
    /// Each thread works on as many blocks, which it touched first and which therefore lie on its own
    /// node.
    Each,
}

/// Blocks, and the operation of several threads on them at the same time. One operation is a block of
/// 512 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BandwidthGroupSetup {
    /// The blocks of a thread, and the operation on them.
    pub of: BandwidthSetup,
    /// Whether the threads share the blocks.
    pub owner: Owner,
    pub cpus: Vec<usize>,
}

impl Setup for BandwidthGroupSetup {
    fn bytes(&self) -> usize {
        match self.owner {
            Owner::All => self.of.bytes,
            Owner::Each => self.of.bytes * self.cpus.len().max(1),
        }
    }

    fn moves_pages(&self) -> bool {
        self.owner == Owner::Each
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let BandwidthSetup { bytes, motion, mover } = self.of;
        let vector = mover.vector(context)?;
        let mut period = 0;
        let mut workers = Vec::with_capacity(self.cpus.len());
        match self.owner {
            Owner::All => {
                let words = region.into_atomics();
                let of = |first| SharedBandwidth::new(words, motion, vector, first);
                period = of(0)?.pass();
                let threads = self.cpus.len() as u64;
                for (index, &cpu) in (0..).zip(&self.cpus) {
                    workers.push(Worker::new(cpu, of(period * index / threads)?));
                }
            }
            Owner::Each => {
                let parts = region.into_bytes().chunks_exact_mut(bytes.max(1));
                for (part, &cpu) in parts.zip(&self.cpus) {
                    // Pages of the hugetlb pool cannot be moved before Linux 5.18.
                    let _ = context.host.first_touched_on(part, cpu);
                    let kernel = Bandwidth::new(Region::new(part)?, motion, vector)?;
                    period = kernel.pass();
                    workers.push(Worker::new(cpu, kernel));
                }
            }
        }
        // With two threads of the same speed, the median is the more disturbed thread.
        Ok(Workload::at_once(workers, SampleOf::Median, period))
    }
}

static STREAMS: Model = Model {
    name: "the lowest roof: ports, or lines at the rate of a stream",
    basis: Basis::Published,
    bar: 0.25,
    leaves_out: "the overlap of loads and stores on their way to memory, and non-temporal stores \
                 beside them",
};
