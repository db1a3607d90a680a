//! Loads and stores of one width: of consecutive whole lines, or in bursts at chosen places.

use crate::experiment::machine::predict::{Flow, moved};
use crate::experiment::prelude::*;
use crate::kernel::{
    Burst, FillLines, FillWay, LoadLines, LoadWay, Places, Transfer, Vector, Width,
};

/// Lines, and a way to fill them. One operation is a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FillSetup {
    pub bytes: usize,
    pub way: FillWay,
}

impl Setup for FillSetup {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let fill = FillLines::new(region, self.way)?;
        let period = fill.pass();
        Ok(Workload::steady(fill, period))
    }

    /// Predicts only fills of whole lines.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let none = Flow { width: Some(16), ..Flow::default() };
        let flow = match self.way {
            FillWay::Cached => Flow { stored: LINE, ..none },
            FillWay::NonTemporal => Flow { bypassing: LINE, ..none },
            _ => return None,
        };
        moved(parameters, self.bytes, flow, &LINES)
    }
}

/// Lines that are read 16, 32 or 64 bytes at a time. One operation is a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoadSetup {
    pub bytes: usize,
    /// Bytes per load.
    pub width: usize,
    /// Whether to load with `movntdqa` instead of `movdqa`, or with their wider forms.
    pub non_temporal: bool,
}

impl Setup for LoadSetup {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let features = context.features;
        let vector = Vector::of(self.width, features).ok_or_else(|| no_loads(self.width))?;
        let way = if self.non_temporal {
            let token = features.sse41().ok_or_else(|| {
                Untestable::because("movntdqa needs SSE4.1, which this CPU lacks")
            })?;
            LoadWay::NonTemporal(token, vector)
        } else {
            LoadWay::Cached(vector)
        };
        let load = LoadLines::new(region, way);
        let period = load.pass();
        Ok(Workload::steady(load, period))
    }

    /// Predicts a non-temporal load as an ordinary load, which it is on ordinary memory.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let flow = Flow { loaded: LINE, width: Some(self.width), ..Flow::default() };
        moved(parameters, self.bytes, flow, &LINES)
    }
}

static LINES: Model = Model {
    name: "lines at the rate of a stream",
    basis: Basis::Published,
    bar: 0.25,
    leaves_out: "dependent additions, where lines arrive fast",
};

/// Returns the reason why loads of this width are not measured.
pub(crate) fn no_loads(bytes: usize) -> Untestable {
    Untestable(format!("this CPU has no loads of {bytes} bytes"))
}

/// Accesses of one width at chosen places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BurstSetup {
    pub places: Places,
    pub transfer: Transfer,
    /// Bytes per access: 4, 8, 16, 32 or 64.
    pub width: usize,
}

impl Setup for BurstSetup {
    fn bytes(&self) -> usize {
        self.places.span(self.width)
    }

    fn prepare<'m>(&self, mut region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let width = Width::of(self.width, context.features).ok_or_else(|| no_width(self.width))?;
        // All untouched pages of a mapping share one zero page.
        region.bytes_mut()[..self.bytes()].fill(1);
        let burst = Burst::new(region, self.places, self.transfer, width)?;
        let period = burst.round();
        Ok(Workload::steady(burst, period))
    }
}

/// Returns the reason why accesses of `bytes` bytes are impossible here.
pub(crate) fn no_width(bytes: usize) -> Untestable {
    Untestable(format!("this CPU has no accesses of {bytes} bytes"))
}
