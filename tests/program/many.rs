//! `linefill compare` on a thousand records: hosts derived from the planted record, with known shifts and
//! settings.
#![cfg(feature = "lab")]

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::common::cli::{Folder, PLANTED};

/// The number of hosts in the fleet.
const HOSTS: u32 = 1000;

/// Hosts with old microcode: D15 takes 30 % longer.
const OLD: [u32; 3] = [17, 400, 801];

/// Hosts with a power-saving governor: everything takes 50 % longer.
const SAVING: [u32; 2] = [3, 999];

/// A host with another kernel, which makes no difference.
const OTHER_KERNEL: u32 = 500;

/// Numbers of xorshift64*, scaled to the range from -1 to 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        bits as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// The header of a host.
fn header(host: u32, mut header: Value) -> Value {
    let choose = |odd: bool, one: &str, usual: &str| if odd { one } else { usual }.to_owned();
    let settings = [
        ("BIOS version", "2.19".to_owned()),
        ("microcode", choose(OLD.contains(&host), "0xb1", "0xb2")),
        ("governor", choose(SAVING.contains(&host), "powersave", "performance")),
    ];
    let setting = |(name, value): (&str, String)| serde_json::json!({"name": name, "value": value});
    header["settings"] = settings.into_iter().map(setting).collect();
    header["os"] = choose(host == OTHER_KERNEL, "Linux 6.8", "Linux 6.1").into();
    header
}

/// Writes the records, each with noise of up to 2 %.
fn plant(folder: &Folder) {
    let lines: Vec<Value> =
        PLANTED.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let wanted = |line: &&Value| {
        let of = line["experiment"].as_str().unwrap_or_default();
        line["kind"] == "point" && ["D14", "D15"].contains(&of)
    };
    let points: Vec<&Value> = lines.iter().filter(wanted).collect();
    for host in 0..HOSTS {
        let mut noise = Noise(u64::from(host) + 1);
        let mut text = header(host, lines[0].clone()).to_string();
        for &point in &points {
            let mut point = point.clone();
            let slow = OLD.contains(&host) && point["experiment"] == "D15";
            let saving = SAVING.contains(&host);
            let planted = if slow { 1.3 } else { 1.0 } * if saving { 1.5 } else { 1.0 };
            let factor = planted * (1.0 + 0.01 * (noise.next() + noise.next()));
            for field in ["median", "min", "lo", "hi"] {
                let of = &mut point["timed"][field];
                if let Some(ticks) = of.as_f64() {
                    *of = (ticks * factor).into();
                }
            }
            write!(text, "\n{point}").unwrap();
        }
        text.push('\n');
        fs::write(folder.at(&format!("host-{host:04}.jsonl")), text).unwrap();
    }
}

#[test]
fn of_a_thousand_hosts_the_planted_ones_are_outside_and_no_others() {
    let folder = Folder::new("many");
    plant(&folder);
    let names: Vec<String> = (0..HOSTS).map(|host| format!("host-{host:04}.jsonl")).collect();
    let run = |more: &[&str]| {
        let mut args = vec!["compare"];
        args.extend(names.iter().map(String::as_str));
        args.extend(more);
        folder.run(&args)
    };
    let json = run(&["--format", "json"]).ok().json();
    assert_eq!(json["records"].as_array().unwrap().len(), HOSTS as usize);
    let list = |value: &Value| value.as_array().unwrap().clone();

    let outliers = list(&json["outliers"]);
    let mut found: Vec<&str> = outliers.iter().map(|of| of["record"].as_str().unwrap()).collect();
    found.sort_unstable();
    let mut wanted: Vec<String> =
        OLD.iter().chain(&SAVING).map(|host| format!("host-{host:04}")).collect();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    for of in &outliers {
        let host: u32 = of["record"].as_str().unwrap()[5..].parse().unwrap();
        let (name, value, usual) = match OLD.contains(&host) {
            true => ("microcode", "0xb1", "0xb2"),
            false => ("governor", "powersave", "performance"),
        };
        let [setting] = &list(&of["otherwise"])[..] else {
            panic!("one setting: {of}");
        };
        assert_eq!(setting["setting"], name);
        assert_eq!(setting["value"], value);
        assert_eq!(setting["usual"], usual);
        let experiments: Vec<Value> =
            list(&of["series"]).iter().map(|series| series["experiment"].clone()).collect();
        let d14 = experiments.iter().any(|id| id == "D14");
        assert_eq!(d14, SAVING.contains(&host), "{of}");
    }

    // For every figure: the order of its percentiles, and the shares of the hosts.
    for of in list(&json["figures"]) {
        let at = |name: &str| of[name].as_f64().unwrap();
        let places = ["min", "p10", "median", "p90", "max"].map(at);
        assert!(places.is_sorted(), "{of}");
        assert_eq!(of["n"], HOSTS);
        let outside = match of["experiment"] == "D15" {
            true => OLD.len() + SAVING.len(),
            false => SAVING.len(),
        };
        assert_eq!(of["outside"], outside, "{of}");
    }

    let gate = ["--fail-if", "D15 > 1.2", "--format", "csv"];
    let failed = run(&gate);
    assert_eq!(failed.status, Some(1), "{}", failed.err);
    assert!(failed.err.contains(": D15 NPAD="), "{}", failed.err);
    let mut reader = csv::Reader::from_reader(failed.out.split("\n\n").next().unwrap().as_bytes());
    assert_eq!(reader.records().map(Result::unwrap).count(), list(&json["figures"]).len());
}

#[test]
fn up_to_eight_records_stand_side_by_side() {
    let folder = Folder::new("eight");
    fs::write(folder.at("a.jsonl"), PLANTED).unwrap();
    let with = |count: usize, more: &[&str]| {
        let mut args = vec!["compare"];
        args.extend(vec!["a.jsonl"; count]);
        args.extend(more);
        folder.run(&args).ok().out
    };
    assert!(with(8, &["--format", "md"]).contains("a #8 over a"));
    let fleet = with(9, &[]);
    assert!(fleet.contains("9 records") && !fleet.contains("over a\n"), "{fleet}");
    assert!(!folder.at("compare.html").exists());
    let mut args = vec!["gallery"];
    args.extend(vec!["a.jsonl"; 9]);
    args.extend(["--out", "site"]);
    folder.run(&args).ok();
    // A page per record, and the first page.
    assert_eq!(fs::read_dir(folder.at("site")).unwrap().count(), 10);
    with(9, &["--out", "all.html"]);
    assert!(folder.at("all.html").exists());
    let mut args = vec!["compare"];
    args.extend(vec!["a.jsonl"; 9]);
    args.extend(["--fail-if", "E18 > 1.05"]);
    folder
        .run(&args)
        .refused(&["--fail-if", "no point that the records share matches `E18 > 1.05`"]);
}
