//! `bare/run` and `bare/stick` tell cargo where to build: a setting of cargo for all builds must not leave them with
//! the program of an earlier build.
#![cfg(feature = "lab")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::common::cli::Folder;

#[test]
fn the_scripts_say_where_to_build_and_keep_the_lock_file() {
    let folder = Folder::new("bare-scripts");
    // Stands for cargo, writes its arguments down, and fails.
    let cargo = folder.at("cargo");
    fs::write(&cargo, "#!/bin/sh\necho \"$@\" >asked\nexit 3\n").unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", folder.at("").display());
    for (script, arguments) in [
        ("bare/run", &[][..]),
        ("bare/stick", &["stick.img"]),
        ("bare/stick", &["--read", "stick.img"]),
    ] {
        let status = Command::new(format!("{}/{script}", env!("CARGO_MANIFEST_DIR")))
            .args(arguments)
            .current_dir(folder.at(""))
            .env("PATH", &path)
            .env("CARGO_TARGET_DIR", "/elsewhere")
            .status()
            .expect("the script starts");
        assert_eq!(status.code(), Some(3), "{script}");
        let asked = fs::read_to_string(folder.at("asked")).unwrap();
        for expected in [" --locked ", " --target-dir /elsewhere "] {
            assert!(asked.contains(expected), "{script}: {asked}");
        }
    }
}
