//! Runs of lines that are filled or read.

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{FillLines, FillWay, LoadLines, LoadWay};
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

/// Lines that are read 16 bytes at a time. An operation is a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoadSetup {
    /// Bytes of all lines together.
    pub bytes: usize,
    /// By `movntdqa` rather than `movdqa`.
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
        let way = if self.non_temporal {
            let token = context.features.sse41();
            LoadWay::NonTemporal(token.ok_or_else(|| {
                Untestable("movntdqa needs SSE4.1, which this CPU lacks".to_owned())
            })?)
        } else {
            LoadWay::Cached
        };
        let load = LoadLines::new(region, way);
        let lap = load.pass();
        Ok(Subject::Steady {
            kernel: Box::new(load),
            lap,
        })
    }
}
