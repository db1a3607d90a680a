//! All files that the types of a binary are read from.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use gimli::{Dwarf, DwarfPackageSections, DwarfSections, DwoId, EndianSlice, RunTimeEndian};

use super::{Bytes, Image, Places, added};

/// How debug information is read.
pub type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// The sections of all files that belong to a binary.
#[derive(Debug)]
pub struct Opened {
    /// The order of the bytes.
    pub endian: RunTimeEndian,
    /// Whether it is for 32-bit x86.
    pub i386: bool,
    /// The file with the debug information.
    pub path: PathBuf,
    /// Its sections, unless it is a package.
    pub main: Option<Main>,
    /// The file that it shares debug information with.
    pub shared: Option<DwarfSections<Bytes>>,
    /// The split files that it names, as far as they are there.
    pub split: Vec<DwarfSections<Bytes>>,
    /// The package of split files beside it, and which of its units are wanted; all, if it is
    /// what was opened.
    pub package: Option<(DwarfPackageSections<Bytes>, Option<Vec<DwoId>>)>,
    /// Split files that could not be used, and why.
    pub missing: Vec<String>,
}

/// The sections of the main file.
#[derive(Debug)]
pub struct Main {
    /// The sections.
    pub sections: DwarfSections<Bytes>,
    /// Whether it is itself a split file.
    pub split: bool,
}

/// A unit whose debug information lies in a file of its own.
struct Skeleton {
    id: DwoId,
    name: PathBuf,
    dir: PathBuf,
}

impl Opened {
    /// Opens `binary`, and what else there is of its debug information.
    ///
    /// # Errors
    /// If it is no object file, or has no debug information.
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
        };
        let split = file.has(".debug_info.dwo");
        if split && file.has(".debug_cu_index") {
            opened.package = Some((file.package()?, None));
            return Ok(opened);
        }
        let sections = file.sections(split)?;
        opened.shared = places
            .shared(&file)?
            .map(|file| file.sections(false))
            .transpose()?;
        let skeletons = opened
            .skeletons(&sections)
            .with_context(|| format!("{}: damaged debug information", file.path.display()))?;
        opened.main = Some(Main { sections, split });
        if !skeletons.is_empty() {
            opened.open_split(&skeletons, [&image.path, &file.path])?;
        }
        Ok(opened)
    }

    /// The units that name a split file.
    fn skeletons(&self, sections: &DwarfSections<Bytes>) -> gimli::Result<Vec<Skeleton>> {
        let dwarf = self.dwarf(sections);
        let mut headers = dwarf.units();
        let mut skeletons = Vec::new();
        while let Some(header) = headers.next()? {
            let unit = dwarf.unit(header)?;
            let (Some(id), Some(name)) = (unit.dwo_id, unit.dwo_name()?) else {
                continue;
            };
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

    /// Opens the package beside one of `files`, or the split files one by one.
    fn open_split(&mut self, skeletons: &[Skeleton], files: [&PathBuf; 2]) -> Result<()> {
        let mut packed = HashSet::new();
        let package = files.map(|file| added(file, ".dwp"));
        if let Some(package) = package.iter().find(|path| path.is_file()) {
            let package = Image::open(package)?.package()?;
            let index = package
                .borrow(|bytes| Slice::new(bytes, self.endian), self.empty())
                .context("damaged package of debug information")?
                .cu_index;
            let there = skeletons
                .iter()
                .filter(|unit| index.find(unit.id.0).is_some());
            packed.extend(there.map(|unit| unit.id.0));
            let wanted = packed.iter().copied().map(DwoId).collect();
            self.package = Some((package, Some(wanted)));
        }
        let beside = files[0].parent().unwrap_or(Path::new("."));
        for unit in skeletons.iter().filter(|unit| !packed.contains(&unit.id.0)) {
            match self.open_one(unit, beside) {
                Ok(sections) => self.split.push(sections),
                Err(error) => self.missing.push(format!("{error:#}")),
            }
        }
        Ok(())
    }

    /// The split file of a unit: where its compiler put it, or beside the binary.
    fn open_one(&self, unit: &Skeleton, beside: &Path) -> Result<DwarfSections<Bytes>> {
        let stated = unit.dir.join(&unit.name);
        let moved = unit.name.file_name().map(|name| beside.join(name));
        let path = [Some(stated.clone()), moved].into_iter().flatten();
        let path = path.into_iter().find(|path| path.is_file());
        let path = path.ok_or_else(|| anyhow!("{} is missing", stated.display()))?;
        let sections = Image::open(&path)?.sections(true)?;
        match self.dwo_id(&sections) {
            Ok(Some(id)) if id == unit.id => Ok(sections),
            _ => Err(anyhow!("{} is of another build", path.display())),
        }
    }

    /// What identifies the unit of a split file.
    fn dwo_id(&self, sections: &DwarfSections<Bytes>) -> gimli::Result<Option<DwoId>> {
        let mut dwarf = self.dwarf(sections);
        dwarf.file_type = gimli::DwarfFileType::Dwo;
        let mut headers = dwarf.units();
        while let Some(header) = headers.next()? {
            if let Some(id) = dwarf.unit(header)?.dwo_id {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Sections, ready to be read.
    pub fn dwarf<'a>(&self, sections: &'a DwarfSections<Bytes>) -> Dwarf<Slice<'a>> {
        sections.borrow(|bytes| Slice::new(bytes, self.endian))
    }

    /// No bytes, in this order.
    pub fn empty<'a>(&self) -> Slice<'a> {
        Slice::new(&[], self.endian)
    }
}
