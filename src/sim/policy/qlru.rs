//! Quad-age LRU: a family of policies that keep an age of two bits per line, with a name for each
//! policy.
//!
//! The names are those of A. Abel and J. Reineke, "nanoBench: A Low-Overhead Tool for Running
//! Microbenchmarks on x86 Systems" (ISPASS 2020, section VI), who found such policies in the L2 and L3
//! caches of Intel CPUs from Ivy Bridge on: `QLRU_H11_M1_R0_U0`. Lines of age 3 are evicted first.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use super::{EMPTY, Entry, Policy, empty};
use crate::pattern::Rng;

/// A policy of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Qlru {
    /// The age of a line after a hit.
    pub hit: Hit,
    /// The age of a line that is brought in.
    pub insert: Insert,
    /// The way into which a line is brought.
    pub place: Place,
    /// How lines age.
    pub update: Update,
    /// Whether lines age only on a miss, before the new line is placed: `_UMO`, "update on miss only".
    pub on_miss_only: bool,
}

/// `Hxy`: the age after a hit is x if it was 3, y if it was 2, and 0 otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hit {
    /// Age after a hit at age 3: 0, 1 or 2.
    pub from_3: u8,
    /// Age after a hit at age 2: 0 or 1.
    pub from_2: u8,
}

/// `Mx` or `MRxy`: the age of a line that is brought in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Insert {
    /// `Mx`: age x.
    Age(u8),
    /// `MRxy`: age y with probability 1/16, otherwise age x.
    Mostly {
        /// The usual age, x.
        usual: u8,
        /// The rare age, y.
        rare: u8,
    },
}

/// `R0` to `R2`: the way into which a line is brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// `R0`: the lowest empty way, or else the lowest way of age 3.
    R0,
    /// `R1`: as `R0`, or else way 0 if no line has age 3.
    R1,
    /// `R2`: the highest empty way, or else the lowest way of age 3.
    R2,
}

/// `U0` to `U3`: how lines age when no line has age 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Update {
    /// `U0`: all ages grow by the amount that makes the oldest 3.
    U0,
    /// `U1`: as `U0`, without the line used last.
    U1,
    /// `U2`: all ages grow by one.
    U2,
    /// `U3`: as `U2`, without the line used last.
    U3,
}

/// Why a text is not the name of a policy of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseQlruError {
    /// The text does not have the form `QLRU_Hxy_Mx_Rx_Ux`.
    Form,
    /// `R0` and `R2` need a line of age 3, which `U2` and `U3` do not guarantee.
    NoVictim,
}

messages! { ParseQlruError:
    ParseQlruError::Form => (
        "a QLRU policy is QLRU_Hxy_Mx_Rx_Ux: H21, H20, H11, H10 or H00; M0 to M3, or MRxy; \
         R0 to R2; U0 to U3; and _UMO if lines age on misses only; such as \
         QLRU_H11_M1_R0_U0"
    );
    ParseQlruError::NoVictim => (
        "QLRU with R0 or R2 needs U0 or U1: U2 and U3 may leave no line of age 3 to replace"
    );
}

impl FromStr for Qlru {
    type Err = ParseQlruError;

    fn from_str(text: &str) -> Result<Self, ParseQlruError> {
        let text = text.to_ascii_uppercase();
        let parts: Vec<&[u8]> = text.split('_').map(str::as_bytes).collect();
        let digit = |byte: u8| byte - b'0';

        let (hit, insert, place, update, on_miss_only) = match parts[..] {
            [b"QLRU", hit, insert, place, update] => (hit, insert, place, update, false),
            [b"QLRU", hit, insert, place, update, b"UMO"] => (hit, insert, place, update, true),
            _ => return Err(ParseQlruError::Form),
        };
        let hit = match *hit {
            [b'H', from_3 @ b'0'..=b'2', from_2 @ b'0'..=b'1'] if from_2 <= from_3 => {
                Hit { from_3: digit(from_3), from_2: digit(from_2) }
            }
            _ => return Err(ParseQlruError::Form),
        };
        let insert = match *insert {
            [b'M', age @ b'0'..=b'3'] => Insert::Age(digit(age)),
            [b'M', b'R', usual @ b'1'..=b'3', rare @ b'0'..=b'2'] if rare < usual => {
                Insert::Mostly { usual: digit(usual), rare: digit(rare) }
            }
            _ => return Err(ParseQlruError::Form),
        };
        let place = match place {
            b"R0" => Place::R0,
            b"R1" => Place::R1,
            b"R2" => Place::R2,
            _ => return Err(ParseQlruError::Form),
        };
        let update = match update {
            b"U0" => Update::U0,
            b"U1" => Update::U1,
            b"U2" => Update::U2,
            b"U3" => Update::U3,
            _ => return Err(ParseQlruError::Form),
        };
        if place != Place::R1 && matches!(update, Update::U2 | Update::U3) {
            return Err(ParseQlruError::NoVictim);
        }
        Ok(Qlru { hit, insert, place, update, on_miss_only })
    }
}

impl fmt::Display for Qlru {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Hit { from_3, from_2 } = self.hit;
        write!(f, "QLRU_H{from_3}{from_2}_")?;
        match self.insert {
            Insert::Age(age) => write!(f, "M{age}")?,
            Insert::Mostly { usual, rare } => write!(f, "MR{usual}{rare}")?,
        }
        write!(f, "_{:?}_{:?}", self.place, self.update)?;
        f.write_str(if self.on_miss_only { "_UMO" } else { "" })
    }
}

/// The greatest age of a line.
const OLDEST: u8 = 3;

/// The ages of all lines, one byte each. An empty way has the greatest age.
#[derive(Clone, Debug)]
pub(crate) struct Ages {
    qlru: Qlru,
    ages: Box<[u8]>,
    ways: usize,
    rng: Rng,
}

impl Ages {
    pub(crate) fn new(qlru: Qlru, sets: usize, ways: usize) -> Self {
        Ages { qlru, ages: vec![OLDEST; sets * ways].into_boxed_slice(), ways, rng: Rng::new(0) }
    }

    fn set(&mut self, set: usize) -> &mut [u8] {
        &mut self.ages[set * self.ways..][..self.ways]
    }
}

impl Policy for Ages {
    /// A second use can lower the age of a line that was brought in with an age above 0.
    const AGAIN_IS_NOTHING: bool = false;

    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        let Qlru { hit, update, on_miss_only, .. } = self.qlru;
        let ages = self.set(set);
        ages[way] = match ages[way] {
            3 => hit.from_3,
            2 => hit.from_2,
            _ => 0,
        };
        if !on_miss_only {
            grow_older(ages, update, Some(way));
        }
    }

    fn victim(&mut self, set: usize, entries: &[Entry]) -> usize {
        let Qlru { insert, place, update, on_miss_only, .. } = self.qlru;
        let age = match insert {
            Insert::Age(age) => age,
            Insert::Mostly { usual, rare } => match self.rng.below(16) {
                0 => rare,
                _ => usual,
            },
        };
        let ages = self.set(set);
        if on_miss_only {
            grow_older(ages, update, None);
        }
        let empty = match place {
            Place::R0 | Place::R1 => empty(entries),
            Place::R2 => entries.iter().rposition(|&entry| entry == EMPTY),
        };
        // `U0` and `U1` leave a line of age 3 among those not used last. With a single way there is no
        // such line, and way 0 is taken.
        let oldest = || ages.iter().position(|&age| age == OLDEST);
        let way = empty.or_else(oldest).unwrap_or(0);
        ages[way] = age;
        if !on_miss_only {
            grow_older(ages, update, Some(way));
        }
        way
    }

    fn remove(&mut self, set: usize, entries: &mut [Entry], way: usize) {
        entries[way] = EMPTY;
        self.set(set)[way] = OLDEST;
    }
}

/// Ages the lines of a set if none has the greatest age.
fn grow_older(ages: &mut [u8], update: Update, used: Option<usize>) {
    let spared = match update {
        Update::U0 | Update::U2 => None,
        Update::U1 | Update::U3 => used,
    };
    let others = || (0..ages.len()).filter(|&way| Some(way) != spared);
    let by = match update {
        Update::U0 | Update::U1 => OLDEST - others().map(|way| ages[way]).max().unwrap_or(OLDEST),
        Update::U2 | Update::U3 => u8::from(!ages.contains(&OLDEST)),
    };
    for (way, age) in ages.iter_mut().enumerate() {
        if Some(way) != spared {
            *age += by;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::sim::policy::FLAG_BITS;

    fn qlru(name: &str) -> Qlru {
        name.parse().unwrap()
    }

    #[test]
    fn names_are_read_and_written() {
        for name in [
            "QLRU_H11_M1_R0_U0",
            "QLRU_H21_M2_R0_U0_UMO",
            "QLRU_H00_MR31_R1_U3",
            "QLRU_H20_M3_R2_U1",
        ] {
            assert_eq!(qlru(name).to_string(), name);
            assert_eq!(qlru(&name.to_ascii_lowercase()), qlru(name));
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for name in [
            "",
            "QLRU",
            "LRU_H11_M1_R0_U0",
            "QLRU_H01_M1_R0_U0",
            "QLRU_H12_M1_R0_U0",
            "QLRU_H11_M4_R0_U0",
            "QLRU_H11_MR11_R0_U0",
            "QLRU_H11_M1_R3_U0",
            "QLRU_H11_M1_R0_U4",
            "QLRU_H11_M1_R0_U0_X",
            "QLRU_H11_M1_R0_U0_UMO_UMO",
        ] {
            assert_eq!(name.parse::<Qlru>(), Err(ParseQlruError::Form), "{name}");
        }
        for name in ["QLRU_H11_M1_R0_U2", "QLRU_H11_M1_R2_U3"] {
            assert_eq!(name.parse::<Qlru>(), Err(ParseQlruError::NoVictim));
        }
    }

    /// Returns which of `lines` hit in a set.
    fn loads(ages: &mut Ages, entries: &mut [Entry], lines: &str) -> Vec<bool> {
        let keys = lines.bytes().map(|line| u64::from(line) << FLAG_BITS);
        keys.map(|key| ages.reach(0, entries, key).1.is_none()).collect()
    }

    /// Returns which of `lines` hit in an initially empty set of four ways.
    fn hits(name: &str, lines: &str) -> Vec<bool> {
        loads(&mut Ages::new(qlru(name), 1, 4), &mut [EMPTY; 4], lines)
    }

    #[test]
    fn small_histories_worked_out_by_hand() {
        // H11 M1 R0 U0: a b c d come in with age 1, and the last of them makes all ages 3. e replaces a,
        // with age 1; b is present and gets age 1; c is the next victim.
        let wanted = [false, false, false, false, false, true, false, true, false];
        assert_eq!(hits("QLRU_H11_M1_R0_U0", "abcdebfdc"), wanted);
        // H00 M2 R0 U0 UMO is SRRIP: a hit gives a age 0, so that it outlives b, c, d and e.
        let wanted = [false, false, false, false, true, false, false, false, true];
        assert_eq!(hits("QLRU_H00_M2_R0_U0_UMO", "abcdaefga"), wanted);
        // R2 fills from the highest way down: after a b c d, way 3 holds a. U1 excludes d, which came in
        // last: d has age 1, the others 3, and the lowest way of those, c's, is evicted first.
        let wanted = [false, false, false, false, false, true, true, false];
        assert_eq!(hits("QLRU_H00_M1_R2_U1", "abcdeabc"), wanted);
    }

    /// While a way is empty, no line ages: an empty way has the greatest age, also after a line was removed
    /// from it.
    #[test]
    fn a_removed_line_leaves_no_age_behind() {
        let mut ages = Ages::new(qlru("QLRU_H00_M1_R0_U0_UMO"), 1, 4);
        let mut entries = [EMPTY; 4];
        // e, f, d and b come in with age 1. a takes the place of e without making the others older; e then
        // makes all lines older, and replaces a, in the lowest way.
        assert_eq!(loads(&mut ages, &mut entries, "efdb"), [false; 4]);
        ages.remove(0, &mut entries, 0);
        let wanted = [false, false, true];
        assert_eq!(loads(&mut ages, &mut entries, "aef"), wanted);
    }
}
