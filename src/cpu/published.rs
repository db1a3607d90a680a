//! Numbers that are published by core, and nowhere else to be had.

/// Names of cores, and the number that is published of each.
pub(super) type Table = [(&'static [&'static str], u32)];

/// The number of the core of this name; `None` if it is not known here.
pub(super) fn of(table: &Table, core: &str) -> Option<u32> {
    let row = table.iter().find(|(names, _)| names.contains(&core))?;
    Some(row.1)
}

/// Whether no core has two numbers.
#[cfg(test)]
pub(super) fn one_each(table: &Table) -> bool {
    let names = table.iter().flat_map(|(names, _)| *names);
    let times = |name| names.clone().filter(|other| *other == name).count();
    names.clone().all(|name| times(name) == 1)
}
