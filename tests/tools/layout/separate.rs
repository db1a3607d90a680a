//! Debug information in separate files.

use std::fs;

use super::built::{Built, has_lines};
use crate::common::untested::starts;

/// A program whose debug information was moved to `binary.dbg`.
fn stripped(name: &str, flags: &str) -> Option<Built> {
    if !starts("objcopy") {
        return None;
    }
    let built = Built::c(name, &format!("-g {flags} plain.c other.c"), "binary");
    built.tool("objcopy", "--only-keep-debug binary binary.dbg");
    built.tool("objcopy", "--strip-debug binary");
    Some(built)
}

const SHOWN: [&str; 2] = ["double price; /* 0 8 */", "_Bool paid; /* 8 1 */"];

#[test]
fn the_file_that_is_named() {
    let Some(built) = stripped("named", "-Wl,--build-id") else {
        return;
    };
    let args = ["binary", "--type", "order"];
    built.layout(&args).refused(&["no debug information", "binary.debug"]);
    let args = ["binary", "--type", "order", "--debug-file", "binary.dbg"];
    has_lines(&built.layout(&args).ok().out, &SHOWN);
    // The file is from another build.
    built.tool("cc", "-g -Wl,--build-id -O2 plain.c other.c -o elsewhere");
    let args = ["binary", "--type", "order", "--debug-file", "elsewhere"];
    built.layout(&args).refused(&["elsewhere is of another build"]);
    // The file has no debug information.
    let args = ["binary", "--type", "order", "--debug-file", "binary"];
    built.layout(&args).refused(&["--debug-file binary: no debug information"]);
}

#[test]
fn the_file_that_the_debug_link_names() {
    let Some(built) = stripped("link", "-Wl,--build-id=none") else {
        return;
    };
    built.tool("objcopy", "--add-gnu-debuglink=binary.dbg binary");
    has_lines(&built.show("binary", "order"), &SHOWN);
    fs::create_dir(built.at(".debug")).unwrap();
    fs::rename(built.at("binary.dbg"), built.at(".debug/binary.dbg")).unwrap();
    has_lines(&built.show("binary", "order"), &SHOWN);
    // In the tree of debug files, in the folder that corresponds to the program's folder.
    let dir = fs::canonicalize(built.at("")).unwrap();
    let tree = built.at("root/usr/lib/debug").join(dir.strip_prefix("/").unwrap());
    fs::create_dir_all(&tree).unwrap();
    fs::rename(built.at(".debug/binary.dbg"), tree.join("binary.dbg")).unwrap();
    has_lines(&built.show("binary", "order"), &SHOWN);
    // A file with a checksum other than the link's is ignored.
    let mut changed = fs::read(tree.join("binary.dbg")).unwrap();
    changed.push(0);
    fs::write(tree.join("binary.dbg"), changed).unwrap();
    built.layout(&["binary", "--type", "order"]).refused(&["no debug information"]);
}

#[test]
fn the_file_by_build_id() {
    let Some(built) = stripped("id", "-Wl,--build-id=0x0123456789abcdef") else {
        return;
    };
    let dir = built.at("root/usr/lib/debug/.build-id/01");
    fs::create_dir_all(&dir).unwrap();
    fs::rename(built.at("binary.dbg"), dir.join("23456789abcdef.debug")).unwrap();
    has_lines(&built.show("binary", "order"), &SHOWN);
    // A file from another build at this place is ignored.
    built.tool("cc", "-g -Wl,--build-id=0xfedc plain.c other.c -o elsewhere");
    fs::copy(built.at("elsewhere"), dir.join("23456789abcdef.debug")).unwrap();
    built.layout(&["binary", "--type", "order"]).refused(&["no debug information"]);
}

#[test]
fn the_file_beside_the_binary() {
    let Some(built) = stripped("beside", "-Wl,--build-id") else {
        return;
    };
    fs::rename(built.at("binary.dbg"), built.at("binary.debug")).unwrap();
    has_lines(&built.show("binary", "order"), &SHOWN);
}

#[test]
fn a_file_that_several_programs_share() {
    if !starts("dwz") {
        return;
    }
    let built = Built::new("shared");
    for name in ["one", "two"] {
        built.tool("cc", &format!("-g plain.c other.c -o {name}"));
    }
    let before = built.layout(&["one", "--list"]).ok().out;
    built.tool("dwz", "-m common one two");
    has_lines(&built.show("one", "order"), &SHOWN);
    assert_eq!(built.layout(&["one", "--list"]).ok().out, before);
    // By build id, in the tree of debug files.
    let notes = built.tool("readelf", "-n common");
    let id = notes.split_once("Build ID: ").unwrap().1.trim();
    let dir = built.at("root/usr/lib/debug/.build-id").join(&id[..2]);
    fs::create_dir_all(&dir).unwrap();
    fs::rename(built.at("common"), dir.join(format!("{}.debug", &id[2..]))).unwrap();
    has_lines(&built.show("one", "order"), &SHOWN);
    fs::remove_dir_all(dir).unwrap();
    let args = ["one", "--type", "order"];
    built.layout(&args).refused(&["one shares debug information with", "common, which is missing"]);
}
