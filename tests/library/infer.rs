//! Inference from noisy curves of made-up machines with known properties, and from the record of a real
//! machine.
#![cfg(feature = "std")]

automod::dir!("tests/library/infer");

use linefill::infer::{decide, entries, in_parallel, last_before_rise, line, sets, settled, size};
use linefill::pattern::Rng;
use linefill::stats::Interval;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// The number of noisy curves per error rate.
const CURVES: u64 = 60;

/// Noise: a factor within `share` of 1, with a triangular distribution.
struct Noise {
    rng: Rng,
    share: f64,
}

impl Noise {
    fn new(seed: u64, share: f64) -> Self {
        Noise { rng: Rng::new(seed), share }
    }

    fn uniform(&mut self) -> f64 {
        self.rng.below(1 << 20) as f64 / f64::from(1 << 20)
    }

    /// A measured value: the true value with noise, and an interval as wide as the noise.
    fn measured(&mut self, value: f64) -> Interval {
        let off = (self.uniform() + self.uniform() - 1.0) * self.share;
        Interval::exact(value * (1.0 + off)).widened(self.share)
    }

    fn curve(&mut self, points: impl IntoIterator<Item = (f64, f64)>) -> Vec<(f64, Interval)> {
        let points = points.into_iter();
        points.map(|(x, y)| (x, self.measured(y))).collect()
    }
}

/// The share of noisy curves with an answer other than `truth`.
fn errors<T: PartialEq>(share: f64, truth: &T, answer: impl Fn(&mut Noise) -> Option<T>) -> f64 {
    // Without noise all curves are the same.
    let curves = if share == 0.0 { 1 } else { CURVES };
    let wrong =
        (0..curves).filter(|seed| answer(&mut Noise::new(*seed, share)).as_ref() != Some(truth));
    wrong.count() as f64 / curves as f64
}

/// Answers with high confidence must be right more often than the others.
#[test]
fn confidence_means_something() {
    let truth = 64;
    // Wrong answers, and all.
    let [mut sure, mut others] = [[0; 2]; 2];
    for share in [0.02, 0.04, 0.06, 0.08] {
        for seed in 0..CURVES {
            let mut noise = Noise::new(seed, share);
            let times =
                (0..64).map(|offset| (f64::from(offset), if offset > 56 { 5.0 } else { 4.0 }));
            let Some(found) = line(&noise.curve(times), 8.0) else {
                continue;
            };
            let of = match found.confidence > 0.9 {
                true => &mut sure,
                false => &mut others,
            };
            of[0] += u64::from(found.value != truth);
            of[1] += 1;
        }
    }
    println!("{sure:?} of the sure answers are wrong, {others:?} of the others");
    assert!(sure[1] > CURVES / 2, "{sure:?}");
    assert!(20 * sure[0] <= sure[1], "{sure:?}");
    assert!(others[0] * sure[1] > 2 * sure[0] * others[1], "{sure:?}, {others:?}");
}

#[test]
fn nothing_comes_of_nothing() {
    assert_eq!(decide(&[], |points| points.first().map(|p| p.0 as u32)), None);
    assert_eq!(line(&[], 8.0), None);
    assert_eq!(sets(&[]), None);
    assert_eq!(entries(&[], 16.0, 384.0), None);
    assert_eq!(last_before_rise(&[]), None);
    assert_eq!(in_parallel(&[]), None);
    assert_eq!(settled([], 0.01), None);
    assert_eq!(size(&[], 0), None);
}

/// Records of guests: inference must find what CPUID reports, without using CPUID.
#[cfg(feature = "lab")]
#[test]
fn the_recorded_machine_is_found_as_it_is() {
    for stored in super::records::all() {
        let analysis = stored.analysis();
        let (machine, found) = (&analysis.machine, &analysis.inferred);
        let stated = |level| machine.data_cache(level).expect("a cache by CPUID");
        let (l1, l2) = (stated(1), stated(2));
        let name = stored.path.display();
        assert_eq!(found.line.as_ref().map(|of| of.value), Some(l1.line), "{name}");
        let sets = found.l1.as_ref().expect("sets").value;
        assert_eq!(sets.size(), l1.size as f64, "{name}");
        assert_eq!(Some(sets.ways), l1.ways, "{name}");
        assert_eq!(found.l2.as_ref().map(|of| of.value), Some(l2.size as f64), "{name}");
        assert!(found.levels.len() >= 4, "{name}");
        assert!(found.clock.as_ref().is_some_and(|clock| clock.confidence > 0.5), "{name}");
    }
}
