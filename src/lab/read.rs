//! Reads a record file; explains why a file is not a valid record.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use serde::Deserialize;

use super::plain;
use super::record::{Checked, FORMAT, Line, PACKED, RECORD, Record};
use super::terminal::tell;

/// A record as it was read.
#[derive(Clone, Debug)]
pub struct Reading {
    pub record: Record,
    /// The number of the last line, if it was cut off and left out: the run was killed while writing it.
    pub cut_off: Option<usize>,
}

/// Warns if the last line of the record `name` was cut off.
pub(crate) fn warn(name: impl fmt::Display, cut_off: Option<usize>) {
    if let Some(line) = cut_off {
        tell(format_args!(
            "warning: {name}, line {line}, was cut off and is left out: the run was killed as it \
             wrote it"
        ));
    }
}

/// Returns the path of the record at `path`: `path` itself, or the record in this folder of a run.
pub fn record_at(path: &Path) -> PathBuf {
    if !path.is_dir() {
        return path.to_owned();
    }
    let (plain, packed) = (path.join(RECORD), path.join(PACKED));
    if !plain.exists() && packed.exists() { packed } else { plain }
}

/// Reads the record of a run, plain or compressed by gzip or zstd.
///
/// # Errors
/// If [`read_any`] fails, or `linefill watch` wrote the record, which has no points of a run.
pub fn read(path: &Path) -> anyhow::Result<Reading> {
    let reading = read_any(path)?;
    if reading.record.header.watch.is_some() {
        bail!(
            "{}: a record of `linefill watch`, with figures over time: `linefill report` draws \
             them, and `linefill export --what rounds` writes them",
            path.display()
        );
    }
    Ok(reading)
}

/// Reads a record of a run or of `linefill watch`, plain or compressed by gzip or zstd. Skips empty lines
/// and lines that start with `#`, so that the serial output of the boot image can be read unchanged.
///
/// # Errors
/// If the file cannot be read, is larger than 512 MiB, is empty or has another format, or if a line other
/// than the last is not a valid line of a record. The error names the wrong field.
pub fn read_any(path: &Path) -> anyhow::Result<Reading> {
    let name = path.display();
    let bytes = File::open(path).and_then(limited).map_err(|error| anyhow!("{name}: {error}"))?;
    if bytes.len() as u64 > LARGEST {
        bail!("{name}: more than {LARGEST} bytes: a record has a few million");
    }
    parse(&bytes).map_err(|(line, problem)| match line {
        Some(line) => anyhow!("{name}, line {line}: {problem}"),
        None => anyhow!("{name}: {problem}"),
    })
}

/// The largest record that is read, in bytes. A quick run of everything writes 14 MB, a full run 100 MB.
const LARGEST: u64 = 1 << 29;

/// The first bytes of compressed files (RFC 1952 and RFC 8878). Four bits of a skippable frame's are free.
const GZIP: [u8; 2] = [0x1F, 0x8B];
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
const SKIPPABLE: u32 = 0x184D_2A50;

/// Reads and unpacks a record. Stops after `LARGEST` + 1 bytes, which show that it is too large.
fn limited(file: File) -> io::Result<Vec<u8>> {
    let read = |from: &mut dyn Read| -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        from.take(LARGEST + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read(&mut &file)?;
    let packed = |error: &dyn fmt::Display| {
        let why = format!("it cannot be unpacked: {error}");
        io::Error::new(io::ErrorKind::InvalidData, why)
    };
    if bytes.starts_with(&GZIP) {
        // A gzip file may have several members, one after the other.
        let unpacked = read(&mut flate2::read::MultiGzDecoder::new(&bytes[..]));
        unpacked.map_err(|error| packed(&error))
    } else if bytes.starts_with(&ZSTD) || skippable(&bytes).is_some() {
        // The errors of the library are not for readers: they print its types.
        frames(&bytes).map_err(|_| packed(&"the zstd data are cut off or damaged"))
    } else {
        Ok(bytes)
    }
}

/// Unpacks the frames of a zstd file, which follow each other. Stops after `LARGEST` + 1 bytes.
fn frames(mut rest: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while !rest.is_empty() && bytes.len() as u64 <= LARGEST {
        if let Some(length) = skippable(rest) {
            rest = rest.get(length..).ok_or(io::ErrorKind::UnexpectedEof)?;
            continue;
        }
        let frame = ruzstd::decoding::StreamingDecoder::new(&mut rest).map_err(io::Error::other)?;
        let most = LARGEST + 1 - bytes.len() as u64;
        frame.take(most).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Returns the length of the skippable frame with which these bytes begin.
fn skippable(bytes: &[u8]) -> Option<usize> {
    let (header, _) = bytes.as_chunks::<4>().0.split_first_chunk::<2>()?;
    let [magic, length] = header.map(u32::from_le_bytes);
    (magic & !0xF == SKIPPABLE).then_some(8 + length as usize)
}

/// Parses a record from the bytes of a file, as [`read_any`] does, but without unpacking.
///
/// # Errors
/// As for [`read_any`]: the number of the line, if a single line is wrong, and the problem.
pub fn parse(bytes: &[u8]) -> Result<Reading, (Option<usize>, String)> {
    let whole = bytes.ends_with(b"\n");
    let texts: Vec<(usize, &[u8])> = bytes
        .split(|byte| *byte == b'\n')
        .map(|text| text.trim_ascii())
        .zip(1..)
        .filter(|(text, _)| !text.is_empty() && !text.starts_with(b"#"))
        .map(|(text, number)| (number, text))
        .collect();
    let Some((&(first, text), others)) = texts.split_first() else {
        return Err((None, "it is empty, and a record has a header".into()));
    };
    check_format(text).map_err(|problem| (Some(first), problem))?;

    let mut checked = Checked::default();
    let refused = |number, problem: String| Err((Some(number), problem));
    let mut record = match checked.line(text) {
        Ok(Line::Header(header)) => Record::new(*header),
        Ok(_) => return refused(first, "a record starts with a header".to_owned()),
        Err(wrong) => return refused(first, format!("no line of a record: {wrong}")),
    };
    let mut cut_off = None;
    for (index, &(number, text)) in others.iter().enumerate() {
        match checked.line(text) {
            Ok(Line::Header(_)) => {
                return refused(number, "a second header: two records in one file".to_owned());
            }
            Ok(line) => record.push(line),
            Err(_) if index + 1 == others.len() && !whole => cut_off = Some(number),
            Err(wrong) => return refused(number, format!("no line of a record: {wrong}")),
        }
    }
    Ok(Reading { record, cut_off })
}

/// The fields that every header has, in any version of the format.
#[derive(Deserialize)]
struct Kind {
    kind: String,
    format: Option<u32>,
}

/// Checks that the first line is a header of the format that this version reads.
fn check_format(text: &[u8]) -> Result<(), String> {
    match serde_json::from_slice::<Kind>(text) {
        Ok(Kind { kind, .. }) if kind != "header" => {
            Err(format!("a record starts with a header, not a {}", plain::word(&kind)))
        }
        Ok(Kind { format: Some(FORMAT), .. }) => Ok(()),
        Ok(Kind { format: Some(other), .. }) => Err(format!(
            "a record of format {other}; this version of linefill reads format {FORMAT}"
        )),
        Ok(Kind { format: None, .. }) => Err("a header without its format".into()),
        Err(_) => Err("not a record of linefill: its first line is not a header".into()),
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    /// Writes a skippable frame with this content.
    fn skipped(content: &[u8]) -> Vec<u8> {
        let magic = (SKIPPABLE | 3).to_le_bytes();
        let length = (content.len() as u32).to_le_bytes();
        [&magic[..], &length, content].concat()
    }

    #[test]
    fn all_frames_of_a_zstd_file_are_read() {
        let frame = |text: &str| compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        let file = [skipped(b"?"), frame("one\n"), skipped(b""), frame("two\n")].concat();
        assert_eq!(frames(&file).unwrap(), b"one\ntwo\n");
        assert_eq!(skippable(&file), Some(9));
        assert!(frames(&file[..file.len() - 1]).is_err());
        assert!(frames(&[&file, &b"more"[..]].concat()).is_err());
        assert!(frames(&skipped(b"cut off")[..10]).is_err());
    }
}
