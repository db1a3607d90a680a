//! An object file and its sections.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use gimli::{DwarfPackageSections, DwarfSections, RunTimeEndian, SectionId};
use object::{CompressionFormat, Object, ObjectKind, ObjectSection};

use super::Bytes;
use super::relocate::joined;
use super::unpack::{Budget, unpacked};

/// An object file: a program, a shared library, what a compiler leaves, or debug information.
#[derive(Clone, Debug)]
pub struct Image {
    /// Where it is.
    pub path: PathBuf,
    bytes: Bytes,
    budget: Budget,
}

impl Image {
    /// Opens one.
    ///
    /// # Errors
    /// If there is no such file, or it is no ELF object: with what it is, as far as that shows.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let about = fs::metadata(path).with_context(|| format!("cannot read {shown}"))?;
        if about.is_dir() {
            bail!("{shown} is a directory, no object file");
        }
        if about.is_file() && about.len() == 0 {
            bail!("{shown} is empty, no object file");
        }
        let bytes = Bytes::of_file(path).with_context(|| format!("cannot read {shown}"))?;
        let image = Image {
            path: path.to_owned(),
            budget: Budget::of_file(bytes.len()),
            bytes,
        };
        match image.object() {
            Ok(_) => Ok(image),
            Err(error) => Err(match foreign(&image.bytes) {
                Some(what) => anyhow!("{shown} is {what}, no ELF object file"),
                None => anyhow!("{shown} is no ELF object file: {error}"),
            }),
        }
    }

    fn object(&self) -> object::Result<object::File<'_>> {
        object::File::parse(&*self.bytes)
    }

    fn parsed(&self) -> object::File<'_> {
        self.object().expect("it was parsed when it was opened")
    }

    /// All its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The order of its bytes.
    pub fn endian(&self) -> RunTimeEndian {
        match self.parsed().is_little_endian() {
            true => RunTimeEndian::Little,
            false => RunTimeEndian::Big,
        }
    }

    /// Whether it is for 32-bit x86, where eight-byte members are aligned to four.
    pub fn is_i386(&self) -> bool {
        self.parsed().architecture() == object::Architecture::I386
    }

    /// Whether it has a section of this name, be it compressed.
    pub fn has(&self, name: &str) -> bool {
        self.parsed().section_by_name(name).is_some()
    }

    /// What identifies its build.
    pub fn build_id(&self) -> Option<Vec<u8>> {
        let id = self.parsed().build_id().ok().flatten()?;
        Some(id.to_vec())
    }

    /// The name of the file with its debug information, and that file's checksum.
    pub fn debug_link(&self) -> Option<(PathBuf, u32)> {
        let object = self.parsed();
        let (name, sum) = object.gnu_debuglink().ok().flatten()?;
        Some((PathBuf::from(String::from_utf8_lossy(name).as_ref()), sum))
    }

    /// The name of the file with what it shares with other debug files, and its build id.
    pub fn shared_link(&self) -> Option<(PathBuf, Vec<u8>)> {
        let object = self.parsed();
        let (name, id) = object.gnu_debugaltlink().ok().flatten()?;
        let name = PathBuf::from(String::from_utf8_lossy(name).as_ref());
        Some((name, id.to_vec()))
    }

    /// The sections that types are read from, under their plain names or those of split files.
    ///
    /// # Errors
    /// If one cannot be unpacked.
    pub fn sections(&self, split: bool) -> Result<DwarfSections<Bytes>> {
        let object = self.parsed();
        DwarfSections::load(|id| match needed(id) {
            true => self.section(&object, id, split),
            false => Ok(Bytes::none()),
        })
    }

    /// The sections of a package of split files: all of them, since its index cuts each in parts.
    ///
    /// # Errors
    /// If one cannot be unpacked.
    pub fn package(&self) -> Result<DwarfPackageSections<Bytes>> {
        let object = self.parsed();
        DwarfPackageSections::load(|id| self.section(&object, id, true))
    }

    fn section(&self, object: &object::File<'_>, id: SectionId, split: bool) -> Result<Bytes> {
        let name = match split {
            true => id.dwo_name(),
            false => Some(id.name()),
        };
        let Some(name) = name else {
            return Ok(Bytes::none());
        };
        let read = || {
            // What a compiler leaves may hold several of a name, and references to mend.
            if object.kind() == ObjectKind::Relocatable {
                return joined(object, name, &self.budget).map(|bytes| Bytes::Owned(bytes.into()));
            }
            let Some(section) = object.section_by_name(name) else {
                return Ok(Bytes::none());
            };
            let range = section.compressed_file_range()?;
            if range.format == CompressionFormat::None {
                let part = self.bytes.part(range.offset, range.uncompressed_size);
                return part.ok_or_else(|| anyhow!("it lies outside the file"));
            }
            Ok(Bytes::Owned(unpacked(&section, &self.budget)?.into()))
        };
        read().with_context(|| format!("{}: section {name}", self.path.display()))
    }
}

/// Whether types are told there: what is not needed is not unpacked.
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

/// What a file is that is not ELF, by its first bytes.
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
    let found = starts.iter().find(|(start, _)| bytes.starts_with(start));
    found.map(|(_, what)| *what)
}
