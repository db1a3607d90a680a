//! Writes files atomically: a file has its old or its new content, never a part of it. No file is replaced that
//! is read, or that is a page of another record.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use hmac_sha256::Hash;

use crate::lab::record::Header;
use crate::os::unnamed;

/// Checks that the file that `option` names is not one of the files that are read: writing it would lose what it
/// holds.
pub(crate) fn is_no_input<'p>(
    option: &str,
    out: &Path,
    inputs: impl IntoIterator<Item = &'p Path>,
) -> Result<()> {
    let file = |path: &Path| {
        let found = fs::metadata(path).ok()?;
        found.is_file().then(|| (found.dev(), found.ino()))
    };
    let Some(out_file) = file(out) else { return Ok(()) };
    for input in inputs {
        if file(input) == Some(out_file) {
            bail!("{option} {}: this is an input file; give another name", out.display());
        }
    }
    Ok(())
}

/// Returns the mark of a page of the record with this header. It stays the same when the run is resumed.
pub(crate) fn mark(header: &Header) -> String {
    let Header { started, seed, tick_hz, cpu, .. } = header;
    // The rate distinguishes runs on a machine without a date. A fraction may change when it is read again.
    let text = format!("{started} {seed} {tick_hz:.0} {}", cpu.brand);
    let hash = Hash::hash(text.as_bytes());
    let digits: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("<!-- linefill record {digits} -->\n")
}

/// Checks that the file `page`, if there is one, is marked as a page of this record. Writing the page to any other
/// file would lose what it holds.
pub(crate) fn is_free_for(page: &Path, record: &Path, header: &Header) -> Result<()> {
    if !page.is_file() {
        return Ok(());
    }
    // What cannot be read is refused too.
    let found = fs::read(page).unwrap_or_default();
    if !found.ends_with(mark(header).as_bytes()) {
        let [page, record] = [page, record].map(Path::display);
        bail!(
            "`{page}` is not marked as a page of `{record}`, and would be lost: --out FILE writes \
             another file, and --out {page} replaces this one"
        );
    }
    Ok(())
}

/// Writes `text` to the file `path`: first to a file beside it, under a name of this process, which `rename`
/// then moves into place. If writing fails or the process ends, an earlier file stays unchanged. Anything
/// but a regular file, such as a pipe, is written directly.
pub(crate) fn write_whole(path: &Path, text: &[u8]) -> io::Result<()> {
    write_whole_by(path, |file| file.write_all(text))
}

/// As [`write_whole`], with the content that `write` writes. Returns its errors too.
pub(crate) fn write_whole_by<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    // A symbolic link stays, and its target is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let earlier = fs::metadata(&path).ok();
    if earlier.as_ref().is_some_and(|earlier| !earlier.is_file()) {
        return write(&mut OpenOptions::new().write(true).open(&path)?);
    }
    let part = beside(&path)?;
    let permissions = earlier.map(|earlier| earlier.permissions());
    let filled = fill(&part, permissions, write);
    let written = filled.and_then(|()| Ok(fs::rename(&part, &path)?));
    if written.is_err() {
        // An error here cannot be handled.
        let _ = fs::remove_file(&part);
    }
    written?;
    // Flushes the new name to the disk too, if the file system can sync folders.
    let _ = path.parent().map(|dir| File::open(dir)?.sync_all());
    Ok(())
}

/// Creates a folder and its parent folders, if they do not exist. Fails if `dir` is a file.
pub(crate) fn create_folder(dir: &Path) -> io::Result<()> {
    if dir.exists() && !dir.is_dir() {
        return Err(io::Error::new(ErrorKind::NotADirectory, "not a folder"));
    }
    fs::create_dir_all(dir)
}

/// Returns the temporary name under which this process writes a new `path`.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "no name of a file"))?;
    let mut part = std::ffi::OsString::from(".");
    part.push(name);
    part.push(format!(".{}.part", std::process::id()));
    Ok(path.with_file_name(part))
}

/// Writes a new file and flushes it to the disk. Where the file system can, the file gets its name `part` last,
/// so that a process that is killed meanwhile leaves nothing behind.
fn fill<E: From<io::Error>>(
    part: &Path,
    permissions: Option<Permissions>,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    match fs::remove_file(part) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let folder = match part.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let (mut file, is_named) = match unnamed::create_in(folder) {
        Ok(file) => (file, false),
        Err(_) => (File::create_new(part)?, true),
    };
    write(&mut file)?;
    if !is_named && unnamed::name(&file, part).is_err() {
        // A sandbox may refuse the name, but permit a file.
        let mut named = File::create_new(part)?;
        file.rewind()?;
        io::copy(&mut file, &mut named)?;
        file = named;
    }
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    Ok(settle(&file)?)
}

/// Flushes a file to the disk (`fsync`), if the file system supports it.
#[doc(alias = "fsync")]
pub(crate) fn settle(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if refused(error.kind()) => Ok(()),
        synced => synced,
    }
}

/// Returns whether the error means that the file system or a sandbox has no `fsync`.
fn refused(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidInput | ErrorKind::Unsupported | ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::root::Planted;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn folder(name: &str) -> Planted {
        let folder = Planted::new(&format!("whole-{name}"), "", &[]);
        fs::create_dir_all(folder.path()).unwrap();
        folder
    }

    fn names(folder: &Planted) -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries.map(|entry| name(entry).into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_written_and_replaced_and_keeps_its_mode() {
        let folder = folder("replaced");
        let path = folder.path().join("page");
        write_whole(&path, b"first").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write_whole(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(names(&folder), ["page"]);
    }

    #[test]
    fn a_link_stays_one() {
        let folder = folder("link");
        let (path, link) = (folder.path().join("page"), folder.path().join("link"));
        fs::write(&path, "first").unwrap();
        symlink("page", &link).unwrap();
        write_whole(&link, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn what_cannot_be_replaced_leaves_nothing_behind() {
        let folder = folder("refused");
        fs::create_dir(folder.path().join("page")).unwrap();
        assert!(write_whole(&folder.path().join("page"), b"text").is_err());
        assert!(write_whole(&folder.path().join("none/page"), b"text").is_err());
        assert!(write_whole(Path::new(""), b"text").is_err());
        let error = create_folder(Path::new("/dev/null")).unwrap_err();
        assert_eq!(error.to_string(), "not a folder");
        assert_eq!(names(&folder), ["page"]);
    }

    #[test]
    fn a_file_has_no_name_while_it_is_written() {
        let folder = folder("unnamed");
        // A file system without such files shows the part, as it must.
        let seen = usize::from(unnamed::create_in(folder.path()).is_err());
        write_whole_by(&folder.path().join("page"), |file| {
            assert_eq!(names(&folder).len(), seen);
            file.write_all(b"text")
        })
        .unwrap();
        assert_eq!(names(&folder), ["page"]);
    }

    #[test]
    fn a_device_is_written_to() {
        write_whole(Path::new("/dev/null"), b"text").unwrap();
        let full = write_whole(Path::new("/dev/full"), b"text").unwrap_err();
        assert_eq!(full.kind(), ErrorKind::StorageFull);
    }
}
