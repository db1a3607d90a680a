//! The numbers then and now in the report, and what stands in their place.

use super::*;

/// The page of a run with one verdict on claim `id` and this machine's number.
fn page_of(id: &str, now: Option<[f64; 2]>) -> String {
    let (experiment, _) = id.split_once('.').expect("an id");
    let claim = find_claim(id).expect("a claim");
    let line = VerdictLine {
        now,
        ..planted_line(experiment, claim, Verdict::Holds)
    };
    markup(&render(&judged(&[line])))
}

#[test]
fn an_annotated_claim_words_its_numbers_as_its_card_does() {
    for (now, text) in [
        ([0.22, 0.24], "77 %"),
        ([0.75, 1.29], "at most 25 %"),
        ([1.08, 1.33], "8.0 to 33 % more time"),
    ] {
        let page = page_of("E37.2", Some(now));
        let expected =
            format!("<span class=\"then\">then 3.0 to 8.0 %</span> now <b>{text}</b></span>");
        assert!(page.contains(&expected), "{expected}");
    }
}
