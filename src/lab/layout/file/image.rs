//! Object files and their sections. Section bytes are not copied unless necessary, compressed sections are
//! unpacked, and relocations of relocatable objects are applied.
//!
//! A compressed section states its unpacked size. A reader that trusts this number lets a file of a few
//! bytes reserve any amount of memory. In addition, many sections of a file can refer to the same bytes. A
//! `Budget` limits both.

// Mapping a file is the only way to read it without a copy, and it is unsafe.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context as _, Result, anyhow, bail};
use gimli::{DwarfPackageSections, DwarfSections, RunTimeEndian, SectionId};
use memmap2::Mmap;
use object::{
    CompressionFormat, Object, ObjectKind, ObjectSection, ObjectSymbol, RelocationKind,
    RelocationTarget, SectionIndex,
};

/// An object file: a program, a shared library, a compiler's output, or a file with debug information.
#[derive(Clone, Debug)]
pub struct Image {
    pub path: PathBuf,
    pub(super) map: Rc<Mmap>,
    budget: Budget,
}

impl Image {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// If the file cannot be read, or is not an ELF object. The message names the actual format if it is
    /// recognized.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let about = fs::metadata(path).with_context(|| format!("cannot read {shown}"))?;
        if about.is_dir() {
            bail!("{shown} is a directory, no object file");
        }
        if about.is_file() && about.len() == 0 {
            bail!("{shown} is empty, no object file");
        }
        // SAFETY: the map is private and only read. If another process truncates the file, this program ends
        // with SIGBUS, like every program that maps its input.
        let map = File::open(path).and_then(|file| unsafe { Mmap::map(&file) });
        let map = Rc::new(map.with_context(|| format!("cannot read {shown}"))?);
        let image = Image { path: path.to_owned(), budget: Budget::of_file(map.len()), map };
        match image.object() {
            Ok(_) => Ok(image),
            Err(error) => Err(match foreign(&image.map) {
                Some(what) => anyhow!("{shown} is {what}; an ELF object file is needed"),
                None => anyhow!("{shown} is not an ELF object file: {error}"),
            }),
        }
    }

    fn object(&self) -> object::Result<object::File<'_>> {
        object::File::parse(&**self.map)
    }

    fn parsed(&self) -> object::File<'_> {
        self.object().expect("it was parsed when it was opened")
    }

    pub fn endian(&self) -> RunTimeEndian {
        if self.parsed().is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big }
    }

    /// Returns whether the file is for 32-bit x86, where members of eight bytes are aligned to four.
    pub fn is_i386(&self) -> bool {
        self.parsed().architecture() == object::Architecture::I386
    }

    /// Returns whether the file has a section of this name, compressed or not.
    pub fn has(&self, name: &str) -> bool {
        self.parsed().section_by_name(name).is_some()
    }

    pub fn build_id(&self) -> Option<Vec<u8>> {
        Some(self.parsed().build_id().ok().flatten()?.to_vec())
    }

    /// Returns the name and the CRC-32 of the separate debug file (`.gnu_debuglink`).
    pub fn debug_link(&self) -> Option<(PathBuf, u32)> {
        let object = self.parsed();
        let (name, sum) = object.gnu_debuglink().ok().flatten()?;
        Some((path_of(name), sum))
    }

    /// Returns the name and the build id of the file with debug information that several debug files share
    /// (`.gnu_debugaltlink`).
    pub fn shared_link(&self) -> Option<(PathBuf, Vec<u8>)> {
        let object = self.parsed();
        let (name, id) = object.gnu_debugaltlink().ok().flatten()?;
        Some((path_of(name), id.to_vec()))
    }

    /// Returns the sections that types are read from: those of split files (`.dwo`) if `split`, else those
    /// with plain names.
    pub fn sections(&self, split: bool) -> Result<DwarfSections<Bytes>> {
        let object = self.parsed();
        DwarfSections::load(|id| match needed(id) {
            true => self.section(&object, id, split),
            false => Ok(Bytes::none()),
        })
    }

    /// Returns the sections of a package of split files. All sections are needed, because the package's
    /// index divides each of them among the units.
    pub fn package(&self) -> Result<DwarfPackageSections<Bytes>> {
        let object = self.parsed();
        DwarfPackageSections::load(|id| self.section(&object, id, true))
    }

    fn section(&self, object: &object::File<'_>, id: SectionId, split: bool) -> Result<Bytes> {
        let name = if split { id.dwo_name() } else { Some(id.name()) };
        let Some(name) = name else { return Ok(Bytes::none()) };
        let read = || {
            // A relocatable object may have several sections of the same name, and relocations to apply.
            if object.kind() == ObjectKind::Relocatable {
                return joined(object, name, &self.budget).map(|bytes| Bytes::Owned(bytes.into()));
            }
            let Some(section) = object.section_by_name(name) else { return Ok(Bytes::none()) };
            let range = section.compressed_file_range()?;
            if range.format == CompressionFormat::None {
                let (start, size) = (range.offset as usize, range.uncompressed_size as usize);
                let end = start.checked_add(size).filter(|end| *end <= self.map.len());
                let end = end.context("it lies outside the file")?;
                return Ok(Bytes::Mapped(Rc::clone(&self.map), start..end));
            }
            Ok(Bytes::Owned(unpacked(&section, &self.budget)?.into()))
        };
        read().with_context(|| format!("{}: section {name}", self.path.display()))
    }
}

fn path_of(name: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(name).as_ref())
}

/// Returns whether types are read from this section. Other sections are not unpacked.
fn needed(id: SectionId) -> bool {
    matches!(
        id,
        SectionId::DebugAbbrev
            | SectionId::DebugAddr
            | SectionId::DebugInfo
            | SectionId::DebugLine
            | SectionId::DebugLineStr
            | SectionId::DebugStr
            | SectionId::DebugStrOffsets
            | SectionId::DebugTypes
    )
}

/// Returns the format of a file that is not ELF, by its first bytes.
fn foreign(bytes: &[u8]) -> Option<&'static str> {
    let starts: [(&[u8], &str); 7] = [
        (b"!<arch>\n", "an archive (`ar x` takes its members out)"),
        (b"!<thin>\n", "a thin archive, which only names its members"),
        (b"MZ", "a Windows program"),
        (b"\xcf\xfa\xed\xfe", "a Mach-O file"),
        (b"#!", "a script"),
        (b"\x1f\x8b", "compressed by gzip"),
        (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
    ];
    starts.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, what)| *what)
}

/// Bytes that are part of a mapped file, or were unpacked from one.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// Part of a mapped file, which the system reads on access.
    Mapped(Rc<Mmap>, Range<usize>),
    Owned(Rc<[u8]>),
}

impl Bytes {
    /// Returns an empty sequence.
    pub fn none() -> Self {
        Bytes::Owned(Rc::new([]))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map, range) => &map[range.clone()],
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// Maximum number of bytes that one byte of deflate data unpacks to: two bits can stand for 258 bytes (RFC
/// 1951).
const DEFLATE: u64 = 1032;

/// The same maximum for zstd: a block of four bytes can stand for 128 KiB (RFC 8878).
const ZSTD: u64 = 32 << 10;

/// Number of bytes that the sections of any file may unpack to, however small the file is.
const ALWAYS: u64 = 64 << 20;
/// Factor of the file's size that is added to this limit. Typical debug information is compressed to a
/// third.
const TIMES: u64 = 64;

/// The number of bytes that the sections of a file may still unpack or join to.
#[derive(Clone, Debug)]
pub(super) struct Budget(Rc<Cell<u64>>);

impl Budget {
    pub(super) fn of_file(bytes: usize) -> Self {
        let times = (bytes as u64).saturating_mul(TIMES);
        Budget(Rc::new(Cell::new(times.saturating_add(ALWAYS))))
    }

    /// Takes `bytes` from the budget.
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

/// Returns the bytes of a section, unpacked if it is compressed.
///
/// # Errors
/// If the section cannot be unpacked, its stated size is wrong, or the budget is exhausted.
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
        bail!("it states {stated} bytes unpacked, and {} bytes hold {most} at most", data.len());
    }
    budget.take(stated)?;
    let bytes = match packed.format {
        CompressionFormat::Zlib => read(flate2::read::ZlibDecoder::new(data), stated),
        _ => read(ruzstd::decoding::StreamingDecoder::new(data)?, stated),
    };
    Ok(Cow::Owned(bytes?))
}

/// Reads all bytes of `from`, and fails if their number is not `stated`. It reads at most one byte more than
/// that.
fn read(from: impl Read, stated: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(stated.saturating_add(1)).read_to_end(&mut bytes).context("it cannot be unpacked")?;
    match bytes.len() as u64 {
        found if found == stated => Ok(bytes),
        found if found > stated => bail!("it states {stated} bytes unpacked, and holds more"),
        found => bail!("it states {stated} bytes unpacked, and holds {found}"),
    }
}

/// Joins all sections called `name` as a linker would, and applies their relocations.
///
/// Every type unit has its own section, and these sections share one name. A reference into such a section
/// is moved by the total size of the earlier sections of that name.
pub(super) fn joined(object: &object::File<'_>, name: &str, budget: &Budget) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    let before = before(object);
    for section in object.sections().filter(|section| section.name() == Ok(name)) {
        let base = all.len();
        let data = unpacked(&section, budget)?;
        budget.take(data.len() as u64)?;
        all.extend_from_slice(&data);
        for (offset, relocation) in section.relocations() {
            if relocation.kind() != RelocationKind::Absolute {
                continue;
            }
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let symbol = object.symbol_by_index(index)?;
            let moved = symbol.section_index().and_then(|at| before.get(&at));
            let width = usize::from(relocation.size() / 8);
            let start = base.checked_add(usize::try_from(offset)?);
            let range = start.and_then(|start| Some(start..start.checked_add(width)?));
            let Some(place) = range.and_then(|range| all.get_mut(range)) else {
                bail!("a relocation lies outside the section");
            };
            let mut value = symbol.address().wrapping_add(*moved.unwrap_or(&0));
            value = value.wrapping_add_signed(relocation.addend());
            if relocation.has_implicit_addend() {
                value = value.wrapping_add(number(place, object.is_little_endian()));
            }
            write(place, value, object.is_little_endian());
        }
    }
    Ok(all)
}

/// Returns, for each debug section, the total size of the earlier sections of the same name.
fn before(object: &object::File<'_>) -> HashMap<SectionIndex, u64> {
    let mut passed: HashMap<&str, u64> = HashMap::new();
    let mut before = HashMap::new();
    let sections: Vec<_> = object.sections().collect();
    for section in &sections {
        let Some(name) = section.name().ok().filter(|name| name.starts_with(".debug_")) else {
            continue;
        };
        let bytes = passed.entry(name).or_default();
        before.insert(section.index(), *bytes);
        *bytes = bytes.saturating_add(section.size());
    }
    before
}

fn number(bytes: &[u8], little: bool) -> u64 {
    let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    if little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) }
}

fn write(place: &mut [u8], value: u64, little: bool) {
    place.copy_from_slice(&value.to_be_bytes()[8 - place.len()..]);
    if little {
        place.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_in_and_out_in_both_orders() {
        for little in [true, false] {
            let mut place = [0xFF; 4];
            write(&mut place, 0x0102_0304, little);
            assert_eq!(number(&place, little), 0x0102_0304);
            assert_eq!(place[0], if little { 4 } else { 1 });
        }
    }
}
