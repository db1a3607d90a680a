//! B1: checks that the problem is the note's: its points, its iterations and its result.

use crate::cpu::Features;
use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::topics::kmeans::run::{Clustering, ClusteringSetup, KMeansSetup, Told};
use crate::experiment::topics::kmeans::{VECTORS, setup};
use crate::kernel::{Means, NearestWay, Sum, add_to_nearest};
use crate::pattern::kmeans::{self, CLUSTERS, POINTS, Point};

const DIFFERENT: &str = "points and indices that differ from the note's";
const ITERATIONS: &str = "iterations until no mean moves";
const MEANS: &str = "largest distance of a mean from the note's";
const COUNTS: &str = "points that are in another cluster than the note's";

/// Points, indices and means computed by an independent program. The first column, `item`, names
/// each value.
const VECTORS_FILE: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/reference/sestoft_kmeans_dataset_vectors.csv"
));

/// Returns the numbers in an item of the file and skips the other words.
fn noted(item: &str) -> Testable<Vec<f64>> {
    let line = VECTORS_FILE.lines().find_map(|line| line.strip_prefix(item)?.strip_prefix(','));
    let line = line.ok_or_else(|| Untestable(format!("`{item}` is not in the file")))?;
    let words = line.split_whitespace();
    Ok(words.filter_map(|word| word.parse().ok()).collect())
}

fn all_points() -> Testable<(Vec<Point>, [usize; CLUSTERS])> {
    let mut points = vec![Point::default(); POINTS];
    let first = kmeans::scatter(&mut points);
    let first = first.ok_or_else(|| Untestable("there are too few points".to_owned()))?;
    Ok((points, first))
}

/// Counts the listed points and first indices that differ from those generated here.
fn different(_: u64) -> Testable<f64> {
    let (points, first) = all_points()?;
    let mut different = 0;
    for index in [0, 1, POINTS - 1] {
        let Point { x, y } = points[index];
        different += usize::from(noted(&format!("points[{index}]"))? != [x, y]);
    }
    let indices = noted("initial index order (first five)")?;
    let last = noted("initial index order (last)")?;
    let expected = indices.iter().zip(&first).chain(last.iter().zip(&first[CLUSTERS - 1..]));
    different += expected.filter(|(noted, here)| **noted != **here as f64).count();
    Ok(different as f64)
}

pub(crate) const PROBLEM: Experiment = Experiment {
    id: "B1",
    name: "sestoft-kmeans-problem",
    title: "200,000 points, 81 clusters, 108 iterations",
    question: "Is this exactly the note's problem?",
    source: "Sestoft, section 1: 200,000 points, 81 clusters and 108 iterations of the loop, the \
             mean of 10 runs; the points are made as by the exam's program of January 2017",
    about: "The points come from `java.util.Random(42)`. The first means are 81 of the points, in \
            the order in which Java iterates over a set of their indices. A point belongs to the \
            mean at the smallest squared distance, the first of several. The run ends if no \
            coordinate of any mean moves by more than 10^-10. Sums in another order differ in \
            their last bits, but also end after 108 iterations. The run of this experiment is the \
            vector variant of B6 on one thread. The note's seconds are 108 times 200,000 times \
            the time per point of B3 to B6: 196 ns are 4.24 s.",
    cases: |machine| {
        let of = KMeansSetup { points: POINTS, ..setup(machine, VECTORS, 1) };
        let told = |series, told| Case::new(series, 0.0, ClusteringSetup { of: of.clone(), told });
        vec![
            CountSetup::computed(DIFFERENT, 0, different).at(0.0),
            told(ITERATIONS, Told::Iterations),
            told(MEANS, Told::ListedMeansApart),
            told(COUNTS, Told::ListedCountsApart),
        ]
    },
    claims: &[
        computed(
            "B1.1",
            ours(
                "the timed problem must be the note's: the note gives the numbers of points and \
                 clusters, the exam's program makes the points",
            ),
            "the points and first means of k-means equal those of the exam's program, bit for bit",
            |e| between(DIFFERENT, e.at(DIFFERENT, 0.0), 0.0, 0.0),
        ),
        // 200,000 points in 81 clusters take 108 iterations of the loop.
        computed(
            "B1.2",
            sestoft("1"),
            "k-means of 200,000 points in 81 clusters takes 108 iterations until no mean moves",
            |e| between(ITERATIONS, e.at(ITERATIONS, 0.0), 108.0, 108.0),
        )
        .then(108.0, ""),
        computed(
            "B1.3",
            ours("an independent program computed means and counts for the same points"),
            "the final means of k-means equal those of an independent program within 10^-9, with \
             the same points in each cluster",
            |e| {
                all_of([
                    between(MEANS, e.at(MEANS, 0.0), 0.0, 1e-9),
                    between(COUNTS, e.at(COUNTS, 0.0), 0.0, 0.0),
                ])
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Indices of the means that the file lists.
const TOLD: [usize; 2] = [0, CLUSTERS - 1];

/// Returns the largest distance of a listed mean from the file's value, in a coordinate.
pub(super) fn means_apart(ended: &Clustering) -> Testable<f64> {
    let mut apart = 0.0_f64;
    for index in TOLD {
        let Point { x, y } = ended.means[index];
        for (here, there) in [x, y].iter().zip(noted(&format!("final mean[{index}]"))?) {
            apart = apart.max((here - there).abs());
        }
    }
    Ok(apart)
}

/// Returns by how many points the counts of the listed means differ from the file's, in total.
pub(super) fn counts_apart(ended: &Clustering, features: &Features) -> Testable<f64> {
    let (points, _) = all_points()?;
    let coordinates = |points: &[Point], of: fn(&Point) -> f64| points.iter().map(of).collect();
    let [xs, ys]: [Vec<f64>; 2] = [coordinates(&points, |p| p.x), coordinates(&points, |p| p.y)];
    let means = &ended.means;
    let [x, y]: [Vec<f64>; 2] = [coordinates(means, |p| p.x), coordinates(means, |p| p.y)];
    let mut sums = [Sum::default(); CLUSTERS];
    add_to_nearest(NearestWay::widest(features), &xs, &ys, Means { x: &x, y: &y }, &mut sums);
    let mut apart = 0.0;
    for index in TOLD {
        // The item holds two coordinates, then the count.
        let count = noted(&format!("final mean[{index}]"))?.get(2).copied();
        let count = count.ok_or_else(|| Untestable("the file has no count".to_owned()))?;
        apart += (sums[index].count as f64 - count).abs();
    }
    Ok(apart)
}
