//! Selection of experiments by patterns.

use anyhow::{Context as _, Result};
use glob::{MatchOptions, Pattern};

use crate::experiment::{Experiment, Named, all, nearest, topics};

/// Returns the experiments that match any of `patterns`, in the order of the registry; all experiments if
/// there is no pattern. A pattern is an id, a name, a glob of either, or the name of a family or a topic,
/// which selects all of its experiments. Case is ignored.
///
/// # Errors
/// If a pattern is not a valid glob or matches nothing. The message suggests the nearest experiment, family
/// or topic.
pub fn select(patterns: &[String]) -> Result<Vec<&'static Experiment>> {
    let compiled: Vec<Pattern> = patterns
        .iter()
        .map(|text| Pattern::new(text).with_context(|| format!("`{text}` is not a valid glob")))
        .collect::<Result<_>>()?;
    for (text, pattern) in patterns.iter().zip(&compiled) {
        if !all().iter().any(|row| matches(pattern, row)) {
            return Err(unknown(text));
        }
    }
    Ok(all()
        .into_iter()
        .filter(|row| compiled.is_empty() || compiled.iter().any(|p| matches(p, row)))
        .collect())
}

fn matches(pattern: &Pattern, row: &Experiment) -> bool {
    let options = MatchOptions { case_sensitive: false, ..MatchOptions::new() };
    let named = |name: &str| name.eq_ignore_ascii_case(pattern.as_str());
    pattern.matches_with(row.id, options)
        || pattern.matches_with(row.name, options)
        || topics::of(row.id).is_some_and(|family| named(family.name))
        || topics::topic_of(row.id).is_some_and(|topic| named(topic.name))
}

fn unknown(text: &str) -> anyhow::Error {
    const ALL: &str = "`linefill list` shows all";
    if text.contains(['*', '?', '[']) {
        return anyhow::anyhow!("no experiment matches `{text}`; {ALL}");
    }
    if let Some((id, _)) = text.split_once('.')
        && let Some(row) = all().iter().find(|row| row.id.eq_ignore_ascii_case(id))
    {
        let id = row.id;
        return anyhow::anyhow!(
            "`{text}` is not an experiment; `{id}` is one. `linefill show {id}` shows its claims"
        );
    }
    let part = text.to_ascii_lowercase();
    let near = match nearest(text) {
        Some(Named::Row(row)) => format!("`{}` ({})", row.id, row.name),
        Some(Named::Family(family)) => format!("the family `{}`", family.name),
        Some(Named::Topic(topic)) => format!("the topic `{}`", topic.name),
        None if part.len() > 2 && all().iter().any(|row| row.name.contains(&part)) => {
            format!("`*{part}*`")
        }
        None => return anyhow::anyhow!("no experiment, family or topic `{text}`; {ALL}"),
    };
    anyhow::anyhow!("no experiment, family or topic `{text}`; did you mean {near}? {ALL}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(patterns: &[&str]) -> Result<Vec<&'static Experiment>> {
        select(&patterns.iter().map(|&text| text.into()).collect::<Vec<_>>())
    }

    fn ids(patterns: &[&str]) -> Vec<&'static str> {
        selected(patterns).unwrap().iter().map(|row| row.id).collect()
    }

    fn error(patterns: &[&str]) -> String {
        selected(patterns).unwrap_err().to_string()
    }

    #[test]
    fn ids_names_and_globs_select_in_the_order_of_the_registry() {
        assert_eq!(ids(&[]).len(), all().len());
        assert_eq!(ids(&["d14", "A1"]), ["A1", "D14"]);
        assert_eq!(ids(&["drepper-fig-3.10"]), ["D14"]);
        assert_eq!(ids(&["F?"]), ["F1", "F2", "F3", "F4"]);
        assert_eq!(ids(&["startin-*"]).len(), 8);
    }

    #[test]
    fn a_family_selects_all_of_it() {
        let mut sequential: Vec<_> = topics::families()
            .find(|family| family.name == "sequential")
            .map(|family| family.experiments.iter().map(|e| e.id).collect())
            .unwrap();
        sequential.sort_unstable();
        assert_eq!(ids(&["Sequential"]), sequential);
        assert!(error(&["seqential"]).contains("did you mean the family `sequential`?"));
        // A glob matches ids and names only.
        assert!(error(&["sequentia?"]).contains("no experiment matches"));
    }

    #[test]
    fn a_topic_selects_all_of_its_families() {
        let stores = topics::TOPICS.iter().find(|topic| topic.name == "stores");
        let families = stores.unwrap().families;
        let count = families.iter().map(|family| family.experiments.len()).sum::<usize>();
        assert_eq!(ids(&["stores"]).len(), count);
        assert!(families.len() > 1 && ids(&["stores"]).contains(&"E4"));
        assert!(error(&["coherense"]).contains("did you mean the topic `coherence`?"));
    }

    #[test]
    fn what_matches_nothing_is_named_with_its_neighbour() {
        let message = error(&["D14", "D144"]);
        assert!(message.contains("`D144`") && message.contains("`D14` (drepper-fig-3.10)"));
        assert!(error(&["Z*"]).contains("`Z*`"));
        assert!(error(&["-fig-3"]).contains("did you mean `*-fig-3*`?"));
        assert!(!error(&["nothing"]).contains("did you mean"));
        assert!(error(&["[D"]).contains("`[D`"));
    }
}
