//! Where data lies in a line: structures, holes, alignment.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;

pub mod alignment;
pub mod elements;
pub mod holes;
pub mod instruction;
pub mod orders;
pub mod placement;
pub mod straddle;
pub mod structure;

families![structure, instruction, elements, orders, holes, placement, alignment, straddle,];

/// A number of a layout: its name, its value on this machine, and its value in the document.
type Counted = (&'static str, usize, f64);

fn counted((name, value, _): Counted) -> Case {
    CountSetup::computed(name, value as u64, |value| Ok(value as f64)).at(0.0)
}

/// Judges that every number equals the document's.
fn agree(e: &Evidence<'_>, numbers: &[Counted]) -> Judged {
    all_of(numbers.iter().map(|(name, _, wanted)| between(name, e.at(name, 0.0), *wanted, *wanted)))
}
