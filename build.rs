//! Assembles `asm/*.S`: the kernels whose bytes are the experiment.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=asm");
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    assert!(
        arch == "x86_64",
        "linefill measures x86-64 and cannot be built for `{arch}`"
    );
    let mut sources: Vec<_> = std::fs::read_dir("asm")
        .expect("asm/ is part of the package")
        .map(|entry| entry.expect("asm/ is readable").path())
        .filter(|path| path.extension() == Some("S".as_ref()))
        .collect();
    sources.sort();
    cc::Build::new()
        .include(Path::new("asm"))
        .files(sources)
        .compile("linefill_asm");
}
