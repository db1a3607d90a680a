//! Traces through simulated caches: `linefill simulate`.

mod cases;
mod coherence;
mod heat;
mod json;
mod print;
mod source;

pub use cases::{CaseRun, Choice, cases, maps};
pub use coherence::{Talk, TeamRun, coherence_json, coherence_table, talk, talk_json, talk_table};
pub use heat::{heat_page, heat_text};
pub use json::{case_json, trace_json};
pub use print::{case_table, trace_table};
pub use source::{Tally, feed};

use anyhow::{Result, bail};

use crate::sim::{Cache, Hierarchy, HierarchyDesign, HierarchyError};

/// A configuration as it was typed, and the caches it makes.
#[derive(Clone, Debug)]
pub struct Config {
    /// As it was typed.
    pub text: String,
    /// The caches.
    pub hierarchy: Hierarchy,
}

impl Config {
    /// Empty caches, which count set by set as well if `heat`.
    ///
    /// # Errors
    /// If there is no such hierarchy.
    pub fn new(
        text: &str,
        design: &HierarchyDesign,
        heat: bool,
    ) -> std::result::Result<Self, HierarchyError> {
        let hierarchy = Hierarchy::new(design)?;
        Ok(Config {
            text: text.to_owned(),
            hierarchy: if heat {
                hierarchy.with_heat()
            } else {
                hierarchy
            },
        })
    }
}

/// The most lines of all caches that are simulated at a time, and kept to the end: those of 64 cases
/// in caches of 128 MiB. They take 1 GiB of memory, and more by some policies.
const MOST_LINES: u64 = 1 << 27;

/// Whether so many cases can be simulated at a time, each in every one of these designs.
///
/// # Errors
/// If their caches have too many lines.
pub fn affordable(designs: &[(String, HierarchyDesign)], cases: usize) -> Result<()> {
    let each: u64 = designs.iter().map(|(_, design)| design.lines()).sum();
    let lines = each.saturating_mul(cases as u64);
    if lines > MOST_LINES {
        let fewer = match cases {
            1 => "give fewer configurations or smaller caches",
            _ => "choose cases by --series and --x, or smaller caches",
        };
        bail!(
            "caches of {lines} lines in all ({each} of --config, {cases} times): at most \
             {MOST_LINES} can be simulated at a time; {fewer}"
        );
    }
    Ok(())
}

/// The levels by name: L1i if there is one, L1d (or L1, if it takes both), L2 and so on.
pub fn levels(hierarchy: &Hierarchy) -> Vec<(String, &Cache)> {
    let mut levels = Vec::new();
    if let Some(cache) = hierarchy.instructions() {
        levels.push(("L1i".to_owned(), cache));
    }
    for (index, cache) in hierarchy.levels().enumerate() {
        let name = match index {
            0 if hierarchy.joint() => "L1".to_owned(),
            0 => "L1d".to_owned(),
            _ => format!("L{}", index + 1),
        };
        levels.push((name, cache));
    }
    levels
}
