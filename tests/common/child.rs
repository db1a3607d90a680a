//! Tests that other tests of the same binary run in a process of their own.

use std::process::Command;

/// A command that runs the test `name` of a module alone; `module` is its `module_path!()`. Further
/// arguments of libtest may be added.
pub fn exact(module: &str, name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments(module, name));
    command
}

/// The same as a shell sees it, which runs `before` first.
pub fn after(before: &str, module: &str, name: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{before}exec \"$0\" \"$@\""))
        .arg(std::env::current_exe().unwrap())
        .args(arguments(module, name));
    command
}

/// The arguments that run it, whether or not it is `#[ignore]`.
pub fn arguments(module: &str, name: &str) -> Vec<String> {
    let test = match module.split_once("::") {
        Some((_, module)) => format!("{module}::{name}"),
        None => name.to_owned(),
    };
    let options = [
        "--include-ignored",
        "--nocapture",
        "--test-threads=1",
        "--exact",
    ];
    let options = options.map(str::to_owned).into_iter();
    options.chain([test]).collect()
}
