//! What a reader takes away from planted verdicts: findings, and documents by section.
#![cfg(feature = "lab")]

use std::collections::BTreeMap;

use linefill::experiment::topics::topic_of;
use linefill::experiment::{Claim, Document, Verdict, all, find_claim};
use linefill::infer::{Found, Sets};
use linefill::kernel::Work;
use linefill::lab::analysis::Analysis;
use linefill::lab::answer::{Counts, Summary, findings, ladder, papers};
use linefill::lab::record::{MACHINE, PointLine, ThenLine, VerdictLine};
use linefill::stats::Interval;

use super::records::{self, last, planted};

/// A verdict line for a claim.
pub fn line(experiment: &str, claim: &Claim, verdict: Verdict) -> VerdictLine {
    VerdictLine {
        id: claim.id.to_owned(),
        claim: claim.text.to_owned(),
        found: Some(claim.kind),
        then: claim.then.map(|then| ThenLine {
            lo: then.lo,
            hi: then.hi,
            machine: then.machine.to_owned(),
        }),
        ..VerdictLine::bare(experiment, verdict)
    }
}

/// Every claim of the registry, with the verdicts assigned in rotation.
pub fn registry() -> Vec<VerdictLine> {
    let claims = all().into_iter();
    let claims = claims.flat_map(|of| of.claims.iter().map(move |claim| (of.id, claim)));
    let verdicts = Verdict::ALL.into_iter().cycle();
    let lines = claims.zip(verdicts);
    lines.map(|((id, claim), verdict)| line(id, claim, verdict)).collect()
}

/// The claim `id`, with a number here that is `factor` times the document's.
fn changed(id: &str, verdict: Verdict, factor: f64) -> VerdictLine {
    let claim = find_claim(id).expect("a claim");
    let (experiment, _) = id.split_once('.').expect("an id");
    let then = claim.then.expect("a number");
    let now = if factor < 1.0 { then.lo } else { then.hi } * factor;
    VerdictLine { now: Some([0.99 * now, 1.01 * now]), ..line(experiment, claim, verdict) }
}

fn ids(verdicts: &[VerdictLine]) -> Vec<String> {
    findings(verdicts, 9).into_iter().map(|of| of.claim).collect()
}

#[test]
fn the_larger_change_comes_first_whichever_way_the_verdict_went() {
    let (hold, fail) = (Verdict::Holds, Verdict::DoesNotHold);
    let few = [changed("E17.2", hold, 2.0), changed("F4.1", fail, 0.2)];
    assert_eq!(ids(&few), ["F4.1", "E17.2"]);
    // A finding that affects more programs ranks higher.
    let alike = [changed("A1.2", fail, 3.0), changed("D19.1", hold, 3.0)];
    assert_eq!(ids(&alike), ["D19.1", "A1.2"]);
    let alone = [changed("D19.1", hold, 1.05)];
    assert!(ids(&alone).is_empty(), "no change to speak of");
}

#[test]
fn what_is_not_decided_or_not_sure_is_no_finding() {
    for verdict in [Verdict::Inconclusive, Verdict::Untestable] {
        assert!(ids(&[changed("D19.1", verdict, 9.0)]).is_empty());
    }
    let unsure = VerdictLine { now: Some([20.0, 400.0]), ..changed("D19.1", Verdict::Holds, 4.0) };
    assert!(ids(&[unsure]).is_empty(), "the interval reaches the paper's");
    // The paper reads memory faster than its bus carries.
    let beyond = ["D36.3", "D38.1"].map(|id| changed(id, Verdict::DoesNotHold, 0.1));
    assert!(ids(&beyond).is_empty());
}

#[test]
fn findings_are_varied_and_follow_their_verdicts() {
    let with = registry().into_iter().filter(|line| {
        let claim = find_claim(&line.id).expect("a claim");
        claim.takeaway.is_some()
    });
    let verdicts: Vec<VerdictLine> = with
        .zip([2.0, 3.0, 0.3, 5.0].into_iter().cycle())
        .map(|(line, factor)| changed(&line.id, line.verdict, factor))
        .collect();
    let found = findings(&verdicts, 9);
    assert_eq!(found.len(), 9);
    let mut topics = BTreeMap::new();
    for finding in &found {
        let topic = topic_of(&finding.experiment).expect("a topic").name;
        *topics.entry(topic).or_insert(0) += 1;
        let same = found.iter().filter(|of| of.experiment == finding.experiment);
        assert_eq!(same.count(), 1, "{}", finding.experiment);
        let of = verdicts.iter().find(|line| line.id == finding.claim);
        assert_eq!(Some(finding.verdict), of.map(|of| of.verdict));
        let claim = find_claim(&finding.claim).expect("a claim");
        assert_eq!(finding.why, claim.follows(finding.verdict));
        assert_eq!(finding.advice(), finding.takeaway.advice_on(finding.verdict));
        assert!(!finding.advice().is_empty());
        let words = finding.takeaway.shown.words(finding.now.middle());
        // A loss is worded as time that is added, without a sign.
        let words = words.trim_start_matches('-');
        assert!(finding.headline().contains(words), "{}", finding.headline());
    }
    assert!(topics.values().all(|count| *count <= 2), "{topics:?}");
    assert!(found.is_sorted_by(|a, b| a.score >= b.score));
}

#[test]
fn a_finding_says_both_numbers() {
    let [finding] = findings(&[changed("E37.2", Verdict::Holds, 0.25)], 9).try_into().expect("one");
    assert_eq!(finding.then_text(), "3.0 to 8.0 %");
    assert_eq!(finding.now_text(), "77 %");
    let headline =
        "Software prefetch saves 77 % of the time of a walk through a random list in memory";
    assert_eq!(finding.headline(), headline);
    assert_eq!(finding.source(), "Drepper 6.3.2, Figure 6.7");
    let [then, now] = finding.bars();
    assert!(now == 1.0 && then < 0.1, "{then} {now}");
}

/// A saving that is not sure is a bound, and a share of the time below zero is not saved.
#[test]
fn a_saving_that_is_not_sure_and_a_loss_are_said_as_such() {
    for (id, now, headline, number, interval) in [
        (
            "E7.1",
            [0.75, 1.29],
            "Transposing before multiplying saves at most 25 % of the time, N = 1000",
            "at most 25 %",
            "-29 to 25 %",
        ),
        (
            "E37.2",
            [1.08, 1.12],
            "Software prefetch adds 9.8 % to the time of a walk through a random list in memory",
            "9.8 % more time",
            "8.0 to 12 % more time",
        ),
    ] {
        let line = VerdictLine { now: Some(now), ..changed(id, Verdict::DoesNotHold, 4.0) };
        let [finding] = findings(&[line], 9).try_into().expect("one");
        assert_eq!(finding.headline(), headline);
        assert_eq!(finding.now_text(), number);
        assert_eq!(finding.interval_text(), interval);
    }
}

#[test]
fn a_number_too_wide_for_one_value_is_said_as_a_range() {
    let line =
        VerdictLine { now: Some([0.378, 1.85]), ..changed("F1.1", Verdict::DoesNotHold, 0.1) };
    let [finding] = findings(&[line], 9).try_into().expect("one");
    assert_eq!(finding.now_text(), "0.38x to 1.85x");
    let headline = finding.headline();
    assert!(headline.contains("0.38 to 1.85 times"), "{headline}");
}

#[test]
fn the_headline_counts_a_document_or_else_our_own() {
    let headline = |ids: &[(&str, Verdict)]| {
        let line = |(id, verdict): &(&str, Verdict)| {
            Some(line(id.split('.').next()?, find_claim(id)?, *verdict))
        };
        let verdicts: Vec<VerdictLine> = ids.iter().filter_map(line).collect();
        let summary = Summary { papers: papers(&verdicts), ..Summary::default() };
        summary.headline()
    };
    let (held, failed) = (Verdict::Holds, Verdict::DoesNotHold);
    let both = [("D14.2", held), ("D19.1", failed), ("X10.1", held)];
    assert_eq!(headline(&both), "1 of 2 claims still holds");
    let ours = [("X10.1", held), ("X10.2", held), ("X1.4", failed)];
    assert_eq!(headline(&ours), "2 of 3 claims of our own hold");
    assert_eq!(headline(&[("X10.1", Verdict::Inconclusive)]), "No claim is decided yet");
}

#[test]
fn every_claim_stands_in_one_section_and_sums_agree() {
    let verdicts = registry();
    let papers = papers(&verdicts);
    assert_eq!(papers.len(), Document::ALL.len() + 1);
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for paper in &papers {
        for claim in paper.claims() {
            *seen.entry(&claim.id).or_default() += 1;
        }
        let chapters: usize =
            paper.chapters.iter().map(|of| of.counts().measured() + of.counts().beside()).sum();
        assert_eq!(chapters, paper.claims().count(), "{}", paper.name);
    }
    assert_eq!(seen.len(), verdicts.len());
    assert!(seen.values().all(|times| *times == 1));
    let whole = Counts::of(&verdicts);
    let sum = |of: fn(&Counts) -> usize| -> usize {
        papers.iter().map(|paper| of(&paper.counts())).sum()
    };
    assert_eq!(sum(Counts::measured), whole.measured());
    assert_eq!(sum(Counts::beside), whole.beside());
    assert_eq!(sum(Counts::holds), whole.holds());
    // Every chapter in the table of contents has claims.
    assert_eq!(papers[0].chapters.len(), 12);
}

/// Without D35, the bandwidth of memory is that of the calibration's stream in memory. Smaller streams of its range
/// may stay in a shared last level.
#[test]
fn the_bandwidth_of_memory_is_that_of_a_stream_in_memory() {
    let read = |analysis: &Analysis| {
        let levels = ladder(analysis).levels;
        levels.last().unwrap().read.as_ref().unwrap().middle()
    };
    let all = read(last().analysis());
    // The calibration's points alone: no other experiment says anything of bandwidths.
    let mut without = last().record().clone();
    without.points.retain(|line| line.experiment == MACHINE);
    let left = read(&Analysis::of(without));
    assert!((left / all - 1.0).abs() < 0.3, "{left} of {all} GB/s");
}

/// Streams have whole bytes, and the range of the last level begins between two bytes if L2 was measured.
#[test]
fn the_bandwidth_of_the_last_level_is_that_of_the_stream_at_its_beginning() {
    let mut record = planted();
    // CPUID states a little more than the ladder shows.
    for cache in &mut record.header.cpu.caches {
        cache.bytes += if cache.level == 2 { cache.bytes / 4 } else { 0 };
    }
    let analysis = Analysis::of(record.clone());
    let read = |analysis: &Analysis| {
        let levels = ladder(analysis).levels;
        levels[2].read.clone()
    };
    let reason = read(&analysis).unwrap_err();
    assert!(reason.ends_with("and D35 was not run"), "{reason}");
    let lo = analysis.machine.ranges.llc.lo;
    assert!(lo.fract() > 0.0, "{lo}");
    let of_machine = |line: &&PointLine| line.experiment == MACHINE;
    let mut line = record.points.iter().find(of_machine).unwrap().clone();
    line.point.series = "stream of loads".to_owned();
    line.point.x = lo.floor();
    let measured = line.point.measured_mut().unwrap();
    measured.work = Work::default().load(16, 32);
    measured.ticks.median = 16.0;
    measured.ticks.interval = Interval::exact(16.0);
    // The time counts, whatever the clock was when the run began.
    record.header.core_per_tick = Some(1.2);
    record.points.push(line);
    let bandwidth = read(&Analysis::of(record)).expect("a stream").middle();
    assert!((bandwidth / 80.0 - 1.0).abs() < 0.01, "{bandwidth} GB/s");
}

#[test]
fn the_core_clock_is_that_of_the_ladder() {
    let mut record = planted();
    record.header.core_per_tick = Some(1.2);
    let analysis = Analysis::of(record);
    let clock = |analysis: &Analysis| Summary::of(analysis).machine.gigahertz;
    assert_eq!(clock(&analysis), Some(3.5));
    let row = |analysis: &Analysis| {
        let sheet = analysis.sheet().into_iter();
        let mut rows = sheet.filter(|row| row.name == "core clock");
        rows.next().expect("a row").measured
    };
    let measured = row(&analysis);
    assert_eq!(measured.as_deref(), Some("3.500 GHz, 1.400 cycles per tick"));
    let mut record = analysis.record;
    record.points.retain(|line| line.experiment != MACHINE);
    let without = Analysis::of(record);
    assert_eq!(clock(&without), Some(3.0));
    let measured = row(&without);
    assert_eq!(measured.as_deref(), Some("3.000 GHz, 1.200 cycles per tick"));
}

#[test]
fn sets_and_ways_that_are_unsure_or_far_from_the_ladder_give_no_size() {
    let record = planted();
    let mut analysis = Analysis::of(record);
    let mut size = |ways, confidence| {
        let period = 4096.0;
        let value = Sets { period, ways };
        analysis.inferred.l1 = Some(Found { value, confidence });
        ladder(&analysis).levels[0].size_text()
    };
    assert_eq!(size(12, 1.0), "48 KiB of 32 KiB");
    assert_eq!(size(12, 0.8), "32 KiB");
    assert_eq!(size(32, 1.0), "32 KiB");
}

/// On a busy machine, the run that is subtracted can take longer.
#[test]
fn a_transfer_that_took_less_than_nothing_is_no_number() {
    let transfer = |sign: f64| {
        let mut record = planted();
        let of_machine = |line: &&PointLine| line.experiment == MACHINE;
        let mut line = record.points.iter().find(of_machine).unwrap().clone();
        line.point.series = "a line to the nearest core and back, by lock cmpxchg".to_owned();
        let ticks = &mut line.point.measured_mut().unwrap().ticks;
        ticks.median = 100.0 * sign;
        ticks.interval = Interval::exact(ticks.median);
        record.points.push(line);
        Analysis::of(record)
    };
    let [right, wrong] = [1.0, -1.0].map(transfer);
    assert!(matches!(ladder(&right).other_core, Some(Ok(_))));
    assert!(right.machine.calibration.round_trip().is_some());
    let Some(Err(reason)) = ladder(&wrong).other_core else {
        panic!("a time of less than nothing");
    };
    assert!(reason.contains("came out negative"), "{reason}");
    assert_eq!(wrong.machine.calibration.round_trip(), None);
}

/// The README's table of claims that hold, and its findings, are those of the records that it names.
#[test]
fn the_readme_shows_the_kept_records() {
    const README: &str = include_str!("../../README.md");
    let zen_5 =
        records::all().iter().find(|of| of.path.ends_with("2026-11-29-zen5-guest.jsonl.zst"));
    let sides = [last(), zen_5.expect("a kept record")].map(|of| Summary::of(of.analysis()));
    let mut rows = Vec::new();
    for paper in &sides[0].papers {
        let counts = sides.each_ref().map(|side| {
            let same = side.papers.iter().find(|of| of.name == paper.name).expect("a document");
            let claims = same.chapters.iter().flat_map(|of| &of.parts).flat_map(|of| &of.claims);
            let counts = Counts::of(claims);
            format!("{} of {}", counts.holds(), counts.decided())
        });
        rows.push(format!("| {} | {} | {} |", paper.name, counts[0], counts[1]));
    }
    for finding in sides[0].findings.iter().take(5) {
        rows.push(format!(
            "| {} | {} | {} |",
            finding.takeaway.subject,
            finding.then_text(),
            finding.now_text()
        ));
    }
    // Whatever else its table of findings shows, as far as it is a finding on these machines.
    let (_, shown) = README.split_once("| | then |").expect("the table");
    for line in shown.lines().skip(2).take_while(|line| !line.is_empty()) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        for (side, now) in sides.iter().zip(&cells[3..]) {
            let found = side.findings.iter();
            for of in found.filter(|of| of.takeaway.subject == cells[1]) {
                assert_eq!([of.then_text(), of.now_text()], [cells[2], now], "{line}");
            }
        }
    }
    rows.retain(|row| !README.contains(row));
    assert_eq!(rows, [""; 0], "the README lacks these rows");
}
