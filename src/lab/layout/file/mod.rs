//! The object files that the types of a binary are read from, with their debug sections and separate debug
//! files, and a limit on the work of reading them.
//!
//! Entries, names and tables refer to each other, so a small file can demand unbounded work. For example, a
//! type can contain another type twice, which contains a third type twice, and so on. A thousand units can
//! also share one table. The output of real compilers takes work of a small multiple of its size.

mod image;
mod separate;

pub use separate::Places;

use std::cell::Cell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use gimli::{
    Dwarf, DwarfPackageSections, DwarfSections, DwoId, EndianSlice, Reader as _, RunTimeEndian,
    Section as _, Unit, UnitHeader,
};

use image::{Bytes, Image};
use separate::added;

/// The reader of debug information.
pub(super) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// The sections of all files that belong to a binary.
#[derive(Debug)]
pub(super) struct Opened {
    pub endian: RunTimeEndian,
    /// Whether the binary is for 32-bit x86.
    pub i386: bool,
    /// The file with the debug information.
    pub path: PathBuf,
    /// The sections of this file, and whether it is a split file (`.dwo`); `None` if it is a package of them.
    pub main: Option<(DwarfSections<Bytes>, bool)>,
    /// The sections of the file with shared debug information (`.gnu_debugaltlink`), if the file links to
    /// one.
    pub shared: Option<DwarfSections<Bytes>>,
    /// The sections of the split files that the file names, without the missing ones.
    pub split: Vec<DwarfSections<Bytes>>,
    /// The package of split files beside the binary, and the ids of the required units. The ids are `None`,
    /// which means all units, if the opened file is itself the package.
    pub package: Option<(DwarfPackageSections<Bytes>, Option<Vec<DwoId>>)>,
    /// Split files that could not be used, each with the reason.
    pub missing: Vec<String>,
    pub work: Work,
}

/// Moves `table` past an abbreviation table, or to the place where the table is damaged.
fn pass_abbreviations(table: &mut Slice<'_>) {
    let mut pass = || -> gimli::Result<()> {
        while table.read_uleb128()? != 0 {
            let (_tag, _children) = (table.read_uleb128()?, table.read_u8()?);
            loop {
                let (name, form) = (table.read_uleb128()?, table.read_uleb128()?);
                if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                    table.read_sleb128()?;
                }
                if (name, form) == (0, 0) {
                    break;
                }
            }
        }
        Ok(())
    };
    // gimli reports a damaged table when it reads it.
    let _ = pass();
}

/// A skeleton unit, whose debug information is in a split file.
struct Skeleton {
    id: DwoId,
    name: PathBuf,
    dir: PathBuf,
}

impl Opened {
    /// Opens `binary` and the other files that hold its debug information.
    ///
    /// # Errors
    /// If `binary` is not an object file, or has no debug information.
    pub fn new(binary: &Path, places: &Places<'_>) -> Result<Self> {
        let image = Image::open(binary)?;
        let file = places.find(&image)?;
        let mut opened = Opened {
            endian: file.endian(),
            i386: file.is_i386(),
            path: file.path.clone(),
            main: None,
            shared: None,
            split: Vec::new(),
            package: None,
            missing: Vec::new(),
            work: Work::of_bytes(file.map.len()),
        };
        let split = file.has(".debug_info.dwo");
        if split && file.has(".debug_cu_index") {
            opened.package = Some((file.package()?, None));
            return Ok(opened);
        }
        let sections = file.sections(split)?;
        opened.shared = places.shared(&file)?.map(|file| file.sections(false)).transpose()?;
        let skeletons = opened
            .skeletons(&sections)
            .with_context(|| format!("{}: damaged debug information", file.path.display()))?;
        opened.main = Some((sections, split));
        if !skeletons.is_empty() {
            opened.open_split(&skeletons, [&image.path, &file.path])?;
        }
        Ok(opened)
    }

    /// Returns the units that name a split file.
    fn skeletons(&self, sections: &DwarfSections<Bytes>) -> gimli::Result<Vec<Skeleton>> {
        let mut dwarf = self.dwarf(sections);
        let mut skeletons = Vec::new();
        for header in self.headers(&mut dwarf)? {
            let unit = self.unit(&dwarf, header)?;
            let (Some(id), Some(name)) = (unit.dwo_id, unit.dwo_name()?) else { continue };
            let path = |text: Slice<'_>| -> gimli::Result<PathBuf> {
                Ok(PathBuf::from(text.to_string_lossy().as_ref()))
            };
            skeletons.push(Skeleton {
                id,
                name: path(dwarf.attr_string(&unit, name)?)?,
                dir: unit.comp_dir.map(path).transpose()?.unwrap_or_default(),
            });
        }
        Ok(skeletons)
    }

    /// Opens the package beside one of `files`, and the split files of the units that the package lacks.
    fn open_split(&mut self, skeletons: &[Skeleton], files: [&PathBuf; 2]) -> Result<()> {
        let mut packed = HashSet::new();
        let package = files.map(|file| added(file, ".dwp"));
        if let Some(package) = package.iter().find(|path| path.is_file()) {
            let package = Image::open(package)?.package()?;
            let index = package
                .borrow(|bytes| Slice::new(bytes, self.endian), self.empty())
                .context("damaged package of debug information")?
                .cu_index;
            let there = skeletons.iter().filter(|unit| index.find(unit.id.0).is_some());
            packed.extend(there.map(|unit| unit.id.0));
            let wanted = packed.iter().copied().map(DwoId).collect();
            self.package = Some((package, Some(wanted)));
        }
        let beside = files[0].parent().unwrap_or(Path::new("."));
        for unit in skeletons {
            if !packed.insert(unit.id.0) {
                continue;
            }
            match self.open_one(unit, beside) {
                Ok(sections) => self.split.push(sections),
                Err(error) => self.missing.push(format!("{error:#}")),
            }
        }
        Ok(())
    }

    /// Opens the split file of a unit, at the path that the compiler states or beside the binary.
    fn open_one(&self, unit: &Skeleton, beside: &Path) -> Result<DwarfSections<Bytes>> {
        let stated = unit.dir.join(&unit.name);
        let moved = unit.name.file_name().map(|name| beside.join(name));
        let path = [Some(&stated), moved.as_ref()].into_iter().flatten().find(|of| of.is_file());
        let path = path.with_context(|| format!("{} is missing", stated.display()))?;
        let sections = Image::open(path)?.sections(true)?;
        match self.dwo_id(&sections) {
            Ok(Some(id)) if id == unit.id => Ok(sections),
            _ => Err(anyhow!("{} is of another build", path.display())),
        }
    }

    /// Returns the id of the first unit that has one.
    fn dwo_id(&self, sections: &DwarfSections<Bytes>) -> gimli::Result<Option<DwoId>> {
        let mut dwarf = self.dwarf(sections);
        dwarf.file_type = gimli::DwarfFileType::Dwo;
        for header in self.headers(&mut dwarf)? {
            if let Some(id) = self.unit(&dwarf, header)?.dwo_id {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Returns the headers of all units, type units last. Abbreviation tables that several units share are
    /// read once.
    pub fn headers<'a>(
        &self,
        dwarf: &mut Dwarf<Slice<'a>>,
    ) -> gimli::Result<Vec<UnitHeader<Slice<'a>>>> {
        let mut headers = Vec::new();
        let mut tables = HashSet::new();
        let mut note = |header: UnitHeader<Slice<'a>>| -> gimli::Result<()> {
            self.work.entry(0)?;
            let offset = header.debug_abbrev_offset().0;
            if tables.insert(offset) {
                // Tables at different offsets may overlap, so each is charged in full.
                let mut table = *dwarf.debug_abbrev.reader();
                table.skip(offset)?;
                let before = table.len();
                pass_abbreviations(&mut table);
                self.work.spend(16 * (before - table.len()) as u64)?;
            }
            headers.push(header);
            Ok(())
        };
        let mut plain = dwarf.units();
        while let Some(header) = plain.next()? {
            note(header)?;
        }
        let mut types = dwarf.type_units();
        while let Some(header) = types.next()? {
            note(header)?;
        }
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        Ok(headers)
    }

    /// Reads a unit.
    pub fn unit<'a>(
        &self,
        dwarf: &Dwarf<Slice<'a>>,
        header: UnitHeader<Slice<'a>>,
    ) -> gimli::Result<Unit<Slice<'a>>> {
        let unit = dwarf.unit(header)?;
        // Many units may refer to the same file table, and each unit gets its own copy.
        let files = unit.line_program.as_ref().map_or(0, |program| {
            let header = program.header();
            header.file_names().len() + header.include_directories().len()
        });
        self.work.entry(4 * files)?;
        Ok(unit)
    }

    pub fn dwarf<'a>(&self, sections: &'a DwarfSections<Bytes>) -> Dwarf<Slice<'a>> {
        sections.borrow(|bytes| Slice::new(bytes, self.endian))
    }

    /// Returns an empty reader in the byte order of the binary.
    pub fn empty<'a>(&self) -> Slice<'a> {
        Slice::new(&[], self.endian)
    }
}

/// The remaining budget for reading, in bytes read, approximately.
#[derive(Debug)]
pub(super) struct Work {
    left: Cell<u64>,
    /// Whether the budget was exceeded. If it was, the results are incomplete.
    pub(super) spent: Cell<bool>,
}

/// Budget of a file of any size, in bytes.
const ALWAYS: u64 = 1 << 28;
/// Factor of the binary's size that is added to this budget.
const TIMES: u64 = 512;

/// Cost of an entry without attributes.
const ENTRY: u64 = 32;
/// Cost of each attribute of an entry.
const ATTRIBUTE: u64 = 16;

impl Work {
    pub(super) fn of_bytes(bytes: usize) -> Self {
        let times = (bytes as u64).saturating_mul(TIMES);
        Work { left: Cell::new(times.saturating_add(ALWAYS)), spent: Cell::new(false) }
    }

    /// Takes `bytes` from the budget.
    ///
    /// # Errors
    /// If fewer bytes are left. Nothing is left after such an error.
    pub(super) fn spend(&self, bytes: u64) -> gimli::Result<()> {
        match self.left.get().checked_sub(bytes) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                self.left.set(0);
                self.spent.set(true);
                Err(gimli::Error::TooManyIterations)
            }
        }
    }

    /// Takes the cost of an entry with this many attributes.
    pub(super) fn entry(&self, attributes: usize) -> gimli::Result<()> {
        self.spend(ENTRY + ATTRIBUTE * attributes as u64)
    }
}
