//! Runs of lines that are filled or read.

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{FillLines, FillWay, LoadLines, LoadWay, Vector};
use crate::mem::Region;

/// Lines, and a way to fill them. An operation is a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FillSetup {
    /// Bytes of all lines together.
    pub bytes: usize,
    /// How they are filled.
    pub way: FillWay,
}

impl Setup for FillSetup {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let fill = FillLines::new(region, self.way).map_err(Untestable::because)?;
        let lap = fill.pass();
        Ok(Subject::Steady {
            kernel: Box::new(fill),
            lap,
        })
    }
}

/// Lines that are read 16, 32 or 64 bytes at a time. An operation is a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoadSetup {
    /// Bytes of all lines together.
    pub bytes: usize,
    /// Bytes of a load.
    pub width: usize,
    /// By `movntdqa` rather than `movdqa`, or their wider forms.
    pub non_temporal: bool,
}

impl Setup for LoadSetup {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        let features = context.features;
        let vector = Vector::of(self.width, features)
            .ok_or_else(|| Untestable(format!("this CPU has no loads of {} bytes", self.width)))?;
        let way = if self.non_temporal {
            let token = features.sse41().ok_or_else(|| {
                Untestable::because("movntdqa needs SSE4.1, which this CPU lacks")
            })?;
            LoadWay::NonTemporal(token, vector)
        } else {
            LoadWay::Cached(vector)
        };
        let load = LoadLines::new(region, way);
        let lap = load.pass();
        Ok(Subject::Steady {
            kernel: Box::new(load),
            lap,
        })
    }
}
