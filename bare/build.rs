//! Links the image as a static ELF file with our own entry and layout, and notes the compiler.

use std::process::Command;

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    println!("cargo::rerun-if-changed=link.ld");
    println!("cargo::rerun-if-changed=boot.S");
    for arg in [
        // The image runs where it is linked, identity mapped at 1 MiB: no address is left to be
        // relocated, as the target's static-pie programs have them.
        "--no-pie",
        "-znorelro",
        "-zmax-page-size=0x1000",
        "--gc-sections",
        "--build-id=none",
    ] {
        println!("cargo::rustc-link-arg-bins={arg}");
    }
    println!("cargo::rustc-link-arg-bins=-T{root}/link.ld");

    let rustc = std::env::var("RUSTC").expect("set by cargo");
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_default();
    println!("cargo::rustc-env=LINEFILL_RUSTC={}", version.trim());
}
