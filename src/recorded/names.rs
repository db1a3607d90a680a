//! Series that were renamed while records were kept.

use crate::prelude::*;

/// Parts of former names, each with the words that took its place. No name of today contains a former part.
const RENAMED: [(&str, &str); 21] = [
    ("one line an element", "one line per element"),
    ("one line a page", "one line per page"),
    (", a line a page", ", one line per page"),
    ("one a line", "one per line"),
    ("one a page", "one per page"),
    ("a word a line, write", "a word per line, write"),
    ("ns a read", "ns per read"),
    ("ns an update", "ns per update"),
    ("loads a read", "loads per read"),
    ("misses a multiply-add", "misses per multiply-add"),
    ("stores a miss beyond", "stores per miss beyond"),
    ("requests an operation", "requests per operation"),
    ("requests a point", "requests per point"),
    ("means read again, a point", "means read again per point"),
    ("hyper-threads a core", "hyper-threads per core"),
    ("last-level caches a processor", "last-level caches per processor"),
    ("cycles of work a node", "cycles of work per node"),
    ("operations a second quoted", "operations per second quoted"),
    ("1,000 lines of one's own", "1,000 lines that no other core holds"),
    ("addition to a line of one's own", "addition to a line that the core owns"),
    ("the same to a line of one's own", "the same to a line that the core owns"),
];

/// Returns the name of today of a series in a record.
pub(super) fn of_today(series: String) -> String {
    let mut name = series;
    for (former, today) in RENAMED {
        if name.contains(former) {
            name = name.replace(former, today);
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_former_name_is_read_as_that_of_today() {
        for (former, today) in [
            ("random walk, one line an element", "random walk, one line per element"),
            ("a walk in order, one line a page", "a walk in order, one line per page"),
            ("load, a line a page", "load, one line per page"),
            (
                "one a page, rotating offset, 2 MiB pages",
                "one per page, rotating offset, 2 MiB pages",
            ),
            ("ns a read of a thread, all iterations", "ns per read of a thread, all iterations"),
            ("a line of each page", "a line of each page"),
        ] {
            assert_eq!(of_today(former.to_owned()), today);
            assert_eq!(of_today(today.to_owned()), today);
        }
    }

    #[test]
    fn no_name_of_today_contains_a_former_part() {
        for (_, today) in RENAMED {
            assert_eq!(of_today(today.to_owned()), today);
        }
    }
}
