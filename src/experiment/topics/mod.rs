//! The experiments: a folder per topic, a file per family of figures, and how they are found.
//!
//! A set-up that only the figures of one file use stands in that file, one that several files of a
//! topic use stands in the topic's folder, and one that several topics use in
//! [`shared`](crate::experiment::shared).

use crate::experiment::{Claim, Experiment};
use crate::order;
use crate::prelude::*;
use crate::spelling::distance;

/// Experiments that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The name by which the family can be selected.
    pub name: &'static str,
    /// What is in it, in the order in which it is measured.
    pub experiments: &'static [Experiment],
}

/// A folder of families.
#[derive(Clone, Copy, Debug)]
pub struct Topic {
    /// The folder's name, by which all of its families can be selected.
    pub name: &'static str,
    /// Its families, in the order in which they are measured.
    pub families: &'static [Family],
}

/// The families of a topic: its files that hold experiments, and what else has a name of its own in
/// them.
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

/// The experiments of a family: all of its file, or those of a list in another.
macro_rules! experiments {
    ($file:ident) => {
        $file::ALL
    };
    ($name:ident in $file:ident :: $all:ident) => {
        $file::$all
    };
}

/// The one family of a topic whose folder it fills.
macro_rules! family {
    ($name:ident) => {
        /// The family that is the topic.
        pub(super) static FAMILIES: &[$crate::experiment::topics::Family] =
            &[$crate::experiment::topics::Family {
                name: stringify!($name),
                experiments: ALL,
            }];
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

/// Every family, in the order in which they are measured.
pub fn families() -> impl Iterator<Item = &'static Family> {
    TOPICS.iter().flat_map(|topic| topic.families)
}

/// Every experiment that works, family by family.
pub fn built() -> impl Iterator<Item = &'static Experiment> {
    families().flat_map(|family| family.experiments)
}

/// The topic of the experiment with this id, if it works.
pub fn topic_of(id: &str) -> Option<&'static Topic> {
    let has = |topic: &&Topic| {
        let mut families = topic.families.iter();
        families.any(|family| family.experiments.iter().any(|e| e.id == id))
    };
    TOPICS.iter().find(has)
}

/// The family of the experiment with this id, if it works.
pub fn of(id: &str) -> Option<&'static Family> {
    let has = |family: &&Family| family.experiments.iter().any(|e| e.id == id);
    families().find(has)
}

/// The machine of most figures of Drepper's section 3.3.
pub(crate) const PENTIUM_4: &str = "Pentium 4, 64-bit, 16 KiB L1d, 1 MiB L2 (2007)";

/// All rows, part by part and in the order of their numbers: A Startin, B Sestoft, C the tensor
/// series, D Drepper's section 3, E his 6.1 to 6.3, F neighbours of those sections, X what no
/// document asks but every reader of them does.
pub fn all() -> Vec<&'static Experiment> {
    let mut all: Vec<&'static Experiment> = built().collect();
    order::by_key(&mut all, |experiment| place(experiment.id));
    all
}

/// The part that a row belongs to, and its number there.
fn place(id: &str) -> (&str, u32) {
    let (part, number) = id.split_at(1);
    (part, number.parse().unwrap_or(0))
}

/// The row with this id, in whatever case it is written.
pub fn find(id: &str) -> Option<&'static Experiment> {
    built().find(|experiment| experiment.id.eq_ignore_ascii_case(id))
}

/// The claim with this id.
pub fn find_claim(id: &str) -> Option<&'static Claim> {
    let (experiment, _) = id.split_once('.')?;
    find(experiment)?.claims.iter().find(|claim| claim.id == id)
}

/// What can be selected by a name.
#[derive(Clone, Copy, Debug)]
pub enum Named {
    /// A row, by its id or name.
    Row(&'static Experiment),
    /// All experiments of a family.
    Family(&'static Family),
    /// All experiments of a topic.
    Topic(&'static Topic),
}

/// What somebody meant who misspelt `text`: the id or name that it takes the fewest edits to turn it
/// into, if that is one in three letters at most.
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
    let (edits, named) = named
        .map(|named| (edits(&named), named))
        .min_by_key(|(edits, _)| *edits)?;
    (3 * edits <= text.chars().count()).then_some(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_have_128_rows_and_every_row_is_there_once() {
        let parts = [
            ('A', 8),
            ('B', 16),
            ('C', 10),
            ('D', 46),
            ('E', 44),
            ('F', 4),
        ];
        let expected: Vec<String> = parts
            .into_iter()
            .flat_map(|(part, count)| (1..=count).map(move |number| format!("{part}{number}")))
            .collect();
        assert_eq!(expected.len(), 128);
        let all = all();
        let (documents, ours) = all.split_at(expected.len());
        let ids: Vec<&str> = documents.iter().map(|row| row.id).collect();
        assert_eq!(ids, expected);
        // Ours are in ascending order, so that none is there twice.
        let places: Vec<(&str, u32)> = ours.iter().map(|row| place(row.id)).collect();
        assert!(places.is_sorted_by(|one, other| one < other), "{places:?}");
        assert!(
            places
                .iter()
                .all(|(part, number)| *part == "X" && *number > 0)
        );
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
