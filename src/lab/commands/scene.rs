//! The options that `run` and `watch` share: the CPU, threads and memory that measure.

use anyhow::{Result, bail};

use super::{PageSize, cpu_number, node_number};
use crate::experiment::Placement;
use crate::lab::session::{Request, mask};
use crate::lab::size;
use crate::os::Pages;

/// On what experiments are measured.
#[derive(Debug, clap::Args)]
pub(super) struct Scene {
    /// The page size of the memory of all experiments, except where an experiment compares page sizes.
    #[arg(long, value_enum)]
    pub pages: Option<PageSize>,
    /// Allocate all memory on this NUMA node. X19 ignores the option: it measures the memory of each node
    /// from the CPUs of each node.
    #[arg(long, value_name = "N", value_parser = node_number, allow_negative_numbers = true)]
    pub node: Option<usize>,
    /// The CPU to measure on [default: an isolated one, else the last one allowed].
    #[arg(long, value_name = "N", value_parser = cpu_number, allow_negative_numbers = true)]
    pub cpu: Option<usize>,
    /// Measure on a CPU that runs nothing else. Ends with an error that names the missing settings unless the
    /// CPU is isolated, tickless and quiet. With enough rights the program itself isolates the CPU until it
    /// ends: it makes a cpuset partition and moves device interrupts to other CPUs. [default: as --cpu]
    #[arg(long, value_name = "CPU", num_args = 0..=1, require_equals = true,
          value_parser = cpu_number)]
    pub isolated: Option<Option<usize>>,
    /// Switch off the hardware prefetchers of all CPUs that may run threads, for the whole run. This writes a
    /// model-specific register and needs root; without access to the register the run is refused. The previous
    /// state is restored at the end, even if the program is killed. [default: leave them as they are]
    #[arg(long, value_enum, value_name = "HOW")]
    pub prefetchers: Option<Prefetchers>,
    /// Where the other threads of an experiment run [default: near].
    #[arg(long, value_enum, value_name = "WHERE")]
    pub threads: Option<Threads>,
    /// The seed of all random orders: with the same seed, lists have the same order [default: 1].
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// The largest working set [default: 1GiB, or four times the last level if that is more, rounded up to a power
    /// of two, up to 4GiB; at most a quarter of the available memory]. What a document fixes keeps its size: E4's
    /// matrix has 36 MB.
    #[arg(long, value_name = "SIZE", value_parser = size::parse, allow_hyphen_values = true)]
    pub memory: Option<u64>,
}

impl Scene {
    /// Returns the CPU to measure on, if `--cpu` or `--isolated` names one. Fails if they name two.
    pub fn measuring(&self) -> Result<Option<usize>> {
        match (self.cpu, self.isolated.flatten()) {
            (Some(cpu), Some(isolated)) if cpu != isolated => {
                bail!(
                    "--cpu {cpu} and --isolated={isolated} name two CPUs to measure on: leave one \
                     out"
                )
            }
            (cpu, isolated) => Ok(isolated.or(cpu)),
        }
    }

    /// Returns the request for a session with these options and this selection of experiments.
    pub fn request(&self, selection: &[String]) -> Result<Request> {
        Ok(Request {
            cpu: self.measuring()?,
            isolated: self.isolated.is_some(),
            prefetchers_off: self.prefetchers.is_some(),
            memory: self.memory,
            pages: self.pages.map(Pages::from),
            node: self.node,
            placement: self.threads.map(Placement::from).unwrap_or_default(),
            seed: self.seed.unwrap_or(DEFAULT_SEED),
            masked: mask(),
            selection: selection.to_vec(),
            ..Request::default()
        })
    }
}

/// What is done with the hardware prefetchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Prefetchers {
    /// All prefetchers that the register controls.
    Off,
}

/// A placement on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Threads {
    /// On one hyper-thread of each core before the others. The cores nearest to the measuring CPU come first:
    /// those that share L2 with it, then those that share the last level, then those of its package.
    Near,
    /// On one hyper-thread of each core before the others. The cores farthest from the measuring CPU come
    /// first: those of another package, then those with another last level.
    Far,
    /// On the hyper-threads of the measuring core first. What an experiment says about cores is then about
    /// hyper-threads.
    Siblings,
}

impl From<Threads> for Placement {
    fn from(threads: Threads) -> Self {
        match threads {
            Threads::Near => Placement::Near,
            Threads::Far => Placement::Far,
            Threads::Siblings => Placement::Siblings,
        }
    }
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

const DEFAULT_SEED: u64 = 1;
