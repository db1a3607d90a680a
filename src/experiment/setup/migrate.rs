//! Laps of a ring by a thread that was moved to another CPU.

use core::hint::black_box;

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{Kernel, Step, Walk};
use crate::measure::Shot;
use crate::mem::Region;
use crate::os::{Pinned, pin};
use crate::pattern::{Layout, Order, Ring};

/// Which lap is timed, after several at home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lap {
    /// Another one at home.
    Home,
    /// The first one away.
    First,
    /// The second one away.
    Second,
}

/// A ring whose elements a thread changes on one CPU and then on another. An operation is a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MigrateSetup {
    /// Where the elements lie.
    pub layout: Layout,
    /// How many there are.
    pub count: usize,
    /// Which lap is timed.
    pub lap: Lap,
    /// The CPU at home, and the one away.
    pub cpus: [usize; 2],
    /// Decides the order of the ring.
    pub seed: u64,
}

impl Setup for MigrateSetup {
    fn bytes(&self) -> usize {
        self.layout.span(self.count)
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let [home, away] = self.cpus;
        if home == away {
            return Err(Untestable("it takes two CPUs, and there is one".to_owned()));
        }
        let home = pin(home).map_err(Untestable::because)?;
        // Whether it may be there at all is known before the first shot.
        drop(pin(away).map_err(Untestable::because)?);
        let order = Order::Random { seed: self.seed };
        let ring =
            Ring::new(region, self.layout, self.count, order).map_err(Untestable::because)?;
        let walk = Walk::new(ring, Step::Inc).map_err(Untestable::because)?;
        let work = walk.work();
        Ok(Subject::Shot {
            shot: Box::new(MigrateShot {
                walk,
                steps: self.count as u64,
                lap: self.lap,
                cpus: self.cpus,
                moved: None,
                _home: home,
            }),
            work,
        })
    }
}

struct MigrateShot<'m> {
    walk: Walk<'m>,
    steps: u64,
    lap: Lap,
    cpus: [usize; 2],
    /// Keeps the thread where it was moved to; home again once it is dropped, before `_home` is.
    moved: Option<Pinned>,
    _home: Pinned,
}

impl Shot for MigrateShot<'_> {
    fn prepare(&mut self) {
        let [home, away] = self.cpus;
        self.moved = None;
        black_box(self.walk.run(2 * self.steps));
        // Who stays makes the same system call, and is moved to where it is.
        let to = if self.lap == Lap::Home { home } else { away };
        self.moved = pin(to).ok();
        if self.lap == Lap::Second {
            black_box(self.walk.run(self.steps));
        }
    }

    fn shoot(&mut self) -> u64 {
        self.walk.run(self.steps)
    }

    fn operations(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::allowed;
    use crate::os::preempt::current_cpu;

    #[test]
    fn a_thread_is_where_its_lap_is_and_home_again_afterwards() {
        let all = allowed();
        let [home, away] = [all[0], *all.last().unwrap()];
        let mut bytes = vec![0; 64 * 102];
        for lap in [Lap::Home, Lap::First, Lap::Second] {
            let setup = MigrateSetup {
                layout: Layout::npad(7),
                count: 100,
                lap,
                cpus: [home, away],
                seed: 3,
            };
            let region = Region::new(&mut bytes).unwrap();
            let context = Context {
                features: crate::cpu::Features::detect(),
            };
            let before = current_cpu();
            let pinned = pin(before.unwrap()).unwrap();
            match setup.prepare(region, &context) {
                Err(reason) => assert!(home == away, "{reason}"),
                Ok(Subject::Shot { mut shot, .. }) => {
                    for _ in 0..3 {
                        shot.prepare();
                        let at = if lap == Lap::Home { home } else { away };
                        assert_eq!(current_cpu(), Some(at));
                        assert_eq!(shot.shoot(), 0, "a lap ends where it began");
                    }
                }
                Ok(other) => panic!("{other:?}"),
            }
            assert_eq!(current_cpu(), before);
            drop(pinned);
        }
    }
}
