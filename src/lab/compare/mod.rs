//! Compares records of other machines, of other settings, or from before and after a change.
//!
//! The first record is the reference for the others. Points of the same experiment, series and place are
//! compared as ratios with their intervals. A [`Gate`] turns such ratios into an exit status. Timings of the
//! user's own functions are compared in the same way, by name.

mod difference;
mod functions;
mod gate;
mod page;
mod print;

pub(crate) use difference::family_of;
pub use difference::{Difference, Effect, Larger, Place, differences, effects};
pub(crate) use functions::{FunctionGate, NEW, Source, compared};
pub(in crate::lab) use gate::glob;
pub use gate::{Beyond, Failure, Gate, GateError, Outcome};
pub use page::render;
pub(crate) use print::{Comparison, checks, gates_json};
pub use print::{json, judged, table, verdicts};

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::experiment::{Evidence, LADDER, Unit};
use crate::lab::analysis::Analysis;
use crate::lab::plain;
use crate::lab::read::{Reading, read, record_at};
use crate::lab::record::{MACHINE, PACKED, RECORD};
use crate::lab::report::build;
use crate::lab::report::view::{AxisView, CurveView, Figure, ReportView, Section, Value};

pub(crate) const LADDER_TITLE: &str = "A random walk, one line per element";

/// A record in a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Name: the label, the machine, or the folder or file of the record.
    pub name: String,
    /// The record's report, with the ladder as its first section.
    pub view: ReportView,
    /// Number of the record's verdicts on claims that this version does not have, or not in these words.
    pub outdated: usize,
    /// Number of the line that was cut off when the run was killed, if there is one.
    pub cut_off: Option<usize>,
}

/// Reads the records at `paths`. Each path is a record or the folder of a run.
pub fn load(paths: &[PathBuf]) -> Result<Vec<Side>> {
    let reading = |path: &PathBuf| Ok((name_of(path), read(&record_at(path))?));
    sides(paths.iter().map(reading).collect::<Result<_>>()?)
}

/// Creates the sides of a comparison from records and their names. Names that occur again are numbered. A claim
/// that a record has in other words than today's is judged on the record's points.
///
/// # Errors
/// If a record gives no report.
pub fn sides(readings: Vec<(String, Reading)>) -> Result<Vec<Side>> {
    let (names, readings): (Vec<String>, Vec<Reading>) = readings.into_iter().unzip();
    let mut sides: Vec<Side> = Vec::new();
    for (name, reading) in numbered(names).into_iter().zip(readings) {
        let analysis = Analysis::in_the_words_of_today(reading.record);
        let view = build(&analysis).with_context(|| name.clone())?;
        sides.push(Side {
            name,
            view: ReportView {
                sections: ladder(&analysis).into_iter().chain(view.sections).collect(),
                ..view
            },
            outdated: analysis.outdated,
            cut_off: reading.cut_off,
        });
    }
    Ok(sides)
}

/// Returns a warning if the hardware prefetchers were switched off in some of the records and not in all.
pub(crate) fn prefetchers_apart(sides: &[Side]) -> Option<String> {
    let (off, on): (Vec<&Side>, Vec<&Side>) =
        sides.iter().partition(|side| side.view.prefetchers_off);
    let names = |sides: &[&Side]| {
        let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
        names.join(", ")
    };
    (!off.is_empty() && !on.is_empty()).then(|| {
        format!(
            "The hardware prefetchers were switched off in {} and not in {}: differences may be \
             theirs.",
            names(&off),
            names(&on)
        )
    })
}

/// Names records by `labels`, in order. The other records are named by their machines, if the machines of
/// all records differ.
///
/// # Errors
/// If there are more labels than records, or a label names two records.
pub fn label(mut sides: Vec<Side>, labels: &[String]) -> Result<Vec<Side>> {
    if labels.len() > sides.len() {
        bail!("{} labels for {} records", labels.len(), sides.len());
    }
    let machines: Vec<String> =
        sides.iter().map(|side| side.view.summary.machine.short()).collect();
    let once = |name: &String| machines.iter().filter(|machine| *machine == name).count() == 1;
    if machines.iter().all(once) {
        for (side, machine) in sides.iter_mut().zip(&machines) {
            side.name.clone_from(machine);
        }
    }
    for (side, label) in sides.iter_mut().zip(labels) {
        side.name = plain::word(label).into_owned();
    }
    let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    each_names_one(&names, labels.len())?;
    Ok(sides)
}

/// Checks that the first `labelled` names, which the user gave, each name one record.
pub(crate) fn each_names_one(names: &[&str], labelled: usize) -> Result<()> {
    for (index, name) in names.iter().enumerate().take(labelled) {
        if names.iter().enumerate().any(|(other, of)| other != index && of == name) {
            bail!("`{name}` names two records");
        }
    }
    Ok(())
}

/// Returns the names of the records at `paths`. Names that occur again are numbered.
pub(crate) fn names_of(paths: &[PathBuf]) -> Vec<String> {
    numbered(paths.iter().map(|path| name_of(path)))
}

fn numbered(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let numbered = |name: String| {
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        match count {
            1 => name,
            count => format!("{name} #{count}"),
        }
    };
    names.into_iter().map(numbered).collect()
}

/// Returns the name of a run's folder, or of a record's file without the endings.
fn name_of(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let named = match whole.file_name() {
        Some(name) if name == RECORD || name == PACKED => whole.parent().and_then(Path::file_name),
        name => name,
    };
    let name = named.map(|name| name.to_string_lossy().into_owned());
    let mut name = name.unwrap_or_else(|| path.display().to_string());
    for ending in [".gz", ".zst", ".jsonl", ".txt"] {
        name.truncate(name.strip_suffix(ending).map_or(name.len(), str::len));
    }
    plain::word(&name).into_owned()
}

/// Returns the ladder as a section. Every record has a ladder, even that of the boot image.
fn ladder(analysis: &Analysis) -> Option<Section> {
    let series =
        |unit| Evidence::new(&analysis.machine, &analysis.ladder, unit).series(LADDER).ok();
    // If the yardstick failed, there are no core cycles.
    let (unit, points) = [Unit::CoreCycles, Unit::Nanoseconds]
        .into_iter()
        .find_map(|unit| Some((unit, series(unit)?)))?;
    let axis = |label: &str, bytes| AxisView { label: label.to_owned(), log: true, bytes };
    let points = points.into_iter().map(|(x, value)| Value::at(x, value));
    Some(Section {
        id: MACHINE.to_owned(),
        name: "ladder".to_owned(),
        title: LADDER_TITLE.to_owned(),
        question: "Where do the caches end, and what does each level cost?".to_owned(),
        source: "What every run measures first: all ranges of working sets come from it".to_owned(),
        figure: Some(Figure {
            x: axis("working set", true),
            y: axis("time", false),
            unit: unit.label().to_owned(),
            curves: vec![CurveView { label: LADDER.to_owned(), points: points.collect() }],
            ..Figure::default()
        }),
        ..Section::default()
    })
}

#[cfg(test)]
mod tests {
    use super::difference::{changed, joined};
    use super::*;
    use crate::experiment::Verdict;
    use crate::experiment::topics::find_claim;
    use crate::lab::analysis::is_unfinished;
    use crate::lab::read::parse;
    use crate::lab::record::VerdictLine;

    const PLANTED: &str = include_str!("../../../tests/fixtures/record/planted.jsonl");

    fn reading() -> Reading {
        parse(PLANTED.as_bytes()).expect("a record")
    }

    #[test]
    fn the_same_name_is_numbered() {
        let twice = vec![
            ("a".to_owned(), reading()),
            ("b".to_owned(), reading()),
            ("a".to_owned(), reading()),
        ];
        let names: Vec<String> = sides(twice).unwrap().into_iter().map(|side| side.name).collect();
        assert_eq!(names, ["a", "b", "a #2"]);
    }

    #[test]
    fn records_with_and_without_prefetchers_are_told_apart() {
        let told = |off: [Option<usize>; 2]| {
            let named = ["a", "b"].into_iter().zip(off).map(|(name, off)| {
                let mut reading = reading();
                reading.record.header.prefetchers_off = off;
                (name.to_owned(), reading)
            });
            prefetchers_apart(&sides(named.collect()).unwrap())
        };
        assert_eq!(told([None, None]), None);
        assert_eq!(told([Some(1), Some(2)]), None);
        let sentence = told([None, Some(2)]).unwrap();
        assert!(sentence.contains("off in b and not in a"), "{sentence}");
    }

    /// A verdict in other words may be on the opposite claim.
    #[test]
    fn a_claim_in_other_words_is_judged_on_the_points() {
        let claim = find_claim("D15.1").unwrap();
        let planted = |stored: Option<(&str, Verdict)>| {
            let mut reading = reading();
            reading.record.verdicts.clear();
            let stored = stored.map(|(words, verdict)| VerdictLine {
                id: claim.id.to_owned(),
                claim: words.to_owned(),
                ..VerdictLine::bare("D15", verdict)
            });
            reading.record.verdicts.extend(stored);
            ("planted".to_owned(), reading)
        };
        let judged = sides(vec![planted(None)]).unwrap();
        let mut claims = judged[0].view.claims().map(|(_, line)| line);
        let decided = claims.find(|of| of.id == claim.id).unwrap();
        assert!(!is_unfinished(decided));
        let (words, decided) = (claim.text, decided.verdict);
        let other = match decided {
            Verdict::Holds => Verdict::DoesNotHold,
            _ => Verdict::Holds,
        };
        // The number of verdicts left out on each side, and the claims whose verdicts differ.
        let compared = |a, b| -> ([usize; 2], Vec<String>) {
            let sides = sides(vec![planted(Some(a)), planted(Some(b))]).unwrap();
            let changed = changed(&sides).into_iter();
            let named = changed.map(|(of, _)| format!("{}: {}", of.name(), of.claim));
            ([sides[0].outdated, sides[1].outdated], named.collect())
        };
        let differs = vec![format!("D15.1: {words}")];
        let none = Vec::new();
        let once = "the opposite";
        assert_eq!(compared((words, decided), (words, other)), ([0, 0], differs.clone()));
        assert_eq!(compared((words, decided), (once, other)), ([0, 1], none.clone()));
        assert_eq!(compared((words, other), (once, other)), ([0, 1], differs));
        assert_eq!(compared((once, decided), (once, other)), ([1, 1], none));
    }

    /// Without its points a claim in other words is not judged, which is no change.
    #[test]
    fn a_claim_in_other_words_without_its_points_is_not_judged() {
        let claim = find_claim("D17.2").unwrap();
        let planted = |words: &str| {
            let mut reading = reading();
            let lines = &mut reading.record.verdicts;
            lines.retain(|line| line.id == claim.id);
            lines[0].claim = words.to_owned();
            ("planted".to_owned(), reading)
        };
        let sides = sides(vec![planted(claim.text), planted("the opposite")]).unwrap();
        let mut rows = joined(&sides).into_iter();
        let on = |row: &Vec<Option<&VerdictLine>>| row.iter().flatten().any(|of| of.id == claim.id);
        let row = rows.find(on).unwrap();
        let unfinished = row.iter().flatten().map(|line| is_unfinished(line));
        assert_eq!(unfinished.collect::<Vec<_>>(), [false, true], "{row:?}");
        let found = changed(&sides);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn the_ladder_is_a_section_if_there_is_one() {
        let with = sides(vec![("a".to_owned(), reading())]).unwrap();
        let mut bare = reading();
        bare.record.points.retain(|line| line.experiment != MACHINE);
        let without = sides(vec![("a".to_owned(), bare)]).unwrap();
        let first = |sides: &[Side]| sides[0].view.sections.first().map(|s| s.id.clone());
        assert_eq!(first(&with).as_deref(), Some(MACHINE));
        assert_ne!(first(&without).as_deref(), Some(MACHINE));
    }
}
