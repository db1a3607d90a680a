//! `run --allow-msr` and `run --prefetchers off`, with files in place of the registers of all CPUs.
#![cfg(feature = "lab")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::common::cli::{Folder, Ran, UnderWay, words};
use crate::common::untested;
use linefill::cpu::{Identity, PrefetchSwitches};
use linefill::experiment::{State, Untestable};
use linefill::lab::record::PrefetchersLine;
use linefill::os::allowed;

/// The initial value of every register. Bit 9 is not among the known switches of 1A4h and C000_0108h, but is
/// the streamer's switch in 1A0h.
const BEFORE: u64 = 0x300;

const NO_SWITCHES: &str = "no register is known that switches its prefetchers off";

/// The register with the prefetcher switches of the CPU that runs this test.
fn switches() -> Option<PrefetchSwitches> {
    Identity::detect().core()?.prefetchers.value()
}

/// Makes `root/dev/cpu/N/msr` for every CPU, and returns their paths.
fn devices(folder: &Folder) -> Vec<PathBuf> {
    let device = |cpu: usize| {
        let dir = folder.at(&format!("root/dev/cpu/{cpu}"));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("msr");
        let file = File::create(&path).unwrap();
        for register in [0x1A0, 0x1A4, 0xC000_0108] {
            file.write_all_at(&BEFORE.to_le_bytes(), register).unwrap();
        }
        path
    };
    allowed().into_iter().map(device).collect()
}

/// Whether every register has its initial value.
fn untouched(devices: &[PathBuf], register: u32) -> bool {
    devices.iter().all(|path| {
        let mut value = [0; 8];
        let file = File::open(path).unwrap();
        file.read_exact_at(&mut value, register.into()).unwrap();
        u64::from_le_bytes(value) == BEFORE
    })
}

/// The reasons why walks were not measured with the prefetchers off. Empty if they were measured.
fn reasons(folder: &Folder) -> Vec<String> {
    let record = folder.record();
    let off = record.of_experiment("E35").into_iter().filter(|line| line.point.x == 1.0);
    let reasons = off.filter_map(|line| match &line.point.state {
        State::Untestable(Untestable(reason)) => Some(reason.clone()),
        _ => None,
    });
    reasons.collect()
}

/// Both walks of E35 have a reason with these words.
#[track_caller]
fn are_two(reasons: &[String], words: &str) {
    let said = reasons.iter().filter(|reason| reason.contains(words));
    assert_eq!((reasons.len(), said.count()), (2, 2), "{reasons:?}");
}

#[test]
fn without_the_option_no_register_is_written() {
    let folder = Folder::new("msr-kept");
    let devices = devices(&folder);
    let mut command = folder.short(&["E35"]);
    Ran::of(command.env("LINEFILL_ROOT", folder.at("root"))).ok();
    let reasons = reasons(&folder);
    are_two(&reasons, "--allow-msr");
    let setting = folder.record().header.prefetchers;
    match switches() {
        Some(switches) => {
            assert!(matches!(setting, Some(PrefetchersLine::Set(_))), "{setting:?}");
            assert!(untouched(&devices, switches.register));
        }
        None => assert!(matches!(setting, Some(PrefetchersLine::Unknown(_)))),
    }
}

#[test]
fn with_it_they_are_off_for_a_while_and_then_as_before() {
    let folder = Folder::new("msr-allowed");
    let devices = devices(&folder);
    let mut command = folder.short(&["E35", "--allow-msr"]);
    Ran::of(command.env("LINEFILL_ROOT", folder.at("root"))).ok();
    let reasons = reasons(&folder);
    let Some(switches) = switches() else {
        are_two(&reasons, "no register is known");
        return untested::machine(NO_SWITCHES);
    };
    assert!(reasons.is_empty(), "{reasons:?}");
    assert!(untouched(&devices, switches.register));
}

#[test]
fn a_run_that_is_killed_leaves_them_as_they_were() {
    let Some(switches) = switches() else {
        return untested::machine(NO_SWITCHES);
    };
    let folder = Folder::new("msr-killed");
    let devices = devices(&folder);
    let args = words("run E35 --memory 1MiB --allow-msr --profile full");
    let mut command = folder.linefill(&args);
    command.env("LINEFILL_ROOT", folder.at("root"));
    let run = UnderWay::start(&folder, command);
    let comes_to = |wanted: bool| {
        let began = Instant::now();
        while untouched(&devices, switches.register) != wanted {
            if began.elapsed() > Duration::from_secs(60) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    };
    assert!(comes_to(false), "never switched off");
    run.kill();
    assert!(comes_to(true), "still off");
}

#[test]
fn a_machine_without_the_device_says_so() {
    let folder = Folder::new("msr-missing");
    let mut command = folder.short(&["E35", "--allow-msr"]);
    Ran::of(command.env("LINEFILL_ROOT", folder.at("nowhere"))).ok();
    let wanted = match switches() {
        Some(_) => "msr does not exist",
        None => "no register is known",
    };
    are_two(&reasons(&folder), wanted);
    let doctor = folder.linefill(&["doctor"]).env("LINEFILL_ROOT", folder.at("nowhere")).output();
    let doctor = String::from_utf8(doctor.unwrap().stdout).unwrap();
    assert!(doctor.contains(wanted), "{doctor}");
}

/// A run of D14 with the prefetchers off, with files in place of the registers.
fn run_off(folder: &Folder, more: &[&str]) -> Ran {
    let mut command = folder.short(&[&["D14", "--prefetchers", "off"], more].concat());
    Ran::of(command.env("LINEFILL_ROOT", folder.at("root")))
}

#[test]
fn a_whole_run_without_prefetchers_says_so_and_leaves_them_as_they_were() {
    let folder = Folder::new("msr-off");
    let devices = devices(&folder);
    let Some(switches) = switches() else {
        run_off(&folder, &[]).refused(&["--prefetchers off", "no register is known"]);
        return;
    };
    let ran = run_off(&folder, &[]).ok();
    assert!(ran.err.contains("prefetchers off"), "{ran:?}");
    assert!(untouched(&devices, switches.register));
    let header = folder.record().header;
    assert_eq!(header.prefetchers_off, Some(devices.len()));
    let setting = header.prefetchers;
    assert!(
        matches!(&setting, Some(PrefetchersLine::Set(text)) if text.contains("off: ")),
        "{setting:?}"
    );
    let report = fs::read_to_string(folder.at("linefill-out/report.html")).unwrap();
    assert!(report.contains("The hardware prefetchers were switched off for this run"));

    // A resumed run must switch them off again, and must not run without that.
    let path = folder.at("linefill-out/record.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let lines = text.lines().count();
    let cut: Vec<&str> = text.lines().take(lines / 2).collect();
    fs::write(&path, cut.join("\n") + "\n").unwrap();
    let resume = |root: &str| {
        let mut command = folder.linefill(&["run", "--resume"]);
        Ran::of(command.env("LINEFILL_ROOT", folder.at(root)))
    };
    resume("nowhere").refused(&["--prefetchers off", "msr does not exist"]);
    let resumed = resume("root").ok();
    assert!(resumed.err.contains("prefetchers off"), "{resumed:?}");
    assert!(untouched(&devices, switches.register));
    assert_eq!(folder.record().header.prefetchers_off, Some(devices.len()));
    folder.run(&["run", "--resume", "--allow-msr"]).refused(&["cannot resume", "--allow-msr"]);

    // Compares it with a run with the prefetchers on.
    fs::copy(&path, folder.at("off.jsonl")).unwrap();
    folder.run_short(&["D14"]).ok();
    fs::copy(&path, folder.at("on.jsonl")).unwrap();
    let compared = folder.run(&["compare", "on.jsonl", "off.jsonl"]).ok();
    let sentence = "prefetchers were switched off in off and not in on";
    let words: Vec<&str> = compared.out.split_whitespace().collect();
    assert!(words.join(" ").contains(sentence), "{compared:?}");
    let page = fs::read_to_string(folder.at("compare.html")).unwrap();
    assert!(page.contains(sentence));
    folder.run(&["run", "--resume", "--prefetchers", "off"]).refused(&[
        "cannot resume",
        "--prefetchers",
        "`none`",
    ]);
}

#[test]
fn what_cannot_be_switched_off_refuses_the_run() {
    let folder = Folder::new("msr-off-refused");
    let wanted = match switches() {
        Some(_) => "msr does not exist",
        None => "no register is known",
    };
    run_off(&folder, &[]).refused(&["--prefetchers off", wanted]);
    assert!(!folder.at("linefill-out").exists(), "nothing was begun");
    run_off(&folder, &["--allow-msr"]).refused(&["--allow-msr", "--prefetchers"]);
    folder.run(&["run", "D14", "--prefetchers", "on"]).refused(&["--prefetchers", "on", "off"]);
}

/// A run without prefetchers that has measured two points, in a folder of this name with devices.
fn without_prefetchers(name: &str) -> (Folder, Vec<PathBuf>, UnderWay) {
    let folder = Folder::new(name);
    let devices = devices(&folder);
    let args = ["run", "D14", "--memory", "1MiB", "--prefetchers", "off"];
    let mut command = folder.linefill(&args);
    command.env("LINEFILL_ROOT", folder.at("root"));
    let mut run = UnderWay::start(&folder, command);
    run.until(2);
    (folder, devices, run)
}

#[test]
fn a_run_without_prefetchers_that_is_killed_leaves_them_as_they_were() {
    let Some(switches) = switches() else {
        return untested::machine(NO_SWITCHES);
    };
    let (_folder, devices, run) = without_prefetchers("msr-off-killed");
    assert!(!untouched(&devices, switches.register), "they are on");
    run.kill();
    let began = Instant::now();
    while !untouched(&devices, switches.register) {
        assert!(began.elapsed() < Duration::from_secs(60), "still off");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_register_that_cannot_be_put_back_is_named_and_no_other() {
    let Some(switches) = switches() else {
        return untested::machine(NO_SWITCHES);
    };
    let (_folder, devices, run) = without_prefetchers("msr-gone");
    fs::remove_file(&devices[0]).unwrap();
    let ran = run.signal("INT");
    let said = |device: &PathBuf| {
        let register = switches.register;
        ran.err.contains(&format!("to register {register:#x} of {}", device.display()))
    };
    let told = ran.err.contains("not all was put back: write 0x") && said(&devices[0]);
    assert!(told && !devices[1..].iter().any(said), "{}", ran.err);
}
