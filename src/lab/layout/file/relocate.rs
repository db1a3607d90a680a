//! Sections of relocatable objects, with their references filled in.

use std::collections::HashMap;

use anyhow::{Result, bail};
use object::{Object, ObjectSection, ObjectSymbol, RelocationKind, RelocationTarget, SectionIndex};

use super::unpack::{Budget, unpacked};

/// All sections called `name`, one behind the other, as a linker would join them.
///
/// Type units lie in sections of their own under one name. A reference into a section that comes
/// behind others of its name is moved along with it.
///
/// # Errors
/// If the sections cannot be unpacked, or a relocation lies outside of them.
pub(super) fn joined(object: &object::File<'_>, name: &str, budget: &Budget) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    let before = before(object);
    for section in object
        .sections()
        .filter(|section| section.name() == Ok(name))
    {
        let base = all.len();
        let data = unpacked(&section, budget)?;
        budget.take(data.len() as u64)?;
        all.extend_from_slice(&data);
        for (offset, relocation) in section.relocations() {
            if relocation.kind() != RelocationKind::Absolute {
                continue;
            }
            let RelocationTarget::Symbol(index) = relocation.target() else {
                continue;
            };
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

/// For each debug section: the bytes of the earlier sections of the same name.
fn before(object: &object::File<'_>) -> HashMap<SectionIndex, u64> {
    let mut passed: HashMap<&str, u64> = HashMap::new();
    let mut before = HashMap::new();
    let sections: Vec<_> = object.sections().collect();
    for section in &sections {
        let Some(name) = section
            .name()
            .ok()
            .filter(|name| name.starts_with(".debug_"))
        else {
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
    match little {
        true => bytes.iter().rev().fold(0, add),
        false => bytes.iter().fold(0, add),
    }
}

fn write(place: &mut [u8], value: u64, little: bool) {
    let count = place.len();
    for (index, byte) in place.iter_mut().enumerate() {
        let power = if little { index } else { count - 1 - index };
        *byte = (value >> (8 * power)) as u8;
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
