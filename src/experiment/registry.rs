//! Every row of the mission.

use super::topics::{self, Family, TOPICS, Topic};
use super::{Claim, Experiment};
use crate::prelude::*;
use crate::spelling::distance;

/// All rows, part by part and in the order of their numbers: A Startin, B Sestoft, C the tensor
/// series, D Drepper's section 3, E his 6.1 to 6.3, F neighbours of those sections, X what no
/// document asks but every reader of them does.
pub fn all() -> Vec<&'static Experiment> {
    let mut all: Vec<&'static Experiment> = topics::built().collect();
    all.sort_by_key(|experiment| place(experiment.id));
    all
}

/// The part that a row belongs to, and its number there.
fn place(id: &str) -> (&str, u32) {
    let (part, number) = id.split_at(1);
    (part, number.parse().unwrap_or(0))
}

/// The row with this id, in whatever case it is written.
pub fn find(id: &str) -> Option<&'static Experiment> {
    topics::built().find(|experiment| experiment.id.eq_ignore_ascii_case(id))
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
    let families = topics::families().map(Named::Family);
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
        let families: Vec<&Family> = topics::families().collect();
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
            let named = topics::families().filter(|family| is(family.name));
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
