//! Which experiments somebody means.

use anyhow::{Context as _, Result, bail};
use glob::{MatchOptions, Pattern};

use crate::experiment::{Entry, Experiment, Named, all, family, nearest};

/// What was selected, in the order of the registry.
#[derive(Debug, Default)]
pub struct Selection {
    /// What can be run.
    pub built: Vec<&'static Experiment>,
    /// What was named, and is not built yet.
    pub planned: Vec<Entry>,
}

/// The rows that match any of `patterns`, each an id, a name, a glob of either, or the name of a
/// family, which means what is built of it; all rows if there is no pattern. Upper and lower case
/// are the same.
///
/// # Errors
/// If a pattern matches nothing: with the nearest row or family.
pub fn rows(patterns: &[String]) -> Result<Vec<Entry>> {
    let compiled: Vec<Pattern> = patterns
        .iter()
        .map(|text| Pattern::new(text).with_context(|| format!("`{text}` is no glob")))
        .collect::<Result<_>>()?;
    for (text, pattern) in patterns.iter().zip(&compiled) {
        if !all().iter().any(|entry| matches(pattern, entry)) {
            return Err(unknown(text));
        }
    }
    Ok(all()
        .into_iter()
        .filter(|entry| compiled.is_empty() || compiled.iter().any(|p| matches(p, entry)))
        .collect())
}

/// The experiments to run for `patterns`. Rows that are not built yet are noted if they were named,
/// and passed over if a glob or the absence of a pattern brought them in.
///
/// # Errors
/// As for [`rows`], and if nothing that was selected is built.
pub fn select(patterns: &[String]) -> Result<Selection> {
    let mut selection = Selection::default();
    for entry in rows(patterns)? {
        match entry {
            Entry::Built(experiment) => selection.built.push(experiment),
            Entry::Planned { id, name } if patterns.iter().any(|text| names(text, id, name)) => {
                selection.planned.push(entry);
            }
            Entry::Planned { .. } => {}
        }
    }
    if selection.built.is_empty() {
        bail!(
            "not built yet: {}; `linefill list` shows what is",
            patterns.join(", ")
        );
    }
    Ok(selection)
}

/// Whether `text` is an id or a name as it stands.
fn names(text: &str, id: &str, name: &str) -> bool {
    text.eq_ignore_ascii_case(id) || text.eq_ignore_ascii_case(name)
}

fn matches(pattern: &Pattern, entry: &Entry) -> bool {
    let options = MatchOptions {
        case_sensitive: false,
        ..MatchOptions::new()
    };
    let of_family = |family: &family::Family| family.name.eq_ignore_ascii_case(pattern.as_str());
    pattern.matches_with(entry.id(), options)
        || pattern.matches_with(entry.name(), options)
        || family::of(entry.id()).is_some_and(of_family)
}

fn unknown(text: &str) -> anyhow::Error {
    if text.contains(['*', '?', '[']) {
        return anyhow::anyhow!("no experiment matches `{text}`; `linefill list` shows all");
    }
    let near = match nearest(text) {
        Named::Row(entry) => format!("`{}` ({})", entry.id(), entry.name()),
        Named::Family(family) => format!("the family `{}`", family.name),
    };
    anyhow::anyhow!("unknown experiment `{text}`; did you mean {near}? `linefill list` shows all")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(patterns: &[&str]) -> Vec<&'static str> {
        let patterns: Vec<String> = patterns.iter().map(|&text| text.into()).collect();
        rows(&patterns).unwrap().iter().map(Entry::id).collect()
    }

    fn error(patterns: &[&str]) -> String {
        let patterns: Vec<String> = patterns.iter().map(|&text| text.into()).collect();
        select(&patterns).unwrap_err().to_string()
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
    fn a_family_selects_what_is_built_of_it() {
        let mut sequential: Vec<_> = family::FAMILIES
            .iter()
            .find(|family| family.name == "sequential")
            .map(|family| family.experiments.iter().map(|e| e.id).collect())
            .unwrap();
        sequential.sort_unstable();
        assert_eq!(ids(&["Sequential"]), sequential);
        assert!(error(&["seqential"]).contains("did you mean the family `sequential`?"));
        // A glob is about ids and names.
        assert!(error(&["sequentia?"]).contains("no experiment matches"));
    }

    #[test]
    fn what_matches_nothing_is_named_with_its_neighbour() {
        let message = error(&["D14", "D144"]);
        assert!(message.contains("`D144`") && message.contains("`D14` (drepper-fig-3.10)"));
        assert!(error(&["Z*"]).contains("`Z*`"));
        assert!(error(&["[D"]).contains("`[D`"));
    }

    #[test]
    fn planned_rows_are_noted_if_they_were_named() {
        let planned = all()
            .into_iter()
            .find(|entry| matches!(entry, Entry::Planned { .. }));
        let Some(planned) = planned else { return };
        assert!(error(&[planned.id()]).contains("not built yet"));
        let named = select(&["D14".into(), planned.id().into()]).unwrap();
        assert_eq!(named.planned.len(), 1);
        assert!(select(&["D*".into()]).unwrap().planned.is_empty());
    }
}
