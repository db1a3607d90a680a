//! The distance between two spellings, to suggest a correction of a misspelt name.

use alloc::vec::Vec;

/// Returns the number of edits that turn `a` into `b`: a letter inserted, deleted or replaced, or two
/// neighbours swapped (Levenshtein's distance with swaps).
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let changed = row[j] + usize::from(from != to);
            let mut edits = changed.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && (from, to) == (&b[j - 1], &a[i - 1]) {
                edits = edits.min(before[j - 1] + 1);
            }
            next.push(edits);
        }
        before = core::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn a_letter_and_a_swap_are_one_edit() {
        for (a, b, edits) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "", 3),
            ("seqential", "sequential", 1),
            ("wlak", "walk", 1),
            ("ab", "ba", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), edits, "{a} {b}");
            assert_eq!(distance(b, a), edits, "{b} {a}");
        }
    }
}
