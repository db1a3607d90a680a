//! Whether this binary is made of all files in its folder.

use std::fs;
use std::path::{Path, PathBuf};

/// A macro lists the modules, and neither cargo nor rustc looks for new files: without a change of
/// another file a new one would not be compiled, and its tests would be missed.
#[test]
fn every_file_in_the_folder_is_compiled() {
    let binary = std::env::current_exe().unwrap();
    let Ok(dependencies) = fs::read_to_string(binary.with_extension("d")) else {
        // Not where cargo puts it: there is nothing to compare with.
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
