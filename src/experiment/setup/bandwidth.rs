//! Memory that is read, written, updated or copied as fast as it goes.

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{Bandwidth, Motion, Vector};
use crate::mem::Region;

/// What moves the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mover {
    /// Loads and stores of so many bytes.
    Vectors(usize),
    /// One string instruction.
    String,
}

/// Blocks, and what is done to them. An operation is a block of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BandwidthSetup {
    /// Bytes of all blocks, both halves included where there are two.
    pub bytes: usize,
    /// What is done.
    pub motion: Motion,
    /// By what.
    pub mover: Mover,
}

impl Setup for BandwidthSetup {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        let vector = match self.mover {
            Mover::String => Vector::Sse2,
            Mover::Vectors(bytes) => Vector::of(bytes, context.features).ok_or_else(|| {
                Untestable(format!(
                    "vectors of {bytes} bytes need a feature that this CPU lacks"
                ))
            })?,
        };
        let bandwidth = Bandwidth::new(region, self.motion, vector).map_err(Untestable::because)?;
        let lap = bandwidth.pass();
        Ok(Subject::Steady {
            kernel: Box::new(bandwidth),
            lap,
        })
    }
}
