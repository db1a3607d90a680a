//! Verdicts on planted data: every claim of every experiment, on machines with known properties, with points
//! for each possible verdict.
//!
//! The file of each family lists [`planted::Row`]s: a claim, made-up points for the cases of its experiment,
//! and the expected verdict. `coverage` fails if a claim lacks a row for a verdict.
#![cfg(feature = "std")]

automod::dir!(pub(crate) "tests/library/verdicts");

use std::sync::LazyLock;

use linefill::experiment::{Judgement, Verdict};
use planted::Row;

/// The planted rows of every family.
fn rows() -> Vec<Row> {
    [
        address::rows(),
        alignment::rows(),
        associativity::rows(),
        code::rows(),
        codealign::rows(),
        codelayout::rows(),
        banks::rows(),
        behind::rows(),
        elements::rows(),
        bandwidth::rows(),
        combining::rows(),
        directories::rows(),
        eventlist::rows(),
        evict::rows(),
        firsttouch::rows(),
        forwardat::rows(),
        forwarding::rows(),
        hierarchy::rows(),
        holes::rows(),
        hugepages::rows(),
        hwprefetch::rows(),
        jump::rows(),
        kmeans::rows(),
        lanes::rows(),
        accuracy::rows(),
        loaded::rows(),
        late::rows(),
        loaduse::rows(),
        locks::rows(),
        loop_arrays::rows(),
        matmul::rows(),
        mlp::rows(),
        gcc::rows(),
        mesi::rows(),
        misses::rows(),
        orders::rows(),
        pages::rows(),
        perfasm::rows(),
        placement::rows(),
        policy::rows(),
        prefetch::rows(),
        processes::rows(),
        random::rows(),
        capacity::rows(),
        rfo::rows(),
        helper::rows(),
        scaling::rows(),
        mixes::rows(),
        large::rows(),
        buffers::rows(),
        contention::rows(),
        sequential::rows(),
        share::rows(),
        speculate::rows(),
        sharing::rows(),
        threads::rows(),
        maps::rows(),
        shuffle::rows(),
        transfer::rows(),
        outofreach::rows(),
        ownership::rows(),
        straddle::rows(),
        streaming::rows(),
        streamload::rows(),
        structure::rows(),
        tensor::rows(),
        translate::rows(),
        cluster::rows(),
        faster::rows(),
        hyperthread::rows(),
        inclusive::rows(),
        instruction::rows(),
        reuse::rows(),
        topology::rows(),
        nodes::rows(),
        tlb::rows(),
        together::rows(),
        replacement::rows(),
        view::rows(),
        word::rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A claim that is judged only on counts: its experiment, and the end of its id. A count is exact, so the
/// verdict is never inconclusive.
type Exact = (&'static str, &'static str);

/// These claims, of every family that has some.
fn exact() -> Vec<Exact> {
    [
        address::EXACT,
        gcc::EXACT,
        mesi::EXACT,
        directories::EXACT,
        codelayout::EXACT,
        eventlist::EXACT,
        helper::EXACT,
        hierarchy::EXACT,
        holes::EXACT,
        jump::EXACT,
        loop_arrays::EXACT,
        matmul::EXACT,
        misses::EXACT,
        instruction::EXACT,
        policy::EXACT,
        orders::EXACT,
        placement::EXACT,
        prefetch::EXACT,
        share::EXACT,
        streaming::EXACT,
        structure::EXACT,
        tensor::EXACT,
        topology::EXACT,
        reuse::EXACT,
        hyperthread::EXACT,
        faster::EXACT,
        cluster::EXACT,
        maps::EXACT,
        kmeans::EXACT,
    ]
    .concat()
}

/// The planted rows of every family, judged on each of [`machines::known`].
static JUDGED: LazyLock<Vec<(Row, [Judgement; 3])>> = LazyLock::new(|| {
    let machines = machines::known();
    let judged = rows().into_iter().map(|row| {
        let judgements = machines
            .each_ref()
            .map(|known| row.judge(&row.planted(known)));
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
