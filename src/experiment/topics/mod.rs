//! The experiments: a folder per topic, a file per family of figures.
//!
//! A set-up that only the figures of one file use stands in that file, one that several files of a
//! topic use stands in the topic's folder, and one that several topics use in
//! [`shared`](crate::experiment::shared).

use crate::experiment::Experiment;

/// The experiments of one file.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The file's name, by which the family can be selected.
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

/// The families of a topic: its files that hold experiments.
macro_rules! families {
    ($($file:ident),* $(,)?) => {
        /// The families of this topic, in the order in which they are measured.
        pub(super) static FAMILIES: &[$crate::experiment::topics::Family] =
            &[$($crate::experiment::topics::Family {
                name: stringify!($file),
                experiments: $file::ALL,
            }),*];
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
