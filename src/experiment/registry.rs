//! Every row of the mission, built or not.

use super::Experiment;
use super::family::{self, FAMILIES, Family};
use crate::spelling::distance;

mod planned;

/// A row of the mission.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// It works.
    Built(&'static Experiment),
    /// It is not built yet.
    Planned {
        /// The row's id.
        id: &'static str,
        /// The row's name.
        name: &'static str,
    },
}

impl Entry {
    /// The row's id.
    pub const fn id(&self) -> &'static str {
        match self {
            Entry::Built(experiment) => experiment.id,
            Entry::Planned { id, .. } => id,
        }
    }

    /// The row's name.
    pub const fn name(&self) -> &'static str {
        match self {
            Entry::Built(experiment) => experiment.name,
            Entry::Planned { name, .. } => name,
        }
    }
}

/// All rows, part by part and in the order of their numbers.
pub fn all() -> Vec<Entry> {
    planned::ROWS
        .iter()
        .map(|&(id, name)| {
            family::built()
                .find(|experiment| experiment.id == id)
                .map_or(Entry::Planned { id, name }, Entry::Built)
        })
        .collect()
}

/// The row with this id, in whatever case it is written.
pub fn find(id: &str) -> Option<Entry> {
    all()
        .into_iter()
        .find(|entry| entry.id().eq_ignore_ascii_case(id))
}

/// What can be selected by a name.
#[derive(Clone, Copy, Debug)]
pub enum Named {
    /// A row, by its id or name.
    Row(Entry),
    /// All experiments of a family.
    Family(&'static Family),
}

/// What is spelt most like `text`, by id or name: what somebody meant who misspelt it.
pub fn nearest(text: &str) -> Named {
    let text = text.to_ascii_lowercase();
    let rows = all().into_iter().map(Named::Row);
    let families = FAMILIES.iter().map(Named::Family);
    rows.chain(families)
        .min_by_key(|named| match named {
            Named::Row(entry) => {
                let id = distance(&text, &entry.id().to_ascii_lowercase());
                id.min(distance(&text, entry.name()))
            }
            Named::Family(family) => distance(&text, family.name),
        })
        .expect("the registry is not empty")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_have_128_rows_and_every_row_its_own_id() {
        let parts = [
            ('A', 8),
            ('B', 16),
            ('C', 10),
            ('D', 46),
            ('E', 44),
            ('F', 4),
        ];
        let mut expected: Vec<String> = parts
            .into_iter()
            .flat_map(|(part, count)| (1..=count).map(move |number| format!("{part}{number}")))
            .collect();
        assert_eq!(expected.len(), 128);
        let all = all();
        let ours = 1..=all.len() - expected.len();
        expected.extend(ours.map(|number| format!("X{number}")));
        let ids: Vec<&str> = all.iter().map(Entry::id).collect();
        assert_eq!(ids, expected);
    }

    #[test]
    fn every_experiment_is_a_row_of_the_mission_and_is_there_once() {
        let rows: Vec<&str> = planned::ROWS.iter().map(|row| row.0).collect();
        let mut built: Vec<&str> = family::built().map(|experiment| experiment.id).collect();
        assert!(built.iter().all(|id| rows.contains(id)));
        let count = built.len();
        built.sort_unstable();
        built.dedup();
        assert_eq!(built.len(), count);
    }

    #[test]
    fn a_family_is_named_like_no_row_and_no_other_family() {
        for (index, family) in FAMILIES.iter().enumerate() {
            let is = |name: &str| name.eq_ignore_ascii_case(family.name);
            assert!(!all().iter().any(|row| is(row.id()) || is(row.name())));
            assert!(!FAMILIES[..index].iter().any(|other| is(other.name)));
            assert!(!family.experiments.is_empty(), "{}", family.name);
        }
    }

    #[test]
    fn misspelt_ids_find_their_neighbour() {
        for text in ["D144", "drepper-fig-310"] {
            assert!(matches!(nearest(text), Named::Row(entry) if entry.id() == "D14"));
        }
        assert!(matches!(nearest("streamng"), Named::Family(family) if family.name == "streaming"));
        assert_eq!(find("e18").unwrap().id(), "E18");
    }
}
