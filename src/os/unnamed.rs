//! Files that have no name until they are complete: however the process ends before, the kernel removes them.

// A name is given by a call into C.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::check;

/// `O_TMPFILE`: creates a file without a name in the file system of the folder `dir`.
///
/// # Errors
/// If the file system has no such files, or /proc, by which the file gets its name, is not mounted.
#[doc(alias = "O_TMPFILE")]
pub fn create_in(dir: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true);
    let file = options.custom_flags(libc::O_TMPFILE).open(dir)?;
    fs::symlink_metadata(link_of(&file))?;
    Ok(file)
}

/// `linkat`: gives the file the name `path`, which must be new.
///
/// # Errors
/// The kernel's error.
#[doc(alias = "linkat")]
pub fn name(file: &File, path: &Path) -> io::Result<()> {
    let from = CString::new(link_of(file))?;
    let to = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: both are strings that end in a zero byte.
    check(unsafe {
        libc::linkat(
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::AT_SYMLINK_FOLLOW,
        )
    })
}

/// Returns the link by which the kernel shows an open file of this process.
fn link_of(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}
