//! CPU time in `/proc/stat` (proc_stat(5)).

use super::Observed;

/// Ticks of one CPU, or of all, since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticks {
    /// Spent on programs, the kernel and interrupts.
    pub(super) busy: u64,
    /// Spent idle, waiting for disks or not.
    pub(super) idle: u64,
    /// Taken by the hypervisor while there was work.
    pub(super) steal: u64,
}

impl Ticks {
    /// The line `name` (`cpu` for all, `cpu3` for one) of the file's text.
    pub(super) fn parse(stat: &str, name: &str) -> Option<Self> {
        let line = stat
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name))?;
        let mut fields = line
            .split_whitespace()
            .skip(1)
            .map(|field| field.parse::<u64>());
        let mut next = || fields.next()?.ok();
        let (user, nice, system) = (next()?, next()?, next()?);
        let (idle, iowait) = (next()?, next()?);
        let (irq, softirq, steal) = (next()?, next()?, next()?);
        // Time of guests follows; it is counted in `user` and `nice` too.
        Some(Self {
            busy: user + nice + system + irq + softirq,
            idle: idle + iowait,
            steal,
        })
    }

    pub(super) fn total(&self) -> u64 {
        self.busy + self.idle + self.steal
    }

    /// Fractions of the time since boot, or `None` when no time has been counted.
    pub(super) fn share(&self, ticks: u64) -> Option<f64> {
        (self.total() > 0).then(|| ticks as f64 / self.total() as f64)
    }

    /// What was counted since `before`. A counter may step back by a tick (the idle ones do).
    fn since(&self, before: &Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(before.busy),
            idle: self.idle.saturating_sub(before.idle),
            steal: self.steal.saturating_sub(before.steal),
        }
    }
}

/// What the line `name` counted between the two looks, or why that is unknown.
pub(super) fn between(observed: &Observed, name: &str) -> Result<Ticks, String> {
    let (before, after) = observed.stat.as_ref().map_err(ToString::to_string)?;
    let line = |text| Ticks::parse(text, name).ok_or_else(|| format!("/proc/stat: no {name} line"));
    let ticks = line(after)?.since(&line(before)?);
    if ticks.total() == 0 {
        return Err(format!("/proc/stat: {name} counted no tick in 200 ms"));
    }
    Ok(ticks)
}

/// A fraction in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "cpu  18862 0 4912 111622 428 0 90 10 0 0\n\
        cpu0 7686 5 1838 58427 37 2 16 4 0 0\ncpu10 1 1 1 1 1 1 1 1 0 0\nintr 282030 0\n";

    #[test]
    fn a_line_is_found_by_its_whole_name() {
        let one = Ticks::parse(TEXT, "cpu0").unwrap();
        assert_eq!(
            one,
            Ticks {
                busy: 7686 + 5 + 1838 + 2 + 16,
                idle: 58427 + 37,
                steal: 4
            }
        );
        assert_eq!(Ticks::parse(TEXT, "cpu").unwrap().steal, 10);
        assert_eq!(Ticks::parse(TEXT, "cpu1"), None);
        assert_eq!(Ticks::parse("cpu0 1 2 x 4 5 6 7 8\n", "cpu0"), None);
        assert_eq!(Ticks::parse("cpu0 1 2 3\n", "cpu0"), None);
    }

    #[test]
    fn shares_are_of_all_time() {
        let ticks = Ticks {
            busy: 1,
            idle: 18,
            steal: 1,
        };
        assert_eq!(ticks.share(ticks.busy), Some(0.05));
        assert_eq!(
            Ticks {
                busy: 0,
                idle: 0,
                steal: 0
            }
            .share(0),
            None
        );
    }
}
