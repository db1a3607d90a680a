//! Distributions of figures over hosts, outliers, and the settings in which a host differs from most hosts.
//!
//! The rule is that of Iglewicz and Hoaglin (How to Detect and Handle Outliers, 1993). A value is an outlier
//! if its modified z-score is above 3.5: 0.6745 times its distance from the median, over the median absolute
//! deviation. If the median absolute deviation is 0, because most hosts have the same value, 1.2533 times the
//! mean absolute deviation replaces the median absolute deviation over 0.6745.
//!
//! A host has thousands of figures, each with a measurement error, so two more conditions apply: the end of
//! the host's interval that is nearer to the median is an outlier too, and the value is at least 5 % away
//! from the median.

use std::collections::{BTreeMap, HashMap};

use super::{Figure, Fleet, Value};
use crate::cpu::CacheKind;
use crate::lab::record::{PrefetchersLine, Record, version};
use crate::lab::size::show;
use crate::order;
use crate::recorded::{cache_of, core_of};
use crate::stats::{mad, median, quantile};

/// A value with a modified z-score above this is an outlier.
pub(crate) const SCORE: f64 = 3.5;

/// The least distance of an outlier from the median, as a fraction of the median.
pub(crate) const DISTANCE: f64 = 0.05;

/// The least number of hosts for which outliers are determined.
pub(crate) const LEAST: usize = 8;

/// The upper quartile of the normal distribution: the median absolute deviation over the standard deviation.
const QUARTILE: f64 = 0.6745;

/// The standard deviation over the mean absolute deviation in a normal distribution.
const OVER_MEAN: f64 = 1.2533;

/// The distribution of a figure over the hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The number of hosts that have the figure.
    pub n: usize,
    /// The least value, the first decile, the median, the ninth decile, and the greatest value.
    pub places: [f64; 5],
    /// The standard deviation, estimated from the median or mean absolute deviation.
    scale: f64,
}

impl Spread {
    /// Returns the distribution of a figure, or `None` if the figure has no values.
    pub fn of(figure: &Figure) -> Option<Self> {
        let mut values: Vec<f64> = figure.values.iter().map(|of| f64::from(of.mid)).collect();
        values.sort_unstable_by(f64::total_cmp);
        let center = median(&values)?;
        let at = |q| quantile(&values, q);
        let (p10, p90) = (at(0.1)?, at(0.9)?);
        let (min, max) = (*values.first()?, *values.last()?);
        let n = values.len();
        let mean = values.iter().map(|of| (of - center).abs()).sum::<f64>() / n as f64;
        let scale = match mad(&mut values, center)? {
            0.0 => mean * OVER_MEAN,
            mad => mad / QUARTILE,
        };
        Some(Spread { n, places: [min, p10, center, p90, max], scale })
    }

    pub fn median(&self) -> f64 {
        self.places[2]
    }

    /// Returns how far apart the deciles are: `p90 / p10 - 1`. Returns 0 if `p10` is not positive.
    pub fn width(&self) -> f64 {
        let [_, p10, _, p90, _] = self.places;
        if p10 > 0.0 { p90 / p10 - 1.0 } else { 0.0 }
    }

    /// Returns the modified z-score of a host's value if the value is an outlier.
    pub fn outside(&self, value: &Value) -> Option<f64> {
        let [lo, mid, hi] = [value.lo, value.mid, value.hi].map(f64::from);
        if self.n < LEAST || self.scale == 0.0 {
            return None;
        }
        let median = self.median();
        let score = |value: f64| (value - median) / self.scale;
        let nearest = median.clamp(lo.min(mid), hi.max(mid));
        let far = (mid - median).abs() >= DISTANCE * median.abs();
        (far && score(nearest).abs() > SCORE).then(|| score(mid))
    }
}

/// The settings of a host, by name.
pub(crate) type Settings = BTreeMap<String, String>;

/// Returns the settings of a record's host and of the measurement.
pub(super) fn settings_of(record: &Record) -> Settings {
    let header = &record.header;
    let cpu = &header.cpu;
    let core = core_of(cpu).map(|core| core.name.to_owned());
    let caches = header.cpu.caches.iter().filter_map(cache_of);
    let caches = caches.filter(|of| of.kind != CacheKind::Instruction);
    let caches: Vec<String> =
        caches.map(|of| format!("L{} {}", of.level, show(of.size as f64))).collect();
    let known = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
    let counted = |count: usize| (count > 0).then(|| count.to_string());
    let own = [
        ("CPU", known(&cpu.brand)),
        ("core", core),
        ("stepping", Some(format!("{:X}h-{:X}h-{}", cpu.family, cpu.model, cpu.stepping))),
        ("CPUs", counted(header.locations.len())),
        ("caches", known(&caches.join(", "))),
        (
            "memory",
            // Rounded to GiB, because firmware reserves a varying amount.
            header.memory.map(|bytes| format!("{} GiB", (bytes + (1 << 29)) >> 30)),
        ),
        ("kernel", header.os.clone()),
        ("host", header.host.clone()),
        ("hypervisor", header.hypervisor.clone()),
        (
            "prefetchers",
            match &header.prefetchers {
                Some(PrefetchersLine::Set(text)) => Some(text.clone()),
                _ => None,
            },
        ),
        ("isolated by", header.isolation.as_ref().map(|of| of.by.clone())),
        ("profile", known(&header.profile)),
        ("pages", header.pages.clone()),
        ("memory nodes", counted(header.nodes.len())),
        ("memory on", header.node.map(|node| format!("node {node}"))),
        ("threads", header.placement.clone()),
        ("masked away", known(&header.masked)),
        ("linefill", known(&version(header))),
        ("compiler", known(&header.rustc)),
    ];
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
    let told = header.settings.iter().map(|of| (of.name.clone(), Some(of.value.clone())));
    // A note such as `steal: 4 % of the time` names a condition that distorts the measurement.
    let notes = header.notes.iter().filter_map(|note| {
        let (name, found) = note.split_once(": ")?;
        Some((format!("warning, {name}"), Some(found.to_owned())))
    });
    own.chain(told).chain(notes).filter_map(|(name, value)| Some((name, value?))).collect()
}

/// A value that more than half of the hosts have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Usual {
    /// The setting.
    pub name: String,
    /// The value; `None` if most hosts do not have the setting.
    pub value: Option<String>,
    /// The number of hosts with this value.
    pub hosts: usize,
}

/// A setting in which a host differs from most hosts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Otherwise {
    /// The setting.
    pub name: String,
    /// The value on the host, if the host has the setting.
    pub value: Option<String>,
    /// The value on most hosts, if they have the setting.
    pub usual: Option<String>,
    /// The number of hosts with the same value as this host.
    pub shared_by: usize,
}

impl Otherwise {
    /// Describes the setting in words: `microcode 0xb1, mostly 0xb2`.
    pub fn in_words(&self) -> String {
        let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "not told".to_owned());
        format!("{} {}, mostly {}", self.name, word(&self.value), word(&self.usual))
    }
}

/// The values of each setting, with the number of hosts that have each value.
#[derive(Debug, Default)]
pub(crate) struct Census<'f> {
    counts: BTreeMap<&'f str, HashMap<Option<&'f str>, usize>>,
    hosts: usize,
}

impl<'f> Census<'f> {
    pub fn of(fleet: &'f Fleet) -> Self {
        let mut counts: BTreeMap<&str, HashMap<Option<&str>, usize>> = BTreeMap::new();
        for host in &fleet.hosts {
            for (name, value) in &host.settings {
                *counts.entry(name).or_default().entry(Some(value.as_str())).or_default() += 1;
            }
        }
        for of in counts.values_mut() {
            let told: usize = of.values().sum();
            of.insert(None, fleet.hosts.len() - told);
        }
        Census { counts, hosts: fleet.hosts.len() }
    }

    /// Returns the values that more than half of the hosts have.
    pub fn usual(&self) -> impl Iterator<Item = Usual> {
        self.counts.iter().filter_map(|(name, values)| {
            let (value, &hosts) = values.iter().max_by_key(|(_, count)| **count)?;
            (2 * hosts > self.hosts).then(|| Usual {
                name: (*name).to_owned(),
                value: value.map(str::to_owned),
                hosts,
            })
        })
    }

    /// Returns the settings in which a host differs from most hosts, the rarest values first. A setting is
    /// left out if no value is on more than half of the hosts.
    pub fn otherwise(&self, usual: &[Usual], settings: &Settings) -> Vec<Otherwise> {
        let differs = |of: &Usual| {
            let value = settings.get(&of.name);
            if value == of.value.as_ref() {
                return None;
            }
            let counts = self.counts.get(of.name.as_str())?;
            Some(Otherwise {
                name: of.name.clone(),
                value: value.cloned(),
                usual: of.value.clone(),
                shared_by: *counts.get(&value.map(String::as_str))?,
            })
        };
        let mut found: Vec<Otherwise> = usual.iter().filter_map(differs).collect();
        order::by(&mut found, |a, b| a.shared_by.cmp(&b.shared_by).then(a.name.cmp(&b.name)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(values: &[f32]) -> Figure {
        let value = |(host, &mid): (usize, &f32)| Value {
            host: host as u32,
            lo: mid * 0.99,
            mid,
            hi: mid * 1.01,
        };
        Figure { x: 1.0, values: values.iter().enumerate().map(value).collect() }
    }

    fn outside(values: &[f32]) -> Vec<u32> {
        let figure = figure(values);
        let spread = Spread::of(&figure).unwrap();
        figure.values.iter().filter(|of| spread.outside(of).is_some()).map(|of| of.host).collect()
    }

    #[test]
    fn what_is_far_from_the_middle_of_the_others_is_outside() {
        let mut values: Vec<f32> = (0_u8..20).map(|step| 100.0 + f32::from(step) / 10.0).collect();
        assert!(outside(&values).is_empty());
        values[7] = 130.0;
        values[12] = 80.0;
        assert_eq!(outside(&values), [7, 12]);
        // These are outliers by the z-score, but less than 5 % away from the median.
        values[7] = 104.0;
        values[12] = 101.0;
        assert!(outside(&values).is_empty());
    }

    #[test]
    fn where_most_have_one_value_the_mean_deviation_counts() {
        let mut values = vec![4.0; 40];
        assert!(outside(&values).is_empty());
        values[3] = 5.0;
        assert_eq!(outside(&values), [3]);
    }

    #[test]
    fn an_interval_that_reaches_the_others_is_none_outside() {
        let mut figure = figure(&[100.0; 20]);
        for (index, value) in figure.values.iter_mut().enumerate() {
            value.mid += index as f32 / 10.0;
        }
        figure.values[5].mid = 130.0;
        figure.values[5].lo = 100.0;
        let spread = Spread::of(&figure).unwrap();
        assert_eq!(spread.outside(&figure.values[5]), None);
        figure.values[5].lo = 125.0;
        assert!(spread.outside(&figure.values[5]).is_some());
    }

    #[test]
    fn few_hosts_tell_nothing() {
        assert!(outside(&[1.0, 1.1, 1.2, 1.1, 1.0, 9.0]).is_empty());
        let spread = Spread::of(&figure(&[1.0, 2.0, 3.0])).unwrap();
        assert_eq!((spread.n, spread.places[0], spread.places[4]), (3, 1.0, 3.0));
        assert_eq!(Spread::of(&figure(&[])), None);
    }
}
