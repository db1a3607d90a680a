//! A token that goes around among threads.

use crate::experiment::prelude::*;
use crate::kernel::{RoundTrip, RoundTripWay};
use crate::mem::{LINE, Region};
use crate::os::Worker;

/// Threads that hand one line to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RoundTripSetup {
    /// How they wait and pass it on.
    pub way: RoundTripWay,
    /// The CPU of each, all different: two that share one would wait for the scheduler.
    pub cpus: Vec<usize>,
}

impl Setup for RoundTripSetup {
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, mut region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let mut cpus = self.cpus.clone();
        cpus.sort_unstable();
        cpus.dedup();
        let threads = self.cpus.len();
        if cpus.len() < threads {
            return Err(Untestable(format!(
                "it takes {threads} CPUs, and there are {}",
                cpus.len()
            )));
        }
        region.bytes_mut().fill(0);
        let words = region.into_atomics();
        let members = self.cpus.iter().enumerate().map(|(index, &cpu)| {
            let kernel = RoundTrip::new(words, 0, index, threads, self.way)
                .ok_or_else(|| Untestable("the token does not lie in the region".to_owned()))?;
            Ok(Worker {
                cpu,
                kernel: Box::new(kernel),
            })
        });
        let members = members.collect::<Result<_, Untestable>>()?;
        // All are as long under way; the median of them is the least disturbed.
        Ok(Workload::in_step(members, SampleOf::Median, 1))
    }
}
