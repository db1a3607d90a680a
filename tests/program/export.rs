//! `linefill export`: readers of other projects read its output.
#![cfg(feature = "lab")]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use linefill::experiment::{all, merged};
use linefill::lab::analysis::Analysis;
use linefill::lab::read::read;
use linefill::lab::record::{Line, MACHINE, Record};
use linefill::lab::undecided::experiments_of;
use linefill::stats::Interval;
use linefill::time::Rate;

use crate::common::cli::{Folder, PLANTED};

/// A record in the repository.
const KEPT: &str = "2026-11-29-zen5-guest";

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("records/{KEPT}.jsonl.zst"))
}

fn record() -> Record {
    read(&kept()).unwrap().record
}

/// The rows of a CSV table, each a map by column name.
fn table(text: &str) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(Result::unwrap).collect()
}

fn exported(folder: &Folder, what: &str) -> Vec<HashMap<String, String>> {
    let kept = kept();
    let args = ["export", kept.to_str().unwrap(), "--what", what];
    table(&folder.run(&args).ok().out)
}

#[test]
fn every_point_of_a_kept_record_comes_back_through_csv() {
    let rows = exported(&Folder::new("export-points"), "points");
    let record = record();
    let rate = Rate::from_hz(record.header.tick_hz);
    let mut ids: Vec<&str> = record.points.iter().map(|of| &*of.experiment).collect();
    ids.sort_unstable();
    ids.dedup();
    let measured = experiments_of(&record.points);
    let mut seen = 0;
    for id in ids {
        // Passes with the threads far apart do not count beside others.
        let points = match measured.iter().find(|(of, _)| of.id == id) {
            Some((_, points)) => points.clone(),
            None => merged(
                record
                    .points
                    .iter()
                    .filter(|line| line.experiment == id)
                    .map(|line| line.point.clone())
                    .collect(),
            ),
        };
        let of_id: Vec<_> = rows.iter().filter(|row| row["experiment"] == id).collect();
        assert_eq!(of_id.len(), points.len(), "{id}");
        seen += points.len();
        let Some(experiment) = all().into_iter().find(|of| of.id == id) else {
            assert!(id == MACHINE, "{id}");
            continue;
        };
        for (row, point) in of_id.iter().zip(&points) {
            assert_eq!(row["record"], KEPT);
            assert_eq!(row["core"], "Zen 5");
            assert_eq!(row["series"], point.series);
            assert_eq!(row["x"].parse(), Ok(point.x));
            if let Ok(value) = point.interval(experiment.unit(), rate) {
                assert_eq!(row["lo"].parse(), Ok(value.lo), "{row:?}");
                assert_eq!(row["hi"].parse(), Ok(value.hi), "{row:?}");
                assert_eq!(row["reason"], "");
            }
            let untestable = row["outcome"] == "untestable";
            assert_eq!(untestable, !row["reason"].is_empty(), "{row:?}");
            assert_eq!(untestable, row["value"].is_empty(), "{row:?}");
            if let Some(measured) = point.measured() {
                let passes = measured.passes.len().max(1).to_string();
                assert_eq!((&*row["outcome"], &row["passes"]), ("timed", &passes));
                assert!(!row["unit"].is_empty() && !row["nanoseconds"].is_empty());
            }
        }
    }
    assert_eq!(rows.len(), seen);
    let sizes = rows.iter().filter(|row| row["experiment"] == "D14");
    assert!(sizes.clone().all(|row| row["x_unit"] == "bytes" && row["x_name"] == "working set"));
    assert!(sizes.count() > 10);
}

#[test]
fn verdicts_have_the_number_of_the_document() {
    let rows = exported(&Folder::new("export-verdicts"), "verdicts");
    let record = record();
    // The verdicts as the run decided them. If the record is older than the claims' ids, the export adds what
    // it lacks.
    for line in &record.verdicts {
        let same = |row: &&HashMap<String, String>| row["says"] == line.claim;
        if let Some(row) = rows.iter().find(same) {
            assert_eq!(row["verdict"], line.verdict.name(), "{row:?}");
            assert_eq!(row["numbers"], line.numbers);
        }
    }
    for line in &Analysis::of(record).verdicts {
        let mut of = rows.iter().filter(|row| row["claim"] == line.id);
        let row = of.next().unwrap_or_else(|| panic!("no {}", line.id));
        assert!(of.next().is_none(), "{}", line.id);
        assert_eq!(row["verdict"], line.verdict.name());
        assert_eq!(row["numbers"], line.numbers);
        if let (Some([lo, hi]), Some(then)) = (line.now, &line.then) {
            assert_eq!(row["then_lo"].parse(), Ok(then.lo));
            let [value, over] =
                ["value", "over_then"].map(|name| row[name].parse::<f64>().unwrap());
            let [now, then] = [[lo, hi], [then.lo, then.hi]].map(|[lo, hi]| Interval::new(lo, hi));
            assert_eq!(value, now.center(), "{}", line.id);
            let wanted = now.center() / then.center();
            assert!((over - wanted).abs() <= 1e-12 * wanted, "{}", line.id);
        }
    }
    assert!(rows.len() > 100);
}

#[test]
fn curves_are_those_that_are_drawn() {
    let rows = exported(&Folder::new("export-curves"), "curves");
    let d14 = rows.iter().filter(|row| row["experiment"] == "D14");
    assert!(d14.clone().all(|row| row["unit"] == "cycles per operation"));
    assert!(d14.count() > 10);
    // A count is no time.
    let counted = rows.iter().filter(|row| row["experiment"] == "C5").collect::<Vec<_>>();
    assert!(!counted.is_empty() && counted.iter().all(|row| row["unit"].is_empty()));
}

/// Texts with every character that ends a cell or a row in some format, and settings.
#[test]
fn a_machine_is_a_row_whatever_its_texts_hold() {
    let folder = Folder::new("export-machines");
    let brand = "A \"fast\", small CPU; 'x'";
    let mut text = String::new();
    for line in PLANTED.lines() {
        let mut line: Line = serde_json::from_str(line).unwrap();
        if let Line::Header(header) = &mut line {
            header.cpu.brand = brand.to_owned();
            let setting = |name: &str, value: &str| {
                serde_json::from_value(serde_json::json!({ "name": name, "value": value })).unwrap()
            };
            header.settings = vec![
                setting("BIOS vendor", "Planted, Inc."),
                setting("BIOS version", "1.2"),
                setting("microcode", "0xa10113e"),
            ];
        }
        text += &serde_json::to_string(&line).unwrap();
        text.push('\n');
    }
    for name in ["a.jsonl", "b.jsonl"] {
        fs::write(folder.at(name), &text).unwrap();
    }
    let args = ["export", "a.jsonl", "b.jsonl", "--what", "machines"];
    let rows = table(&folder.run(&args).ok().out);
    let [a, b] = &rows[..] else {
        panic!("two rows: {rows:?}");
    };
    assert_eq!((&*a["record"], &*b["record"]), ("a", "b"));
    assert_eq!(a["brand"], brand);
    assert_eq!(a["bios"], "Planted, Inc. 1.2");
    assert_eq!(a["microcode"], "0xa10113e");
    assert_eq!(a["os"], "Linux 6.1");
    assert_eq!(a["l1d_bytes"], "32768");
    // The output to a file must be the same.
    let mut into: Vec<&str> = args.to_vec();
    into.extend(["--out", "machines.csv"]);
    assert_eq!(folder.run(&into).ok().out, "");
    let file = fs::read_to_string(folder.at("machines.csv")).unwrap();
    assert_eq!(table(&file), rows);
}

#[test]
fn what_cannot_be_exported_leaves_no_file() {
    let folder = Folder::new("export-refused");
    fs::write(folder.at("a.jsonl"), PLANTED).unwrap();
    fs::write(folder.at("text.jsonl"), "hello\n").unwrap();
    folder
        .run(&["export", "a.jsonl", "text.jsonl", "--out", "out.csv"])
        .refused(&["text.jsonl", "not a record of linefill"]);
    folder
        .run(&["export", "a.jsonl", "--what", "dreams"])
        .refused(&["dreams", "points", "verdicts", "machines"]);
    folder.run(&["export", "gone.jsonl"]).refused(&["gone.jsonl"]);
    assert!(!folder.at("out.csv").exists());
    assert_eq!(fs::read_dir(folder.at("")).unwrap().count(), 2);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_program_without_parquet_says_how_to_build_it_with() {
    let folder = Folder::new("export-without-parquet");
    fs::write(folder.at("a.jsonl"), PLANTED).unwrap();
    folder
        .run(&crate::common::cli::words("export a.jsonl --format parquet --out a.parquet"))
        .refused(&["built without Parquet", "--features parquet"]);
}

/// The cells are the same as in CSV, read with the crate `parquet`.
#[cfg(feature = "parquet")]
#[test]
fn parquet_has_the_cells_of_csv() {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;

    let folder = Folder::new("export-parquet");
    let kept = kept();
    for what in ["points", "verdicts", "machines"] {
        let wanted = exported(&folder, what);
        let args = ["export", kept.to_str().unwrap(), "--what", what];
        let mut args = args.to_vec();
        args.extend(["--format", "parquet", "--out", "out.parquet"]);
        folder.run(&args).ok();
        let file = fs::File::open(folder.at("out.parquet")).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let mut rows = 0;
        for (row, wanted) in reader.get_row_iter(None).unwrap().zip(&wanted) {
            let row = row.unwrap();
            rows += 1;
            assert_eq!(row.get_column_iter().count(), wanted.len());
            for (name, field) in row.get_column_iter() {
                let cell = &wanted[name];
                match field {
                    Field::Null => assert_eq!(cell, "", "{name}"),
                    Field::Str(text) => assert_eq!(cell, text),
                    Field::Double(number) => assert_eq!(cell.parse(), Ok(*number)),
                    Field::Long(number) => assert_eq!(cell.parse(), Ok(*number)),
                    other => panic!("{name}: {other:?}"),
                }
            }
        }
        assert_eq!(rows, wanted.len());
    }
    folder.run(&["export", kept.to_str().unwrap(), "--format", "parquet"]).refused(&["--out"]);
}
