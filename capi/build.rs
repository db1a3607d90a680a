//! Gives the shared library a name that changes with its interface.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // As Cargo counts: before 1.0 the minor version changes where the interface does. `install` has the same.
    let abi = match env!("CARGO_PKG_VERSION_MAJOR") {
        "0" => concat!("0.", env!("CARGO_PKG_VERSION_MINOR")),
        major => major,
    };
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liblinefill_c.so.{abi}");
}
