//! Curves that no machine produces: each function of `infer` must terminate on any finite numbers, with any
//! result.

use linefill::infer::{
    Known, in_parallel, last_abreast, levels, lost, policy, remembered, replacement, sets_within,
    window,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Numbers of every magnitude, and special values.
fn number() -> impl Strategy<Value = f64> {
    let odd = prop::sample::select(vec![
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::MIN,
        1.0,
        4096.0,
        1e300,
    ]);
    prop_oneof![odd, 0.0..1e3, 1.0..1e12, any::<f64>().prop_filter("finite", |x| x.is_finite())]
}

fn curve() -> impl Strategy<Value = Vec<(f64, Interval)>> {
    let point = (number(), number(), number()).prop_map(|(x, a, b)| (x, Interval::new(a, b)));
    (vec(point, 0..40), any::<bool>()).prop_map(|(mut curve, sorted)| {
        if sorted {
            curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        curve
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_curve_is_answered(
        curve in curve(),
        other in curve(),
        few in number(),
        many in number(),
    ) {
        levels(&curve);
        size(&curve, 0);
        size(&curve, 1);
        line(&curve, few);
        entries(&curve, few, many);
        in_parallel(&curve);
        last_abreast(&curve);
        last_before_rise(&curve);
        window(&curve);
        remembered(&curve);
        sets(&[(few, &curve), (many, &other)]);
        sets_within(&[(few, &curve), (many, &other)], many);
        settled(curve.iter().map(|point| point.0), few);
        let intervals: Vec<Interval> = curve.iter().map(|point| point.1).collect();
        let misses = vec![vec![few, many], vec![]];
        replacement(&intervals, &[Known { name: "made up", misses }]);
        let middles: Vec<(f64, f64)> = curve.iter().map(|(x, y)| (*x, y.middle())).collect();
        for ways in [0, 1, 8, u32::MAX] {
            lost(&middles, ways);
            policy(&curve, ways, &[("made up", vec![(1, 0.5), (u32::MAX, 1.0)])]);
        }
    }
}

/// A working set of about 0 bytes next to another once made the loop over octaves endless.
#[test]
fn a_working_set_of_no_bytes_ends() {
    for first in [0.0, 5e-324, 1e-300] {
        let ladder = [first, 1024.0, 4096.0].map(|x| (x, Interval::new(4.0, 4.1)));
        assert_eq!(levels(&ladder).len(), 1, "{first}");
    }
}
