//! The numbers then and now in the report, and what stands in their place.

use super::*;

/// The page of a run with one verdict on claim `id` and this machine's number.
fn page_of(id: &str, now: Option<[f64; 2]>) -> String {
    let (experiment, _) = id.split_once('.').expect("an id");
    let claim = find_claim(id).expect("a claim");
    let line = VerdictLine { now, ..line(experiment, claim, Verdict::Holds) };
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
        let subject = find_claim("E37.2").and_then(|of| of.takeaway).unwrap().subject;
        let expected = format!(
            "{subject}: <span class=\"then\">then 3.0 to 8.0 %</span> now <b>{text}</b></span>"
        );
        assert!(page.contains(&expected), "{expected}");
    }
}

/// "now 4096" would not say of what.
#[test]
fn a_number_without_a_number_of_the_document_stands_with_its_name() {
    let claim = find_claim("E14.2").expect("a claim");
    assert!(claim.then.is_none() && claim.takeaway.is_none());
    let line = VerdictLine {
        now: Some([4096.0; 2]),
        numbers: "on a multiple of 16 4096 (claimed: 4096); on a line 1026".to_owned(),
        ..line("E14", claim, Verdict::Holds)
    };
    let page = markup(&render(&judged(&[line])));
    let expected = "<span class=\"then-now\">on a multiple of 16 4096 (claimed: 4096)</span>";
    assert!(page.contains(expected));
}

/// CPUID and the system report other things on other machines.
#[test]
fn the_key_calls_no_reported_claim_the_same_everywhere() {
    let page = markup(&render(&judged(&registry())));
    let (_, key) = page.split_once("<p class=\"key\">").expect("a key");
    let key = key.split("</p>").next().unwrap_or_default();
    assert!(
        key.contains("computed, simulated or reported by the system") && !key.contains("same"),
        "{key}"
    );
}

#[test]
fn a_run_without_a_comparison_does_not_say_that_nothing_changed() {
    for (id, now, compared) in [
        ("D19.1", Some([30.0, 40.0]), true),
        ("D19.1", None, false),
        ("X10.1", Some([9.0, 10.0]), false),
    ] {
        let page = page_of(id, now);
        for (text, said) in [
            ("No number compared here certainly differs", compared),
            ("This run compares no number of this list", !compared),
        ] {
            assert_eq!(page.contains(text), said, "{id}: {text}");
        }
    }
}
