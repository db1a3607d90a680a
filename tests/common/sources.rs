//! Checks that this binary is compiled from all files in its folder.

use std::fs;
use std::path::{Path, PathBuf};

/// A macro lists the modules, and neither cargo nor rustc looks for new files. A new file is therefore not
/// compiled, and its tests do not run, until another file changes.
#[test]
fn every_file_in_the_folder_is_compiled() {
    let binary = std::env::current_exe().unwrap();
    let Ok(dependencies) = fs::read_to_string(binary.with_extension("d")) else {
        // The binary is not where cargo puts it, so there is no list to compare with.
        return super::untested::machine("cargo's list of source files is not beside the binary");
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = module_path!().split("::").next().unwrap();
    let tests = root.join("tests");
    let files = ["common", name].map(|folder| files_below(&tests.join(folder)));
    let names = files.iter().flatten().filter_map(|path| {
        let path = path.strip_prefix(&tests).unwrap().to_str().unwrap();
        path.ends_with(".rs").then_some(path)
    });
    let missing: Vec<_> = names.filter(|name| !dependencies.contains(name)).collect();
    assert!(
        missing.is_empty(),
        "not compiled: {missing:?}; `touch tests/{name}/main.rs` if they are new"
    );
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files_below(&path),
            false => vec![path],
        })
        .collect()
}
