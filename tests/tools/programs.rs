//! Programs that tests build with cargo and optimisation, in one target directory, so that shared
//! dependencies are built once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The target directory.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs")
}

/// Builds a package of this repository for `target`, and copies its `program` to `name`, because a build with
/// other features would overwrite it.
pub fn build(package: &str, target: &str, features: &str, program: &str, name: &str) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(package);
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--target", target])
        .args(["--features", features, "--manifest-path"])
        .arg(manifest.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(folder())
        .status()
        .expect("cargo starts");
    assert!(status.success(), "{package} does not build: {status}");
    let kept = folder().join(name);
    let built = folder().join(target).join("release").join(program);
    fs::copy(&built, &kept).unwrap_or_else(|error| panic!("{}: {error}", built.display()));
    kept
}
