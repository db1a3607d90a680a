//! A machine check is reported like other exceptions. On real hardware, with machine checks off, it would be a
//! reset without a word.
#![cfg(feature = "lab")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use super::bare::{EXCEPTION, QEMU, have_qemu, image};

/// Told to QEMU's monitor, raises an uncorrected error in the first bank.
const ERROR: &[u8] = b"mce 0 0 0xb200000000000000 0x4 0 0\n";

#[test]
fn a_machine_check_is_reported() {
    if !have_qemu() {
        return;
    }
    let mut qemu = Command::new("timeout");
    qemu.args(["300", QEMU, "-accel", "tcg", "-cpu", "max"])
        .args(["-M", "microvm,isa-serial=on", "-m", "128"])
        .args(["-nodefaults", "-no-user-config", "-display", "none"])
        // Apart from the serial port: the monitor's echo would come between two of the image's characters.
        .args(["-monitor", "stdio", "-serial", "file:/dev/stderr"])
        .arg("-no-reboot")
        .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"])
        .arg("-kernel")
        .arg(image());
    let mut running = qemu
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("qemu starts");
    let mut monitor = running.stdin.take().unwrap();
    let mut printed = BufReader::new(running.stderr.take().unwrap());
    let mut serial = String::new();
    // The image is at its checks.
    while !serial.contains("# check ") {
        let bytes = printed.read_line(&mut serial).unwrap();
        assert!(bytes > 0, "the image ended: {serial}");
    }
    monitor.write_all(ERROR).unwrap();
    monitor.flush().unwrap();
    printed.read_to_string(&mut serial).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(EXCEPTION), "{serial}");
    let line = "# exception: vector 18 (#MC machine check)";
    assert!(serial.contains(line), "{serial}");
}
