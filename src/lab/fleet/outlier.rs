//! Distributions over hosts, the hosts outside of them, and how a host is set beside what is usual in a
//! fleet.
//!
//! The rule is that of Iglewicz and Hoaglin (How to Detect and Handle Outliers, 1993): a value is outside if
//! its modified z-score, 0.6745 times its distance from the median over the median absolute deviation, is
//! above 3.5. Where that deviation is 0, because most hosts have one value, 1.2533 times the mean absolute
//! deviation stands in its place. Two things are asked besides, since a host has thousands of figures, each
//! with an error of its own: the end of the host's interval that is nearer to the median has to be outside,
//! too, and the value at least 5 % away from the median.

use std::collections::{BTreeMap, HashMap};

use super::{Figure, Fleet, Value};
use crate::cpu::CacheKind;
use crate::lab::record::{PrefetchersLine, Record, version};
use crate::lab::size::show;
use crate::order;
use crate::recorded::{cache_of, core_of};
use crate::stats::{mad, median, quantile};

/// Modified z-scores above this are outside.
pub(crate) const SCORE: f64 = 3.5;

/// The least distance from the median, as a share of it.
pub(crate) const DISTANCE: f64 = 0.05;

/// Fewer hosts than these tell nothing about one of them.
pub(crate) const LEAST: usize = 8;

/// The upper quartile of the normal distribution: what a median absolute deviation is of its standard
/// deviation.
const QUARTILE: f64 = 0.6745;

/// The standard deviation over the mean absolute deviation in a normal distribution.
const OVER_MEAN: f64 = 1.2533;

/// A figure over the hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// Hosts that have it.
    pub n: usize,
    /// Least value.
    pub min: f64,
    /// A tenth of the hosts have less.
    pub p10: f64,
    pub median: f64,
    /// A tenth of the hosts have more.
    pub p90: f64,
    /// Greatest value.
    pub max: f64,
    /// A standard deviation as the middle of the values tells it.
    scale: f64,
}

impl Spread {
    /// That of a figure; none without values.
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
        Some(Spread {
            n,
            min,
            p10,
            median: center,
            p90,
            max,
            scale,
        })
    }

    /// From the least value to the greatest: both, both tenths, and the median between them.
    pub fn places(&self) -> [f64; 5] {
        [self.min, self.p10, self.median, self.p90, self.max]
    }

    /// How far apart nine tenths of the hosts are: the ninth over the first, less 1.
    pub fn width(&self) -> f64 {
        match self.p10 > 0.0 {
            true => self.p90 / self.p10 - 1.0,
            false => 0.0,
        }
    }

    /// The score of a host's value if it is outside.
    pub fn outside(&self, value: &Value) -> Option<f64> {
        let [lo, mid, hi] = [value.lo, value.mid, value.hi].map(f64::from);
        if self.n < LEAST || self.scale == 0.0 {
            return None;
        }
        let score = |value: f64| (value - self.median) / self.scale;
        let nearest = self.median.clamp(lo.min(mid), hi.max(mid));
        let far = (mid - self.median).abs() >= DISTANCE * self.median.abs();
        (far && score(nearest).abs() > SCORE).then(|| score(mid))
    }
}

/// The settings of a host by their names.
pub(crate) type Settings = BTreeMap<String, String>;

/// What a record tells of its host and of how it was measured.
pub(super) fn settings_of(record: &Record) -> Settings {
    let header = &record.header;
    let cpu = &header.cpu;
    let core = core_of(cpu).map(|core| core.name.to_owned());
    let caches = header.cpu.caches.iter().filter_map(cache_of);
    let caches = caches.filter(|of| of.kind != CacheKind::Instruction);
    let caches: Vec<String> = caches
        .map(|of| format!("L{} {}", of.level, show(of.size as f64)))
        .collect();
    let known = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
    let counted = |count: usize| (count > 0).then(|| count.to_string());
    let own = [
        ("CPU", known(&cpu.brand)),
        ("core", core),
        (
            "stepping",
            Some(format!(
                "{:X}h-{:X}h-{}",
                cpu.family, cpu.model, cpu.stepping
            )),
        ),
        ("CPUs", counted(header.seats.len())),
        ("caches", known(&caches.join(", "))),
        (
            "memory",
            // To a GiB: how much firmware keeps differs.
            header
                .memory
                .map(|bytes| format!("{} GiB", (bytes + (1 << 29)) >> 30)),
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
        (
            "isolated by",
            header.isolation.as_ref().map(|of| of.by.clone()),
        ),
        ("profile", known(&header.profile)),
        ("pages", header.pages.clone()),
        ("memory nodes", counted(header.nodes.len())),
        ("memory on", header.node.map(|node| format!("node {node}"))),
        ("threads", header.placement.clone()),
        ("masked away", known(&header.masked)),
        ("linefill", known(&version(header))),
        ("compiler", known(&header.rustc)),
    ];
    let own = own
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    let told = header
        .settings
        .iter()
        .map(|of| (of.name.clone(), Some(of.value.clone())));
    // `steal: 4 % of the time`: what spoils a measurement there.
    let notes = header.notes.iter().filter_map(|note| {
        let (name, found) = note.split_once(": ")?;
        Some((format!("warning, {name}"), Some(found.to_owned())))
    });
    let all = own.chain(told).chain(notes);
    all.filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// A value that most hosts have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Usual {
    /// The setting.
    pub name: String,
    /// Its value; none if most hosts do not tell of it.
    pub value: Option<String>,
    /// How many hosts have it.
    pub hosts: usize,
}

/// What is set otherwise on a host.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Otherwise {
    /// The setting.
    pub name: String,
    /// Its value on the host, if it tells of it.
    pub value: Option<String>,
    /// That of most hosts, likewise.
    pub usual: Option<String>,
    /// How many hosts have the same as this one.
    pub shared_by: usize,
}

impl Otherwise {
    /// In words: `microcode 0xb1, mostly 0xb2`.
    pub fn in_words(&self) -> String {
        let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "not told".to_owned());
        format!(
            "{} {}, mostly {}",
            self.name,
            word(&self.value),
            word(&self.usual)
        )
    }
}

/// The values of each setting, with the number of hosts that have it.
#[derive(Debug, Default)]
pub(crate) struct Census<'f> {
    counts: BTreeMap<&'f str, HashMap<Option<&'f str>, usize>>,
    hosts: usize,
}

impl<'f> Census<'f> {
    /// Counts the values of a fleet.
    pub fn of(fleet: &'f Fleet) -> Self {
        let mut counts: BTreeMap<&str, HashMap<Option<&str>, usize>> = BTreeMap::new();
        for host in &fleet.hosts {
            for (name, value) in &host.settings {
                let of = counts.entry(name).or_default();
                *of.entry(Some(value.as_str())).or_default() += 1;
            }
        }
        for of in counts.values_mut() {
            let told: usize = of.values().sum();
            of.insert(None, fleet.hosts.len() - told);
        }
        Census {
            counts,
            hosts: fleet.hosts.len(),
        }
    }

    /// The values that more than half of the hosts have.
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

    /// What is set otherwise on a host than on most, the rarest first. Settings of which no value is the
    /// most hosts' say nothing.
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
        order::by(&mut found, |a, b| {
            a.shared_by.cmp(&b.shared_by).then(a.name.cmp(&b.name))
        });
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
        Figure {
            x: 1.0,
            values: values.iter().enumerate().map(value).collect(),
        }
    }

    fn outside(values: &[f32]) -> Vec<u32> {
        let figure = figure(values);
        let spread = Spread::of(&figure).unwrap();
        let found = figure
            .values
            .iter()
            .filter(|of| spread.outside(of).is_some());
        found.map(|of| of.host).collect()
    }

    #[test]
    fn what_is_far_from_the_middle_of_the_others_is_outside() {
        let mut values: Vec<f32> = (0_u8..20)
            .map(|step| 100.0 + f32::from(step) / 10.0)
            .collect();
        assert!(outside(&values).is_empty());
        values[7] = 130.0;
        values[12] = 80.0;
        assert_eq!(outside(&values), [7, 12]);
        // By more than the rule alone asks for.
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
        assert_eq!((spread.n, spread.min, spread.max), (3, 1.0, 3.0));
        assert_eq!(Spread::of(&figure(&[])), None);
    }
}
