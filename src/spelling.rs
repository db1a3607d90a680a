//! What somebody meant who misspelt a name.

/// The edits that turn `a` into `b`: Levenshtein's distance.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let swapped = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = swapped.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
