//! A run that is killed at any time loses at most the current point, and can be resumed.
#![cfg(feature = "lab")]

use std::fs;
use std::time::Duration;

use crate::common::cli::{Folder, UnderWay};
use linefill::pattern::Rng;

#[test]
fn a_killed_run_resumes_and_loses_nothing_that_was_recorded() {
    let folder = Folder::new("killed");
    let path = folder.at("linefill-out/record.jsonl");
    let first = folder.short(&["D14", "D19"]);
    let mut run = UnderWay::start(&folder, first);
    // Kills the run after the header, in the ladder, after the first pass of the ladder, in the calibration
    // for predictions, and among the points.
    for lines in [1, 7, 44, 90, 112] {
        run.until(lines);
        run.kill();
        let before = fs::read(&path).unwrap();
        run = UnderWay::go_on(path.clone(), &mut folder.linefill(&["run", "--resume"]));
        run.until(lines + 1);
        let after = fs::read(&path).unwrap();
        // The header records the resumption; the points must not change.
        assert_eq!(points(&after)[..points(&before).len()], points(&before));
    }
    run.kill();
    folder.run(&["run", "--resume"]).ok();
    let record = folder.record();
    record.has_each_point_once();
    assert_eq!(record.of_experiment("D14").len(), 9);
    assert_eq!(record.interrupted, Some(false));
    assert!(record.header.resumed.is_some());
}

/// Kills at 64 times, many of them before the first point or while the end of the record is written.
#[test]
#[ignore = "takes minutes"]
fn a_run_that_is_killed_64_times_loses_nothing() {
    let folder = Folder::new("killed-64");
    let path = folder.at("linefill-out/record.jsonl");
    let start = ["run", "D1?", "D2?", "E4", "F1", "--memory", "2MiB"];
    let go_on = || match path.exists() {
        true => folder.linefill(&["run", "--resume"]),
        false => folder.linefill(&start),
    };
    let mut random = Rng::new(18);
    let (mut before, mut kills) = (Vec::new(), 0);
    while kills < 64 {
        let mut run = UnderWay::go_on(path.clone(), &mut go_on());
        std::thread::sleep(Duration::from_millis(random.below(3000) as u64));
        let ended = run.has_ended();
        match ended {
            true => drop(run.finish().ok()),
            false => run.kill(),
        }
        let record = fs::read(&path).unwrap_or_default();
        let now: Vec<Vec<u8>> = points(&record).into_iter().map(<[u8]>::to_vec).collect();
        assert!(now.starts_with(&before), "kill {kills}");
        before = now;
        if ended {
            // Starts another run for the remaining kills.
            folder.record().has_each_point_once();
            fs::remove_dir_all(folder.at("linefill-out")).unwrap();
            before.clear();
        } else {
            kills += 1;
        }
    }
    UnderWay::go_on(path.clone(), &mut go_on()).finish().ok();
    let whole = fs::read(&path).unwrap();
    assert_eq!(points(&whole)[..before.len()], before);
    folder.record().has_each_point_once();
}

/// The complete lines that are points.
fn points(record: &[u8]) -> Vec<&[u8]> {
    record
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n") && line.starts_with(b"{\"kind\":\"point\""))
        .collect()
}

#[test]
fn a_line_that_was_cut_off_is_measured_again() {
    let folder = Folder::new("cut");
    folder.run_short(&["D14"]).ok();
    let path = folder.at("linefill-out/record.jsonl");
    let whole = folder.record();
    // The last point of the first pass: this pass is measured to its end, however long it takes.
    let points = whole.points.iter();
    let points = points.take_while(|point| point.pass == 0).count();
    let text = fs::read_to_string(&path).unwrap();
    let is_point = |line: &&str| line.contains("\"kind\":\"point\"");
    let header: String = text.split_inclusive('\n').take_while(|line| !is_point(line)).collect();
    let kept = text.split_inclusive('\n').filter(is_point);
    let kept: String = kept.take(points - 1).collect();
    fs::write(&path, format!("{header}{kept}{{\"kind\":\"point\",\"exper")).unwrap();

    let ran = folder.run(&["run", "--resume"]).ok();
    assert!(ran.err.contains("cut off"), "{ran:?}");
    let again = folder.record();
    assert_eq!(again.points[..points - 1], whole.points[..points - 1]);
    let [first, second] = [&whole, &again].map(|record| {
        let line = &record.points[points - 1];
        (&line.experiment, line.pass, &line.point.series, line.point.x)
    });
    assert_eq!(first, second);
    again.has_each_point_once();

    let nothing_left = folder.run(&["run", "--resume"]).ok();
    assert!(!nothing_left.err.contains("1 points"), "{nothing_left:?}");
    assert_eq!(folder.record().points, again.points);
}

/// If passes differ by a factor, claims stay undecided, and the run measures more passes.
#[test]
fn a_run_that_is_killed_within_a_look_goes_on_with_the_same() {
    let folder = Folder::new("look");
    folder.run(&["run", "D14", "--memory", "1MiB"]).ok();
    let path = folder.at("linefill-out/record.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let mut kept: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
        let is_header = value["kind"] == "header";
        let is_machine = value["experiment"] == "machine";
        let early = value["kind"] == "point" && value["pass"].as_u64().unwrap() < 2;
        // A disturbed pass and an undisturbed one would not count as two passes that differ.
        if early && !is_machine {
            value["timed"]["flags"] = serde_json::json!([]);
        }
        if early && !is_machine && value["pass"] == 1 {
            for of in ["median", "min", "lo", "hi"] {
                let slower = 1.5 * value["timed"][of].as_f64().unwrap();
                value["timed"][of] = slower.into();
            }
        }
        if is_header || early || is_machine {
            kept.push(format!("{value}\n"));
        }
    }
    fs::write(&path, kept.concat()).unwrap();

    let passes = || -> Vec<(u64, String, String)> {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let points = lines.filter(|line: &serde_json::Value| line["experiment"] == "D14");
        let points = points.filter(|line| line["kind"] == "point");
        let place = |line: serde_json::Value| {
            let pass = line["pass"].as_u64().unwrap();
            (pass, line["series"].to_string(), line["x"].to_string())
        };
        points.map(place).collect()
    };
    let mut run = UnderWay::go_on(path.clone(), &mut folder.linefill(&["run", "--resume"]));
    run.until(kept.len() + 3);
    run.kill();
    let before = passes();
    assert!(before.iter().any(|(pass, ..)| *pass == 2), "{before:?}");
    folder.run(&["run", "--resume"]).ok();
    folder.record().has_each_point_once();
    let after = passes();
    assert_eq!(after[..before.len()], before);
    // The additional passes were completed: every place with a third pass has a fourth.
    let of = |wanted: u64| {
        let mut places: Vec<_> = after
            .iter()
            .filter(|(pass, ..)| *pass == wanted)
            .map(|(_, series, x)| (series, x))
            .collect();
        places.sort();
        places
    };
    assert!(!of(2).is_empty() && of(2) == of(3), "{after:?}");
}

#[test]
fn a_record_without_a_whole_line_is_begun_again() {
    let folder = Folder::new("begun");
    fs::create_dir_all(folder.at("linefill-out")).unwrap();
    fs::write(folder.at("linefill-out/record.jsonl"), "{\"kind\":\"hea").unwrap();
    folder.run(&["run", "D11", "--memory", "1MiB", "--resume"]).ok();
    assert_eq!(folder.record().interrupted, Some(false));
}

#[test]
fn another_machine_or_other_options_are_not_resumed() {
    let folder = Folder::new("other");
    folder.run_short(&["D14"]).ok();
    let path = folder.at("linefill-out/record.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    for (options, name) in [
        (["--seed", "2"], "--seed"),
        (["--memory", "2MiB"], "--memory"),
        (["--profile", "full"], "--profile"),
        (["--pages", "2m"], "--pages"),
        (["--threads", "far"], "--threads"),
        (["--node", "0"], "--node"),
    ] {
        folder.run(&["run", "--resume", options[0], options[1]]).refused(&["cannot resume", name]);
    }
    folder.run(&["run", "--resume", "D15"]).refused(&["`D15`", "`D14`"]);

    let brand = folder.record().header.cpu.brand;
    fs::write(&path, text.replace(&brand, "Pentium 4")).unwrap();
    folder.run(&["run", "--resume"]).refused(&["cannot resume", "Pentium 4"]);
    fs::write(&path, text.replacen("\"format\":1", "\"format\":9", 1)).unwrap();
    folder.run(&["run", "--resume"]).refused(&["record.jsonl, line 1", "format 9"]);
}
