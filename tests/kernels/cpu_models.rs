//! The program and the oracles on the CPUs that QEMU emulates: old ones without `rdtscp`, AVX or SSE4.1, and
//! new ones. No signal may end a run, and each verdict that a CPU cannot give must have a reason.
//!
//! QEMU interprets the program (`qemu-x86_64`, user mode). The tests therefore check correctness, and say
//! nothing about speed.
#![cfg(feature = "std")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::common::child;
use crate::common::folder::{self, Folder, Ran};
use crate::common::untested::{self, starts};
use linefill::cpu::Features;
use linefill::kernel::verify::ROOM;
use linefill::kernel::verify_all;
use linefill::mem::Region;
use linefill::os::affinity;

const QEMU: &str = "qemu-x86_64";

/// One model of every kind: AMD's without `rdtscp`, an Intel Atom with SSE4.2 alone, an Intel core with AVX2, and
/// a CPU with everything that QEMU supports.
const KINDS: [&str; 4] = ["qemu64", "Denverton", "Skylake-Server", "max"];

/// A command under one CPU model. The limit is generous for a busy machine, but ends a run that hangs.
fn under(model: &str, command: &Command) -> Command {
    let mut emulated = Command::new("timeout");
    emulated
        .args(["1200", QEMU, "-cpu", model])
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        emulated.current_dir(folder);
    }
    emulated.env_remove("LINEFILL_MASK");
    emulated.env_remove("LINEFILL_ROOT");
    emulated
}

/// Whether the sheet of a machine is measured, or taken from the record of the run.
#[derive(Clone, Copy, Debug)]
enum Machine {
    Measured,
    OfTheRecord,
}

/// Runs everything on one model, with the program pinned to one of this machine's CPUs. Returns a line of a
/// table, or an error about a command that ended wrongly.
fn on(program: &Path, model: &str, cpu: usize, machine: Machine) -> Result<String, String> {
    let folder = Folder::new(&format!("model-{model}"));
    let cpu = cpu.to_string();
    let began = Instant::now();
    let ends_well = |command: &Command| {
        let ran = Ran::of(&mut under(model, command));
        match ran.status {
            Some(0) => Ok(ran.out),
            // `doctor` found a problem on this host.
            Some(1) if command.get_args().any(|word| word == "doctor") => Ok(ran.out),
            status => {
                Err(format!("{model}: {command:?}: status {status:?}\n{}\n{}", ran.out, ran.err))
            }
        }
    };
    let command = |words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).current_dir(folder.at(""));
        command
    };
    let emulated = |words: &[&str]| ends_well(&command(words));

    emulated(&["doctor"])?;
    // Two passes may leave claims undecided; that is allowed.
    emulated(&["run", "--memory", "1MiB", "--budget", "1s", "--cpu", &cpu, "D14", "E4", "D34"])?;
    match machine {
        Machine::Measured => emulated(&["machine", "--memory", "1MiB", "--cpu", &cpu])?,
        Machine::OfTheRecord => emulated(&["machine", "--record", "linefill-out"])?,
    };
    let oracles = child::exact(module_path!(), "the_oracles");
    let oracles = ends_well(&oracles)?;
    let agreed = oracles
        .lines()
        .find_map(|line| line.strip_suffix(AGREE))
        .ok_or_else(|| format!("{model}: the oracles did not run:\n{oracles}"))?;

    // The program reads the record on this machine's own CPU.
    let report = Ran::of(&mut command(&["report", "linefill-out"]));
    let record = fs::read_to_string(folder.at("linefill-out/record.jsonl"));
    let record = match (report.status, record) {
        (Some(0), Ok(record)) => record,
        (_, record) => return Err(format!("{model}: {record:?}: {report:#?}")),
    };
    // D34 modifies code, which an emulator may not notice.
    for id in ["D14", "E4", "D34"] {
        let verdict = format!(r#"{{"kind":"verdict","experiment":"{id}""#);
        if !record.lines().any(|line| line.starts_with(&verdict)) {
            return Err(format!("{model}: no verdict on {id}"));
        }
    }
    let header = record.lines().next().unwrap_or_default();
    let has = |feature: &'static str| match header.contains(&format!("\"{feature}\"")) {
        true => feature,
        false => "-",
    };
    Ok(format!(
        "{model:<20} {:<8} {:<6} {:<6} {agreed:>3} oracles {:>3} s",
        has("rdtscp"),
        has("sse4.1"),
        has("avx2"),
        began.elapsed().as_secs()
    ))
}

/// Runs everything on all of `models`, in parallel on all CPUs.
#[track_caller]
fn on_all(models: &[(String, Machine)]) {
    let Some(program) = folder::program() else {
        return untested::tool("the program: the feature `lab`, or LINEFILL_PROGRAM");
    };
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for cpu in affinity::allowed() {
            let (program, next, failed) = (&program, &next, &failed);
            scope.spawn(move || {
                while let Some((model, machine)) = models.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    match on(program, model, cpu, *machine) {
                        Ok(line) => println!("{line}"),
                        Err(what) => failed.lock().unwrap().push(what),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes in a debug build")]
fn a_cpu_of_each_kind_runs_the_program_and_the_oracles() {
    if !starts(QEMU) {
        return;
    }
    // Measuring a machine takes longer than everything else. Only the first model does it, which lacks most: the
    // instructions that the last one has are those of this machine.
    let models = KINDS.map(|model| match model {
        "qemu64" => (model.to_owned(), Machine::Measured),
        _ => (model.to_owned(), Machine::OfTheRecord),
    });
    on_all(&models);
}

#[test]
#[ignore = "takes minutes, and one of each kind is run anyway"]
fn every_64_bit_cpu_runs_the_program_and_the_oracles() {
    if !starts(QEMU) {
        return;
    }
    let models: Vec<_> =
        every_64_bit_model().into_iter().map(|model| (model, Machine::Measured)).collect();
    assert!(models.len() >= 30, "{models:?}");
    on_all(&models);
}

/// The models that `-cpu help` lists, each in its unversioned form, without 32-bit models.
fn every_64_bit_model() -> Vec<String> {
    // The exit status of this command depends on the version of QEMU.
    let list = Ran::of(Command::new(QEMU).args(["-cpu", "help"])).out;
    let plain = list.lines().filter_map(|line| {
        let (name, what) = line.strip_prefix("x86 ")?.split_once(' ')?;
        (name == "max" || what.contains("alias configured by machine type")).then_some(name)
    });
    plain
        .filter(|name| {
            let ran = Ran::of(&mut under(name, &Command::new("/bin/true")));
            !ran.err.contains("does not support 64 bit mode")
        })
        .map(str::to_owned)
        .collect()
}

/// The end of the line with the number of kernels that agreed with their references.
const AGREE: &str = " kernels agree with their references";

/// The tests above run this test on each model.
#[test]
#[ignore = "the tests of the models start it; `reference` checks the kernels on this CPU"]
fn the_oracles() {
    let mut bytes = vec![0; ROOM + 64];
    let mut region = Region::new(&mut bytes).unwrap();
    let mut agreed = 0;
    verify_all(&mut region, &Features::detect(), &mut |name, result| {
        if let Err(mismatch) = result {
            panic!("{name}: {mismatch}");
        }
        agreed += 1;
    });
    // Most kernels need only SSE2.
    assert!(agreed > 100, "{agreed}");
    println!("\n{agreed}{AGREE}");
}
