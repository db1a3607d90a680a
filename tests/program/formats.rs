//! The output formats, the end of a run, and `show` and `list`, on planted records.
#![cfg(feature = "lab")]

use std::fs;
use std::process::Command;

use linefill::experiment::{all, find};
use serde_json::Value;

use crate::common::cli::{Folder, PLANTED, Ran, assert_has};
use crate::common::untested;

/// A folder whose last run is the planted record.
fn after_a_run(name: &str) -> Folder {
    let folder = Folder::new(name);
    fs::create_dir(folder.at("linefill-out")).unwrap();
    fs::write(folder.at("linefill-out/record.jsonl"), PLANTED).unwrap();
    folder
}

/// Runs the program as in a terminal with this number of columns.
fn in_columns(folder: &Folder, columns: &str, args: &[&str]) -> Ran {
    Ran::of(folder.linefill(args).env("COLUMNS", columns))
}

/// The commands that support every format, with arguments that measure nothing.
const COMMANDS: [&[&str]; 6] = [
    &["report"],
    &["show", "D14"],
    &["list", "D1?"],
    &["doctor"],
    &["machine", "--record", "linefill-out"],
    &["compare", "linefill-out", "linefill-out"],
];

fn with_format(folder: &Folder, command: &[&str], format: &str) -> Ran {
    let args: Vec<&str> = command.iter().copied().chain(["--format", format]).collect();
    let ran = folder.run(&args);
    match command {
        ["doctor"] => ran.answered(),
        _ => ran.ok(),
    }
}

#[test]
fn every_command_prints_every_format() {
    let folder = after_a_run("formats");
    for command in COMMANDS {
        let json = with_format(&folder, command, "json").out;
        assert!(serde_json::from_str::<Value>(&json).unwrap().is_object(), "{json}");

        let markdown = with_format(&folder, command, "md").out;
        assert!(markdown.starts_with("# linefill "), "{markdown}");
        assert!(markdown.contains("\n| --- |"), "{markdown}");

        let xml = with_format(&folder, command, "junit").out;
        let xml = roxmltree::Document::parse(&xml).unwrap_or_else(|error| panic!("{error}: {xml}"));
        let elements = |name| xml.descendants().filter(|node| node.has_tag_name(name)).count();
        let tests = xml.root_element().attribute("tests").unwrap();
        assert_eq!(elements("testcase").to_string(), tests, "{command:?}");
        let failures = xml.root_element().attribute("failures").unwrap();
        assert_eq!(elements("failure").to_string(), failures, "{command:?}");

        let github = with_format(&folder, command, "github").out;
        let (last, annotations) = github
            .trim_end()
            .rsplit_once('\n')
            .map_or_else(|| (github.trim_end(), ""), |(before, last)| (last, before));
        let (name, counts) = last.rsplit_once(": ").unwrap();
        assert!(name.starts_with("linefill "), "{github}");
        let of = |part: &str| {
            let (count, outcome) = part.split_once(' ').unwrap();
            let known = ["passed", "refuted", "warned", "failed", "skipped"];
            count.parse::<usize>().is_ok() && known.contains(&outcome)
        };
        assert!(counts == "nothing to check" || counts.split(", ").all(of), "{github}");
        assert!(annotations.lines().all(|line| line.starts_with("::")), "{github}");
    }
}

#[test]
fn github_gets_its_summary() {
    let folder = after_a_run("github-summary");
    let summary = folder.at("summary.md");
    fs::write(&summary, "before\n").unwrap();
    let mut command = folder.linefill(&["report", "--format", "github"]);
    Ran::of(command.env("GITHUB_STEP_SUMMARY", &summary)).ok();
    let text = fs::read_to_string(summary).unwrap();
    assert!(text.starts_with("before\n# linefill report\n"), "{text}");
    assert!(text.contains("| D14.1 |"), "{text}");
}

#[test]
fn a_record_ends_in_25_lines_that_fit() {
    let folder = after_a_run("summary");
    for columns in [40, 60, 80, 120] {
        let ran = in_columns(&folder, &columns.to_string(), &["report"]).ok();
        // In 40 columns, a row has two lines.
        let most = if columns < 60 { 50 } else { 25 };
        assert!(ran.out.lines().count() <= most, "{}", ran.out);
        for line in ran.out.lines() {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
        assert_has(
            &ran.out,
            &["L1d", "memory", "Drepper", "report.html", "linefill show", "report --all"],
        );
    }
}

/// Words, numbers and headings stay together: a cell has a line of its own.
#[test]
fn tables_are_legible_in_40_columns() {
    let folder = after_a_run("narrow");
    for command in COMMANDS {
        let text = in_columns(&folder, "40", command).out;
        // The machines of a comparison and a note on this system are no tables.
        let told = |line: &&str| line.ends_with(" UTC") || line.starts_with("warning: ");
        for line in text.lines().filter(|line| !told(line)) {
            assert!(line.chars().count() <= 40, "{command:?}: {line}");
        }
    }
    let all = in_columns(&folder, "40", &["report", "--all"]).ok().out;
    let parts = ["id: D14.1\nverdict: holds\nclaim: ", "\nnumbers: "];
    assert_has(&all, &parts);
    let machine = in_columns(&folder, "40", &["machine", "--record", "linefill-out"]);
    assert_has(&machine.ok().out, &["L1d\nmeasured: ", "\nCPUID: "]);
}

#[test]
fn a_run_that_was_stopped_during_the_ladder_has_measured_no_experiment() {
    let folder = after_a_run("ladder-only");
    let is_left = |line: &&str| line.contains("header") || line.contains(r#""machine""#);
    let lines: Vec<&str> = PLANTED.lines().filter(is_left).collect();
    let text = lines.join("\n") + "\n";
    fs::write(folder.at("linefill-out/record.jsonl"), text).unwrap();
    let ran = folder.run(&["report"]).ok();
    assert_has(&ran.out, &["No experiment has been measured yet."]);
}

#[test]
fn all_cuts_nothing() {
    let folder = after_a_run("all");
    let whole = in_columns(&folder, "240", &["report", "--all"]).ok().out;
    assert!(!whole.contains("..."), "{whole}");
    for id in ["D14", "D15", "D17"] {
        for claim in find(id).unwrap().claims {
            assert!(whole.contains(claim.id), "{}", claim.id);
        }
    }
}

#[test]
fn colours_are_for_who_wants_them() {
    let folder = after_a_run("colours");
    let run = |set: &dyn Fn(&mut Command)| {
        let mut command = folder.linefill(&["show", "D14"]);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        set(&mut command);
        Ran::of(&mut command).ok().out
    };
    let forced = run(&|command| {
        command.env("CLICOLOR_FORCE", "1");
    });
    assert!(forced.contains("\x1b["), "{forced}");
    let plain = run(&|_| {});
    assert!(!plain.contains('\x1b'), "{plain}");
    let refused = run(&|command| {
        command.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1");
    });
    assert_eq!(refused, plain);
}

/// The text without line breaks, so that wrapped sentences can be found.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn show_has_every_claim_in_full_and_fits() {
    let folder = after_a_run("show");
    for columns in [40, 60, 80, 120] {
        let ran = in_columns(&folder, &columns.to_string(), &["show", "D14"]).ok();
        for line in ran.out.lines() {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
        let text = unwrapped(&ran.out);
        let d14 = find("D14").unwrap();
        for part in [d14.title, d14.question, d14.about, d14.source, "4 KiB"] {
            assert!(text.contains(&unwrapped(part)), "{part}: {}", ran.out);
        }
        for claim in d14.claims {
            assert!(text.contains(claim.id), "{}: {}", claim.id, ran.out);
            assert!(text.contains(&unwrapped(claim.text)), "{}: {}", claim.id, ran.out);
        }
    }
    let by_claim = folder.run(&["show", "d14.1"]).ok().out;
    assert_eq!(by_claim, folder.run(&["show", "D14"]).ok().out);
}

#[test]
fn show_says_where_there_are_no_numbers() {
    let folder = Folder::new("show-nothing");
    let ran = folder.run(&["show", "E4"]).ok();
    let text = unwrapped(&ran.out);
    assert!(text.contains("`linefill run E4` measures them"), "{text}");
    assert!(text.contains(&unwrapped(find("E4").unwrap().claims[0].text)), "{text}");
    folder.run(&["show", "--all"]).refused(&["there is no linefill-out/record.jsonl"]);
    folder.run(&["show", "E4", "--record", "gone.jsonl"]).refused(&["gone.jsonl"]);
    let folder = after_a_run("show-another");
    let text = unwrapped(&folder.run(&["show", "E4"]).ok().out);
    assert!(text.contains("E4 is not in linefill-out/record.jsonl"), "{text}");
}

#[test]
fn list_says_what_a_row_claims_where_and_how_long_it_takes() {
    let folder = after_a_run("list-claims");
    for columns in ["60", "120"] {
        let text = in_columns(&folder, columns, &["list"]).ok().out;
        let limit: usize = columns.parse().unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= limit), "{text}");
        let text = unwrapped(&text);
        assert!(text.contains(&format!("{0} of {0} experiments", all().len())), "{text}");
        assert!(text.contains("<1 s"), "{text}");
    }
    let json = folder.run(&["list", "--record", "linefill-out", "--format", "json"]).ok().out;
    let json: Value = serde_json::from_str(&json).unwrap();
    let rows = json["experiments"].as_array().unwrap();
    assert_eq!(rows.len(), all().len());
    for row in rows {
        let measured = ["D14", "D15", "D17"].contains(&row["id"].as_str().unwrap());
        assert_eq!(row["seconds"].is_number(), measured, "{row}");
        let claims = find(row["id"].as_str().unwrap()).unwrap().claims;
        assert_eq!(row["claims"].as_array().unwrap().len(), claims.len());
        assert!(!row["section"].as_str().unwrap().is_empty(), "{row}");
    }
}

#[test]
fn a_gate_on_a_record_decides_the_status() {
    let folder = after_a_run("gate");
    let gate = |gate: &str| folder.run(&["report", "--fail-if", gate]);
    let failed = gate("D14 = holds");
    assert_eq!(failed.status, Some(1), "{failed:?}");
    assert!(failed.err.contains("gate `D14 = holds` failed"), "{failed:?}");
    assert!(failed.err.contains("D14.1"), "{failed:?}");
    gate("walk/D15/NPAD=0 > 1e6").ok();
    assert_eq!(gate("walk/D15/NPAD=0 < 1e6").status, Some(1));
    gate("E4 = holds").refused(&["--fail-if", "could never fail"]);
    gate("D14 = good").refused(&["--fail-if", "`good` is not a verdict; use holds"]);
    folder.run(&["run", "--fail-if", "D14"]).refused(&["--fail-if", "`D14`"]);
    // A run refuses a gate that cannot match before it measures, and keeps the earlier record.
    let record = || fs::read(folder.at("linefill-out/record.jsonl")).unwrap();
    let before = record();
    folder
        .run(&["run", "D14", "--fail-if", "E4 = holds"])
        .refused(&["--fail-if", "nothing in this run matches `E4 = holds`"]);
    assert_eq!(record(), before);
    let junit = ["report", "--fail-if", "D14 = holds", "--format", "junit"];
    let xml = folder.run(&junit).out;
    let xml = roxmltree::Document::parse(&xml).unwrap();
    let gates = xml.descendants().filter(|node| node.attribute("classname") == Some("gates"));
    assert!(gates.count() == 1, "{xml:?}");
}

#[test]
fn completions_and_manual_pages_have_every_command() {
    let folder = Folder::new("completions");
    let commands = ["run", "list", "show", "compare", "completions"];
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.run(&["completions", shell]).ok().out;
        assert!(commands.iter().all(|command| script.contains(command)), "{script}");
    }
    folder.run(&["completions", "tcsh"]).refused(&["tcsh", "bash, zsh, fish"]);
    let page = folder.run(&["man"]).ok().out;
    assert!(page.contains(".TH linefill 1"), "{page}");
    assert!(folder.run(&["man", "run"]).ok().out.contains("fail\\-if"));
    folder.run(&["man", "rum"]).refused(&["`rum`", "report"]);
    folder.run(&["man", "--out", "pages"]).ok();
    for command in commands {
        assert!(folder.at(&format!("pages/linefill-{command}.1")).exists(), "{command}");
    }
}

#[test]
fn doctor_fails_for_what_is_bad() {
    let folder = Folder::new("doctor-status");
    for strict in [false, true] {
        let args = ["doctor", "--format", "json", "--strict"];
        let ran = folder.run(&args[..if strict { 4 } else { 3 }]);
        let json = ran.json();
        let has = |state: &str| {
            let mut checks = json["checks"].as_array().unwrap().iter();
            checks.any(|check| check["state"] == state)
        };
        let fails = has("bad") || strict && has("warning");
        assert_eq!(ran.status, Some(i32::from(fails)), "{ran:?}");
        assert_eq!(json["failed"], fails);
    }
}

#[test]
fn arithmetic_measures_no_ladder() {
    let folder = Folder::new("arithmetic");
    let ran = folder.run(&["run", "D13"]).ok();
    assert!(ran.out.contains("D13.1") && !ran.out.contains("L1d"), "{ran:?}");
    let record = folder.record();
    assert!(record.points.iter().all(|line| line.experiment == "D13"));
    assert!(!record.points.is_empty());
    assert_eq!(record.interrupted, Some(false));
}

#[test]
fn a_type_that_is_not_named_is_asked_for() {
    let folder = Folder::new("layout-type");
    folder.run(&["layout", "app"]).refused(&["cannot read app", "No such file"]);
    if !untested::starts("cc") {
        return;
    }
    fs::write(folder.at("app.c"), "int main(void) { return 0; }").unwrap();
    let mut cc = Command::new("cc");
    let built = cc.args(["-g", "-o", "app", "app.c"]);
    assert!(built.current_dir(folder.at("")).status().unwrap().success());
    folder.run(&["layout", "app"]).refused(&["--type", "`linefill layout app --list`"]);
}

/// The targets of a page's links, without links within the page.
fn links(page: &str) -> Vec<&str> {
    let after = page.split("href=\"").skip(1);
    let links = after.filter_map(|rest| rest.split('"').next());
    let files = links.map(|link| link.split('#').next().unwrap_or_default());
    files.filter(|file| !file.is_empty()).collect()
}

#[test]
fn a_gallery_has_a_page_a_machine_and_one_for_any_two() {
    let folder = Folder::new("gallery");
    let names = ["a", "b", "c"];
    let records = names.map(|name| format!("{name}.jsonl"));
    for record in &records {
        fs::write(folder.at(record), PLANTED).unwrap();
    }
    let [a, b, c] = records.each_ref().map(String::as_str);
    let ran = folder.run(&["gallery", a, b, c, "--out", "site"]).ok();
    assert!(ran.out.contains("gallery: site/index.html"), "{}", ran.out);
    let index = fs::read_to_string(folder.at("site/index.html")).unwrap();
    assert!(!index.contains("://"), "{index}");
    let mut linked = links(&index);
    linked.sort_unstable();
    linked.dedup();
    let mut written: Vec<String> = fs::read_dir(folder.at("site"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "index.html")
        .collect();
    written.sort();
    assert_eq!(written, linked);
    assert_eq!(linked.len(), 3 + 3, "{linked:?}");

    let markdown = folder.run(&["gallery", a, b, "--label", "old", "--format", "md"]).ok().out;
    assert!(markdown.contains("| section | old | b |"), "{markdown}");
    assert!(markdown.contains("| Drepper |"), "{markdown}");
    folder
        .run(&["gallery", a, b, "--label", "x y", "--label", "x-y"])
        .refused(&["one page, x-y.html", "--label"]);
}
