//! Loads an object file: lays out its sections in memory and resolves its references.

use std::collections::HashMap;

use anyhow::{Result, anyhow, bail};
use object::{
    Architecture, Object as _, ObjectKind, ObjectSection, ObjectSymbol as _, Relocation,
    RelocationKind, RelocationTarget, SectionIndex, SectionKind, SymbolSection,
};

use crate::mem::{LINE, PAGE};
use crate::os::Code;
use crate::os::code::CodeError;

/// Offset of a function that every object has and that only returns.
pub const EMPTY: usize = 0;

/// The function at [`EMPTY`], on its own line. The rest of the line is filled with breakpoints, since it
/// must not be executed.
const RETURN: [u8; LINE] = {
    let mut line = [0xCC; LINE];
    line[0] = 0xC3;
    line
};

/// Maximum size in bytes of a file's code or data.
const MOST: u64 = 1 << 30;

/// A loaded object file. All offsets are relative to its first byte.
#[derive(Debug)]
pub struct Object {
    /// Code and constants.
    code: Vec<u8>,
    /// Data, which starts on the page after the code.
    data: Vec<u8>,
    /// References to resolve when the address is known.
    patches: Vec<Patch>,
    /// References that cannot be resolved. They lead to the breakpoint behind [`EMPTY`].
    broken: Vec<Broken>,
    symbols: HashMap<String, u64>,
    /// The ends of the symbols that state their sizes, by their starts.
    ends: HashMap<u64, u64>,
    /// The starts of the loaded sections, each with its end.
    sections: Vec<(u64, u64)>,
}

/// A reference that cannot be resolved.
#[derive(Debug)]
struct Broken {
    at: u64,
    reason: String,
    /// Whether the reference is a call or a jump. Others read data, where a breakpoint would be a value.
    is_call: bool,
}

/// Offset of the breakpoint to which unresolved references lead.
const TRAP: u64 = EMPTY as u64 + 1;

/// A reference from one place to another.
#[derive(Debug)]
struct Patch {
    at: u64,
    target: u64,
    addend: i64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The distance, in 4 bytes.
    Near,
    /// The distance, in 8 bytes.
    Far,
    /// The address, in 8 bytes.
    Address,
}

impl Kind {
    fn bytes(self) -> usize {
        if self == Kind::Near { 4 } else { 8 }
    }
}

impl Object {
    /// Reads an object file for x86-64.
    pub fn read(bytes: &[u8]) -> Result<Object> {
        let file = object::File::parse(bytes);
        let file = file.map_err(|error| anyhow!("no object file: {error}"))?;
        if file.architecture() != Architecture::X86_64 || file.kind() != ObjectKind::Relocatable {
            bail!(
                "a {:?} file for {:?}; an object file (.o) for x86-64 is wanted",
                file.kind(),
                file.architecture()
            );
        }
        let mut places: HashMap<SectionIndex, u64> = HashMap::new();
        let (mut code, mut data) = (RETURN.to_vec(), Vec::new());
        let mut sections = Vec::new();
        for writable in [false, true] {
            // Data starts on a new page.
            let base = if writable { data_start(&code) } else { 0 };
            let image = if writable { &mut data } else { &mut code };
            for section in file.sections() {
                if loaded(&section)? != Some(writable) {
                    continue;
                }
                let align = section.align().clamp(1, PAGE as u64);
                let at = (image.len() as u64).next_multiple_of(align);
                let end = at.saturating_add(section.size());
                if end > MOST {
                    bail!("{} takes {end} bytes, and {MOST} is the most", name(&section));
                }
                image.resize(at as usize, 0);
                // Bytes of a section that are not in the file are zeros.
                image.extend_from_slice(section.data()?);
                image.resize(end as usize, 0);
                places.insert(section.index(), base + at);
                sections.push((base + at, base + end));
            }
        }
        let mut object = Object {
            code,
            data,
            patches: Vec::new(),
            broken: Vec::new(),
            symbols: HashMap::new(),
            ends: HashMap::new(),
            sections,
        };
        for symbol in file.symbols() {
            let place = symbol.section_index().and_then(|index| places.get(&index));
            if let (Some(place), Ok(name)) = (place, symbol.name())
                && !name.is_empty()
            {
                let start = place + symbol.address();
                object.symbols.insert(name.to_owned(), start);
                if symbol.size() > 0 {
                    object.ends.insert(start, start + symbol.size());
                }
            }
        }
        for section in file.sections() {
            if let Some(place) = places.get(&section.index()) {
                object.join(&file, &section, *place, &places)?;
            }
        }
        Ok(object)
    }

    /// Adds the references of a section at `place`.
    fn join<'f>(
        &mut self,
        file: &object::File<'f>,
        section: &object::Section<'f, '_>,
        place: u64,
        places: &HashMap<SectionIndex, u64>,
    ) -> Result<()> {
        for (offset, relocation) in section.relocations() {
            let kind = match (relocation.kind(), relocation.size()) {
                (RelocationKind::Relative, 64) => Kind::Far,
                (RelocationKind::Absolute, 64) => Kind::Address,
                _ => Kind::Near,
            };
            let end = offset.saturating_add(kind.bytes() as u64);
            if relocation.size() >= 32 && end > section.size() {
                bail!("a reference outside {}", name(section));
            }
            let at = place + offset;
            let (target, addend) = match resolved(file, &relocation, places) {
                Ok(target) => (target, relocation.addend()),
                Err(error) => {
                    self.broken.push(Broken {
                        at,
                        reason: error.to_string(),
                        is_call: relocation.kind() == RelocationKind::PltRelative,
                    });
                    // A distance counts from the end of its 4 bytes.
                    (TRAP, if kind == Kind::Near { -4 } else { 0 })
                }
            };
            // Others are broken, and take fewer bytes.
            if relocation.size() >= 32 {
                self.patches.push(Patch { at, target, addend, kind });
            }
        }
        Ok(())
    }

    /// Checks that all references of the object could be resolved.
    ///
    /// # Errors
    /// If one could not. The message names its symbol.
    pub fn whole(self) -> Result<Self> {
        match self.broken.first() {
            Some(broken) => bail!("{}", broken.reason),
            None => Ok(self),
        }
    }

    /// Checks that the references of the function at `entry` could be resolved, and those of what it refers
    /// to in the file. References of other functions do not matter.
    ///
    /// # Errors
    /// If one could not. The message names its symbol.
    pub fn reaches(&self, entry: usize) -> Result<()> {
        let mut starts: Vec<u64> = self.symbols.values().copied().collect();
        starts.extend(self.sections.iter().map(|(start, _)| start));
        starts.sort_unstable();
        let mut reached: Vec<(u64, u64)> = Vec::new();
        let mut left = vec![entry as u64];
        while let Some(place) = left.pop() {
            let part = self.part(&starts, place);
            if reached.contains(&part) {
                continue;
            }
            reached.push(part);
            let inside = |patch: &&Patch| (part.0..part.1).contains(&patch.at);
            left.extend(self.patches.iter().filter(inside).map(Patch::place));
        }
        let sections = self.sections.iter();
        let sections = sections.filter(|(start, end)| {
            let inside = |(place, _): &(u64, u64)| (*start..*end).contains(place);
            reached.iter().any(inside)
        });
        let sections: Vec<&(u64, u64)> = sections.collect();
        for broken in &self.broken {
            let inside = |(start, end): &(u64, u64)| (*start..*end).contains(&broken.at);
            // An assembler leaves no reference for a call inside a section, so that more may be reached. A
            // call then meets the breakpoint, and a read would not.
            let section = !broken.is_call && sections.iter().any(|section| inside(section));
            if section || reached.iter().any(inside) {
                bail!("{}", broken.reason);
            }
        }
        Ok(())
    }

    /// Returns the start and the end of the function or variable at `place`: as its symbol states, or up to
    /// the next symbol.
    fn part(&self, starts: &[u64], place: u64) -> (u64, u64) {
        let next = starts.partition_point(|start| *start <= place);
        let start = next.checked_sub(1).map_or(0, |before| starts[before]);
        let end = self.ends.get(&start).copied().or_else(|| starts.get(next).copied());
        (start, end.unwrap_or(u64::MAX))
    }

    /// Returns whether a breakpoint at this offset stands for what is not in the file.
    pub fn is_trap(&self, offset: u64) -> bool {
        // The breakpoint has been executed.
        offset == TRAP + 1 && !self.broken.is_empty()
    }

    /// Returns the offset of a function.
    ///
    /// # Errors
    /// If the code has no such symbol. The message lists the symbols of the code.
    pub fn entry(&self, symbol: &str) -> Result<usize> {
        let found = self.symbols.get(symbol).copied();
        if let Some(place) = found.filter(|place| *place < self.code.len() as u64) {
            return Ok(place as usize);
        }
        let known = self.symbols.iter().filter(|(_, place)| **place < self.code.len() as u64);
        let mut names: Vec<&str> = known.map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        match names[..] {
            [] => bail!("no function `{symbol}`: the file has no symbol in its code"),
            _ => bail!("no function `{symbol}`; the file has {}", names.join(", ")),
        }
    }

    /// Returns the last symbol at or before an offset, and the distance from the symbol to the offset.
    pub fn symbol_at(&self, offset: u64) -> Option<(&str, u64)> {
        let before = self.symbols.iter().filter(|(_, place)| **place <= offset);
        let (name, place) = before.max_by_key(|(name, place)| (**place, name.as_str()))?;
        Some((name, offset - place))
    }

    /// Copies the object into memory of this process, which is first writable, then executable, never both.
    pub fn place(&self) -> Result<Code, CodeError> {
        let start = data_start(&self.code) as usize;
        let data = self.data.len();
        Code::with_data(self.code.len(), data, |bytes| {
            bytes[..self.code.len()].copy_from_slice(&self.code);
            if data > 0 {
                bytes[start..start + data].copy_from_slice(&self.data);
            }
            let address = bytes.as_ptr().addr() as u64;
            for patch in &self.patches {
                let value = patch.target.wrapping_add_signed(patch.addend);
                let value = match patch.kind {
                    Kind::Near | Kind::Far => value.wrapping_sub(patch.at),
                    Kind::Address => value.wrapping_add(address),
                };
                let (at, size) = (patch.at as usize, patch.kind.bytes());
                bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
            }
        })
    }
}

impl Patch {
    /// Returns the offset to which the reference leads.
    fn place(&self) -> u64 {
        let from_end = if self.kind == Kind::Near { 4 } else { 0 };
        self.target.wrapping_add_signed(self.addend + from_end)
    }
}

/// Returns the offset of the symbol that a reference names.
///
/// # Errors
/// If it is not in the file, or the reference is of an unknown kind.
fn resolved(
    file: &object::File<'_>,
    relocation: &Relocation,
    places: &HashMap<SectionIndex, u64>,
) -> Result<u64> {
    let RelocationTarget::Symbol(index) = relocation.target() else {
        bail!("a reference to {:?}, which linefill does not know", relocation.target());
    };
    let symbol = file.symbol_by_index(index)?;
    let name = symbol.name().unwrap_or("");
    let index = match symbol.section() {
        SymbolSection::Section(index) => index,
        SymbolSection::Undefined => bail!(
            "`{name}` is not in the file. Nothing else is linked: neither libraries nor other files"
        ),
        other => bail!("`{name}` lies in no section of the file ({other:?})"),
    };
    let Some(place) = places.get(&index) else {
        bail!("`{name}` lies in a section that is not loaded");
    };
    match (relocation.kind(), relocation.size()) {
        (RelocationKind::Relative | RelocationKind::PltRelative, 32)
        | (RelocationKind::Relative | RelocationKind::Absolute, 64) => {}
        (RelocationKind::Absolute, 32) => bail!(
            "an address of 32 bits, of `{name}`: the code lies above 4 GiB; write [rip + {name}]"
        ),
        (RelocationKind::GotRelative, _) => bail!(
            "`{name}` needs a global offset table, which does not exist here: compile with -fPIE \
             or -fvisibility=hidden"
        ),
        _ => bail!(
            "a reference to `{name}` of a kind that linefill does not resolve: {:?}",
            relocation.flags()
        ),
    }
    Ok(place + symbol.address())
}

/// Returns the offset of the data after this code: the next page.
fn data_start(code: &[u8]) -> u64 {
    code.len().next_multiple_of(PAGE) as u64
}

/// Returns whether a section is loaded as writable; `None` if it is not loaded.
fn loaded<'f>(section: &object::Section<'f, '_>) -> Result<Option<bool>> {
    Ok(match section.kind() {
        SectionKind::Text => Some(false),
        SectionKind::ReadOnlyData | SectionKind::ReadOnlyString => {
            (section.name() != Ok(".eh_frame")).then_some(false)
        }
        SectionKind::ReadOnlyDataWithRel | SectionKind::Data | SectionKind::UninitializedData => {
            Some(true)
        }
        SectionKind::Tls | SectionKind::UninitializedTls => {
            bail!("{} is thread-local; thread-local data is not supported", name(section))
        }
        _ => None,
    })
}

fn name<'f>(section: &object::Section<'f, '_>) -> String {
    section.name().unwrap_or("a section").to_owned()
}
