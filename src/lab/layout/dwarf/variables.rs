//! The types of variables that have an address of their own.

use std::collections::HashMap;
use std::rc::Rc;

use anyhow::Result;
use gimli::{
    AttributeValue, DW_AT_location, DW_AT_specification, DW_AT_type, DW_OP_addr, DW_TAG_array_type,
    DW_TAG_variable, Expression, Reader as _, UnitOffset,
};

use super::super::file::Slice;
use super::super::{Aggregate, Contents};
use super::program::At;
use super::scopes::is_aggregate;
use super::types::Types;

impl<'a> Types<'_, 'a> {
    /// What lies in the variables at `addresses`, as far as it is told.
    ///
    /// # Errors
    /// If the debug information is damaged.
    pub fn variables(&self, addresses: &[u64]) -> Result<HashMap<u64, Contents>> {
        let mut found = HashMap::new();
        for unit_at in self.program.units() {
            let unit = self.program.unit(unit_at)?;
            let mut entries = unit.entries_raw(None)?;
            let mut places: Vec<(u64, usize)> = Vec::new();
            while !entries.is_empty() {
                let UnitOffset(offset) = entries.next_offset();
                let Some(abbreviation) = entries.read_abbreviation()? else {
                    continue;
                };
                self.program.work().entry(abbreviation.attributes().len())?;
                if abbreviation.tag() != DW_TAG_variable {
                    entries.skip_attributes(abbreviation.attributes())?;
                    continue;
                }
                for specification in abbreviation.attributes() {
                    let attribute = entries.read_attribute(*specification)?;
                    if attribute.name() == DW_AT_location
                        && let AttributeValue::Exprloc(expression) = attribute.value()
                        && let Some(address) = address(expression)
                        && addresses.contains(&address)
                    {
                        places.push((address, offset));
                    }
                }
            }
            for (address, offset) in places {
                let at = At {
                    unit: unit_at,
                    offset,
                };
                if let Some(contents) = self.contents(at)? {
                    found.insert(address, contents);
                }
            }
        }
        Ok(found)
    }

    /// What lies in a variable: of what type and how often. `None` if it has no type.
    fn contents(&self, at: At) -> Result<Option<Contents>> {
        let entry = self.entry(at)?;
        // The declaration has the type of a variable that is defined elsewhere.
        let declared = self.reference(at.unit, &entry, DW_AT_specification);
        let mut name = self.name(at.unit, &entry);
        if let (None, Some(declared)) = (&name, declared) {
            name = self.name(declared.unit, &self.entry(declared)?);
        }
        let of = match (self.reference(at.unit, &entry, DW_AT_type), declared) {
            (None, Some(declared)) => self.type_of(declared.unit, &self.entry(declared)?),
            (of, _) => of,
        };
        let Some(of) = of else { return Ok(None) };
        let (mut at, mut entry) = self.bare(of)?;
        let mut elements = Vec::new();
        if entry.tag() == DW_TAG_array_type {
            elements = self.dimensions(at)?;
            let Some(element) = self.type_of(at.unit, &entry) else {
                return Ok(None);
            };
            (at, entry) = self.bare(element)?;
        }
        let inner: Option<Rc<Aggregate>> = match is_aggregate(entry.tag()) {
            true => Some(self.aggregate(at, 0)?),
            false => None,
        };
        Ok(Some(Contents {
            name,
            elements,
            inner,
        }))
    }
}

/// The address that an expression is, and no more.
fn address(expression: Expression<Slice<'_>>) -> Option<u64> {
    let mut bytes = expression.0;
    let is_address = bytes.read_u8().ok()? == DW_OP_addr.0;
    let address = bytes.read_u64().ok().filter(|_| is_address)?;
    bytes.is_empty().then_some(address)
}
