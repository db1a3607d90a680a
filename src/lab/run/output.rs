//! The folder that a run writes to: nothing in it is ever lost, and lines arrive whole.

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
use crate::lab::record::{Line, Record};
use crate::lab::terminal::tell;
use crate::lab::whole::{settle, write_whole};

/// The record's name in its folder.
pub const RECORD: &str = "record.jsonl";

/// Its name once it is compressed.
pub const PACKED: &str = "record.jsonl.gz";

/// The report's name in its folder.
pub const REPORT: &str = "report.html";

/// How often a record is opened that somebody else moves meanwhile.
const LOOKS: u32 = 100;

/// The record of a folder, locked: no other run writes to it, moves it aside or goes on with it.
#[derive(Debug)]
pub struct Claim {
    /// Open to append where its mode allows that.
    file: File,
    path: PathBuf,
}

impl Claim {
    /// Locks the record in `dir`; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be opened, or another run is writing to it.
    pub fn existing(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(RECORD);
        match path.exists() {
            true => Self::open(path, false).map(Some),
            false => Ok(None),
        }
    }

    /// Locks the record `path`, and makes an empty one if there is none and it is to.
    ///
    /// Opens first and locks then, and truncates nothing: until it is locked, the file may be
    /// another run's.
    fn open(path: PathBuf, make: bool) -> Result<Self> {
        for _ in 0..LOOKS {
            let mut options = OpenOptions::new();
            let opened = options.read(true).append(true).create(make).open(&path);
            let file = match opened {
                // A record that may only be read can be moved aside.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => File::open(&path),
                opened => opened,
            };
            let file = file.with_context(|| path.display().to_string())?;
            lock(&file, &path)?;
            // It may have been moved aside, or replaced, before it was locked.
            if is_at(&file, &path) {
                return Ok(Claim { file, path });
            }
        }
        bail!("`{}` is another file each time", path.display())
    }

    /// Where the record lies.
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
        // A file system without locks keeps nobody out; that is no reason not to measure.
        Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Whether `path` is the name of an open file. If nobody can tell, it still is.
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
    /// Bytes of the lines that were written.
    length: u64,
    /// Where the folder is made again if somebody removes it.
    home: PathBuf,
}

/// An earlier run that was found in the folder.
#[derive(Debug, PartialEq, Eq)]
pub struct Aside {
    /// Where its record lies now.
    pub record: PathBuf,
    /// Whether it came to its end.
    pub finished: bool,
}

impl Recorder {
    /// Starts a record in `dir`, which is made if need be, with these lines. An earlier record
    /// there, and its report, are moved aside under names with their date.
    ///
    /// # Errors
    /// If the folder cannot be written, or another run is writing to it.
    pub fn create(
        dir: &Path,
        lines: impl IntoIterator<Item = Line>,
    ) -> Result<(Self, Option<Aside>)> {
        let unwritable = || format!("cannot write to the output folder `{}`", dir.display());
        let (claim, aside) = fresh(dir).with_context(unwritable)?;
        let mut recorder = Self::of(claim, dir);
        recorder.write(&text_of(lines)?).with_context(unwritable)?;
        Ok((recorder, aside))
    }

    /// Puts `lines` in the place of a record, all or nothing: a program killed meanwhile leaves the
    /// old record as it was.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn replace(old: Claim, lines: impl IntoIterator<Item = Line>) -> Result<Self> {
        let path = old.path.clone();
        // Nobody else touches it: whoever would has to lock the old record.
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
        // Before it is in the old one's place, which stays locked until then.
        lock(&file, &path)?;
        let dir = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut recorder = Self::of(Claim { file, path }, &dir);
        recorder.write(&text_of(lines)?)?;
        recorder.sync()?;
        fs::rename(&part, &recorder.claim.path).with_context(unwritable)?;
        Ok(recorder)
    }

    /// Puts `lines` in the place of this record, as [`replace`](Self::replace) does.
    ///
    /// # Errors
    /// If the folder cannot be written: the record is then as it was.
    pub(crate) fn rewritten(self, lines: impl IntoIterator<Item = Line>) -> Result<Self> {
        let home = self.home;
        let recorder = Self::replace(self.claim, lines)?;
        Ok(Recorder { home, ..recorder })
    }

    /// Bytes of its lines.
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

    /// Where the record lies.
    pub fn path(&self) -> &Path {
        &self.claim.path
    }

    /// Appends a line, in one piece. If the record was removed, it is first written anew, in its old
    /// place if that can be had.
    ///
    /// # Errors
    /// If the file cannot be written, because the disk may be full. The lines before are as they
    /// were.
    pub fn append(&mut self, line: &Line) -> Result<()> {
        self.stay()?;
        self.write(&text_of([line])?)
    }

    /// Has what was written reach the disk.
    ///
    /// # Errors
    /// If it does not.
    pub(crate) fn sync(&self) -> Result<()> {
        settle(&self.claim.file).with_context(|| format!("writing to `{}`", self.path().display()))
    }

    /// Compresses the record of a run that came to its end. Returns where it lies then: as it was if it
    /// cannot be compressed.
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
            tell(format_args!(
                "warning: `{}` is not compressed: {error}",
                path.display()
            ));
            path.clone()
        })
    }

    fn write(&mut self, text: &[u8]) -> Result<()> {
        if let Err(error) = self.claim.file.write_all(text) {
            // A part of a line, behind which no other may come.
            let _ = self.claim.file.set_len(self.length);
            return Err(error).with_context(|| format!("writing to `{}`", self.path().display()));
        }
        self.length += text.len() as u64;
        Ok(())
    }

    /// Sees to it that the record has a name: somebody may have removed the folder.
    ///
    /// # Errors
    /// If it has none, and gets none.
    pub(crate) fn stay(&mut self) -> Result<()> {
        if is_at(&self.claim.file, &self.claim.path) {
            return Ok(());
        }
        // The open file is still there.
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

/// A new folder for temporary files, which nobody else may have made for this program to find.
fn elsewhere() -> std::io::Result<PathBuf> {
    let dir = std::env::temp_dir().join(format!("linefill-out-{}", std::process::id()));
    fs::DirBuilder::new().mode(0o700).create(&dir)?;
    Ok(dir)
}

/// Locks an empty record in `dir`, which is made if need be, and moves those that are there aside.
fn fresh(dir: &Path) -> Result<(Claim, Option<Aside>)> {
    fs::create_dir_all(dir)?;
    let mut aside = None;
    loop {
        let claim = Claim::open(dir.join(RECORD), true)?;
        if claim.file.metadata()?.len() == 0 {
            let packed = dir.join(PACKED);
            if packed.exists() {
                aside = Some(move_aside(dir, &packed)?);
            }
            return Ok((claim, aside));
        }
        aside = Some(move_aside(dir, claim.path())?);
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

/// Renames a record in `dir`, and its report, if there is any.
fn move_aside(dir: &Path, path: &Path) -> Result<Aside> {
    let (started, finished) = match read_any(path) {
        Ok(Reading { record, .. }) => (record.header.started, ended(&record)),
        // Not ours, or of another version: kept all the same.
        Err(_) => (modified(path), true),
    };
    let name = free_name(dir, &Date::from_unix(started).stamp());
    let ending = match path.ends_with(PACKED) {
        true => "jsonl.gz",
        false => "jsonl",
    };
    let record = dir.join(format!("record-{name}.{ending}"));
    fs::rename(path, &record).with_context(|| path.display().to_string())?;
    let report = dir.join(REPORT);
    if report.exists() {
        fs::rename(&report, dir.join(format!("report-{name}.html")))
            .with_context(|| report.display().to_string())?;
    }
    Ok(Aside { record, finished })
}

/// Whether a record is of a run that came to its end.
fn ended(record: &Record) -> bool {
    record.end.as_ref().is_some_and(|end| !end.interrupted)
}

/// Seconds since 1970 at which a file was last written; 0 if nobody knows.
pub(super) fn modified(path: &Path) -> u64 {
    let time = fs::metadata(path).and_then(|about| about.modified()).ok();
    time.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_secs())
}

/// `stamp`, or `stamp-2` and so on: the first that no record in `dir` has.
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
