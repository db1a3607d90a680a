//! The experiments, in one folder per topic and one file per family of figures, and functions to
//! find them.
//!
//! A set-up is defined where it is used: in the file of the only figures that use it, in the
//! topic's folder if several files use it, or in [`shared`](crate::experiment::shared) if several
//! topics use it.

use crate::experiment::{Claim, Experiment};
use crate::order;
use crate::prelude::*;
use crate::spelling::distance;

/// A group of related experiments.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The name that selects the family.
    pub name: &'static str,
    /// The experiments, in the order in which they are measured.
    pub experiments: &'static [Experiment],
}

/// A group of families, in a folder.
#[derive(Clone, Copy, Debug)]
pub struct Topic {
    /// The folder's name, which selects all of its families.
    pub name: &'static str,
    /// The families, in the order in which they are measured.
    pub families: &'static [Family],
}

/// Defines the families of a topic. `name` is a family whose experiments are the `ALL` of the file
/// of this name; `name in file::LIST` is a family whose experiments are another list of a file.
macro_rules! families {
    ($($name:ident $(in $file:ident :: $all:ident)?),* $(,)?) => {
        /// The families of this topic, in the order in which they are measured.
        pub(super) static FAMILIES: &[$crate::experiment::topics::Family] =
            &[$($crate::experiment::topics::Family {
                name: stringify!($name),
                experiments: experiments!($name $(in $file::$all)?),
            }),*];
    };
}

/// The list of experiments of a family, see `families`.
macro_rules! experiments {
    ($file:ident) => {
        $file::ALL
    };
    ($name:ident in $file:ident :: $all:ident) => {
        $file::$all
    };
}

/// Defines the only family of a topic, whose experiments are the `ALL` of the topic's folder.
macro_rules! family {
    ($name:ident) => {
        /// The only family of this topic.
        pub(super) static FAMILIES: &[$crate::experiment::topics::Family] =
            &[$crate::experiment::topics::Family { name: stringify!($name), experiments: ALL }];
    };
}

macro_rules! topics {
    ($($folder:ident),* $(,)?) => {
        /// Every topic, in the order in which they are measured.
        pub static TOPICS: &[Topic] = &[$(Topic {
            name: stringify!($folder),
            families: $folder::FAMILIES,
        }),*];
    };
}

pub mod bandwidth;
pub mod code;
pub mod coherence;
pub mod forwarding;
pub mod hierarchy;
pub mod kmeans;
pub mod layout;
pub mod maps;
pub mod matmul;
pub mod parallelism;
pub mod prefetch;
pub mod stores;
pub mod tensor;
pub mod threads;
pub mod tlb;

topics![
    hierarchy,
    tlb,
    layout,
    matmul,
    stores,
    bandwidth,
    prefetch,
    forwarding,
    code,
    parallelism,
    tensor,
    threads,
    kmeans,
    maps,
    coherence,
];

/// Returns every family, in the order in which they are measured.
pub fn families() -> impl Iterator<Item = &'static Family> {
    TOPICS.iter().flat_map(|topic| topic.families)
}

/// Returns every experiment, family by family.
pub fn built() -> impl Iterator<Item = &'static Experiment> {
    families().flat_map(|family| family.experiments)
}

/// Returns the topic of the experiment with exactly this id, if there is such an experiment.
pub fn topic_of(id: &str) -> Option<&'static Topic> {
    let has = |topic: &&Topic| {
        let mut families = topic.families.iter();
        families.any(|family| family.experiments.iter().any(|e| e.id == id))
    };
    TOPICS.iter().find(has)
}

/// Returns the family of the experiment with exactly this id, if there is such an experiment.
pub fn of(id: &str) -> Option<&'static Family> {
    let has = |family: &&Family| family.experiments.iter().any(|e| e.id == id);
    families().find(has)
}

/// Returns all experiments, by part and then by number. The parts are A: Startin, B: Sestoft, C:
/// the tensor series, D: Drepper's section 3, E: Drepper's sections 6.1 to 6.3, F: sections next to
/// these, and X: questions that no document asks but its readers do.
pub fn all() -> Vec<&'static Experiment> {
    let mut all: Vec<&'static Experiment> = built().collect();
    order::by_key(&mut all, |experiment| place(experiment.id));
    all
}

/// The part of an experiment and its number in the part.
fn place(id: &str) -> (&str, u32) {
    let (part, number) = id.split_at(1);
    (part, number.parse().unwrap_or(0))
}

/// Returns the experiment with this id, in upper or lower case.
pub fn find(id: &str) -> Option<&'static Experiment> {
    built().find(|experiment| experiment.id.eq_ignore_ascii_case(id))
}

/// Returns the claim with this id.
pub fn find_claim(id: &str) -> Option<&'static Claim> {
    let (experiment, _) = id.split_once('.')?;
    find(experiment)?.claims.iter().find(|claim| claim.id == id)
}

/// A thing that a name selects.
#[derive(Clone, Copy, Debug)]
pub enum Named {
    /// An experiment, by its id or name.
    Row(&'static Experiment),
    /// All experiments of a family.
    Family(&'static Family),
    /// All experiments of a topic.
    Topic(&'static Topic),
}

/// Returns the experiment, family or topic whose id or name is fewest edits away from `text`.
/// `None` if this takes more than one edit per three letters.
pub fn nearest(text: &str) -> Option<Named> {
    let text = text.to_ascii_lowercase();
    let rows = all().into_iter().map(Named::Row);
    let families = families().map(Named::Family);
    let topics = TOPICS.iter().map(Named::Topic);
    let edits = |named: &Named| match named {
        Named::Row(row) => {
            let id = distance(&text, &row.id.to_ascii_lowercase());
            id.min(distance(&text, row.name))
        }
        Named::Family(family) => distance(&text, family.name),
        Named::Topic(topic) => distance(&text, topic.name),
    };
    let named = rows.chain(families).chain(topics);
    let (edits, named) =
        named.map(|named| (edits(&named), named)).min_by_key(|(edits, _)| *edits)?;
    (3 * edits <= text.chars().count()).then_some(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_have_128_rows_and_every_row_is_there_once() {
        let parts = [('A', 8), ('B', 16), ('C', 10), ('D', 46), ('E', 44), ('F', 4)];
        let expected: Vec<String> = parts
            .into_iter()
            .flat_map(|(part, count)| (1..=count).map(move |number| format!("{part}{number}")))
            .collect();
        assert_eq!(expected.len(), 128);
        let all = all();
        let (documents, ours) = all.split_at(expected.len());
        let ids: Vec<&str> = documents.iter().map(|row| row.id).collect();
        assert_eq!(ids, expected);
        // Strictly ascending order excludes duplicates.
        let places: Vec<(&str, u32)> = ours.iter().map(|row| place(row.id)).collect();
        assert!(places.is_sorted_by(|one, other| one < other), "{places:?}");
        assert!(places.iter().all(|(part, number)| *part == "X" && *number > 0));
    }

    #[test]
    fn every_row_has_a_name_of_its_own() {
        let all = all();
        let mut names: Vec<&str> = all.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn a_family_is_named_like_no_row_and_no_other_family() {
        let families: Vec<&Family> = families().collect();
        for (index, family) in families.iter().enumerate() {
            let is = |name: &str| name.eq_ignore_ascii_case(family.name);
            assert!(!all().iter().any(|row| is(row.id) || is(row.name)));
            assert!(!families[..index].iter().any(|other| is(other.name)));
            assert!(!family.experiments.is_empty(), "{}", family.name);
        }
    }

    #[test]
    fn a_topic_is_named_like_no_row_and_no_family_of_another_topic() {
        for topic in TOPICS {
            let is = |name: &str| name.eq_ignore_ascii_case(topic.name);
            assert!(!all().iter().any(|row| is(row.id) || is(row.name)));
            let named = families().filter(|family| is(family.name));
            for family in named {
                let own = topic.families.iter().any(|own| own.name == family.name);
                assert!(own, "{}", topic.name);
            }
        }
    }

    #[test]
    fn misspelt_ids_find_their_neighbour() {
        for text in ["D144", "drepper-fig-310"] {
            assert!(matches!(nearest(text), Some(Named::Row(row)) if row.id == "D14"));
        }
        let family = nearest("streamng");
        assert!(matches!(family, Some(Named::Family(family)) if family.name == "streaming"));
        assert_eq!(find("e18").unwrap().id, "E18");
    }

    #[test]
    fn what_is_like_no_name_has_no_neighbour() {
        for text in ["nothing", "Z9", "", "everything", "xyz"] {
            assert!(nearest(text).is_none(), "{text}: {:?}", nearest(text));
        }
    }
}
