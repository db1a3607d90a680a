//! Validation of records: a line that no run writes is refused with its number and its field, before anything
//! is computed from it. Control characters in a record never reach the terminal.
#![cfg(feature = "lab")]

use std::fs;

use crate::common::cli::{Folder, PLANTED};
use linefill::lab::read::{Reading, parse};
use serde_json::{Value, json};

/// The planted record with one line changed.
fn changed(kind: &str, change: impl FnOnce(&mut Value)) -> (usize, String) {
    let mut lines: Vec<Value> =
        PLANTED.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let at = match kind {
        "timed" => lines.iter().position(|line| line["timed"].is_object()),
        kind => lines.iter().position(|line| line["kind"] == kind),
    };
    let at = at.expect("the planted record has such a line");
    change(&mut lines[at]);
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    (at + 1, lines.join("\n") + "\n")
}

fn refused(text: &str) -> (Option<usize>, String) {
    match parse(text.as_bytes()) {
        Ok(_) => panic!("it is taken for a record"),
        Err(error) => error,
    }
}

#[test]
fn the_planted_record_is_one() {
    let Reading { record, cut_off } = parse(PLANTED.as_bytes()).unwrap();
    let lines = record.lines().count();
    assert_eq!((lines, cut_off), (PLANTED.lines().count(), None));
}

#[test]
fn a_value_that_no_run_writes_is_named_with_its_line_and_field() {
    let huge = json!(1e300);
    let runs = |count: u32, p50: u32| {
        json!({
            "count": count, "operations": 1,
            "min": 1, "p50": p50, "p90": 1, "p99": 3, "p99.9": 3, "max": 3,
        })
    };
    // The kind of the line, the place of a value in it, the value, and the expected message. An empty message
    // means: the message names the place.
    let cases: &[(&str, &str, Value, &str)] = &[
        ("header", "largest", json!(0), "field `largest`: 0: 4096 to"),
        ("header", "largest", json!(u64::MAX), ""),
        ("header", "largest", json!(-1), ""),
        ("header", "tick_hz", json!(0), "field `tick_hz`: 0.0"),
        ("header", "tick_hz", huge.clone(), ""),
        ("header", "tick_hz", Value::Null, ""),
        ("header", "stated_tick_hz", json!(-1.0), ""),
        ("header", "core_per_tick", json!(0.0), ""),
        ("header", "started", json!(u64::MAX), ""),
        ("header", "resumed", json!(u64::MAX), ""),
        ("header", "earlier", json!(-1.0), ""),
        ("header", "budget", json!(1e19), ""),
        ("header", "budget", json!(-1.0), ""),
        ("header", "load_to_use", json!(0), ""),
        ("header", "profile", json!("slow"), "`slow`: one of quick, full, smoke, bare is accepted"),
        ("header", "placement", json!("west"), "`west`: one of near, far"),
        ("header", "seats", json!([[0, 0, 0]]), "field `seats[0]`"),
        ("header", "seats", json!(vec![[0; 5]; 9000]), "9000 CPUs"),
        ("header", "performance", json!(vec![0; 9000]), "9000 CPUs"),
        ("header", "node", json!(1024), ""),
        (
            "header",
            "nodes",
            json!([{"id": 0, "cpus": [], "distances": [300]}]),
            "field `nodes[0].distances`",
        ),
        ("header", "cpu.family", json!("x"), ""),
        ("header", "cpu.caches[2].level", json!(0), ""),
        ("header", "cpu.caches[0].bytes", json!(u64::MAX), ""),
        ("header", "cpu.tlbs[1].pages", json!([0]), ""),
        ("header", "ports", json!({"loads": [1, 2], "stores": [1, 2, 3]}), "field `ports.loads`"),
        ("point", "x", json!(5e-324), "field `x`: 5e-324"),
        ("point", "x", json!(-1e300), "field `x`: -1e300"),
        ("point", "x", Value::Null, ""),
        ("point", "pass", json!(-1), ""),
        ("point", "series", json!(7), ""),
        ("timed", "timed.median", huge.clone(), ""),
        ("timed", "timed.median", json!("fast"), ""),
        ("timed", "timed.mad", json!(-1.0), ""),
        ("timed", "timed.lo", json!(1e9), "field `timed.median`"),
        ("timed", "timed.hi", json!(-1e9), ""),
        ("timed", "timed.min", json!(1e9), "field `timed.lo`"),
        ("timed", "timed.n", json!(0), "field `timed.n`: 0: 1 to"),
        ("timed", "timed.samples", json!([[1, 2, 3, 0]]), "field `timed.n`: 31 of 1 samples"),
        ("timed", "timed.samples", json!([[1, 2, 3]]), "field `timed.samples[0]`"),
        ("timed", "timed.samples", json!(vec![[1, 2, 3, 7]; 31]), "field `timed.samples[0][3]`"),
        ("timed", "timed.work", json!([1, 0, 8]), ""),
        ("timed", "timed.work", json!([1, 0, 8, -1]), "field `timed.work[3]`"),
        ("timed", "timed.runs", runs(3, 2), "field `timed.runs.p90`"),
        ("timed", "timed.runs", runs(0, 1), "field `timed.runs.count`: 0: 1 to"),
        ("timed", "timed.interrupts", json!(-1), ""),
        ("timed", "timed.operations", json!(0), ""),
        ("timed", "timed.core_per_tick", json!(1e-300), ""),
        ("timed", "counted", json!(1.0), "one of `timed`, `counted`"),
        (
            "timed",
            "timed.counts",
            json!([{"of": "L1d misses", "lo": 2.0, "hi": 1.0}]),
            "field `timed.counts[0].hi`",
        ),
        (
            "timed",
            "timed.crew",
            json!({"members": 0, "cpus": 1, "fastest": 1.0, "slowest": 2.0}),
            "field `timed.crew.members`",
        ),
        ("verdict", "verdict", json!("perhaps"), "`perhaps`: holds, does not hold"),
        ("verdict", "now", json!([1e308, 1e308]), "field `now.lo`"),
        ("verdict", "now", json!([2.0, 1.0]), "field `now.hi`"),
        ("verdict", "then", json!({"lo": 1.0, "hi": -1e308, "machine": ""}), "field `then.hi`"),
        ("header", "cpu.caches[0].ways", json!(4_294_967_295_u32), ""),
        ("end", "seconds", json!(-1.0), ""),
        ("end", "kind", json!("beginning"), "`beginning` is not a kind of line"),
    ];
    for (kind, path, value, says) in cases {
        let (line, text) = changed(kind, |line| {
            let place = path.split(['.', '[']).map(|key| key.trim_end_matches(']')).fold(
                line,
                |value, key| match key.parse::<usize>() {
                    Ok(index) => &mut value[index],
                    Err(_) => &mut value[key],
                },
            );
            *place = value.clone();
        });
        let (found, problem) = refused(&text);
        assert_eq!(found, Some(line), "{path}: {problem}");
        let says = match *says {
            "" => format!("field `{path}`"),
            says => says.to_owned(),
        };
        assert!(problem.contains(&says), "no {says:?} in {problem:?}");
    }
}

#[test]
fn a_ladder_has_working_sets_and_few_of_them() {
    let rung = |x: f64| {
        let (_, text) = changed("end", |_| {});
        let series = linefill::experiment::LADDER;
        let counted = json!({
            "kind": "point", "experiment": "machine", "series": series, "x": x, "counted": 1.0,
        });
        format!("{text}{counted}\n")
    };
    let (_, problem) = refused(&rung(0.0));
    assert!(problem.contains("field `x`: 0e0 bytes"), "{problem}");
    assert!(parse(rung(4096.0).as_bytes()).is_ok());
    let many: String = (0..300)
        .map(|x| rung(4096.0 + f64::from(x)).lines().last().unwrap().to_owned() + "\n")
        .collect();
    let (_, problem) = refused(&(changed("end", |_| {}).1 + &many));
    assert!(problem.contains("more than 256 places"), "{problem}");
}

/// These records once made `report`, `compare` and `machine --record` hang or panic.
#[test]
fn commands_refuse_such_a_record_at_once() {
    let folder = Folder::new("record-check");
    let ladder = |line: &mut Value| {
        line["experiment"] = json!("machine");
        line["series"] = json!(linefill::experiment::LADDER);
        line["x"] = json!(5e-324);
    };
    let records = [
        (changed("timed", ladder), "field `x`: 5e-324"),
        (changed("header", |line| line["largest"] = json!(0)), "field `largest`: 0"),
    ];
    for ((line, text), says) in records {
        fs::write(folder.at("bad"), text).unwrap();
        let place = format!("bad, line {line}");
        for args in
            [&["report", "bad"][..], &["compare", "bad", "bad"], &["machine", "--record", "bad"]]
        {
            folder.run(args).refused(&[&place, says]);
        }
    }
    folder.run(&["report", "/dev/zero"]).refused(&["/dev/zero", "536870912 bytes"]);
}

#[test]
fn what_a_terminal_obeys_is_spelled_out_in_every_text_of_a_record() {
    let evil = "\u{1b}]0;title\u{7}\u{1b}[2Jx\u{9b}31m\u{202e}\r\nD14  holds";
    let spelled = "\\u{1b}]0;title\\u{7}\\u{1b}[2Jx\\u{9b}31m\\u{202e}\\r\\nD14  holds";
    let (_, text) = changed("header", |line| {
        line["cpu"]["brand"] = json!(evil);
        line["notes"] = json!([evil]);
    });
    let header = parse(text.as_bytes()).unwrap().record.header;
    assert_eq!(header.cpu.brand, spelled);
    assert_eq!(header.notes, [spelled]);

    let folder = Folder::new("record-plain");
    fs::write(folder.at("evil"), text).unwrap();
    let obeyed = |letter: char| letter.is_control() && letter != '\n' || letter == '\u{202e}';
    for args in
        [&["report", "evil"][..], &["compare", "evil", "evil"], &["machine", "--record", "evil"]]
    {
        let ran = folder.run(args).ok();
        for printed in [&ran.out, &ran.err] {
            assert!(!printed.contains(obeyed), "{args:?}: {printed:?}");
        }
    }
    fs::write(folder.at("kind"), format!("{{\"kind\":{}}}\n", json!(evil))).unwrap();
    let ran = folder.run(&["report", "kind"]).refused(&["not a \\u{1b}]0;title"]);
    assert!(!ran.err.contains(obeyed), "{ran:?}");
    // The same holds for quotations from the command line.
    for args in [&["list", evil][..], &["run", "--seed", evil], &[evil], &["report", evil]] {
        let ran = folder.run(args).refused(&["error: ", "D14  holds"]);
        assert!(!ran.err.contains(obeyed), "{ran:?}");
    }
}
