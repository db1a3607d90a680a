//! The folder that a run writes to. Earlier records in it are kept, and lines are written whole.

use std::borrow::Borrow;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::lab::date::Date;
use crate::lab::read::{Reading, read_any};
use crate::lab::record::{Line, PACKED, RECORD, REPORT, Record};
use crate::lab::terminal::tell;
use crate::lab::whole::{create_folder, settle, write_whole};

/// How often opening a record is tried while another process keeps moving it.
const LOOKS: u32 = 100;

/// The locked record of a folder: no other run writes to it, moves it aside or resumes it.
#[derive(Debug)]
pub struct Claim {
    /// Open for appending if its mode allows it.
    file: File,
    path: PathBuf,
}

impl Claim {
    /// Locks the record in `dir`; `None` if there is no record.
    ///
    /// # Errors
    /// If the record cannot be opened, or another run is writing to it.
    pub fn existing(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(RECORD);
        if path.exists() { Self::open(path, false).map(Some) } else { Ok(None) }
    }

    /// Locks the record `path`. Creates an empty record if there is none and `make` is set.
    ///
    /// Opens the file before locking it, and truncates nothing: until it is locked, the file may belong to
    /// another run.
    fn open(path: PathBuf, make: bool) -> Result<Self> {
        for _ in 0..LOOKS {
            let mut options = OpenOptions::new();
            let opened = options.read(true).append(true).create(make).open(&path);
            let file = match opened {
                // A read-only record can be moved aside.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => File::open(&path),
                opened => opened,
            };
            let file = file.with_context(|| path.display().to_string())?;
            lock(&file, &path)?;
            // The file may have been moved aside or replaced before it was locked.
            if is_at(&file, &path) {
                return Ok(Claim { file, path });
            }
        }
        bail!("`{}` is another file each time", path.display())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            bail!("another run is writing to `{}`", path.display())
        }
        // If the file system has no locks, the run measures without this protection.
        Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Returns whether `path` names the open file `file`; `true` if that cannot be determined.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        (_, Err(error)) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        (Err(_), Ok(_)) => true,
    }
}

/// A record that is being written.
#[derive(Debug)]
pub struct Recorder {
    claim: Claim,
    /// Number of bytes written.
    length: u64,
    /// The folder, which is created again if it is removed.
    home: PathBuf,
}

/// An earlier run that was found in the folder.
#[derive(Debug, PartialEq, Eq)]
pub struct MovedRecord {
    /// Path to which its record was moved.
    pub record: PathBuf,
    pub finished: bool,
    /// The files that were renamed: their old and their new names.
    renamed: Vec<(PathBuf, PathBuf)>,
}

impl MovedRecord {
    /// Gives the files their old names again.
    fn put_back(&self) {
        for (old, new) in self.renamed.iter().rev() {
            // An error here cannot be handled: the file keeps its new name.
            let _ = fs::rename(new, old);
        }
    }
}

impl Recorder {
    /// Starts a record with `lines` in `dir`, creating the folder if necessary. An earlier record in `dir`
    /// and its report are moved aside, under names with their date.
    ///
    /// # Errors
    /// If the folder cannot be written, or another run is writing to it.
    pub fn create(
        dir: &Path,
        lines: impl IntoIterator<Item = Line>,
    ) -> Result<(Self, Option<MovedRecord>)> {
        let unwritable = || format!("cannot write to the output folder `{}`", dir.display());
        let (claim, aside) = fresh(dir).with_context(unwritable)?;
        let mut recorder = Self::of(claim, dir);
        if let Err(error) = recorder.write(&text_of(lines)?) {
            // Nothing was recorded: the folder looks as before.
            let _ = fs::remove_file(recorder.path());
            if let Some(aside) = aside {
                aside.put_back();
            }
            return Err(error).with_context(unwritable);
        }
        Ok((recorder, aside))
    }

    /// Checks that a record can be started in `dir`, and leaves the folder as it is: what takes long is
    /// measured only if it can then be written.
    ///
    /// # Errors
    /// As for [`create`](Self::create).
    pub fn check(dir: &Path) -> Result<()> {
        let is_new = !dir.exists();
        let try_out = || -> Result<()> {
            create_folder(dir)?;
            Claim::existing(dir)?;
            let file = dir.join(format!(".{RECORD}.{}.part", std::process::id()));
            let written = fs::write(&file, "\n");
            let _ = fs::remove_file(&file);
            Ok(written?)
        };
        let tried = try_out();
        if is_new {
            let _ = fs::remove_dir(dir);
        }
        tried.with_context(|| format!("cannot write to the output folder `{}`", dir.display()))
    }

    /// Replaces a record by `lines` atomically: if the program is killed, the old record stays unchanged.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn replace(old: Claim, lines: impl IntoIterator<Item = Line>) -> Result<Self> {
        let path = old.path.clone();
        // No other run touches this file: it would have to lock the old record first.
        let part = path.with_file_name(format!("{RECORD}.part"));
        let unwritable = || part.display().to_string();
        match fs::remove_file(&part) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(unwritable);
            }
            _ => {}
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).append(true).create_new(true);
        let file = options.open(&part).with_context(unwritable)?;
        // Locked before it replaces the old record, which stays locked until then.
        lock(&file, &path)?;
        let dir = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut recorder = Self::of(Claim { file, path }, &dir);
        recorder.write(&text_of(lines)?)?;
        recorder.sync()?;
        fs::rename(&part, &recorder.claim.path).with_context(unwritable)?;
        Ok(recorder)
    }

    /// Replaces this record by `lines`, as [`replace`](Self::replace) does.
    pub(crate) fn rewritten(self, lines: impl IntoIterator<Item = Line>) -> Result<Self> {
        let home = self.home;
        let recorder = Self::replace(self.claim, lines)?;
        Ok(Recorder { home, ..recorder })
    }

    /// Returns the number of bytes written.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    fn of(claim: Claim, dir: &Path) -> Self {
        Recorder {
            claim,
            length: 0,
            home: std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned()),
        }
    }

    pub fn path(&self) -> &Path {
        &self.claim.path
    }

    /// Appends a line in one write. A removed record is written again first, in its old place if possible.
    ///
    /// # Errors
    /// If the file cannot be written: the disk may be full. The previous lines stay unchanged.
    pub fn append(&mut self, line: &Line) -> Result<()> {
        self.stay()?;
        self.write(&text_of([line])?)
    }

    /// Flushes the record to the disk.
    pub(crate) fn sync(&self) -> Result<()> {
        settle(&self.claim.file).with_context(|| format!("writing to `{}`", self.path().display()))
    }

    /// Compresses the record of a finished run. Returns its new path, or its old path if that failed.
    pub(super) fn packed(self) -> PathBuf {
        let path = self.claim.path.clone();
        let pack = || -> io::Result<PathBuf> {
            let mut packer = GzEncoder::new(Vec::new(), Compression::default());
            io::copy(&mut File::open(&path)?, &mut packer)?;
            let packed = path.with_file_name(PACKED);
            write_whole(&packed, &packer.finish()?)?;
            fs::remove_file(&path)?;
            Ok(packed)
        };
        pack().unwrap_or_else(|error| {
            tell(format_args!("warning: `{}` is not compressed: {error}", path.display()));
            path.clone()
        })
    }

    fn write(&mut self, text: &[u8]) -> Result<()> {
        if let Err(error) = self.claim.file.write_all(text) {
            // Removes a partial line, so that no line follows it.
            let _ = self.claim.file.set_len(self.length);
            return Err(error).with_context(|| format!("writing to `{}`", self.path().display()));
        }
        self.length += text.len() as u64;
        Ok(())
    }

    /// Writes the record again if it has lost its name: the folder may have been removed.
    pub(crate) fn stay(&mut self) -> Result<()> {
        if is_at(&self.claim.file, &self.claim.path) {
            return Ok(());
        }
        // The removed file can still be read through the open descriptor.
        let lost = || format!("`{}` was removed during the run", self.path().display());
        let mut text = vec![0; usize::try_from(self.length).with_context(lost)?];
        let read = self.claim.file.read_exact_at(&mut text, 0);
        read.with_context(lost)?;
        let again = |dir: &Path| {
            let (claim, _) = fresh(dir)?;
            let mut recorder = Self::of(claim, &self.home);
            recorder.write(&text)?;
            Ok(recorder)
        };
        let moved = again(&self.home)
            .or_else(|_: anyhow::Error| again(&elsewhere()?))
            .with_context(lost)?;
        tell(format_args!(
            "warning: {}; the whole record is now `{}`",
            lost(),
            moved.path().display()
        ));
        *self = moved;
        Ok(())
    }
}

/// Creates a new folder for temporary files. Fails if the folder exists: another user may have created it.
fn elsewhere() -> std::io::Result<PathBuf> {
    let dir = std::env::temp_dir().join(format!("linefill-out-{}", std::process::id()));
    fs::DirBuilder::new().mode(0o700).create(&dir)?;
    Ok(dir)
}

/// Locks an empty record in `dir`, creating the folder if necessary, and moves existing records aside.
fn fresh(dir: &Path) -> Result<(Claim, Option<MovedRecord>)> {
    create_folder(dir)?;
    let mut aside: Option<MovedRecord> = None;
    let mut next = |path: &Path| -> Result<()> {
        let mut moved = move_aside(dir, path)?;
        let earlier = aside.take().map(|earlier| earlier.renamed);
        moved.renamed.splice(0..0, earlier.unwrap_or_default());
        aside = Some(moved);
        Ok(())
    };
    loop {
        let claim = Claim::open(dir.join(RECORD), true)?;
        if claim.file.metadata()?.len() == 0 {
            let packed = dir.join(PACKED);
            if packed.exists() {
                next(&packed)?;
            }
            return Ok((claim, aside));
        }
        next(claim.path())?;
    }
}

fn text_of(lines: impl IntoIterator<Item = impl Borrow<Line>>) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut text, line.borrow())?;
        text.push(b'\n');
    }
    Ok(text)
}

/// Renames a record in `dir`, and its report, if any.
fn move_aside(dir: &Path, path: &Path) -> Result<MovedRecord> {
    let (started, finished) = match read_any(path) {
        Ok(Reading { record: Record { header, end, .. }, .. }) => {
            (header.started, end.is_some_and(|end| !end.interrupted))
        }
        // This version cannot read the record, but keeps it.
        Err(_) => (modified(path), true),
    };
    let name = free_name(dir, &Date::from_unix(started).stamp());
    let ending = if path.ends_with(PACKED) { "jsonl.gz" } else { "jsonl" };
    let record = dir.join(format!("record-{name}.{ending}"));
    fs::rename(path, &record).with_context(|| path.display().to_string())?;
    let mut renamed = vec![(path.to_owned(), record.clone())];
    let report = dir.join(REPORT);
    if report.exists() {
        let new = dir.join(format!("report-{name}.html"));
        fs::rename(&report, &new).with_context(|| report.display().to_string())?;
        renamed.push((report, new));
    }
    Ok(MovedRecord { record, finished, renamed })
}

/// Returns the time of a file's last modification, in seconds since 1970; 0 if unknown.
pub(super) fn modified(path: &Path) -> u64 {
    let time = fs::metadata(path).and_then(|about| about.modified()).ok();
    time.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_secs())
}

/// Returns `stamp`, `stamp-2` and so on: the first name that no record in `dir` has.
fn free_name(dir: &Path, stamp: &str) -> String {
    let exists = |name: &str, ending| dir.join(format!("record-{name}.{ending}")).exists();
    let taken = |name: &str| exists(name, "jsonl") || exists(name, "jsonl.gz");
    let numbered = (2..).map(|number| format!("{stamp}-{number}"));
    core::iter::once(stamp.to_owned())
        .chain(numbered)
        .find(|name| !taken(name))
        .unwrap_or_else(|| unreachable!("the names do not end"))
}

#[cfg(test)]
mod tests;
