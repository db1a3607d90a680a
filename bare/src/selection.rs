//! Selects experiments by the words.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use linefill::experiment::{Experiment, Named, all, nearest, topics};

/// Every experiment.
const ALL: &str = "all";

/// The experiments in a list of names, separated by commas: ids, names, families, topics, or `all`.
///
/// # Errors
/// A sentence about the first name that selects nothing.
pub fn select(names: &str) -> Result<Vec<&'static Experiment>, String> {
    let names: Vec<&str> = names.split(',').collect();
    for name in &names {
        if !all().iter().any(|row| means(name, row)) {
            return Err(unknown(name));
        }
    }
    let meant = |row: &&'static Experiment| names.iter().any(|name| means(name, row));
    Ok(all().into_iter().filter(meant).collect())
}

fn means(name: &str, row: &Experiment) -> bool {
    let family = topics::of(row.id).map(|family| family.name);
    let topic = topics::topic_of(row.id).map(|topic| topic.name);
    [Some(ALL), Some(row.id), Some(row.name), family, topic]
        .into_iter()
        .flatten()
        .any(|known| known.eq_ignore_ascii_case(name))
}

fn unknown(name: &str) -> String {
    let near = match nearest(name) {
        Some(Named::Row(row)) => format!("; did you mean {}?", row.id),
        Some(Named::Family(family)) => format!("; did you mean {}?", family.name),
        Some(Named::Topic(topic)) => format!("; did you mean {}?", topic.name),
        None => String::new(),
    };
    format!(
        "run={name} names no experiment{near} (accepted: all, or ids, names, families and topics, \
         parted by commas)"
    )
}
