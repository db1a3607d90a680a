//! Builds small ELF files with debug information byte by byte, with contents that no compiler writes.

// Each test binary uses only a part of this file.
#![allow(dead_code)]

/// The kind of file: a program, or a compiler's output.
pub const PROGRAM: u16 = 2;
pub const OBJECT: u16 = 1;

/// The flag of a compressed section.
pub const COMPRESSED: u64 = 0x800;

/// A section.
#[derive(Clone, Debug)]
pub struct Section {
    pub name: &'static str,
    pub flags: u64,
    pub bytes: Vec<u8>,
}

impl Section {
    pub fn new(name: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        Section { name, flags: 0, bytes: bytes.into() }
    }

    /// A compressed section that states this uncompressed size; `kind` is 1 for zlib, 2 for zstd.
    pub fn compressed(name: &'static str, kind: u32, stated: u64, packed: &[u8]) -> Self {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(stated.to_le_bytes());
        bytes.extend(1_u64.to_le_bytes());
        bytes.extend(packed);
        Section { name, flags: COMPRESSED, bytes }
    }
}

/// A file of these sections, little-endian, for x86-64. Sections with the same bytes overlap in the file.
pub fn file(kind: u16, sections: &[Section]) -> Vec<u8> {
    let mut names = b"\0".to_vec();
    let mut bytes = vec![0; 64];
    let mut headers: Vec<[u64; 10]> = vec![[0; 10]];
    let mut places: Vec<(&[u8], u64)> = Vec::new();
    for section in sections {
        let name = names.len() as u64;
        names.extend(section.name.bytes().chain([0]));
        let known = places.iter().find(|(other, _)| *other == section.bytes);
        let at = known.map_or(bytes.len() as u64, |(_, at)| *at);
        if known.is_none() {
            bytes.extend(&section.bytes);
            places.push((&section.bytes, at));
        }
        headers.push(header(name, 1, section.flags, at, section.bytes.len() as u64));
    }
    let (name, at) = (names.len() as u64, bytes.len() as u64);
    names.extend(b".shstrtab\0");
    headers.push(header(name, 3, 0, at, names.len() as u64));
    bytes.extend(&names);
    let table = bytes.len() as u64;
    for header in &headers {
        for (index, value) in header.iter().enumerate() {
            match [0, 1, 6, 7].contains(&index) {
                true => bytes.extend((*value as u32).to_le_bytes()),
                false => bytes.extend(value.to_le_bytes()),
            }
        }
    }
    let mut front = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    front.extend(kind.to_le_bytes());
    front.extend(62_u16.to_le_bytes());
    front.extend(1_u32.to_le_bytes());
    front.extend([0; 16]);
    front.extend(table.to_le_bytes());
    front.extend(0_u32.to_le_bytes());
    for half in [64, 0, 0, 64, headers.len() as u16, headers.len() as u16 - 1] {
        front.extend(half.to_le_bytes());
    }
    bytes[..64].copy_from_slice(&front);
    bytes
}

fn header(name: u64, kind: u64, flags: u64, at: u64, size: u64) -> [u64; 10] {
    [name, kind, flags, 0, at, size, 0, 0, 1, 0]
}

/// A code, its tag, whether there are children, and the attributes with their forms.
type Abbreviation = (u64, u64, bool, &'static [(u64, u64)]);

/// The abbreviations; their codes are the constants below.
#[rustfmt::skip]
const ABBREVIATIONS: &[Abbreviation] = &[
    (UNIT, 0x11, true, &[(0x13, 0x0B)]),
    (STRUCT, 0x13, true, &[(0x03, 0x08), (0x0B, 0x0F)]),
    (NAMELESS, 0x13, true, &[(0x0B, 0x0F)]),
    (MEMBER, 0x0D, false, &[(0x03, 0x08), (0x49, 0x13), (0x38, 0x0F)]),
    (NAMELESS_MEMBER, 0x0D, false, &[(0x49, 0x13), (0x38, 0x0F)]),
    (BASE, 0x24, false, &[(0x03, 0x08), (0x0B, 0x0B), (0x3E, 0x0B)]),
    (FUNCTION, 0x15, true, &[(0x27, 0x19)]),
    (PARAMETER, 0x05, false, &[(0x49, 0x13)]),
    (POINTER, 0x0F, false, &[(0x49, 0x13)]),
    (ARRAY, 0x01, true, &[(0x49, 0x13)]),
    (RANGE, 0x21, false, &[(0x37, 0x0F)]),
    (NAMESPACE, 0x39, true, &[(0x03, 0x08)]),
    (COMPLETED, 0x13, true, &[(0x47, 0x10), (0x0B, 0x0F)]),
    (
        BIT_FIELD,
        0x0D,
        false,
        &[(0x03, 0x08), (0x49, 0x13), (0x38, 0x0F), (0x0D, 0x0F), (0x6B, 0x0F)],
    ),
    (BASE_CLASS, 0x1C, false, &[(0x49, 0x13), (0x38, 0x0F)]),
    (TYPEDEF, 0x16, false, &[(0x03, 0x08), (0x49, 0x13)]),
    (ALIGNED, 0x13, true, &[(0x03, 0x08), (0x0B, 0x0F), (0x88, 0x0F)]),
];

/// `language u8`.
pub const UNIT: u64 = 1;
/// `name, bytes uleb`.
pub const STRUCT: u64 = 2;
/// `bytes uleb`.
pub const NAMELESS: u64 = 3;
/// `name, type ref, offset uleb`.
pub const MEMBER: u64 = 4;
/// `type ref, offset uleb`.
pub const NAMELESS_MEMBER: u64 = 5;
/// `name, bytes u8, encoding u8`.
pub const BASE: u64 = 6;
/// No attributes.
pub const FUNCTION: u64 = 7;
/// `type ref`.
pub const PARAMETER: u64 = 8;
/// `type ref`.
pub const POINTER: u64 = 9;
/// `type ref`.
pub const ARRAY: u64 = 10;
/// `count uleb`.
pub const RANGE: u64 = 11;
/// `name`.
pub const NAMESPACE: u64 = 12;
/// `specification: offset in the section u32, bytes uleb`.
pub const COMPLETED: u64 = 13;
/// `name, type ref, offset uleb, bits uleb, bit offset uleb`.
pub const BIT_FIELD: u64 = 14;
/// `type ref, offset uleb`.
pub const BASE_CLASS: u64 = 15;
/// `name, type ref`.
pub const TYPEDEF: u64 = 16;
/// `name, bytes uleb, alignment uleb`.
pub const ALIGNED: u64 = 17;

/// The table of abbreviations.
pub fn abbreviations() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (code, tag, children, attributes) in ABBREVIATIONS {
        uleb(&mut bytes, *code);
        uleb(&mut bytes, *tag);
        bytes.push(u8::from(*children));
        for (name, form) in *attributes {
            uleb(&mut bytes, *name);
            uleb(&mut bytes, *form);
        }
        bytes.extend([0, 0]);
    }
    bytes.push(0);
    bytes
}

pub fn uleb(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// An unfinished unit of DWARF version 4. Entries have numbers, which can be used before the entries are
/// written.
#[derive(Debug, Default)]
pub struct Unit {
    bytes: Vec<u8>,
    /// The start of each entry, by its number.
    entries: Vec<usize>,
    /// The place of each reference, and the number of its entry.
    references: Vec<(usize, usize)>,
}

impl Unit {
    /// An empty unit of C.
    pub fn new() -> Self {
        let mut unit = Unit::default();
        unit.bytes.extend([0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8]);
        unit.entry(UNIT).byte(12);
        unit
    }

    /// Starts an entry; the entry of the unit has the number 0.
    pub fn entry(&mut self, code: u64) -> &mut Self {
        self.entries.push(self.bytes.len());
        self.number(code)
    }

    /// The number of the next entry.
    pub fn next(&self) -> usize {
        self.entries.len()
    }

    /// The start of the last entry.
    pub fn last_at(&self) -> usize {
        *self.entries.last().unwrap()
    }

    pub fn byte(&mut self, byte: u8) -> &mut Self {
        self.bytes.push(byte);
        self
    }

    pub fn number(&mut self, value: u64) -> &mut Self {
        uleb(&mut self.bytes, value);
        self
    }

    pub fn text(&mut self, text: &str) -> &mut Self {
        self.bytes.extend(text.bytes().chain([0]));
        self
    }

    /// Four bytes.
    pub fn word(&mut self, word: u32) -> &mut Self {
        self.bytes.extend(word.to_le_bytes());
        self
    }

    /// A reference to the entry with this number.
    pub fn to(&mut self, entry: usize) -> &mut Self {
        self.references.push((self.bytes.len(), entry));
        self.word(0)
    }

    /// Ends the children of an entry.
    pub fn end(&mut self) -> &mut Self {
        self.byte(0)
    }

    /// The bytes of the finished unit.
    pub fn finished(mut self) -> Vec<u8> {
        self.end();
        let length = (self.bytes.len() - 4) as u32;
        self.bytes[..4].copy_from_slice(&length.to_le_bytes());
        for (at, entry) in self.references {
            let offset = self.entries[entry] as u32;
            self.bytes[at..at + 4].copy_from_slice(&offset.to_le_bytes());
        }
        self.bytes
    }
}

/// A program with these units.
pub fn program(units: &[Vec<u8>]) -> Vec<u8> {
    let sections = [
        Section::new(".debug_abbrev", abbreviations()),
        Section::new(".debug_info", units.concat()),
    ];
    file(PROGRAM, &sections)
}
