//! Compares the model of a walk with a simulated cache that executes all steps.
#![cfg(feature = "std")]

use linefill::model::{Level, Placement};
use linefill::pattern::Rng;
use linefill::sim::{Cache, Design, Geometry, Reference};

const LINE: u64 = 64;
const PAGE: u64 = 4096;

/// The numbers from 0 in random order.
fn shuffled(count: u64, rng: &mut Rng) -> Vec<u64> {
    let mut order: Vec<u64> = (0..count).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, rng.below(last + 1));
    }
    order
}

/// The share of hits in the second lap of a random walk through `bytes`. The cache sees the addresses of page
/// frames, which are scattered if `scattered`.
fn simulated(size: u64, ways: u64, bytes: u64, element: u64, scattered: bool) -> f64 {
    let mut rng = Rng::new(bytes + element);
    let geometry = Geometry::new(size, ways, LINE).unwrap();
    let mut cache = Cache::new(Design::lru(geometry));
    let frames: Vec<u64> = (0..bytes.div_ceil(PAGE))
        .map(|page| match scattered {
            true => rng.below(1 << 24) as u64,
            false => page,
        })
        .collect();
    let order = shuffled(bytes / element, &mut rng);
    let period = |cache: &mut Cache| {
        for place in &order {
            let address = place * element;
            let frame = frames[(address / PAGE) as usize];
            cache.reference(Reference::load(frame * PAGE + address % PAGE, 8));
        }
        cache.counters().reads.misses
    };
    let first = period(&mut cache);
    let second = period(&mut cache) - first;
    1.0 - second as f64 / order.len() as f64
}

fn modelled(size: u64, ways: u64, bytes: u64, element: u64, scattered: bool) -> f64 {
    let level = Level {
        bytes: size as f64,
        ways: ways as f64,
        placement: match scattered {
            true => Placement::ByChance,
            false => Placement::Even,
        },
        cost: 0.0,
    };
    level.hits(bytes as f64, LINE as f64 / element as f64)
}

#[test]
fn the_model_hits_as_often_as_a_simulated_cache() {
    let mut worst: (f64, String) = (0.0, String::new());
    // The walks of the large cache take longest, and are fewer: its pages are scattered, whatever the elements are.
    for (size, ways, scattered, elements, longest) in [
        (32 << 10, 8, false, &[8, 16, 32, 64][..], 64),
        (48 << 10, 12, false, &[8, 16, 32, 64], 64),
        (1 << 20, 8, true, &[16, 64], 32),
    ] {
        for &element in elements {
            let eighths = [4, 6, 8, 9, 10, 12, 16, 24, 32, 64].into_iter();
            for eighths in eighths.filter(|eighths| *eighths <= longest) {
                let bytes = size * eighths / 8;
                let simulated = simulated(size, ways, bytes, element, scattered);
                let modelled = modelled(size, ways, bytes, element, scattered);
                let error = (simulated - modelled).abs();
                if error > worst.0 {
                    let what = format!(
                        "{size} bytes, {ways} ways, {bytes} walked in {element}: {simulated} \
                         simulated, {modelled} modelled"
                    );
                    worst = (error, what);
                }
            }
        }
    }
    // 512 pages are distributed randomly over 32 colours: the share of crowded colours varies this much
    // between walks.
    assert!(worst.0 < 0.1, "{}", worst.1);
}
