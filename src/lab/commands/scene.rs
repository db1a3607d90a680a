//! The options that `run` and `watch` share: the experiments, and the CPU, threads and memory that measure.

use anyhow::{Result, bail};

use super::{PageSize, cpu_number, node_number};
use crate::experiment::Placement;
use crate::lab::session::{Request, mask};
use crate::lab::size;
use crate::os::Pages;

/// What is measured, and on what.
#[derive(Debug, clap::Args)]
pub(super) struct Scene {
    /// Ids, names, globs of either, or families; quote globs so that the shell leaves them alone.
    /// `run` takes all if there is none.
    #[arg(value_name = "ID, GLOB OR FAMILY")]
    pub patterns: Vec<String>,
    /// The page size of all memory, whatever an experiment asks for.
    #[arg(long, value_enum)]
    pub pages: Option<PageSize>,
    /// The memory node on which all memory lies, whichever CPU measures; X19 measures from node to node in
    /// any case.
    #[arg(long, value_name = "N", value_parser = node_number, allow_negative_numbers = true)]
    pub node: Option<usize>,
    /// The CPU to measure on [default: an isolated one, else the last one allowed].
    #[arg(long, value_name = "N", value_parser = cpu_number, allow_negative_numbers = true)]
    pub cpu: Option<usize>,
    /// Measure on a CPU that nobody else uses: refuse unless it is isolated, tickless and quiet, and say
    /// which setting is missing. Where this program may, it isolates the CPU by a cpuset partition and
    /// sends interrupts of devices elsewhere, until it ends. [default: as --cpu]
    #[arg(long, value_name = "CPU", num_args = 0..=1, require_equals = true, value_parser = cpu_number)]
    pub isolated: Option<Option<usize>>,
    /// Switch the hardware prefetchers off on all CPUs that threads may have, for the whole run, by writing a
    /// register; needs root, and is refused where it cannot be. They are as before afterwards, also if this
    /// program is killed. [default: as they are]
    #[arg(long, value_enum, value_name = "HOW")]
    pub prefetchers: Option<Prefetchers>,
    /// Where the further threads of an experiment go [default: near].
    #[arg(long, value_enum, value_name = "WHERE")]
    pub threads: Option<Threads>,
    /// The seed of all random layouts: the same seed gives the same lists [default: 1].
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// The largest working set [default: a quarter of the available memory, and at most 1GiB or four
    /// times the last level].
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub memory: Option<u64>,
}

impl Scene {
    /// Returns the CPU to measure on, if `--cpu` or `--isolated` names one.
    ///
    /// # Errors
    /// If the two options name different CPUs.
    pub fn measuring(&self) -> Result<Option<usize>> {
        match (self.cpu, self.isolated.flatten()) {
            (Some(cpu), Some(isolated)) if cpu != isolated => {
                bail!(
                    "--cpu {cpu} and --isolated={isolated} name two CPUs to measure on: leave one out"
                )
            }
            (cpu, isolated) => Ok(isolated.or(cpu)),
        }
    }

    /// Returns the request for a session with these options.
    ///
    /// # Errors
    /// If `--cpu` and `--isolated` name different CPUs.
    pub fn request(&self) -> Result<Request> {
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
            selection: self.patterns.clone(),
            ..Request::default()
        })
    }
}

/// How the hardware prefetchers are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Prefetchers {
    /// All that the register switches.
    Off,
}

/// A placement on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Threads {
    /// On cores of their own, those first that share the most with the measuring CPU.
    Near,
    /// On cores of their own, those first that share the least: the other package, if there is one.
    Far,
    /// On hyper-threads of the same core first. What an experiment says of cores then goes for
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
    text.parse()
        .map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

const DEFAULT_SEED: u64 = 1;
