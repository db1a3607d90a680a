//! Bytes that are moved as fast as they go: the lowest of several roofs.

use crate::experiment::machine::calibration::Stream;
use crate::experiment::machine::predict::{Forecast, Model, Parameters};
use crate::mem::LINE;

/// What an operation moves.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::experiment) struct Flow {
    /// Bytes loaded.
    pub loaded: usize,
    /// Bytes stored through the caches, into lines that are not loaded.
    pub stored: usize,
    /// Bytes stored into the lines that are loaded.
    pub updated: usize,
    /// Bytes stored past the caches.
    pub bypassing: usize,
    /// Bytes of an access; none if one instruction moves all.
    pub width: Option<usize>,
}

/// The time of an operation that moves so much of `bytes` that are gone through again and again.
/// Loads and non-temporal stores overlap; lines that come and lines that come and go share a way.
///
/// A stream of loads alone, or of one kind of stores, is what the calibration measured, unless the
/// ports limit it.
pub(in crate::experiment) fn moved(
    parameters: &Parameters<'_>,
    bytes: usize,
    flow: Flow,
    model: &'static Model,
) -> Option<Forecast> {
    let lines = |stream, moved: usize| {
        if moved == 0 {
            return Some(0.0);
        }
        let a_line = if stream == Stream::NonTemporal {
            parameters
                .calibration()
                .line(stream, parameters.machine.ranges.memory)?
        } else {
            let bytes = bytes as f64;
            parameters.lines(stream, bytes)?.step(bytes, LINE as f64)
        };
        Some(a_line * moved as f64 / LINE as f64)
    };
    let loaded = lines(Stream::Loads, flow.loaded)?;
    let stored = lines(Stream::Stores, flow.stored + flow.updated)?;
    let through = loaded + stored;
    let past = lines(Stream::NonTemporal, flow.bypassing)?;
    let lines = through.max(past);
    let mut cycles = lines;
    if let Some(ports) = parameters.machine.ports {
        // A string instruction takes the widest accesses there are.
        let width = flow.width.unwrap_or(64);
        let roof = |moved: usize, a_cycle: Option<u32>| {
            let a_cycle = f64::from(a_cycle?);
            (a_cycle > 0.0).then(|| moved as f64 / a_cycle)
        };
        let in_all = flow.stored + flow.updated + flow.bypassing;
        for (moved, a_cycle) in [
            (flow.loaded + flow.updated, ports.read(width)),
            (in_all, ports.write(width)),
        ] {
            cycles = cycles.max(roof(moved, a_cycle).unwrap_or(0.0));
        }
    }
    let kinds = [flow.loaded, flow.stored, flow.updated, flow.bypassing];
    let one_kind = kinds.iter().filter(|&&bytes| bytes > 0).count() == 1;
    (cycles > 0.0).then_some(Forecast {
        cycles,
        model,
        own_quantity: one_kind && flow.updated == 0 && cycles <= lines,
    })
}
