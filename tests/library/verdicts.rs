//! Verdicts on planted data: every claim of every experiment, on machines with known properties, with points
//! for each possible verdict.
//!
//! The file of each family lists [`planted::Row`]s: a claim, made-up points for the cases of its experiment,
//! and the expected verdict. `coverage` fails if a claim lacks a row for a verdict.
#![cfg(feature = "std")]

automod::dir!(pub(crate) "tests/library/verdicts");

use std::sync::LazyLock;

use linefill::experiment::{Evidence, Judgement, Range, Verdict};
use planted::Row;

/// A claim that is judged only on counts: its experiment, and the end of its id. A count is exact, so the
/// verdict is never inconclusive.
type Exact = (&'static str, &'static str);

/// Collects the rows of the families, and the claims of theirs that are judged only on counts: those of
/// `family[EXACT]`. The compiler warns of a file's `rows` or `EXACT` that are missing here.
macro_rules! families {
    ($($family:ident $([$exact:ident])?),* $(,)?) => {
        /// The planted rows of every family.
        fn rows() -> Vec<Row> {
            [$($family::rows()),*].into_iter().flatten().collect()
        }

        /// The claims of every family that are judged only on counts.
        fn exact() -> Vec<Exact> {
            [$($($family::$exact,)?)*].concat()
        }
    };
}

families! {
    address[EXACT], alignment, associativity, code, codealign, codelayout[EXACT], banks,
    behind_jumps, elements, bandwidth, combining, directories[EXACT], eventlist[EXACT], evict,
    firsttouch, forwardat, forwarding, hierarchy[EXACT], holes[EXACT], hugepages, hwprefetch,
    jump[EXACT], kmeans[EXACT], lanes, accuracy, loaded, late_prefetch, loaduse, locks,
    loop_arrays[EXACT], matmul[EXACT], mlp, gcc[EXACT], mesi[EXACT], misses[EXACT],
    orders[EXACT], pages, perfasm, placement[EXACT], policy[EXACT], prefetch[EXACT], processes,
    random, capacity, migration, helper[EXACT], scaling, mixes, large, buffers, contention,
    sequential, llc_share[EXACT], speculate, sharing, threads, maps[EXACT], shuffle, transfer,
    other_hardware, ownership, straddle, streaming[EXACT], streamload, structure[EXACT],
    tensor[EXACT], translate, cluster[EXACT], faster_memory[EXACT], hyperthread[EXACT],
    inclusive, instruction[EXACT], reuse[EXACT], topology[EXACT], nodes, tlb, together,
    replacement, aliases, critical_word,
}

/// The planted rows of every family, judged on each of [`machines::known`].
static JUDGED: LazyLock<Vec<(Row, [Judgement; 3])>> = LazyLock::new(|| {
    let machines = machines::known();
    let judged = rows().into_iter().map(|row| {
        let judgements = machines.each_ref().map(|known| row.judge(&row.planted(known)));
        (row, judgements)
    });
    judged.collect()
});

#[test]
fn planted_points_come_to_the_verdict_they_were_planted_for() {
    let machines = machines::known();
    let mut wrong = Vec::new();
    for (row, judgements) in JUDGED.iter() {
        for (machine, judgement) in machines.iter().zip(judgements) {
            if judgement.verdict != row.wanted || !judgement.numbers.contains(row.says) {
                wrong.push(format!(
                    "{} on {}: {} wanted, saying `{}`; {}: {}",
                    row.name(),
                    machine.name,
                    row.wanted.name(),
                    row.says,
                    judgement.verdict.name(),
                    judgement.numbers
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Claims about sizes in the last level, or about its size.
const IN_LAST_LEVEL: [&str; 15] = [
    "B12.2", "D18.1", "D18.2", "D30.2", "D30.3", "D44.1", "D44.2", "D44.3", "D44.4", "D44.5",
    "D44.6", "E25.2", "E25.4", "E25.5", "E25.6",
];

/// If no size is sure to stay in the last level, and none to leave it, nothing is judged there.
#[test]
fn nothing_is_judged_where_chance_decides_what_the_last_level_holds() {
    let machines = machines::known();
    let chance = Some(Range { lo: 0.0, hi: f64::INFINITY });
    for id in IN_LAST_LEVEL {
        let of_claim = JUDGED.iter().filter(|(row, _)| row.name() == id);
        let mut decided = 0;
        for (row, judgements) in of_claim {
            for (known, sure) in machines.iter().zip(judgements) {
                let planted = row.planted(known);
                let by_chance = Evidence { uncertain: chance, ..planted.evidence() };
                let judgement = row.claim().1.decide(&by_chance);
                assert_eq!(judgement.verdict, Verdict::Untestable, "{id}: {judgement:?}");
                decided += u32::from(sure.verdict != Verdict::Untestable);
            }
        }
        assert!(decided > 0, "{id}");
    }
}

/// Wider intervals around the same values may make a verdict inconclusive, but must never turn it into the
/// opposite.
#[test]
fn noise_turns_no_verdict_around() {
    let mut wrong = Vec::new();
    for machine in machines::known() {
        for row in rows() {
            let opposite = match row.wanted {
                Verdict::Holds => Verdict::DoesNotHold,
                Verdict::DoesNotHold => Verdict::Holds,
                Verdict::Inconclusive | Verdict::Untestable => continue,
            };
            let mut planted = row.planted(&machine);
            for share in [0.05, 0.2, 0.5, 0.9] {
                planted = planted.with_noise(share);
                let judgement = row.judge(&planted);
                if judgement.verdict == opposite {
                    wrong.push(format!(
                        "{} on {} with noise of {share}: {}",
                        row.name(),
                        machine.name,
                        judgement.numbers
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
