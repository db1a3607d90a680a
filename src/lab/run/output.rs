//! The folder that a run writes to: nothing in it is ever lost, and lines arrive whole.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::lab::date::Date;
use crate::lab::read;
use crate::lab::record::Line;

/// The record's name in its folder.
pub const RECORD: &str = "record.jsonl";

/// The report's name in its folder.
pub const REPORT: &str = "report.html";

/// A record that is being written.
#[derive(Debug)]
pub struct Recorder {
    /// Locked, so that no other run writes here.
    file: File,
    path: PathBuf,
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
    pub fn create(dir: &Path, lines: &[Line]) -> Result<(Self, Option<Aside>)> {
        let unwritable = || format!("cannot write to the output folder `{}`", dir.display());
        fs::create_dir_all(dir).with_context(unwritable)?;
        let aside = move_aside(dir).with_context(unwritable)?;
        let recorder = Self::replace(dir, lines).with_context(unwritable)?;
        Ok((recorder, aside))
    }

    /// Puts `lines` in the place of the record in `dir`, all or nothing: a program killed
    /// meanwhile leaves the old record as it was.
    ///
    /// # Errors
    /// If the folder cannot be written, or another run is writing to it.
    pub fn replace(dir: &Path, lines: &[Line]) -> Result<Self> {
        let path = dir.join(RECORD);
        // Held until the new file, which is locked too, is in the old one's place.
        let _old = lock_existing(&path)?;
        let part = dir.join(format!("{RECORD}.part"));
        let file = File::create(&part).with_context(|| part.display().to_string())?;
        lock(&file, &path)?;
        let mut recorder = Recorder { file, path };
        let text: Vec<u8> = lines
            .iter()
            .map(text_of)
            .collect::<Result<Vec<_>>>()?
            .concat();
        recorder.write(&text)?;
        fs::rename(&part, &recorder.path).with_context(|| recorder.path.display().to_string())?;
        Ok(recorder)
    }

    /// Appends a line, in one piece.
    ///
    /// # Errors
    /// If the file cannot be written: the disk may be full.
    pub fn append(&mut self, line: &Line) -> Result<()> {
        self.write(&text_of(line)?)
    }

    fn write(&mut self, text: &[u8]) -> Result<()> {
        self.file
            .write_all(text)
            .with_context(|| format!("writing to `{}`", self.path.display()))
    }
}

fn text_of(line: &Line) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(text)
}

/// Locks a record that is there.
fn lock_existing(path: &Path) -> Result<Option<File>> {
    match File::open(path) {
        Ok(file) => {
            lock(&file, path)?;
            Ok(Some(file))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
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

/// Renames the record in `dir`, and its report, if there are any.
fn move_aside(dir: &Path) -> Result<Option<Aside>> {
    let path = dir.join(RECORD);
    let Some(_old) = lock_existing(&path)? else {
        return Ok(None);
    };
    let (started, finished) = match read::read(&path) {
        Ok(reading) => (reading.header().started, ended(&reading.lines)),
        // Not ours, or of another version: kept all the same.
        Err(_) => (modified(&path), true),
    };
    let name = free_name(dir, &Date::from_unix(started).stamp());
    let record = dir.join(format!("record-{name}.jsonl"));
    fs::rename(&path, &record).with_context(|| path.display().to_string())?;
    let report = dir.join(REPORT);
    if report.exists() {
        fs::rename(&report, dir.join(format!("report-{name}.html")))
            .with_context(|| report.display().to_string())?;
    }
    Ok(Some(Aside { record, finished }))
}

/// Whether the lines are those of a run that came to its end.
fn ended(lines: &[Line]) -> bool {
    matches!(lines.last(), Some(Line::End(end)) if !end.interrupted)
}

/// Seconds since 1970 at which a file was last written; 0 if nobody knows.
pub(super) fn modified(path: &Path) -> u64 {
    let time = fs::metadata(path).and_then(|about| about.modified()).ok();
    time.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_secs())
}

/// `stamp`, or `stamp-2` and so on: the first that no record in `dir` has.
fn free_name(dir: &Path, stamp: &str) -> String {
    let taken = |name: &str| dir.join(format!("record-{name}.jsonl")).exists();
    let numbered = (2..).map(|number| format!("{stamp}-{number}"));
    core::iter::once(stamp.to_owned())
        .chain(numbered)
        .find(|name| !taken(name))
        .unwrap_or_else(|| unreachable!("the names do not end"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::record::EndLine;

    fn end(interrupted: bool) -> Line {
        Line::End(EndLine {
            seconds: 1.0,
            interrupted,
        })
    }

    fn folder(name: &str) -> PathBuf {
        let name = format!("linefill-output-{name}-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    #[test]
    fn an_earlier_record_is_moved_aside_each_time() {
        let dir = folder("aside");
        let (first, none) = Recorder::create(&dir, &[end(false)]).unwrap();
        assert_eq!(none, None);
        drop(first);
        fs::write(dir.join(REPORT), "old").unwrap();
        for _ in 0..2 {
            let (_, aside) = Recorder::create(&dir, &[end(false)]).unwrap();
            assert!(aside.unwrap().record.exists());
        }
        let names = fs::read_dir(&dir).unwrap().count();
        assert_eq!(names, 4, "three records and a report");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn two_runs_do_not_write_to_one_folder() {
        let dir = folder("locked");
        let (_first, _) = Recorder::create(&dir, &[end(false)]).unwrap();
        let error = Recorder::create(&dir, &[]).unwrap_err();
        assert!(format!("{error:#}").contains("another run"), "{error:#}");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_is_named() {
        let error = Recorder::create(Path::new("/dev/null/out"), &[]).unwrap_err();
        assert!(error.to_string().contains("/dev/null/out"), "{error}");
    }
}
