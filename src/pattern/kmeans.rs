//! The points of Sestoft's k-means, and the means that it begins with.
//!
//! The note names the problem (200,000 points, 81 clusters, 108 iterations), and its exam program
//! how the points come about: `java.util.Random(42)` scatters them over a grid of 9 x 9 squares.

use super::java::Random;

/// Points of the note.
pub const POINTS: usize = 200_000;

/// Clusters of the note.
pub const CLUSTERS: usize = 81;

/// Squares along a side of the grid.
const SIDE: u32 = 9;

/// The distance between neighbouring squares, the margin before the first, and their width.
const PITCH: f64 = 10.0;
const MARGIN: f64 = 4.0;
const WIDTH: f64 = 8.0;

/// The seed.
const SEED: i64 = 42;

/// A point of the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Its first coordinate.
    pub x: f64,
    /// Its second.
    pub y: f64,
}

impl Point {
    /// The square of the distance to another point.
    #[inline]
    pub fn square_distance(self, other: Point) -> f64 {
        let (x, y) = (self.x - other.x, self.y - other.y);
        x * x + y * y
    }

    /// Whether it lies within `most` of another point in either coordinate.
    #[inline]
    pub fn near(self, other: Point, most: f64) -> bool {
        (self.x - other.x).abs() <= most && (self.y - other.y).abs() <= most
    }
}

/// Writes the note's points, as many as there is room for, and returns the indices of those that
/// are the first means. With [`POINTS`] of them they are the very points of the note. `None` if
/// there are fewer points than means, or more than a Java array has.
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
    let mut set = IntSet::default();
    while set.len < CLUSTERS {
        set.insert(random.next_int_below(count));
    }
    Some(set.in_order())
}

/// Buckets of a `java.util.HashSet` of [`CLUSTERS`] numbers: 16, doubled until three quarters of
/// them are as many.
const BUCKETS: u32 = 128;

/// As much of a `java.util.HashSet<Integer>` as decides the order in which it is read: by bucket,
/// and in a bucket by insertion, which growing keeps.
struct IntSet {
    numbers: [u32; CLUSTERS],
    len: usize,
}

impl Default for IntSet {
    fn default() -> Self {
        IntSet {
            numbers: [0; CLUSTERS],
            len: 0,
        }
    }
}

impl IntSet {
    /// Adds a number, if there is room and it is not there yet.
    fn insert(&mut self, number: u32) {
        if self.len < CLUSTERS && !self.numbers[..self.len].contains(&number) {
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
        // Of as many points as means, each is one.
        assert!(first.iter().copied().eq(0..CLUSTERS));
    }

    #[test]
    fn points_lie_in_their_squares() {
        let mut points = [Point::default(); 1000];
        scatter(&mut points).unwrap();
        let in_square = |at: f64| (0.0..WIDTH).contains(&((at - MARGIN) % PITCH));
        assert!(
            points
                .iter()
                .all(|point| in_square(point.x) && in_square(point.y))
        );
        assert!(points.iter().any(|point| point.x > 80.0 && point.y < 20.0));
    }

    #[test]
    fn a_set_is_read_by_bucket_and_then_by_insertion() {
        let mut set = IntSet::default();
        (0..CLUSTERS as u32)
            .rev()
            .for_each(|number| set.insert(number * 64));
        set.insert(0);
        assert_eq!(set.len, CLUSTERS);
        let order = set.in_order();
        // Multiples of 128 share bucket 0 until the upper half of their bits moves them.
        assert_eq!(order[..3], [80 * 64, 78 * 64, 76 * 64]);
        assert!(order[40] % 128 == 0 && order[41] % 128 == 64);
    }
}
