//! Runs UEFI programs on firmware in QEMU: a program that embeds the library, and the stick that `bare/stick`
//! makes.
//!
//! The first program consists of COFF objects from rustc and from the C compiler. QEMU interprets both
//! programs, so the tests say nothing about speed. Without the Rust target, clang, QEMU or the firmware the
//! tests are skipped; if `CI` is set, they fail instead.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::target;
use crate::common::untested::{self, starts};
use crate::programs;
use iced_x86::{Decoder, DecoderOptions};
use linefill::kernel::symbols;

pub const TARGET: &str = "x86_64-unknown-uefi";
const QEMU: &str = "qemu-system-x86_64";
/// The paths of the firmware on Debian, Fedora and Arch.
const FIRMWARE: [&str; 5] = [
    "/usr/share/OVMF/OVMF_CODE.fd",
    "/usr/share/OVMF/OVMF_CODE_4M.fd",
    "/usr/share/ovmf/OVMF.fd",
    "/usr/share/edk2/ovmf/OVMF_CODE.fd",
    "/usr/share/edk2/x64/OVMF_CODE.4m.fd",
];
/// Seconds until a machine is stopped.
const PATIENCE: &str = "600";
/// QEMU's exit status for the program's success.
const PASSED: i32 = 33;

/// QEMU with the firmware and a disk, given as QEMU's `-drive`; `None` if a tool is missing.
#[track_caller]
fn machine(disk: &str) -> Option<Command> {
    let Some(firmware) = FIRMWARE.iter().find(|path| Path::new(path).exists()) else {
        untested::tool("OVMF");
        return None;
    };
    if !starts(QEMU) {
        return None;
    }
    let mut qemu = Command::new("timeout");
    qemu.arg(PATIENCE)
        .arg(QEMU)
        .args(["-accel", "tcg", "-cpu", "max", "-M", "q35", "-m", "256"])
        .args(["-nodefaults", "-no-user-config", "-display", "none"])
        .args(["-serial", "stdio", "-no-reboot"])
        .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"])
        .arg("-drive")
        .arg(format!("if=pflash,format=raw,readonly=on,file={firmware}"))
        .args(["-drive", disk]);
    Some(qemu)
}

/// Boots a disk until the machine is off; `None` if a tool is missing.
#[track_caller]
pub fn boot(disk: &str) -> Option<Output> {
    let output = machine(disk)?.output().expect("qemu starts");
    println!("{}", String::from_utf8_lossy(&output.stdout));
    println!("{}", String::from_utf8_lossy(&output.stderr));
    Some(output)
}

/// Boots a disk, and presses a key again and again as soon as `asked` is on the screen, until the machine is off
/// or restarts. The screen and QEMU's status; `None` if a tool is missing.
#[track_caller]
pub fn boot_and_press(disk: &str, asked: &str) -> Option<(String, Option<i32>)> {
    let mut qemu = machine(disk)?;
    qemu.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = qemu.spawn().expect("qemu starts");
    let mut keys = running.stdin.take().unwrap();
    let mut printed = BufReader::new(running.stdout.take().unwrap());
    let mut screen = Vec::new();
    let mut line = 1;
    while line > 0 && !String::from_utf8_lossy(&screen).contains(asked) {
        line = printed.read_until(b'\n', &mut screen).unwrap();
    }
    // The program discards what was pressed before it waits.
    let pressed = thread::spawn(move || {
        while keys.write_all(b" ").and_then(|()| keys.flush()).is_ok() {
            thread::sleep(Duration::from_millis(200));
        }
    });
    printed.read_to_end(&mut screen).unwrap();
    let status = running.wait().unwrap().code();
    pressed.join().unwrap();
    let screen = String::from_utf8_lossy(&screen).into_owned();
    println!("{screen}");
    Some((screen, status))
}

#[test]
#[ignore = "builds a second program for UEFI: .ci/nightly runs it"]
fn a_uefi_program_links_and_its_kernels_agree_with_their_references() {
    if !target::installed(TARGET) || !starts("clang") {
        return;
    }
    let (package, file) = ("tests/fixtures/uefi", "linefill-uefi.efi");
    let program = programs::build(package, TARGET, "", file, file);
    let image = std::fs::read(&program).expect("the program");
    assert!(image.starts_with(b"MZ"), "not a PE file");

    // The firmware starts `\EFI\BOOT\BOOTX64.EFI` from the first disk, a folder that QEMU presents as FAT.
    let disk = Path::new(env!("CARGO_TARGET_TMPDIR")).join("uefi-disk");
    let folder = disk.join("EFI/BOOT");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(&program, folder.join("BOOTX64.EFI")).unwrap();
    let Some(output) = boot(&format!("format=raw,file=fat:rw:{}", disk.display())) else {
        return;
    };
    let console = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(PASSED));
    let said = |line: &str| console.lines().any(|said| said.contains(line));
    assert!(said("linefill: 1048576 steps took "), "no ticks");

    // All kernels, except those with registers that firmware need not enable.
    let all = symbols::all().count();
    let least = symbols::all().filter(|kernel| !wide(kernel)).count();
    let counted =
        |agreed: usize| said(&format!("linefill: {agreed} of {all} kernels agree, 0 do not"));
    assert!((least..=all).any(counted), "fewer than {least}");
}

/// Whether a kernel uses registers of 32 or 64 bytes.
fn wide(kernel: &symbols::Code) -> bool {
    let instructions = Decoder::new(64, kernel.bytes, DecoderOptions::NONE);
    instructions.into_iter().any(|instruction| {
        let registers = (0..instruction.op_count()).map(|at| instruction.op_register(at));
        registers.into_iter().any(|register| register.is_ymm() || register.is_zmm())
    })
}
