//! The units of all files of a binary, and references between their entries.

use std::cell::OnceCell;
use std::collections::HashMap;

use gimli::{
    AttributeValue, DebugInfoOffset, DebugTypeSignature, Dwarf, DwarfFileType, Result,
    RunTimeEndian, SectionId, Unit, UnitHeader, UnitOffset, UnitType,
};

use super::super::file::{Opened, Slice};
use super::super::work::Work;

/// The place of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct At {
    /// The unit.
    pub unit: UnitAt,
    /// Bytes from the start of the unit.
    pub offset: usize,
}

/// The place of a unit: which source, and which of its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnitAt {
    source: usize,
    unit: usize,
}

/// Debug sections whose units refer to each other by offset.
#[derive(Debug)]
struct Source<'a> {
    dwarf: Dwarf<Slice<'a>>,
    headers: Vec<UnitHeader<Slice<'a>>>,
    units: Vec<OnceCell<Unit<Slice<'a>>>>,
}

/// All debug information of a binary.
#[derive(Debug)]
pub struct Program<'a> {
    sources: Vec<Source<'a>>,
    /// The source that others refer to as the shared file.
    shared: Option<usize>,
    /// Types by signature.
    signatures: HashMap<DebugTypeSignature, At>,
    /// The largest alignment of a plain value, in bytes.
    pub widest: u64,
    endian: RunTimeEndian,
    opened: &'a Opened,
}

impl<'a> Program<'a> {
    /// Finds the units of all files.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn new(opened: &'a Opened) -> Result<Self> {
        let mut program = Program {
            sources: Vec::new(),
            shared: None,
            signatures: HashMap::new(),
            // System V ABI, i386: double and long long are aligned to 4 in structures.
            widest: if opened.i386 { 4 } else { 16 },
            endian: opened.endian,
            opened,
        };
        let (mut parent, mut own) = (Dwarf::default(), Dwarf::default());
        if let Some(main) = &opened.main {
            // Once for its own units, once for the split files that need its addresses.
            for copy in [&mut parent, &mut own] {
                *copy = opened.dwarf(&main.sections);
                if let Some(shared) = &opened.shared {
                    copy.set_sup(opened.dwarf(shared));
                }
                if main.split {
                    copy.file_type = DwarfFileType::Dwo;
                }
            }
            program.add(own)?;
        }
        if let Some(shared) = &opened.shared {
            program.shared = Some(program.sources.len());
            program.add(opened.dwarf(shared))?;
        }
        for sections in &opened.split {
            let mut dwarf = opened.dwarf(sections);
            dwarf.make_dwo(&parent);
            program.add(dwarf)?;
        }
        if let Some((sections, wanted)) = &opened.package {
            let package =
                sections.borrow(|bytes| Slice::new(bytes, opened.endian), opened.empty())?;
            match wanted {
                Some(wanted) => {
                    for id in wanted {
                        package
                            .find_cu(*id, &parent)?
                            .map(|dwarf| program.add(dwarf))
                            .transpose()?;
                    }
                }
                None => {
                    for row in 1..=package.cu_index.unit_count() {
                        program.add(package.cu_sections(row, &parent)?)?;
                    }
                }
            }
            for row in 1..=package.tu_index.unit_count() {
                program.add(package.tu_sections(row, &parent)?)?;
            }
        }
        Ok(program)
    }

    fn add(&mut self, mut dwarf: Dwarf<Slice<'a>>) -> Result<()> {
        let headers = self.opened.headers(&mut dwarf)?;
        let source = self.sources.len();
        for (unit, header) in headers.iter().enumerate() {
            let (UnitType::Type {
                type_signature,
                type_offset,
            }
            | UnitType::SplitType {
                type_signature,
                type_offset,
            }) = header.type_()
            else {
                continue;
            };
            let at = At {
                unit: UnitAt { source, unit },
                offset: type_offset.0,
            };
            self.signatures.entry(type_signature).or_insert(at);
        }
        self.sources.push(Source {
            dwarf,
            units: headers.iter().map(|_| OnceCell::new()).collect(),
            headers,
        });
        Ok(())
    }

    /// All units, in the order of the files.
    pub fn units(&self) -> impl Iterator<Item = UnitAt> {
        let sources = self.sources.iter().enumerate();
        sources
            .flat_map(|(source, of)| (0..of.units.len()).map(move |unit| UnitAt { source, unit }))
    }

    /// A unit, read when it is first asked for.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn unit(&self, at: UnitAt) -> Result<&Unit<Slice<'a>>> {
        let source = &self.sources[at.source];
        let cell = &source.units[at.unit];
        if let Some(unit) = cell.get() {
            return Ok(unit);
        }
        let unit = self.opened.unit(&source.dwarf, source.headers[at.unit])?;
        Ok(cell.get_or_init(|| unit))
    }

    /// What reading may still take.
    pub(in super::super) fn work(&self) -> &'a Work {
        &self.opened.work
    }

    /// Whether the least significant byte comes first.
    pub fn is_little(&self) -> bool {
        self.endian == RunTimeEndian::Little
    }

    /// The sections that a unit lies in.
    pub fn dwarf(&self, at: UnitAt) -> &Dwarf<Slice<'a>> {
        &self.sources[at.source].dwarf
    }

    /// The entry that an attribute of an entry of `unit` refers to, if it refers to one.
    pub fn referred(&self, unit: UnitAt, value: &AttributeValue<Slice<'a>>) -> Option<At> {
        match *value {
            AttributeValue::UnitRef(UnitOffset(offset)) => Some(At { unit, offset }),
            AttributeValue::DebugInfoRef(offset) => self.at(unit.source, offset),
            AttributeValue::DebugInfoRefSup(offset) => self.at(self.shared?, offset),
            AttributeValue::DebugTypesRef(signature) => self.signatures.get(&signature).copied(),
            _ => None,
        }
    }

    /// The entry at an offset of `.debug_info`.
    fn at(&self, source: usize, offset: DebugInfoOffset) -> Option<At> {
        let headers = &self.sources[source].headers;
        let plain = headers.partition_point(|header| header.section() == SectionId::DebugInfo);
        let start = |header: &UnitHeader<Slice<'a>>| header.debug_info_offset().map(|at| at.0);
        let behind = headers[..plain].partition_point(|header| start(header) <= Some(offset.0));
        let unit = behind.checked_sub(1)?;
        Some(At {
            unit: UnitAt { source, unit },
            offset: offset.0.checked_sub(start(&headers[unit])?)?,
        })
    }
}
