//! Drepper 6.2.1, banks of L1d: Figure 6.6, and 4 KiB aliasing.

use crate::experiment::claim::verdict::{Extreme, none};
use crate::experiment::prelude::*;
use crate::experiment::shared::lines::BurstSetup;
use crate::kernel::{Alias4K, BURST, Places, StoreAddress, Transfer};
use crate::order;

pub(crate) static ALL: &[Experiment] = &[FIG_6_6];

/// The series of loads behind a store, whose address is known long before, or becomes known with the
/// load's.
const BOTH: [(&str, StoreAddress); 2] = [
    ("a load behind a store", StoreAddress::Early),
    ("a load behind a store of late address", StoreAddress::Late),
];

/// Byte offset of the store. A load about 4,096 bytes behind it does not cross a line.
const STORE: usize = 1032;

/// A distance at which a load overlaps the store neither in its bytes nor in the low bits of its
/// address.
const FREE: usize = 2048;

/// The largest ratio of times that count as equal.
const FLAT: f64 = 1.1;

/// Two loads per cycle, less an allowance for the loop and the clock.
const TWO: f64 = 1.8;

const FIG_6_6: Experiment = Experiment {
    id: "E19",
    name: "drepper-fig-6.6",
    title: "Banks of L1d, and addresses with equal low bits",
    question: "Do loads conflict by address (banks of L1d)? Does a store delay a load 4 KiB away?",
    source: "Drepper 6.2.1, Figure 6.6: in AMD's L1d, address bits 3 to 0 select the byte, bits 6 \
             to 4 the bank and bits 14 to 7 the index. Two loads complete in one cycle if their \
             banks differ or their indexes are equal",
    about: "In the first part, eight 8-byte loads run at equal distances from each other. The \
            chart shows the time of the eight loads over the distance. If L1d has narrow banks, a \
            cycle loses a load whenever two of its loads need the same bank, so some distances are \
            slower. Intel dropped such banks with Haswell. The second part times a load behind a \
            store, at an address a given number of bytes higher. The CPU first compares a load \
            with earlier stores by the low 12 bits of the addresses. If these bits match, the load \
            may wait for the store, even if it lies in another page (4 KiB aliasing). Whether it \
            waits may depend on when the core learns the store's address, so that there are two \
            series: in one, the address is known long before the load's; in the other, it becomes \
            known at the same time.",
    seen: &[
        seen(
            "Zen 4",
            "At distances that are multiples of 32 bytes, the core sometimes completes only two \
             loads per cycle instead of three, unless the lines are the same or 4 KiB apart. This \
             is the paper's rule with other address bits.",
        ),
        seen(
            "Raptor Cove",
            "At distances that are multiples of 64 bytes, up to 4 KiB, the core completes only two \
             loads per cycle instead of three. A load 4 KiB behind a store waits only if the \
             store's address becomes known at the same time as its own: it then takes about 13 \
             cycles instead of 5.",
        ),
    ],
    plot: Some(Plot::cycles(Axis::log("distance in bytes"), Axis::linear("time"))),
    cases: |machine| {
        let mut cases = Vec::new();
        for first in firsts(machine) {
            for distance in distances(machine) {
                let setup = BurstSetup {
                    places: Places::fixed(first, distance),
                    transfer: Transfer::Load,
                    width: 8,
                };
                cases.push(Case::new(loads(first), distance as f64, setup));
            }
        }
        for behind in behind(machine) {
            for (series, known) in BOTH {
                cases.push(Case::new(series, behind as f64, AliasSetup { behind, known }));
            }
        }
        cases
    },
    events: events::FORWARDING,
    claims: &[
        measured(
            "E19.1",
            ours(
                "loads are said to have no bank conflicts since Haswell; the document's figure \
                 describes AMD in 2007",
            ),
            "eight loads take the same time, within 10 %, at every distance between them: L1d \
             shows no bank conflicts",
            |e| {
                let (least, most) = (Extreme::least(all_loads(e))?, Extreme::most(all_loads(e))?);
                let what = format!(
                    "eight loads take {} to {} core cycles, at distances of {} and {} bytes: \
                     slowest over quickest",
                    least.value, most.value, least.at, most.at
                );
                at_most(&what, ratio(most.value, least.value), FLAT)
            },
        )
        .failing("Loads at some distances delay each other."),
        measured(
            "E19.2",
            ours(
                "the document allows two loads per cycle only where the banks differ; this claim \
                 asks for two at every distance",
            ),
            "eight independent loads complete at 1.8 loads per core cycle or more, at every \
             distance between them",
            |e| {
                let most = Extreme::most(all_loads(e))?;
                let rate = ratio(Interval::exact(BURST as f64), most.value)?;
                let what = format!("loads per core cycle at worst, {} bytes apart", most.at);
                at_least(&what, rate, TWO)
            },
        ),
        measured(
            "E19.3",
            ours(
                "Intel's optimization manual describes 4 KiB aliasing: loads are compared with \
                 earlier stores by the low 12 bits of their addresses",
            ),
            "a load 4,096 bytes behind a store takes more than 1.1 times as long as a load 2,048 \
             bytes behind the store, in at least one of two cases: the store's address is known \
             long before the load's, or becomes known with it",
            |e| {
                let slower = BOTH.map(|(series, _)| {
                    Ok((series, ratio(e.at(series, PAGE as f64), e.at(series, FREE as f64)?)?))
                });
                let most = Extreme::most(slower)?;
                at_least(&format!("{}: 4,096 bytes behind over 2,048", most.at), most.value, FLAT)
            },
        )
        .failing(
            "The core compares more than the lower 12 bits of the addresses before a load waits \
             for a store, whether it knows the store's address early or late.",
        ),
        measured(
            "E19.4",
            ours("the counterpart of 4 KiB aliasing: other distances should not matter"),
            "a load behind a store takes the same time, within 10 %, at every distance at which \
             load and store do not overlap in the low 12 address bits",
            |e| {
                let slower = BOTH.iter().flat_map(|(series, _)| {
                    let free = e.at(series, FREE as f64);
                    let apart = behind(e.machine).into_iter().filter(|behind| !aliases(*behind));
                    apart.map(move |behind| {
                        Ok(((series, behind), ratio(e.at(series, behind as f64), free.clone()?)?))
                    })
                });
                let worst = Extreme::most(slower)?;
                let (series, behind) = worst.at;
                let what = format!("{series}: {behind} bytes behind over 2,048, at worst");
                at_most(&what, worst.value, FLAT)
            },
        ),
        // L1d of AMD receives two words per cycle only if they lie in different banks, or in one
        // bank with the same index: bits 6 to 4 are the bank, bits 14 to 7 the index.
        measured(
            "E19.5",
            drepper("6.2.1, Figure 6.6"),
            "eight loads take more than 1.1 times as long at a distance of 128 bytes, where \
             address bits 6 to 4 agree and bits 14 to 7 differ, as at a distance of 16 bytes, \
             where the banks differ",
            |e| {
                let slower = ratio(alike(e, 128)?, alike(e, 16)?)?;
                at_least("128 bytes apart over 16", slower, FLAT)
            },
        )
        .then(2.0, "AMD (2007)")
        .takeaway(
            Shown::Times,
            Touches::Few,
            "Eight loads from one bank over eight from different banks",
            "Eight loads from one bank of L1d take {now} as long as from different banks",
        )
        .advice(
            "Let loads that run at the same time use different offsets in a line.",
            "Bank conflicts need no attention here.",
        )
        .failing("L1d has no banks, or selects them by other address bits than in the figure."),
    ],
    ..Experiment::PLAIN
};

fn loads(first: usize) -> String {
    format!("eight loads, the first at byte {first}")
}

/// Returns the time of the loads at a distance: the median over the places of the first load.
fn alike(e: &Evidence<'_>, distance: usize) -> Testable<Reading> {
    let places = firsts(e.machine).into_iter();
    let all: Testable<Vec<Reading>> =
        places.map(|first| e.at(&loads(first), distance as f64)).collect();
    Reading::level(&all?).ok_or_else(none)
}

/// Returns the bytes of the line at which the first load may lie.
fn firsts(machine: &Machine) -> Vec<usize> {
    let step = if machine.full { 8 } else { 40 };
    (0..64).step_by(step).collect()
}

/// Returns the distances from a load to the next. At none of them does a load cross a line.
fn distances(machine: &Machine) -> Vec<usize> {
    if machine.full {
        let near = (8..256).step_by(8);
        return near.chain((256..=PAGE).step_by(64)).chain((264..=PAGE).step_by(192)).collect();
    }
    vec![8, 16, 24, 32, 40, 48, 56, 64, 72, 96, 128, 136, 256, 512, 1024, 2048, 2056, 4096]
}

/// Returns the distances from a store to the load behind it. The two have no byte in common.
fn behind(machine: &Machine) -> Vec<usize> {
    let mut behind: Vec<usize> = if machine.full {
        (8..=2 * PAGE).step_by(16).collect()
    } else {
        vec![8, 16, 64, 256, 1024]
    };
    let around = [PAGE - 64, PAGE - 8, PAGE - 4, PAGE, PAGE + 4, PAGE + 8, PAGE + 64];
    behind.extend(around);
    behind.extend([FREE, 3 * PAGE / 2, 2 * PAGE - 8, 2 * PAGE, 2 * PAGE + 8]);
    order::distinct(behind)
}

/// Returns whether words at this distance overlap in the low 12 address bits.
fn aliases(behind: usize) -> bool {
    let low = behind % PAGE;
    low.min(PAGE - low) < 8
}

/// Returns the times of all loads, each with its distance.
fn all_loads(e: &Evidence<'_>) -> impl Iterator<Item = Testable<(usize, Interval)>> {
    firsts(e.machine).into_iter().flat_map(move |first| {
        let distances = distances(e.machine).into_iter();
        distances.map(move |distance| Ok((distance, *e.at(&loads(first), distance as f64)?)))
    })
}

/// A store, and a load at a distance behind it.
#[derive(Clone, Copy, Debug)]
struct AliasSetup {
    /// Bytes from the 8-byte store to the load: 8 or more.
    behind: usize,
    known: StoreAddress,
}

impl Setup for AliasSetup {
    fn bytes(&self) -> usize {
        STORE + self.behind + 8
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        Ok(Workload::steady(Alias4K::new(region, STORE, STORE + self.behind, self.known)?, 1))
    }
}
