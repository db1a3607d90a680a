//! A token that circulates among threads.

use crate::experiment::prelude::*;
use crate::host::Worker;
use crate::kernel::{RoundTrip, RoundTripWay};
use crate::mem::{PAGE, Region};

/// Threads that hand one line to each other. It lies on its own new page, which the first of their
/// CPUs touched first: on a machine of several nodes, the home of the line is that CPU's node, and
/// not the measuring CPU's for all pairs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RoundTripSetup {
    /// How they wait and pass the line on.
    pub way: RoundTripWay,
    /// The CPU of each, all different: two threads on one CPU would wait for the scheduler.
    pub cpus: Vec<usize>,
}

impl RoundTripSetup {
    /// The threads, whose token is the word `token`.
    fn team<'m>(&self, region: Region<'m>, token: usize) -> Result<Workload<'m>, Untestable> {
        let threads = self.cpus.len();
        let words = region.into_atomics();
        let members = self.cpus.iter().enumerate().map(|(index, &cpu)| {
            let kernel = RoundTrip::new(words, token, index, threads, self.way)
                .ok_or_else(|| Untestable("the token does not lie in the region".to_owned()))?;
            Ok(Worker {
                cpu,
                kernel: Box::new(kernel),
            })
        });
        let members = members.collect::<Result<_, Untestable>>()?;
        // All threads take equally long; their median is the least disturbed.
        Ok(Workload::in_step(members, SampleOf::Median, 1))
    }
}

impl Setup for RoundTripSetup {
    fn bytes(&self) -> usize {
        // Wherever a region begins, a whole page lies in two.
        2 * PAGE
    }

    fn first_touched_by(&self) -> Option<usize> {
        self.cpus.first().copied()
    }

    fn prepare<'m>(
        &self,
        mut region: Region<'m>,
        context: &Context,
    ) -> Result<Workload<'m>, Untestable> {
        let mut cpus = self.cpus.clone();
        cpus.sort_unstable();
        cpus.dedup();
        let threads = self.cpus.len();
        if cpus.len() < threads {
            return Err(Untestable(format!(
                "this needs {threads} CPUs, and there are {}",
                cpus.len()
            )));
        }
        region.bytes_mut().fill(0);
        let token = match self.cpus.first() {
            Some(&cpu) => {
                let page = context.host.first_touched_on(region.bytes_mut(), cpu)?;
                let page = page.as_ptr().addr();
                (page - region.bytes().as_ptr().addr()) / size_of::<u64>()
            }
            None => 0,
        };
        self.team(region, token)
    }

    /// The place and the owner of the line do not affect its accesses.
    fn traced<'m>(&self, mut region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        region.bytes_mut().fill(0);
        self.team(region, 0)
    }
}
