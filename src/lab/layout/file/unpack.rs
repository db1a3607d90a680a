//! The bytes of sections that are compressed, as many as they can hold and no more.
//!
//! A section states how many bytes it has unpacked. Whoever believes that reserves what a file of a
//! few bytes asks for; and a file can name the same bytes as many sections.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::Read;
use std::rc::Rc;

use anyhow::{Context as _, Result, bail};
use object::{CompressionFormat, ObjectSection};

/// The most bytes that a byte of deflate unpacks to: 258 by a code of two bits (RFC 1951).
const DEFLATE: u64 = 1032;

/// The same for zstd: 128 KiB by a block of four bytes (RFC 8878).
const ZSTD: u64 = 32 << 10;

/// What the sections of a file may come to when they are unpacked or joined, however small it is;
/// and how often the file itself. Debug information is compressed to a third or so.
const ALWAYS: u64 = 64 << 20;
const TIMES: u64 = 64;

/// What the sections of a file may still come to.
#[derive(Clone, Debug)]
pub(super) struct Budget(Rc<Cell<u64>>);

impl Budget {
    /// That of a file of so many bytes.
    pub(super) fn of_file(bytes: usize) -> Self {
        let times = (bytes as u64).saturating_mul(TIMES);
        Budget(Rc::new(Cell::new(times.saturating_add(ALWAYS))))
    }

    /// Takes bytes from it.
    ///
    /// # Errors
    /// If it has not as many.
    pub(super) fn take(&self, bytes: u64) -> Result<()> {
        let Some(left) = self.0.get().checked_sub(bytes) else {
            bail!(
                "the sections come to more than {} MiB and {TIMES} times the file when they are \
                 unpacked: damaged, or made to fill the memory",
                ALWAYS >> 20
            );
        };
        self.0.set(left);
        Ok(())
    }
}

/// The bytes of a section.
///
/// # Errors
/// If they cannot be unpacked, or are not as many as the section states.
pub(super) fn unpacked<'d>(
    section: &object::Section<'d, '_>,
    budget: &Budget,
) -> Result<Cow<'d, [u8]>> {
    let packed = section.compressed_data()?;
    let (data, stated) = (packed.data, packed.uncompressed_size);
    let times = match packed.format {
        CompressionFormat::None => return Ok(Cow::Borrowed(data)),
        CompressionFormat::Zlib => DEFLATE,
        CompressionFormat::Zstandard => ZSTD,
        other => bail!("it is compressed by {other:?}, which is not known"),
    };
    let most = (data.len() as u64).saturating_mul(times);
    if stated > most {
        bail!(
            "it states {stated} bytes unpacked, and {} bytes hold {most} at most",
            data.len()
        );
    }
    budget.take(stated)?;
    let bytes = match packed.format {
        CompressionFormat::Zlib => read(flate2::read::ZlibDecoder::new(data), stated),
        _ => read(ruzstd::decoding::StreamingDecoder::new(data)?, stated),
    };
    Ok(Cow::Owned(bytes?))
}

/// Reads until there is no more, or more than was stated.
fn read(from: impl Read, stated: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(stated.saturating_add(1))
        .read_to_end(&mut bytes)
        .context("it cannot be unpacked")?;
    match bytes.len() as u64 {
        found if found == stated => Ok(bytes),
        found if found > stated => bail!("it states {stated} bytes unpacked, and holds more"),
        found => bail!("it states {stated} bytes unpacked, and holds {found}"),
    }
}
