//! Links the image for a loader as a static ELF file with its own entry point and layout, and passes the
//! version of rustc to the program.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=link.ld");
    // An image for firmware needs no linker script.
    if variable("CARGO_CFG_TARGET_OS") == "none" {
        lay_out();
    }
    let version = Command::new(variable("RUSTC"))
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_default();
    println!("cargo::rustc-env=LINEFILL_RUSTC={}", version.trim());
}

fn lay_out() {
    let root = variable("CARGO_MANIFEST_DIR");
    for arg in [
        // The image runs where it is linked, identity mapped at 1 MiB. It must therefore not be a static-pie
        // program, the target's default, whose addresses have to be relocated.
        "--no-pie",
        "-znorelro",
        "-zmax-page-size=0x1000",
        "--gc-sections",
        "--build-id=none",
    ] {
        println!("cargo::rustc-link-arg-bins={arg}");
    }
    println!("cargo::rustc-link-arg-bins=-T{root}/link.ld");
}

fn variable(name: &str) -> String {
    std::env::var(name).expect("set by cargo")
}
