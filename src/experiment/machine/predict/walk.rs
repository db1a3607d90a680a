//! Steps of walks.

use crate::experiment::machine::calibration::Stream;
use crate::experiment::machine::predict::{Forecast, Model, Parameters};
use crate::mem::{LINE, PAGE};
use crate::model::Walk;

static RANDOM: Model = Model {
    name: "latencies by what each level finds again",
    bar: 0.15,
    leaves_out: "neighbours in a shared cache, and rows of memory that are open already",
};

static IN_ORDER: Model = Model {
    name: "lines in order, at the rate of a stream",
    bar: 0.15,
    leaves_out: "which strides the prefetchers follow, and how well: up to a quarter of a page they \
                 are taken to bring lines as fast as a stream of loads has them, beyond it none",
};

/// The largest stride that prefetchers are taken to follow: they stay in a page, where they have
/// to see some steps first.
const FOLLOWED: usize = PAGE / 4;

/// Elements of a walk: their number, the bytes from one to the next, and whether the offset in the
/// page rotates.
#[derive(Clone, Copy, Debug)]
pub(in crate::experiment) struct Places {
    /// How many.
    pub count: usize,
    /// Bytes from one to the next.
    pub stride: usize,
    /// Whether they lie in all sets, though they lie a page apart.
    pub rotating: bool,
}

impl Places {
    /// Lines one after the other.
    pub const fn lines(count: usize) -> Self {
        Places {
            count,
            stride: LINE,
            rotating: false,
        }
    }

    /// Bytes that the levels see: elements larger than a line leave lines between them untouched.
    fn bytes(self) -> f64 {
        (self.count * self.stride.min(LINE)) as f64
    }
}

fn common(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The same levels for lines that lie in some of the sets alone: L1d's are chosen by the address,
/// those of others by as much of it as lies in the page.
fn crowded(mut walk: Walk, places: Places, page: usize) -> Walk {
    let lines = places.stride / LINE;
    if lines <= 1 || places.rotating {
        return walk;
    }
    for (index, level) in walk.levels.iter_mut().enumerate() {
        let sets = (level.bytes / level.ways / LINE as f64) as usize;
        let chosen = if index == 0 {
            sets
        } else {
            sets.min(page / LINE)
        };
        level.bytes /= common(chosen.max(1), lines) as f64;
    }
    walk
}

/// Core cycles of a step at random, `pages` of the walk's being in use at a time.
pub(in crate::experiment) fn random(
    parameters: &Parameters<'_>,
    places: Places,
    pages: Option<usize>,
) -> Option<Forecast> {
    let mut walk = parameters.latencies()?;
    let translation = walk.translation.take();
    let walk = crowded(walk, places, parameters.page);
    let element = places.stride.min(LINE) as f64;
    let mut cycles = walk.step(places.bytes(), element);
    if translation.is_some() {
        let whole = places.count * places.stride;
        let used = pages.map_or(whole, |pages| whole.min(pages * PAGE));
        cycles += Walk {
            translation,
            ..walk
        }
        .translate(used as f64, places.stride as f64);
    }
    Some(Forecast {
        cycles,
        model: &RANDOM,
    })
}

/// Core cycles of a step to the next element; `stores` if it is written.
pub(in crate::experiment) fn in_order(
    parameters: &Parameters<'_>,
    places: Places,
    stores: bool,
) -> Option<Forecast> {
    if places.stride > FOLLOWED {
        // Each lap comes by every line, and every page, once.
        let mut walk = parameters.latencies()?;
        let translation = walk.translation.take();
        let walk = crowded(walk, places, parameters.page);
        let mut cycles = walk.step(places.bytes(), LINE as f64);
        if translation.is_some() {
            let stride = places.stride.max(parameters.page) as f64;
            let bytes = (places.count * places.stride) as f64;
            cycles += Walk {
                translation,
                ..walk
            }
            .translate(bytes, stride);
        }
        return Some(Forecast {
            cycles,
            model: &IN_ORDER,
        });
    }
    let stream = if stores {
        Stream::Stores
    } else {
        Stream::Loads
    };
    let lines = parameters.lines(stream, places.bytes())?;
    let a_line = crowded(lines, places, parameters.page).step(places.bytes(), LINE as f64);
    let lines = (places.stride as f64 / LINE as f64).min(1.0);
    Some(Forecast {
        cycles: parameters.l1()?.max(a_line * lines),
        model: &IN_ORDER,
    })
}
