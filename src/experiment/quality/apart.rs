//! How far apart threads were, beside how far they were at other times of a run.

use crate::experiment::{Point, State, ThreadStats};

/// A line's way there and back between two threads, over the shortest way between the same two CPUs,
/// from which on they count as far: less is noise, and a core of another last level is three times as
/// far.
pub(crate) const FARTHER: f64 = 2.0;

/// The shortest way of a line between the CPUs of each pair, there and back, in the ticks of a run.
///
/// What pins a guest's threads to CPUs pins them to nothing: the host has its CPUs on cores that share
/// a cache now, and then on others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoreDistances(Vec<([usize; 2], f64)>);

impl CoreDistances {
    /// Those of a run, from the crews of all its points.
    pub fn of(crews: impl IntoIterator<Item = ThreadStats>) -> Self {
        let mut shortest: Vec<([usize; 2], f64)> = Vec::new();
        for (pair, ticks) in crews.into_iter().filter_map(|crew| way(&crew)) {
            match shortest.iter_mut().find(|(known, _)| *known == pair) {
                Some((_, known)) => *known = known.min(ticks),
                None => shortest.push((pair, ticks)),
            }
        }
        CoreDistances(shortest)
    }

    /// The share of a crew's way that its CPUs' shortest takes, if the crew was far apart.
    pub fn shorter(&self, crew: &ThreadStats) -> Option<f64> {
        let (pair, ticks) = way(crew)?;
        let (_, shortest) = self.0.iter().find(|(known, _)| *known == pair)?;
        (ticks > FARTHER * shortest).then_some(shortest / ticks)
    }

    /// The point as claims are judged on it. If its threads were far apart in all passes that count,
    /// nobody knows what they would have taken near each other: as much less as a line's way is
    /// shorter, at the most.
    pub fn doubt(&self, point: &Point) -> Point {
        let mut point = point.clone();
        if let State::Measured(measured) = &mut point.state
            && let Some(share) = measured.crew.and_then(|crew| self.shorter(&crew))
        {
            let passes = measured.passes.iter_mut().map(|pass| &mut pass.interval);
            for ticks in passes.chain([&mut measured.ticks.interval]) {
                // What has an empty stretch taken off may be negative.
                ticks.lo = ticks.lo.min(share * ticks.lo);
            }
        }
        point
    }
}

/// The first two CPUs of a crew and a line's way between them, if the host gave each member a core
/// of its own. Members that share a CPU wait for more than lines.
fn way(crew: &ThreadStats) -> Option<([usize; 2], f64)> {
    let apart = !crew.one_core && crew.members == crew.cpus;
    crew.pair.zip(crew.round_trip).filter(|_| apart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::quality::passes::tests::with_crew;

    fn crew(pair: [usize; 2], ticks: f64) -> ThreadStats {
        ThreadStats {
            members: 2,
            cpus: 2,
            fastest: 10.0,
            slowest: 10.0,
            lead: None,
            pair: Some(pair),
            one_core: false,
            round_trip: Some(ticks),
        }
    }

    #[test]
    fn a_pair_is_far_beside_its_own_shortest_way() {
        let one_core = ThreadStats {
            one_core: true,
            ..crew([0, 1], 70.0)
        };
        let crowded = ThreadStats {
            members: 4,
            ..crew([0, 1], 50.0)
        };
        let seen = [
            crew([0, 1], 600.0),
            crew([0, 1], 200.0),
            crew([0, 2], 500.0),
        ];
        let ways = CoreDistances::of(seen.into_iter().chain([one_core, crowded]));
        assert_eq!(ways.shorter(&crew([0, 1], 600.0)), Some(1.0 / 3.0));
        assert_eq!(ways.shorter(&crew([0, 1], 390.0)), None);
        // Two CPUs that are always far apart are as the system says that they are.
        assert_eq!(ways.shorter(&crew([0, 2], 500.0)), None);
        assert_eq!(ways.shorter(&crew([0, 3], 900.0)), None);
        let unknown = ThreadStats {
            round_trip: None,
            ..crew([0, 1], 0.0)
        };
        assert_eq!(ways.shorter(&unknown), None);
        let many = ThreadStats {
            members: 4,
            ..crew([0, 1], 6000.0)
        };
        assert_eq!(ways.shorter(&many), None, "they wait for each other");
    }

    #[test]
    fn what_was_always_far_may_take_as_much_less_as_the_way_is_shorter() {
        let ways = CoreDistances::of([crew([0, 1], 200.0)]);
        let lows = |ticks: f64| {
            let point = with_crew(100.0, crew([0, 1], ticks));
            let State::Measured(after) = ways.doubt(&point).state else {
                panic!("a timed point stays one");
            };
            let State::Measured(before) = point.state else {
                panic!("a timed point");
            };
            assert_eq!(after.ticks.interval.hi, before.ticks.interval.hi);
            after.ticks.interval.lo / before.ticks.interval.lo
        };
        assert_eq!(lows(200.0), 1.0);
        assert_eq!(lows(800.0), 0.25);
    }
}
