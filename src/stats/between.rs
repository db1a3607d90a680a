//! The value behind several passes, which are the independent units.
//!
//! There are few passes, so their own variance says little about how far their mean may be from the
//! value. The variance between the passes of similar points is known far better. It is the prior that
//! moderates the variance of each point (Smyth 2004, Linear models and empirical Bayes methods for
//! assessing differential expression, section 6.2). All computations are on logarithms, because passes
//! differ by a ratio.

#[cfg(not(feature = "std"))]
use crate::float::Float as _;
use alloc::vec::Vec;

use super::Interval;
use super::student::{bisect, digamma, t_quantile, trigamma};

/// The distribution of a variance between passes before the point's own passes are known: `dof` times
/// `variance` over a chi-square of `dof` degrees of freedom. The variance is of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// Degrees of freedom: the prior is worth this many passes.
    pub dof: f64,
    /// The typical variance.
    pub variance: f64,
}

/// The value estimated from the passes over a point.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// The confidence interval of the value. With two steady states, the hull of both intervals.
    pub interval: Interval,
    /// The intervals of two steady states, the smaller first, if there are two.
    pub states: Option<[Interval; 2]>,
}

/// Factor for heavy tails: intervals are wider by this, divided by the number of passes, than for a
/// normal distribution. The passes of the kept records have heavier tails, of which two passes show
/// nothing and ten nearly all.
const TAILS: f64 = 0.25;

/// The smallest number of points from which a prior is estimated.
const ENOUGH: usize = 8;

/// A standard deviation below the resolution of any clock. Its square is added to variances: otherwise a
/// point whose passes agree to the tick would have no logarithm of a variance.
const RESOLUTION: f64 = 5e-4;

/// The largest distance of a pass from the median, in standard deviations, among [`TELLING`] and more
/// passes. A pass that lies farther was disturbed by something that no monitor saw, and is moved to this
/// distance.
const OUTLYING: f64 = 5.0;

/// The smallest number of passes among which a single one can be recognised as disturbed.
const TELLING: usize = 4;

/// The smallest gap between two groups of passes that count as two steady states, in standard deviations
/// within the groups. Fewer than 0.1 % of sets of ten normally distributed passes have such a gap, and
/// 0.1 % of sets of four.
const APART: f64 = 6.0;

/// The error probability of taking two passes for two steady states.
const SELDOM: f64 = 0.01;

/// This many passes that agree are a steady state however many others there are: four disturbances
/// seldom take equally long.
const STATE: usize = 4;

/// The smallest gap of the logarithm that counts as two steady states.
const NOTABLE: f64 = 0.03;

impl Prior {
    /// The prior of a run with too few points, from the kept records: see METHODOLOGY.md.
    pub const KEPT: Prior = Prior { dof: 1.0, variance: 0.006 * 0.006 };

    /// Estimates the priors of groups of similar points from the logarithms of the passes of each point.
    /// Returns `None` if too few points have two passes.
    ///
    /// The logarithm of a point's variance has a known mean and variance in addition to those of the
    /// prior; the rest is the prior's. Variances differ more between groups than within. Each group has
    /// its own mean, which is drawn towards the mean of all the more, the fewer points the group has
    /// (the best linear prediction of a random effect; Searle, Casella and McCulloch 1992, Variance
    /// components, chapter 7, with the variances by analysis of variance, section 3.6). The remaining
    /// uncertainty of that mean costs degrees of freedom.
    pub fn of_groups(groups: &[Vec<Vec<f64>>]) -> Option<Vec<Self>> {
        let rows: Vec<Vec<[f64; 2]>> = groups.iter().map(|of| variances(of)).collect();
        let count = rows.iter().map(Vec::len).sum::<usize>();
        if count < ENOUGH {
            return None;
        }
        let own = rows.iter().flatten().map(|row| row[1]).sum::<f64>() / count as f64;
        let of_group = |rows: &Vec<[f64; 2]>| {
            let logs: Vec<f64> = rows.iter().map(|row| row[0]).collect();
            (logs.len() as f64, spread(&logs))
        };
        let known: Vec<_> = rows.iter().map(of_group).collect();
        let filled = || known.iter().filter(|(count, _)| *count > 0.0);
        let (count, some) = (count as f64, filled().count() as f64);
        let all: Vec<f64> = rows.iter().flatten().map(|row| row[0]).collect();
        let (mean, squares) = spread(&all);
        let squares_within = filled().map(|(_, (_, squares))| squares).sum::<f64>();
        let (within, between) = match some > 1.0 && count - some >= ENOUGH as f64 {
            true => {
                let within = squares_within / (count - some);
                let sizes = filled().map(|(count, _)| count * count).sum::<f64>() / count;
                let left = squares - squares_within - (some - 1.0) * within;
                (within, (left / (count - sizes)).max(0.0))
            }
            // Too few groups have several points to separate the variance within groups from that
            // between them.
            false => (squares / (count - 1.0), 0.0),
        };
        // The weight of a group's own mean against the mean of all.
        let weight = |count: f64| match between > 0.0 {
            true => between / (between + within / count.max(f64::MIN_POSITIVE)),
            false => 0.0,
        };
        let prior = |(count, (of_group, _)): &(f64, (f64, f64))| {
            let weight = weight(*count);
            let mean = if *count > 0.0 { mean + weight * (of_group - mean) } else { mean };
            let left = (within - own).max(0.0) + between * (1.0 - weight);
            // Half the degrees of freedom, bounded below by those of two passes and above by those of
            // identical points. With fewer, a single pass would say nothing about its value.
            let (least, most) = (0.5_f64, 100.0_f64);
            let half = bisect(least.ln(), most.ln(), |ln| trigamma(ln.exp()) > left).exp();
            Prior { dof: 2.0 * half, variance: (mean + digamma(half) - half.ln()).exp() }
        };
        Some(known.iter().map(prior).collect())
    }

    /// Estimates the value behind passes, where a share of at most `error` of the intervals misses the
    /// value. Returns `None` without passes, if a pass is not wholly positive and finite, or if `error` does
    /// not lie between 0 and 1.
    pub fn estimate(self, passes: &[Interval], error: f64) -> Option<Estimate> {
        let usable = |pass: &Interval| pass.lo > 0.0 && pass.lo.is_finite() && pass.hi.is_finite();
        let asked = error > 0.0 && error < 1.0;
        if passes.is_empty() || !asked || !passes.iter().all(usable) {
            return None;
        }
        let mut logs: Vec<f64> = passes.iter().map(|pass| pass.middle().ln()).collect();
        logs.sort_by(f64::total_cmp);
        // The half width of a pass's interval is 1.96 standard deviations of its median.
        let reach = |pass: &Interval| (pass.hi / pass.lo).ln() / 2.0 / 1.96;
        let within =
            passes.iter().map(|pass| reach(pass).powi(2)).sum::<f64>() / passes.len() as f64;
        let interval = |mean: f64, variance: f64, count: usize, dof: f64| {
            let count = count as f64;
            let tails = 1.0 + TAILS / count;
            let reach = tails * t_quantile(error, dof) * ((variance + within) / count).sqrt();
            Interval::new((mean - reach).exp(), (mean + reach).exp())
        };
        if let Some(cut) = self.two_states(&logs) {
            let groups = [&logs[..cut], &logs[cut..]].map(|group| (spread(group), group.len()));
            let squares = groups.iter().map(|((_, squares), _)| squares).sum();
            let (variance, dof) = self.moderated(squares, logs.len() as f64 - 2.0);
            let [low, high] = groups.map(|((mean, _), count)| interval(mean, variance, count, dof));
            return Some(Estimate { interval: low.hull(high), states: Some([low, high]) });
        }
        let undisturbed = self.winsorize(&mut logs);
        let (mean, squares) = spread(&logs);
        let (variance, dof) = self.moderated(squares, undisturbed as f64 - 1.0);
        Some(Estimate { interval: interval(mean, variance, undisturbed, dof), states: None })
    }

    /// Returns the moderated variance of passes with this sum of squares, and its degrees of freedom.
    fn moderated(self, squares: f64, dof: f64) -> (f64, f64) {
        let all = self.dof + dof;
        ((self.dof * self.variance + squares) / all, all)
    }

    /// Returns where sorted passes divide into two steady states, if they do: two passes that differ
    /// more than the prior permits, or two groups with a wide gap between them, each of a third of the
    /// passes or of [`STATE`] passes.
    fn two_states(self, logs: &[f64]) -> Option<usize> {
        if let [low, high] = logs {
            // Most points end here, without the quantile, which takes longest.
            if high - low <= NOTABLE {
                return None;
            }
            let likely = t_quantile(SELDOM, self.dof) * (2.0 * self.variance).sqrt();
            return (high - low > likely).then_some(1);
        }
        let least = logs.len().div_ceil(3).clamp(2, STATE);
        let cuts = least..(logs.len() + 1).saturating_sub(least);
        let gap = |cut: &usize| logs[*cut] - logs[cut - 1];
        let cut = cuts.max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
        let squares = spread(&logs[..cut]).1 + spread(&logs[cut..]).1;
        let (variance, _) = self.moderated(squares, logs.len() as f64 - 2.0);
        (gap(&cut) > (APART * variance.sqrt()).max(NOTABLE)).then_some(cut)
    }

    /// Moves outlying passes nearer (Huber 1964, Robust estimation of a location parameter). Returns the
    /// number of other passes. The variance to use is the sum of squares of all passes over that number
    /// less one (Tukey and McLaughlin 1963, Less vulnerable confidence and significance procedures).
    fn winsorize(self, sorted: &mut [f64]) -> usize {
        let count = sorted.len();
        if count < TELLING {
            return count;
        }
        let middle = super::median(sorted).unwrap_or_default();
        let mut distances = sorted.to_vec();
        // The standard deviation of a normal distribution with this median absolute deviation.
        let deviation = 1.4826 * super::mad(&mut distances, middle).unwrap_or_default();
        let dof = count as f64 - 1.0;
        let (variance, _) = self.moderated(dof * deviation * deviation, dof);
        let reach = OUTLYING * variance.sqrt();
        let near = |log: &&f64| (**log - middle).abs() <= reach;
        let undisturbed = sorted.iter().filter(near).count();
        // Outliers are few. If most passes lie outside, they tell of no middle from which to keep away.
        if 2 * undisturbed < count {
            return count;
        }
        for log in sorted {
            *log = log.clamp(middle - reach, middle + reach);
        }
        undisturbed
    }
}

/// Returns, for each point with several passes, the logarithm of the variance, and the variance of that
/// logarithm due to the small number of passes.
fn variances(points: &[Vec<f64>]) -> Vec<[f64; 2]> {
    let several = points.iter().filter(|passes| passes.len() > 1);
    let row = |passes: &Vec<f64>| {
        let half = (passes.len() as f64 - 1.0) / 2.0;
        let (_, squares) = spread(passes);
        let variance = squares / (2.0 * half) + RESOLUTION * RESOLUTION;
        [variance.ln() - digamma(half) + half.ln(), trigamma(half)]
    };
    several.map(row).collect()
}

/// Returns the mean, and the sum of the squared distances from it.
fn spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIOR: Prior = Prior { dof: 4.0, variance: 1e-4 };

    fn exact(passes: &[f64]) -> Vec<Interval> {
        passes.iter().copied().map(Interval::exact).collect()
    }

    fn estimate(passes: &[f64]) -> Estimate {
        PRIOR.estimate(&exact(passes), 0.05).unwrap()
    }

    #[test]
    fn the_interval_narrows_with_passes() {
        let mut before = f64::INFINITY;
        for passes in [2, 3, 5, 10] {
            let alike: Vec<f64> =
                (0..passes).map(|pass| 10.0 + 0.1 * f64::from(pass % 2)).collect();
            let Estimate { interval, states } = estimate(&alike);
            assert!(interval.doubt() < before && interval.lo < 10.05 && interval.hi > 10.05);
            assert_eq!(states, None);
            before = interval.doubt();
        }
        assert!(before < 0.01, "{before}");
    }

    /// Two pairs of passes, each farther from the middle than passes of their kind usually are.
    #[test]
    fn passes_that_all_lie_outside_give_a_finite_interval() {
        let prior = Prior { dof: 200.0, variance: 5e-4_f64.powi(2) };
        let pairs = [1.0, 1.0, 1.03, 1.03].map(|factor| Interval::exact(10.0 * factor));
        let interval = prior.estimate(&pairs, 0.05).unwrap().interval;
        assert!(interval.lo > 9.0 && interval.hi < 11.3, "{interval}");
    }

    #[test]
    fn one_pass_is_as_doubtful_as_passes_of_its_kind_differ() {
        // 2.776 standard deviations of 1 %, with four degrees of freedom.
        let one = estimate(&[10.0]).interval;
        assert!((one.doubt() - (1.0 + TAILS) * 0.0278).abs() < 1e-3, "{one}");
        let wide = PRIOR.estimate(&[Interval::new(9.5, 10.5)], 0.05).unwrap();
        assert!(wide.interval.doubt() > 1.5 * one.doubt());
    }

    #[test]
    fn a_disturbed_pass_hardly_moves_the_value() {
        let quiet = estimate(&[10.0, 10.1, 9.9, 10.0, 10.1]);
        let disturbed = estimate(&[10.0, 10.1, 9.9, 10.0, 15.0]);
        assert_eq!(disturbed.states, None, "one pass is no state");
        assert!(disturbed.interval.hi < 11.0 && disturbed.interval.lo < 10.0);
        assert!(disturbed.interval.doubt() > quiet.interval.doubt());
    }

    #[test]
    fn two_steady_states_are_kept_apart() {
        let [low, high] = estimate(&[10.0, 20.0, 10.1, 20.1, 9.9]).states.unwrap();
        assert!(low.lo < 10.0 && low.hi > 10.0 && low.hi < 10.5, "{low}");
        assert!(high.lo < 20.0 && high.hi > 20.1 && high.lo > 19.0, "{high}");
        assert!(estimate(&[10.0, 20.0]).states.is_some());
        assert_eq!(estimate(&[10.0, 10.3]).states, None);
        assert_eq!(estimate(&[10.0, 10.2, 10.5, 10.6]).states, None);
        // Among many passes a state need not be a third, but it must have more passes than disturbances
        // that agree by chance.
        let mixed = |few: usize| estimate(&[vec![10.0; 16 - few], vec![20.0; few]].concat());
        assert!(mixed(5).states.is_some() && mixed(4).states.is_some());
        assert_eq!(mixed(3).states, None);
        let both = estimate(&[10.0, 20.0, 10.1, 20.1]);
        let [low, high] = both.states.unwrap();
        assert_eq!(both.interval, low.hull(high));
    }

    #[test]
    fn what_is_not_positive_has_no_logarithm() {
        assert_eq!(PRIOR.estimate(&exact(&[10.0, -1.0]), 0.05), None);
        assert_eq!(PRIOR.estimate(&[], 0.05), None);
        assert_eq!(PRIOR.estimate(&exact(&[10.0, f64::NAN]), 0.05), None);
        assert_eq!(PRIOR.estimate(&exact(&[10.0, f64::INFINITY]), 0.05), None);
        for error in [0.0, 1.0, f64::NAN] {
            assert_eq!(PRIOR.estimate(&exact(&[10.0]), error), None, "{error}");
        }
    }

    /// The estimate recovers the prior of planted points.
    #[test]
    fn the_prior_is_estimated_from_points() {
        let mut rng = crate::pattern::Rng::new(7);
        let mut normal =
            || (0..12).map(|_| rng.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0;
        let mut plant = |dof: u32, deviation: f64| -> Vec<Vec<f64>> {
            let point = |_| {
                let chi_square: f64 = (0..dof).map(|_| normal().powi(2)).sum();
                let deviation = deviation * (f64::from(dof) / chi_square).sqrt();
                (0..3).map(|_| deviation * normal()).collect()
            };
            (0..3000).map(point).collect()
        };
        for dof in [2, 4] {
            let deviations = [0.02, 0.005, 0.06];
            let groups = deviations.map(|deviation| plant(dof, deviation));
            let found = Prior::of_groups(&groups).unwrap();
            for (found, deviation) in found.iter().zip(deviations) {
                assert!((found.dof / f64::from(dof) - 1.0).abs() < 0.3, "{found:?} of {dof}");
                assert!(
                    (found.variance.sqrt() / deviation - 1.0).abs() < 0.1,
                    "{found:?} of {deviation}"
                );
            }
            // In a single group, the points differ by more than within their groups.
            let together = Prior::of_groups(&[groups.concat()]).unwrap();
            assert!(together[0].dof < 0.8 * f64::from(dof), "{together:?}");
        }
        let few = vec![vec![1.0, 1.1]; ENOUGH - 1];
        assert_eq!(Prior::of_groups(&[few]), None);
    }

    /// A group of one point hardly moves from the mean of all, and an empty group not at all.
    #[test]
    fn a_small_group_is_drawn_towards_the_others() {
        let point = |deviation: f64| vec![-deviation, deviation];
        let many = |deviation: f64| {
            let points = (0..20).map(|at| point(deviation * (1.0 + f64::from(at) / 20.0)));
            points.collect::<Vec<_>>()
        };
        let groups = [many(0.01), many(0.02), many(0.04), vec![point(0.001)], vec![]];
        let found = Prior::of_groups(&groups).unwrap();
        let [quiet, middle, restless, one, none] = &found[..] else {
            panic!("a prior each: {found:?}");
        };
        assert!(quiet.variance < middle.variance && middle.variance < restless.variance);
        assert!(one.variance > 4.0 * 2e-6 && one.dof < quiet.dof, "{one:?}");
        assert!(none.dof < one.dof, "{none:?}");
    }
}
