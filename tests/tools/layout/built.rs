//! Binaries compiled for a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::cli::{Folder, Ran};

/// A folder with sources and the files built from them.
pub struct Built {
    folder: Folder,
}

impl Built {
    /// A folder with the fixtures; `name` identifies the test.
    pub fn new(name: &str) -> Self {
        let folder = Folder::new(&format!("layout-{name}"));
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/layout");
        for entry in fs::read_dir(fixtures).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, folder.at(path.file_name().unwrap().to_str().unwrap())).unwrap();
        }
        Built { folder }
    }

    /// A folder with `output` compiled from C with these arguments.
    pub fn c(name: &str, args: &str, output: &str) -> Self {
        let built = Built::new(name);
        built.tool("cc", &format!("{args} -o {output}"));
        built
    }

    /// Runs a tool with arguments; panics if it is missing or fails.
    #[track_caller]
    pub fn tool(&self, tool: &str, args: &str) -> String {
        let mut command = Command::new(tool);
        command.args(args.split_whitespace()).current_dir(self.at(""));
        let output = command.output().unwrap_or_else(|error| panic!("{tool}: {error}"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{tool} {args}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A path in the folder.
    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.at(name)
    }

    /// Renames a file so that it cannot be found.
    pub fn hide(&self, name: &str) {
        fs::rename(self.at(name), self.at(&format!("{name}.hidden"))).unwrap();
    }

    /// Runs `linefill layout` with these arguments in the folder. It also searches for debug files there.
    pub fn layout(&self, args: &[&str]) -> Ran {
        let args: Vec<&str> = ["layout"].iter().chain(args).copied().collect();
        let mut command = self.folder.linefill(&args);
        Ran::of(command.env("LINEFILL_ROOT", self.at("root")))
    }

    /// The output for a type.
    #[track_caller]
    pub fn show(&self, binary: &str, name: &str) -> String {
        self.layout(&[binary, "--type", name]).ok().out
    }
}

/// The output without the comment about its source, and without white space for alignment.
pub fn squeezed(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with("//"));
    lines
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty())
        .collect()
}

/// Panics unless `text` contains these lines in sequence, with any white space between words.
#[track_caller]
pub fn has_lines(text: &str, wanted: &[&str]) {
    let lines = squeezed(text);
    let found = lines.windows(wanted.len()).any(|lines| lines == wanted);
    assert!(found, "no\n{}\nin\n{text}", wanted.join("\n"));
}
