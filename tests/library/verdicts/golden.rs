//! The verdict and the numbers of every planted row, as of the last `BLESS`.

use std::collections::BTreeSet;

use crate::common::golden::{Golden, Hash};

use super::JUDGED;

/// In words for the first machine. For the others as a hash, because their words differ only in numbers.
#[test]
fn verdicts_and_numbers_of_planted_rows_are_the_same() {
    let mut golden = Golden::new(
        "verdicts",
        "Experiment and number of the claim: its text. Then a line per planted row: verdict and \
         numbers on the\nplanted server, and hashes of them on the planted Zen and on the server \
         in a full run.",
    );
    let mut claims = BTreeSet::new();
    for (row, judgements) in JUDGED.iter() {
        let words =
            judgements.each_ref().map(|of| format!("{} | {}", of.verdict.name(), of.numbers));
        let [server, zen, full] = words;
        let others = [zen, full].map(|words| Hash::of(words.as_bytes()).digits(6));
        let (number, claim) = row.claim();
        let key = format!("{} {}", row.id, number + 1);
        if claims.insert(key.clone()) {
            golden.push(format!("{key} claim"), claim.text);
        }
        golden.push(format!("{key} row"), format!("{server} | {}", others.join(" ")));
    }
    golden.check();
}
