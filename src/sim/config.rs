//! Parses and prints hierarchies in the form in which a user types them.
//!
//! ```
//! use linefill::sim::HierarchyDesign;
//!
//! let design: HierarchyDesign = "L1i=32K/8,L1d=48K/12:plru:stride,L2=2M/16/64".parse()?;
//! assert_eq!(design.levels[1].cache.geometry.sets(), 2048);
//! # Ok::<(), linefill::sim::ConfigError>(())
//! ```

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use super::cache::TlbDesign;
use super::geometry::{Design, Geometry, WriteHit, WriteMiss};
use super::hierarchy::{HierarchyDesign, Inclusion, Instructions, LevelDesign};
use super::policy::Replacement;
use super::prefetch::{MOST_AHEAD, Prefetcher};

/// The error in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigError {
    /// The part that contains the error.
    pub part: String,
    /// The reason, with the accepted forms.
    pub reason: String,
}

messages! { ConfigError:
    ConfigError { part, reason } => ("`{part}`: {reason}");
}

const NAMES: &str = "a cache is L1i, L1d, L1 (instructions and data), L2, L3 or L4, a TLB dTLB or \
                     STLB, each once: L1d=32K/8/64:lru";
const SIZES: &str = "a cache is SIZE/WAYS or SIZE/WAYS/LINE, with `full` for one set: 32K/8, \
                     1M/16/64, 4K/full";
const ENTRIES: &str = "a dTLB is ENTRIES/WAYS or ENTRIES/WAYS/PAGE, an STLB behind it \
                       ENTRIES/WAYS: dTLB=64/4/4K,STLB=1536/12";
const OPTIONS: &str = "an option is a policy (lru, rr, plru, mru, random, random@SEED or a QLRU \
                       such as QLRU_H11_M1_R0_U0), wb or wt (write-back, write-through), wa or nwa \
                       (write-allocate or not), ni, incl or excl (non-inclusive, inclusive, \
                       exclusive), or a prefetcher (next, stride, stream, stream@LINES)";

/// The default number of lines that `stream` runs ahead of the program.
const STREAM_AHEAD: u8 = 4;

impl FromStr for HierarchyDesign {
    type Err = ConfigError;

    /// Parses `NAME=SIZE/WAYS/LINE:OPTION:...,NAME=...`, ignoring case.
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let mut parts = Parts::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            parts.take(part).map_err(|reason| ConfigError { part: part.to_owned(), reason })?;
        }
        parts.into_design().map_err(|reason| ConfigError { part: text.to_owned(), reason })
    }
}

/// The parts parsed so far.
#[derive(Default)]
struct Parts {
    instructions: Instructions,
    levels: [Option<LevelDesign>; 4],
    tlb: Option<[u64; 3]>,
    second: Option<[u64; 2]>,
}

impl Parts {
    fn take(&mut self, part: &str) -> Result<(), String> {
        let (name, what) = part.split_once('=').ok_or_else(|| NAMES.to_owned())?;
        let name = name.trim().to_ascii_lowercase();
        let twice = || format!("given twice; {NAMES}");
        let index = match name.as_str() {
            "dtlb" if self.tlb.is_some() => return Err(twice()),
            "stlb" if self.second.is_some() => return Err(twice()),
            "dtlb" | "stlb" => return self.take_tlb(&name, what),
            "l1i" => {
                if self.instructions != Instructions::Ignored {
                    return Err(twice());
                }
                let level = level(what)?;
                if level.inclusion != Inclusion::NonInclusive || !level.prefetchers.is_empty() {
                    return Err("L1i takes a policy, and neither prefetchers nor ni, incl or excl"
                        .to_owned());
                }
                self.instructions = Instructions::Own(level.cache);
                return Ok(());
            }
            "l1" if self.instructions != Instructions::Ignored => return Err(twice()),
            "l1" => {
                self.instructions = Instructions::Shared;
                0
            }
            "l1d" => 0,
            "l2" => 1,
            "l3" => 2,
            "l4" => 3,
            _ => return Err(NAMES.to_owned()),
        };
        if self.levels[index].is_some() {
            return Err(twice());
        }
        self.levels[index] = Some(level(what)?);
        Ok(())
    }

    fn take_tlb(&mut self, name: &str, what: &str) -> Result<(), String> {
        let numbers: Option<Vec<u64>> = what.split('/').map(number).collect();
        match (name, numbers.as_deref()) {
            ("dtlb", Some(&[entries, ways])) => self.tlb = Some([entries, ways, 4096]),
            ("dtlb", Some(&[entries, ways, page])) => self.tlb = Some([entries, ways, page]),
            ("stlb", Some(&[entries, ways])) => self.second = Some([entries, ways]),
            _ => return Err(ENTRIES.to_owned()),
        }
        Ok(())
    }

    fn into_design(self) -> Result<HierarchyDesign, String> {
        let given = self.levels.iter().flatten().count();
        let levels: Vec<LevelDesign> = self.levels.into_iter().map_while(|level| level).collect();
        if levels.is_empty() {
            return Err(format!("L1d or L1 is missing; {NAMES}"));
        }
        if levels.len() < given {
            let missing = levels.len() + 1;
            return Err(format!("L{missing} is missing, but a level behind it is given"));
        }
        let tlb = match (self.tlb, self.second) {
            (None, None) => None,
            (None, Some(_)) => return Err(format!("an STLB without a dTLB; {ENTRIES}")),
            (Some([entries, ways, page]), second) => {
                let refused = |error: super::GeometryError| format!("TLB: {error}; {ENTRIES}");
                let first = TlbDesign::new(entries, ways, page).map_err(refused)?;
                Some(match second {
                    Some([entries, ways]) => first.behind(entries, ways).map_err(refused)?,
                    None => first,
                })
            }
        };
        let design = HierarchyDesign { instructions: self.instructions, levels, tlb };
        design.check().map_err(|error| error.to_string())?;
        Ok(design)
    }
}

/// Parses `SIZE/WAYS/LINE:OPTION:...`.
fn level(text: &str) -> Result<LevelDesign, String> {
    let mut parts = text.split(':').map(str::trim);
    let geometry = geometry(parts.next().unwrap_or_default())?;
    let mut level = LevelDesign::new(Design::lru(geometry), Inclusion::NonInclusive);
    let mut taken: Vec<&str> = Vec::new();
    for option in parts {
        is_new(&taken, option)?;
        taken.push(option);
        take_option(&mut level, option)?;
    }
    Ok(level)
}

fn geometry(text: &str) -> Result<Geometry, String> {
    let wrong = || SIZES.to_owned();
    let mut fields = text.split('/').map(str::trim);
    let size = fields.next().and_then(number).ok_or_else(wrong)?;
    let ways = fields.next().ok_or_else(wrong)?;
    let line = fields.next().map_or(Some(64), number).ok_or_else(wrong)?;
    if fields.next().is_some() {
        return Err(wrong());
    }
    let geometry = if ways.eq_ignore_ascii_case("full") {
        Geometry::fully_associative(size, line)
    } else {
        Geometry::new(size, number(ways).ok_or_else(wrong)?, line)
    };
    geometry.map_err(|error| error.to_string())
}

/// Groups of options of which a cache has one: its replacement, what a write does on a hit and on a miss, and
/// whether it includes the caches before it.
const EITHER: [&[&str]; 4] = [
    &["lru", "rr", "fifo", "plru", "mru", "bit-plru", "random", "qlru"],
    &["wb", "wt"],
    &["wa", "nwa"],
    &["ni", "incl", "excl"],
];

/// Returns the group of an option, if only one of the group may be given.
fn group_of(option: &str) -> Option<&'static [&'static str]> {
    let lower = option.to_ascii_lowercase();
    let word = lower.split('@').next().unwrap_or_default();
    let word = if word.starts_with("qlru") { "qlru" } else { word };
    EITHER.into_iter().find(|group| group.contains(&word))
}

/// Checks that `option` does not contradict one of the options before it.
fn is_new(before: &[&str], option: &str) -> Result<(), String> {
    let same = |of: &&&str| group_of(of).is_some_and(|group| group_of(option) == Some(group));
    match before.iter().find(same) {
        Some(other) => Err(format!("`{other}` and `{option}`: a cache has only one of them")),
        None => Ok(()),
    }
}

fn take_option(level: &mut LevelDesign, option: &str) -> Result<(), String> {
    let wrong = || format!("`{option}`: {OPTIONS}");
    let lower = option.to_ascii_lowercase();
    let (word, argument) = match lower.split_once('@') {
        Some((word, argument)) => (word, Some(number(argument).ok_or_else(wrong)?)),
        None => (lower.as_str(), None),
    };
    let cache = &mut level.cache;
    match (word, argument) {
        ("lru", None) => cache.replacement = Replacement::Lru,
        ("rr" | "fifo", None) => cache.replacement = Replacement::RoundRobin,
        ("plru", None) => cache.replacement = Replacement::TreePlru,
        ("mru" | "bit-plru", None) => cache.replacement = Replacement::BitPlru,
        ("random", seed) => cache.replacement = Replacement::Random { seed: seed.unwrap_or(1) },
        ("wb", None) => cache.write_hit = WriteHit::Back,
        ("wt", None) => cache.write_hit = WriteHit::Through,
        ("wa", None) => cache.write_miss = WriteMiss::Allocate,
        ("nwa", None) => cache.write_miss = WriteMiss::Around,
        ("ni", None) => level.inclusion = Inclusion::NonInclusive,
        ("incl", None) => level.inclusion = Inclusion::Inclusive,
        ("excl", None) => level.inclusion = Inclusion::Exclusive,
        ("next", None) => level.prefetchers.push(Prefetcher::NextLine),
        ("stride", None) => level.prefetchers.push(Prefetcher::Stride),
        ("stream", lines) => {
            let lines = lines.unwrap_or(STREAM_AHEAD.into());
            if !(1..=MOST_AHEAD.into()).contains(&lines) {
                return Err(format!("`{option}`: a stream runs 1 to {MOST_AHEAD} lines ahead"));
            }
            level.prefetchers.push(Prefetcher::Streamer { ahead: lines as u8 });
        }
        (name, None) if name.starts_with("qlru") => {
            let qlru = name.parse().map_err(|error| format!("`{option}`: {error}"))?;
            cache.replacement = Replacement::Qlru(qlru);
        }
        _ => return Err(wrong()),
    }
    Ok(())
}

/// Parses a whole number with an optional unit, a power of 1024: `64`, `32K`, `32KB` or `32 KiB`.
pub(crate) fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let digits = &text[..text.len() - unit.len()];
    let shift = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

impl fmt::Display for LevelDesign {
    /// Prints the level as a user would type it: `32K/8/64:lru`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cache)?;
        f.write_str(match self.inclusion {
            Inclusion::NonInclusive => "",
            Inclusion::Inclusive => ":incl",
            Inclusion::Exclusive => ":excl",
        })?;
        for prefetcher in &self.prefetchers {
            match prefetcher {
                Prefetcher::NextLine => f.write_str(":next")?,
                Prefetcher::Stride => f.write_str(":stride")?,
                Prefetcher::Streamer { ahead } => write!(f, ":stream@{ahead}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Design {
    /// Prints the cache as a user would type it: `32K/8/64:lru`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let geometry = self.geometry;
        write!(f, "{}/", Short(geometry.size()))?;
        match geometry.sets() {
            1 if geometry.ways() > 1 => f.write_str("full")?,
            _ => write!(f, "{}", geometry.ways())?,
        }
        write!(f, "/{}:", geometry.line())?;
        match self.replacement {
            Replacement::Lru => f.write_str("lru")?,
            Replacement::RoundRobin => f.write_str("rr")?,
            Replacement::TreePlru => f.write_str("plru")?,
            Replacement::BitPlru => f.write_str("mru")?,
            Replacement::Random { seed } => write!(f, "random@{seed}")?,
            Replacement::Qlru(qlru) => write!(f, "{qlru}")?,
        }
        if self.write_hit == WriteHit::Through {
            f.write_str(":wt")?;
        }
        if self.write_miss == WriteMiss::Around {
            f.write_str(":nwa")?;
        }
        Ok(())
    }
}

/// A size, printed in the largest unit that divides it.
struct Short(u64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "G"), (20, "M"), (10, "K")];
        let divides = |shift: u32| self.0 != 0 && self.0.is_multiple_of(1 << shift);
        match units.into_iter().find(|&(shift, _)| divides(shift)) {
            Some((shift, unit)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Display for HierarchyDesign {
    /// Prints the hierarchy as a user would type it, with the defaults filled in.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Instructions::Own(design) = &self.instructions {
            write!(f, "L1i={design},")?;
        }
        let data = if self.instructions == Instructions::Shared { "" } else { "d" };
        for (number, level) in (1..).zip(&self.levels) {
            match number {
                1 => write!(f, "L1{data}={level}")?,
                _ => write!(f, ",L{number}={level}")?,
            }
        }
        match &self.tlb {
            Some(tlb) => write!(f, ",{tlb}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for TlbDesign {
    /// Prints the TLBs as a user would type them: `dTLB=64/4/4K,STLB=1536/12`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = self.levels();
        let page = Short(first.line());
        write!(f, "dTLB={}/{}/{page}", first.lines(), first.ways())?;
        match second {
            Some(second) => write!(f, ",STLB={}/{}", second.lines(), second.ways()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(text: &str) -> HierarchyDesign {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn what_is_printed_is_what_was_typed() {
        for text in [
            "L1d=32K/8/64:lru",
            "L1=4K/full/64:rr",
            "L1i=32K/8/64:plru,L1d=48K/12/64:mru:stride,L2=2M/16/64:lru:incl:stream@8:next",
            "L1d=16K/4/64:lru:wt:nwa,L2=1M/8/128:random@7",
            "L1d=32K/8/64:lru,L2=1M/8/64:lru,L3=32M/16/64:QLRU_H11_M1_R0_U0:excl",
            "L1d=1000/1/8:lru,dTLB=64/4/4K,STLB=1536/12",
        ] {
            assert_eq!(design(text).to_string(), text);
        }
    }

    #[test]
    fn lines_are_of_64_bytes_and_lru_if_nobody_says() {
        assert_eq!(design("l1d=32kib/8"), design("L1d=32768/8/64:LRU:wb:wa:ni"));
        assert_eq!(design(" L2=1M/8 , L1d=32K/8,"), design("L1d=32K/8,L2=1M/8"));
        assert_eq!(design("L1d=32K/8,dTLB=64/4"), design("L1d=32K/8,dTLB=64/4/4096"));
        assert_eq!(design("L1d=32K/8:stream"), design("L1d=32K/8:stream@4"));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_would_do() {
        let parts = [
            ("L1d", "L1d=32K/8/64:lru"),
            ("L5=1M/8", "L1i, L1d"),
            ("L1=32K/8", "given twice"),
            ("L1d=32K/8", "given twice"),
            ("L1i=32K/8", "given twice"),
            ("dTLB=32/4/4K", "given twice"),
            ("STLB=512/4", "given twice"),
            ("L1d=32K", "SIZE/WAYS"),
            ("L1d=32Q/8", "SIZE/WAYS"),
            ("L1d=32KBBB/8", "SIZE/WAYS"),
            ("L1d=32ib/8", "SIZE/WAYS"),
            ("L1d=64kibb/8", "SIZE/WAYS"),
            ("L1d=32K/8/64/1", "SIZE/WAYS"),
            ("L1d=99999999999999999999/8", "SIZE/WAYS"),
            ("L1d=32K/0", "1 to 65535"),
            ("L1d=32K/7", "multiple"),
            ("L1d=32K/8/60", "power of two from 8 to 4096 bytes"),
            ("L1d=32K/8:lfu", "`lfu`: an option is a policy"),
            ("L1d=32K/8:lru@3", "an option is"),
            ("L1d=32K/8:lru:rr", "`lru` and `rr`: a cache has only one"),
            ("L1d=32K/8:random@3:next:QLRU_H11_M1_R0_U0", "`random@3` and"),
            ("L1d=32K/8:wb:WT", "`wb` and `WT`"),
            ("L1d=32K/8:nwa:wa", "`nwa` and `wa`"),
            ("L1i=32K/8:incl:excl", "`incl` and `excl`"),
            ("L1d=32K/8:QLRU_H11", "QLRU_H11_M1_R0_U0"),
            ("L1d=32K/8:stream@99", "1 to 16"),
            ("L1i=32K/8:next", "neither"),
            ("dTLB=64", "ENTRIES/WAYS"),
        ];
        let parts = parts.map(|(part, says)| {
            let before = match says {
                "given twice" => "L1i=4K/8,L1d=32K/8,dTLB=64/4,STLB=256/4,",
                _ => "",
            };
            (format!("{before}{part}"), part, says)
        });
        let wholes = [
            ("", "L1d or L1 is missing"),
            ("L2=1M/8", "L1d or L1 is missing"),
            ("L1d=32K/8,L3=1M/8", "L2 is missing"),
            ("L1d=32K/8:incl", "no level before"),
            ("L1d=32K/8/64,L2=1M/8/32", "shorter"),
            ("L1d=32K/8:wt,L2=1M/8:excl", "exclusive"),
            ("L1d=32K/8:next,L2=1M/8:excl:stream", "level 2 is exclusive and has a prefetcher"),
            ("L1d=32K/8,STLB=1536/12", "without a dTLB"),
            ("L1d=32K/8,dTLB=60/7", "multiple"),
        ];
        let wholes = wholes.map(|(text, says)| (text.to_owned(), text, says));
        for (text, part, says) in parts.into_iter().chain(wholes) {
            let error = text.parse::<HierarchyDesign>().unwrap_err();
            assert_eq!(error.part, part, "{error}");
            assert!(error.reason.contains(says), "{text}: {error}");
        }
    }
}
