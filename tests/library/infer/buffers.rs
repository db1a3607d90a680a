//! The line size and the entries of TLBs and buffers, from the knees of their curves.

use linefill::infer::{
    entries, in_parallel, last_abreast, last_before_rise, line, remembered, saturation, window,
};

use linefill::stats::Interval;

use super::{Noise, errors};

#[test]
fn the_line_comes_out_of_offsets() {
    for truth in [32, 64, 128] {
        let times = move || {
            (0..truth).map(move |offset| {
                let crosses = offset + 8 > truth;
                (f64::from(offset), if crosses { 5.0 } else { 4.0 })
            })
        };
        for (share, allowed) in [(0.0, 0.0), (0.02, 0.0), (0.04, 0.1)] {
            let wrong =
                errors(share, &truth, |noise| Some(line(&noise.curve(times()), 8.0)?.value));
            assert!(wrong <= allowed, "{truth} at {share}: {wrong} wrong");
        }
    }
    let flat: Vec<(f64, Interval)> =
        (0..64).map(|at| (f64::from(at), Interval::exact(4.0))).collect();
    assert_eq!(line(&flat, 8.0), None);
}

#[test]
fn entries_and_buffers_come_out_of_their_knees() {
    let pages = |truth: f64| {
        let some = [16.0, 32.0, 48.0, 56.0, 64.0, 72.0, 80.0, 96.0, 104.0, 128.0, 256.0, 384.0];
        some.map(|pages| (pages, if pages <= truth { 4.0 } else { 11.0 }))
    };
    for truth in [64.0, 72.0, 96.0] {
        let wrong = errors(0.03, &true, |noise| {
            let found = entries(&noise.curve(pages(truth)), 16.0, 384.0)?;
            Some(found.lo <= truth && truth <= found.hi)
        });
        assert_eq!(wrong, 0.0, "{truth}");
    }
    assert_eq!(entries(&Noise::new(1, 0.0).curve(pages(1000.0)), 16.0, 384.0), None);

    let streams = |truth: u32| {
        (1..=24).map(move |n: u32| (f64::from(n), if n <= truth { 8.0 } else { 160.0 }))
    };
    for truth in [8, 10, 12] {
        let wrong = errors(0.05, &truth, |noise| {
            Some(last_before_rise(&noise.curve(streams(truth)))?.value)
        });
        assert_eq!(wrong, 0.0, "{truth}");
    }

    // A Redwood Cove with 16 buffers: each further line costs some time before.
    let sloping = |lines: u32| match lines {
        ..=14 => 8.0 + f64::from(lines),
        15..=16 => 44.0,
        17.. => 180.0,
    };
    let times = move || (1..=24).map(move |n: u32| (f64::from(n), sloping(n)));
    let wrong = errors(0.05, &16, |noise| Some(last_before_rise(&noise.curve(times()))?.value));
    assert_eq!(wrong, 0.0);

    // A number that is 5 % short of the truth takes hardly longer.
    let walks = |truth: u32| {
        let numbers = (1..=32).map(f64::from);
        numbers.map(move |n| (n, 400.0 / n.min(f64::from(truth))))
    };
    for truth in [10, 12, 16, 24] {
        for (share, width) in [(0.0, 2.0), (0.02, 12.0)] {
            let wrong = errors(share, &true, |noise| {
                let found = in_parallel(&noise.curve(walks(truth)))?;
                let truth = f64::from(truth);
                Some(found.lo <= truth && truth <= found.hi + 2.0 && found.hi - found.lo <= width)
            });
            assert!(wrong <= 0.05, "{truth} at {share}: {wrong} wrong");
        }
    }
}

/// First three rounds overlap, then two, then one, each followed by its stores.
#[test]
fn stores_that_wait_come_out_of_rounds_that_run_abreast() {
    let rounds = |truth: u32| {
        (8..=128).step_by(4).map(move |stores: u32| {
            // A chain of divisions overlaps with the previous ones as long as the stores between them fit.
            let abreast = f64::from((truth / stores + 1).min(3));
            let stores = f64::from(stores);
            (stores, (156.0 + stores / 2.0) / abreast)
        })
    };
    for truth in [20, 32, 42, 56, 64, 72, 114] {
        for (share, allowed) in [(0.0, 0.0), (0.03, 0.0), (0.08, 0.05)] {
            let wrong = errors(share, &true, |noise| {
                let [least, most] = last_abreast(&noise.curve(rounds(truth)))?.value;
                Some(least <= truth && truth <= most)
            });
            assert!(wrong <= allowed, "{truth} at {share}: {wrong} wrong");
        }
    }
    let flat = Noise::new(1, 0.0).curve((8..=128).map(|n: u32| (f64::from(n), 100.0)));
    assert_eq!(last_abreast(&flat), None);
}

/// The bandwidth of machines with 2, 16 and 128 cores: proportional to the cores until the channels saturate.
#[test]
fn the_cores_that_saturate_memory_come_out_of_the_bandwidth_of_all() {
    let totals = |cores: u32, channels: f64| {
        let powers = (0..8).map(|k| 1 << k).filter(move |&few| few < cores);
        let numbers = powers.chain([cores]).map(f64::from);
        numbers.map(move |few| (few, (10.0 * few).min(channels)))
    };
    for (cores, channels) in [
        (2, 10.0),
        (2, 100.0),
        (16, 35.0),
        (16, 80.0),
        (16, 1000.0),
        (128, 200.0),
        (128, 470.0),
        (128, 10_000.0),
    ] {
        let highest = (10.0 * f64::from(cores)).min(channels);
        let truth = (0.9 * highest / 10.0 - 1e-9).ceil();
        let at = |share| {
            errors(share, &true, |noise| {
                let found = saturation(&noise.curve(totals(cores, channels)), 0.9)?;
                // The interval spans at most two powers of two, plus noise.
                let near = found.hi <= 2.0 * truth && found.lo >= truth / 2.0;
                Some(found.lo <= truth && truth <= found.hi && near)
            })
        };
        assert_eq!(at(0.0), 0.0, "{cores} cores, {channels} GB/s");
        assert_eq!(at(0.02), 0.0, "{cores} cores, {channels} GB/s, noise");
    }
    let exact = |values: &[f64]| {
        let points = (1..).map(f64::from).zip(values);
        let points: Vec<_> = points.map(|(x, y)| (x, Interval::exact(*y))).collect();
        saturation(&points, 0.9)
    };
    assert_eq!(exact(&[10.0, 10.0]), Some(Interval::exact(1.0)));
    assert_eq!(exact(&[10.0, 20.0]), Some(Interval::exact(2.0)));
    // A second group of cores has a limit of its own: 78 cores of 128 read 360.
    let groups = [(1, 12), (2, 24), (4, 48), (8, 96), (16, 192), (32, 200), (64, 200), (128, 400)];
    let groups = groups.map(|(x, y)| (f64::from(x), Interval::exact(f64::from(y))));
    let found = saturation(&groups, 0.9).unwrap();
    assert!(found.lo <= 78.0 && found.hi >= 78.0, "{found}");
    // If the bandwidth falls again, its maximum counts.
    assert_eq!(exact(&[10.0, 18.0, 20.0, 12.0]), Some(Interval::exact(2.0)));
    assert_eq!(exact(&[10.0]), None);
    assert_eq!(exact(&[0.0, 1.0]), None);
    assert_eq!(exact(&[]), None);
}

/// A geometric sequence of integers, with `per_octave` numbers per octave.
fn numbers(least: f64, most: f64, per_octave: f64) -> impl Iterator<Item = f64> {
    let all = (0..).map(move |k| 2f64.powf(f64::from(k) / per_octave).floor());
    all.skip_while(move |x| *x < least).take_while(move |x| *x <= most)
}

#[test]
fn a_buffer_shows_where_two_chains_stop_running_side_by_side() {
    for per_octave in [4.0, 8.0] {
        // The chains also take entries of a reorder buffer, so the step is that wide there.
        let rounds = |truth: f64| {
            let chain: f64 = if truth > 150.0 { 24.0 } else { 1.0 };
            numbers(16.0, 800.0, per_octave).map(move |x| {
                let serial = ((x - truth) / chain + 0.5).clamp(0.0, 1.0);
                (x, 240.0 + x / 8.0 + 230.0 * serial)
            })
        };
        for truth in [32.0, 64.0, 97.0, 224.0, 320.0, 448.0, 512.0] {
            for (share, allowed) in [(0.0, 0.0), (0.03, 0.0), (0.06, 0.05)] {
                let wrong = errors(share, &true, |noise| {
                    let [least, most] = window(&noise.curve(rounds(truth)))?.value.map(f64::from);
                    // Noise may leave open between which two of three numbers the step lies.
                    let wide = 2f64.powf(2.0 / per_octave);
                    Some(least - 2.0 <= truth && truth <= most + 2.0 && most <= wide * least + 1.0)
                });
                assert!(wrong <= allowed, "{truth} at {share}: {wrong} wrong");
            }
        }
    }
    let flat = Noise::new(1, 0.0).curve(numbers(16.0, 800.0, 4.0).map(|n| (n, 100.0)));
    assert_eq!(window(&flat), None);
}

#[test]
fn what_is_remembered_ends_where_each_costs_more() {
    let costs = |truth: f64| {
        numbers(4.0, 100.0, 4.0).map(move |depth| {
            let forgotten = (depth - truth).max(0.0);
            (depth, 3.0 + 15.0 * forgotten / depth)
        })
    };
    for truth in [12.0, 16.0, 24.0, 32.0, 52.0] {
        for (share, allowed) in [(0.0, 0.0), (0.02, 0.0)] {
            let wrong = errors(share, &true, |noise| {
                let [least, most] = remembered(&noise.curve(costs(truth)))?.value.map(f64::from);
                Some(least <= 1.02 * truth && truth <= most)
            });
            assert!(wrong <= allowed, "{truth} at {share}: {wrong} wrong");
        }
    }
    assert_eq!(remembered(&Noise::new(1, 0.0).curve(costs(1e9))), None);
}

#[test]
fn a_number_that_may_be_slow_widens_the_range_to_either_side() {
    let found = |depth: f64, doubtful: Interval| {
        let cost = |of: f64| match of {
            of if of == depth => doubtful,
            of if of <= 32.0 => Interval::exact(3.0),
            _ => Interval::exact(9.0),
        };
        let curve: Vec<(f64, Interval)> = numbers(4.0, 64.0, 2.0).map(|x| (x, cost(x))).collect();
        let found = remembered(&curve).unwrap();
        assert!(found.confidence > 0.9, "{}", found.confidence);
        found.value
    };
    assert_eq!(found(32.0, Interval::exact(3.0)), [32, 44]);
    assert_eq!(found(32.0, Interval::new(2.9, 3.9)), [22, 44], "the middle is fast");
    assert_eq!(found(32.0, Interval::new(3.0, 8.0)), [22, 44], "the middle is slow");
    // Larger numbers cost less again.
    assert_eq!(found(8.0, Interval::new(3.0, 8.0)), [32, 44]);
    assert_eq!(found(8.0, Interval::exact(8.0)), [32, 44]);
}
