//! Runs tests of this binary in separate processes, for other tests.

use std::process::Command;

/// A command that runs only the test `name` of a module; `module` is its `module_path!()`. The caller may add
/// arguments of libtest.
pub fn exact(module: &str, name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments(module, name));
    command
}

/// The same command through a shell, which runs `before` first.
pub fn after(before: &str, module: &str, name: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{before}exec \"$0\" \"$@\""))
        .arg(std::env::current_exe().unwrap())
        .args(arguments(module, name));
    command
}

/// The arguments that run the test, even if it is `#[ignore]`.
pub fn arguments(module: &str, name: &str) -> Vec<String> {
    let test = match module.split_once("::") {
        Some((_, module)) => format!("{module}::{name}"),
        None => name.to_owned(),
    };
    let options = ["--include-ignored", "--nocapture", "--test-threads=1", "--exact"];
    let options = options.map(str::to_owned).into_iter();
    options.chain([test]).collect()
}
