//! The package in a registry: the dependencies of each feature, and names that must agree.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::folder::Folder;

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of the crates that a feature depends on; an empty name means no feature.
fn crates_beneath(feature: &str) -> Vec<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args(["tree", "--locked", "--offline", "--edges", "normal", "--prefix", "none"]);
    cargo.args(["--target", "x86_64-unknown-linux-gnu", "--features", feature]);
    let output = cargo.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let listed = String::from_utf8(output.stdout).unwrap();
    let names = listed.lines().filter_map(|line| line.split(' ').next());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.retain(|name| name != "linefill");
    names.sort();
    names.dedup();
    names
}

/// Rows of README's table of features: the feature, and its stated number of dependencies.
fn stated() -> Vec<(String, usize)> {
    let readme = text("README.md");
    let (_, section) = readme.split_once("\n## Features\n").unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|'));
    rows.skip(2)
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let count = cells[3].parse().unwrap_or_else(|_| panic!("{row}"));
            (cells[1].trim_matches('`').to_owned(), count)
        })
        .collect()
}

#[test]
fn each_feature_brings_as_many_crates_as_the_readme_says() {
    let stated = stated();
    for (feature, count) in &stated {
        let named = if feature == "none" { "" } else { feature };
        let beneath = crates_beneath(named);
        assert_eq!(beneath.len(), *count, "{feature}: {}", beneath.join(" "));
    }
    // The number includes the package itself, as in `cargo tree`.
    let lab = stated.iter().find(|(feature, _)| feature == "lab").unwrap();
    assert!(lab.1 + 1 < 75, "the lab has {} crates beneath", lab.1);
}

#[test]
fn the_readme_has_each_feature_of_the_manifest() {
    let manifest = text("Cargo.toml");
    let (_, section) = manifest.split_once("[features]").unwrap();
    let (section, _) = section.split_once("\n[").unwrap();
    let mut features: Vec<&str> = section
        .lines()
        .filter_map(|line| Some(line.split_once(" = ")?.0))
        .filter(|name| !name.starts_with('#') && *name != "default")
        .collect();
    let stated = stated();
    let mut rows: Vec<&str> = stated.iter().map(|(name, _)| name.as_str()).collect();
    rows.retain(|name| *name != "none");
    features.sort_unstable();
    rows.sort_unstable();
    assert_eq!(rows, features);
}

/// The account is a placeholder until the package is published. It is the same in all addresses.
#[test]
fn every_address_has_the_account_of_the_manifest() {
    let manifest = text("Cargo.toml");
    let (_, rest) = manifest.split_once("repository = \"https://github.com/").unwrap();
    let (owner, _) = rest.split_once("/linefill\"").unwrap();
    assert!(manifest.contains(&format!("homepage = \"https://{owner}.github.io/linefill/\"")));
    for (file, site) in [
        ("SECURITY.md", "github.com"),
        (".github/ISSUE_TEMPLATE/config.yml", "github.com"),
        ("docs/fleet/daemonset.yaml", "ghcr.io"),
        ("docs/fleet/README.md", "ghcr.io"),
        ("Dockerfile", "ghcr.io"),
    ] {
        let text = text(file);
        let all = text.matches(site).count();
        let right = text.matches(&format!("{site}/{owner}/linefill")).count();
        assert!(all > 0 && all == right, "{file}: {right} of {all} are {owner}'s");
    }
}

/// The source files of the targets that cargo finds in a folder, relative to it. Empty if cargo finds no package.
fn targets(folder: &Path) -> Vec<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(folder);
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let output = String::from_utf8(cargo.output().unwrap().stdout).unwrap();
    let paths = output.split("\"src_path\":\"").skip(1);
    let paths = paths.map(|rest| Path::new(rest.split('"').next().unwrap()));
    let found = paths.filter(|path| path.exists());
    let mut found: Vec<_> =
        found.map(|path| path.strip_prefix(folder).unwrap().to_owned()).collect();
    found.sort();
    found
}

/// The image must contain every file that the package needs, and nothing else: the test offers cargo only
/// these files, and cargo must find the source file of every target. Without any of them it must miss one.
#[test]
fn the_image_gets_every_file_that_the_build_reads() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::new("image");
    let kept = text(".dockerignore");
    let kept: Vec<&str> = kept.lines().filter_map(|line| line.strip_prefix('!')).collect();
    for path in &kept {
        assert!(package.join(path).exists(), "{path}");
        symlink(package.join(path), folder.at(path)).unwrap();
    }
    let all = targets(package);
    assert!(all.len() > 10, "{all:?}");
    let image = fs::canonicalize(folder.at("")).unwrap();
    assert_eq!(targets(&image), all);
    // cargo does not know which files the sources include and the build reads.
    let read_by_build = ["Cargo.lock", "asm", "build.rs", "reference", "src"];
    for path in read_by_build {
        assert!(kept.contains(&path), "{path}");
    }
    for path in kept.iter().filter(|path| !read_by_build.contains(path)) {
        let hidden = folder.at("hidden");
        fs::rename(folder.at(path), &hidden).unwrap();
        assert_ne!(targets(&image), all, "nothing needs {path}");
        fs::rename(&hidden, folder.at(path)).unwrap();
    }
}
