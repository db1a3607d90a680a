//! Sestoft's k-means: its points, and the means, which must be the same for every variant.
#![cfg(feature = "std")]

use linefill::cpu::Features;
use linefill::experiment::topics::kmeans::run::{
    Clustering, ClusteringSetup, KMeansSetup, KMeansWay, Told,
};
use linefill::experiment::{Context, Linux, SampleOf, Setup, Timing, Workload};
use linefill::host::ThreadGroup as _;
use linefill::mem::Region;
use linefill::os::{RoundOptions, allowed, thread_group};
use linefill::pattern::kmeans::{POINTS, Point, scatter};

const VECTORS: &str = include_str!("../../reference/sestoft_kmeans_dataset_vectors.csv");

/// The numbers of an item in the file of test vectors.
fn noted(item: &str) -> Vec<f64> {
    let mut lines = VECTORS.lines();
    let line = lines.find_map(|line| line.strip_prefix(item)?.strip_prefix(','));
    let words = line.unwrap_or_else(|| panic!("no {item}")).split(' ');
    words.filter_map(|word| word.parse().ok()).collect()
}

fn setup(way: KMeansWay, points: usize, tasks: usize) -> KMeansSetup {
    let cpus = allowed().into_iter().take(tasks).collect();
    KMeansSetup { way, points, tasks, cpus, turn: 0 }
}

fn found(setup: &KMeansSetup) -> Option<Clustering> {
    match Clustering::find(setup, &context()) {
        Ok(found) => Some(found),
        // The build lacks the feature.
        Err(reason) if setup.way == KMeansWay::Streams && !cfg!(feature = "peers") => {
            assert!(reason.to_string().contains("without feature peers"));
            None
        }
        Err(reason) => panic!("{setup:?}: {reason}"),
    }
}

#[test]
fn the_points_are_those_of_the_exam() {
    let mut points = vec![Point::default(); POINTS];
    let first = scatter(&mut points).unwrap();
    for index in [0, 1, POINTS - 1] {
        let Point { x, y } = points[index];
        assert_eq!([x, y], *noted(&format!("points[{index}]")));
    }
    let index = |number: &f64| *number as usize;
    let five: Vec<usize> = noted("initial index order (first five)").iter().map(index).collect();
    let last: Vec<usize> = noted("initial index order (last)").iter().map(index).collect();
    assert_eq!((&first[..5], &first[80..]), (&five[..], &last[..]));
}

/// Compares every variant, on `points` points and with each number of tasks, with a variant that visits the
/// points in order.
fn agree(points: usize, tasks: &[usize]) -> Clustering {
    let wanted = found(&setup(KMeansWay::OwnSums, points, 1)).unwrap();
    for way in KMeansWay::ALL {
        for &tasks in tasks {
            let setup = setup(way, points, tasks);
            let Some(found) = found(&setup) else { continue };
            let apart = found.difference(&wanted);
            assert!(apart < 1e-9, "{way:?} in {tasks} tasks: {apart}");
            let more = found.iterations.abs_diff(wanted.iterations);
            assert!(more <= 1, "{way:?} in {tasks} tasks: {}", found.iterations);
        }
    }
    wanted
}

#[test]
fn every_variant_finds_the_same_means_of_some_points() {
    let clustering = agree(1000, &[1, 2, 8, 48]);
    assert!(clustering.iterations > 3);
    assert_eq!(clustering.means.len(), 81);
}

/// Needs optimised code: eight runs with 17.5 million comparisons per iteration. One number of tasks is
/// enough, because the test above divides its points in every way.
#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes in a debug build")]
fn every_variant_finds_the_note_s_means_in_108_iterations() {
    let clustering = agree(POINTS, &[48]);
    assert_eq!(clustering.iterations, 108);
    for index in [0, 80] {
        let Point { x, y } = clustering.means[index];
        let [noted_x, noted_y, _] = noted(&format!("final mean[{index}]"))[..] else {
            panic!("no mean and count");
        };
        assert!((x - noted_x).abs() < 1e-9 && (y - noted_y).abs() < 1e-9, "{index}: {x} {y}");
    }
}

/// Sums are added in the order of the tasks, whichever thread ran them.
#[test]
fn own_sums_are_repeated_to_the_last_bit() {
    for way in [KMeansWay::OwnSums, KMeansWay::Vectors] {
        let once = || found(&setup(way, 500, 7)).unwrap();
        assert_eq!(once(), once(), "{way:?}");
    }
}

fn context() -> Context {
    Context { features: Features::detect(), host: &Linux }
}

fn none() -> Region<'static> {
    Region::new(Box::leak(Box::new([0; 128]))).unwrap()
}

/// The timed group does the same iterations, and starts again once the means no longer change.
#[test]
fn a_timed_team_goes_on_and_on() {
    let points = 200;
    let of = |way| setup(way, points, 2);
    let whole = found(&of(KMeansWay::InTurn)).unwrap().iterations;
    for way in KMeansWay::ALL {
        let prepared = match of(way).prepare(none(), &context()) {
            Err(_) if way == KMeansWay::Streams => continue,
            prepared => prepared.unwrap(),
        };
        let Workload::Threads { mut workers, timing: Timing::AtOnce { sample, .. } } = prepared
        else {
            panic!("{way:?} is no group of threads");
        };
        assert_eq!(sample, SampleOf::Slowest);
        let work = workers[0].kernel.work();
        assert_eq!(work.flops, 5 * 81 * points as u64 / of(way).cpus.len() as u64);
        let options = RoundOptions { ahead: 100_000, keep_on: false };
        let done = thread_group(&mut workers, options, |group| {
            group.round(3);
            group.round(2 * whole)[0].checksum
        });
        assert_eq!(done.unwrap(), 3 + 2 * whole, "{way:?}");
    }
}

#[test]
fn what_is_told_of_a_clustering() {
    let of = setup(KMeansWay::AtOnce, 300, 3);
    let told = |told| {
        let setup = ClusteringSetup { of: of.clone(), told };
        match setup.prepare(none(), &context()) {
            Ok(Workload::Count(count)) => count,
            other => panic!("{other:?}"),
        }
    };
    assert!(told(Told::Iterations) > 2.0);
    assert!(told(Told::IterationsApart) <= 1.0);
    assert!(told(Told::MeansApart) < 1e-9);
}

#[test]
fn too_few_points_and_no_cpu_are_reasons() {
    let refused = |setup: KMeansSetup| {
        let prepared = setup.prepare(none(), &context());
        prepared.map(|_| ()).unwrap_err().to_string()
    };
    assert!(refused(setup(KMeansWay::InTurn, 80, 1)).contains("80 points are not 81 clusters"));
    let nowhere = KMeansSetup { cpus: Vec::new(), ..setup(KMeansWay::InTurn, 100, 1) };
    assert!(refused(nowhere).contains("no CPU is known"));
}

#[test]
fn a_cpu_that_does_not_exist_is_a_reason_and_no_deadlock() {
    for way in KMeansWay::ALL {
        let setup = KMeansSetup { cpus: vec![allowed()[0], 8191], ..setup(way, 100, 2) };
        assert!(Clustering::find(&setup, &context()).is_err(), "{way:?}");
    }
}

#[test]
fn clusterings_differ_by_their_farthest_mean() {
    let of = |means: &[(f64, f64)]| Clustering {
        iterations: 1,
        means: means.iter().map(|&(x, y)| Point { x, y }).collect(),
    };
    let one = of(&[(0.0, 0.0), (1.0, 2.0)]);
    assert_eq!(one.difference(&of(&[(0.5, 0.0), (1.0, -1.0)])), 3.0);
    assert_eq!(one.difference(&of(&[(0.0, 0.0)])), f64::INFINITY);
}
