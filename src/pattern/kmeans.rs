//! The points of Sestoft's k-means, and its initial means.
//!
//! The note gives the size of the problem (200,000 points, 81 clusters, 108 iterations). Its exam program
//! gives the points: `java.util.Random(42)` scatters them over a grid of 9 x 9 squares.

use super::java::Random;

/// Number of points in the note.
pub const POINTS: usize = 200_000;

/// Number of clusters in the note.
pub const CLUSTERS: usize = 81;

/// Squares per side of the grid.
const SIDE: u32 = 9;

/// The distance between neighbouring squares, the margin before the first, and their width.
const PITCH: f64 = 10.0;
const MARGIN: f64 = 4.0;
const WIDTH: f64 = 8.0;

/// The seed of the points.
const SEED: i64 = 42;

/// A point in the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// The first coordinate.
    pub x: f64,
    /// The second coordinate.
    pub y: f64,
}

impl Point {
    /// Returns the square of the distance to another point.
    #[inline]
    pub fn square_distance(self, other: Point) -> f64 {
        let (x, y) = (self.x - other.x, self.y - other.y);
        x * x + y * y
    }

    /// Whether both coordinates differ by at most `most` from those of another point.
    #[inline]
    pub fn near(self, other: Point, most: f64) -> bool {
        (self.x - other.x).abs() <= most && (self.y - other.y).abs() <= most
    }
}

/// Writes the note's points, as many as there is room for, and returns the indices of the points that
/// are the initial means. With [`POINTS`] points they are exactly the points of the note. Returns `None`
/// if there are fewer points than means, or more than a Java array can hold.
///
/// ```
/// use linefill::pattern::kmeans::{self, POINTS, Point};
/// let mut points = vec![Point::default(); POINTS];
/// let first = kmeans::scatter(&mut points).unwrap();
/// assert_eq!(points[0], Point { x: 14.437322101977287, y: 84.38351444109909 });
/// assert_eq!(first[..3], [44_931, 13_444, 97_157]);
/// ```
pub fn scatter(points: &mut [Point]) -> Option<[usize; CLUSTERS]> {
    let count = i32::try_from(points.len()).ok()?.cast_unsigned();
    if points.len() < CLUSTERS {
        return None;
    }
    let mut random = Random::new(SEED);
    for point in &mut *points {
        let square = random.next_int_below(SIDE * SIDE);
        let corner = |number: u32| PITCH * f64::from(number) + MARGIN;
        let x = corner(square / SIDE) + random.next_double() * WIDTH;
        let y = corner(square % SIDE) + random.next_double() * WIDTH;
        *point = Point { x, y };
    }
    let mut set = IntSet::EMPTY;
    while set.len < CLUSTERS {
        set.insert(random.next_int_below(count));
    }
    Some(set.in_order())
}

/// Buckets of a `java.util.HashSet` of [`CLUSTERS`] numbers: 16, doubled until three quarters of the
/// buckets are at least as many as the numbers.
const BUCKETS: u32 = 128;

/// The part of a `java.util.HashSet<Integer>` that determines its iteration order: by bucket, and inside a
/// bucket by insertion, which growth preserves.
struct IntSet {
    numbers: [u32; CLUSTERS],
    len: usize,
}

impl IntSet {
    const EMPTY: IntSet = IntSet { numbers: [0; CLUSTERS], len: 0 };

    /// Adds a number, if the set does not contain it.
    fn insert(&mut self, number: u32) {
        if !self.numbers[..self.len].contains(&number) {
            self.numbers[self.len] = number;
            self.len += 1;
        }
    }

    fn in_order(&self) -> [usize; CLUSTERS] {
        let bucket = |number: u32| (number ^ number >> 16) % BUCKETS;
        let mut order = [(0, 0); CLUSTERS];
        for (index, (place, &number)) in order.iter_mut().zip(&self.numbers).enumerate() {
            *place = (bucket(number), index);
        }
        order.sort_unstable();
        order.map(|(_, index)| self.numbers[index] as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_points_than_means_are_none() {
        assert_eq!(scatter(&mut [Point::default(); CLUSTERS - 1]), None);
        let mut first = scatter(&mut [Point::default(); CLUSTERS]).unwrap();
        first.sort_unstable();
        // With as many points as means, each point is a mean.
        assert!(first.iter().copied().eq(0..CLUSTERS));
    }

    #[test]
    fn points_lie_in_their_squares() {
        let mut points = [Point::default(); 1000];
        scatter(&mut points).unwrap();
        let in_square = |at: f64| (0.0..WIDTH).contains(&((at - MARGIN) % PITCH));
        assert!(points.iter().all(|point| in_square(point.x) && in_square(point.y)));
        assert!(points.iter().any(|point| point.x > 80.0 && point.y < 20.0));
    }

    #[test]
    fn a_set_is_read_by_bucket_and_then_by_insertion() {
        let mut set = IntSet::EMPTY;
        (0..CLUSTERS as u32).rev().for_each(|number| set.insert(number * 64));
        set.insert(0);
        assert_eq!(set.len, CLUSTERS);
        let order = set.in_order();
        // Multiples of 128 share bucket 0 until the upper half of their bits moves them.
        assert_eq!(order[..3], [80 * 64, 78 * 64, 76 * 64]);
        assert_eq!([order[40] % 128, order[41] % 128], [0, 64]);
    }
}
