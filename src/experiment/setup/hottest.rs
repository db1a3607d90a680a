//! Where a kernel spends its time, instruction by instruction.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::ShuffleSetup;
use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::x86_64::asm::code;
use crate::mem::Region;
use crate::os::sampler;

/// How often the instruction is looked at.
const PERIOD: Duration = Duration::from_micros(150);

/// The longest that a sampling may take.
const LONGEST: Duration = Duration::from_secs(2);

/// Exchanges between two looks at the time.
const EXCHANGES: u64 = 4096;

/// The percentage of time that a shuffle spends at its hottest instruction, by a timer that
/// interrupts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HottestSetup {
    /// The shuffle.
    pub of: ShuffleSetup,
    /// The symbol of the code that does it.
    pub symbol: &'static str,
}

impl HottestSetup {
    /// Samples that fall into the kernel.
    pub const SAMPLES: usize = 1000;
}

impl Setup for HottestSetup {
    fn bytes(&self) -> usize {
        self.of.bytes()
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        let Subject::Steady { mut kernel, lap } = self.of.prepare(region, context)? else {
            return Err(Untestable("only what is steady can be sampled".to_owned()));
        };
        kernel.run(lap);
        let code = code::all().find(|code| code.name == self.symbol);
        let inside = code
            .ok_or_else(|| Untestable(format!("there is no kernel {}", self.symbol)))?
            .bytes
            .as_ptr_range();
        let inside = inside.start.addr()..inside.end.addr();
        let mut addresses: BTreeMap<usize, usize> = BTreeMap::new();
        let mut samples = 0;
        let began = Instant::now();
        while samples < Self::SAMPLES {
            if began.elapsed() > LONGEST {
                return Err(Untestable(format!(
                    "the timer interrupted {} {samples} times in {LONGEST:?}, not {}",
                    self.symbol,
                    Self::SAMPLES
                )));
            }
            let stretch = Instant::now();
            let found = sampler::sample(PERIOD, || {
                while stretch.elapsed() < LONGEST / 40 {
                    kernel.run(EXCHANGES);
                }
            });
            let found = found.map_err(Untestable::because)?.into_iter();
            for address in found.filter(|at| inside.contains(at)) {
                *addresses.entry(address).or_default() += 1;
                samples += 1;
            }
        }
        let most = addresses.values().max().copied().unwrap_or(0);
        Ok(Subject::Count(100.0 * most as f64 / samples as f64))
    }
}
