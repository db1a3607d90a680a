//! Requirements on every claim.
#![cfg(feature = "std")]

use std::collections::BTreeSet;

use linefill::experiment::{Claim, Experiment, Kind, Origin, Shown, Verdict, all, find_claim};

/// Every claim, with its experiment.
fn claims() -> impl Iterator<Item = (&'static Experiment, &'static Claim)> {
    let all = all().into_iter();
    all.flat_map(|of| of.claims.iter().map(move |claim| (of, claim)))
}

/// Fails with the ids of the claims for which `wrong` returns a text.
#[track_caller]
fn none(wrong: impl Fn(&Experiment, &Claim) -> Option<String>) {
    let wrong = claims().filter_map(|(of, claim)| {
        let said = wrong(of, claim)?;
        Some(format!("{}: {said}", claim.id))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn ids_are_those_of_the_experiment_with_a_number() {
    let mut seen = BTreeSet::new();
    for (experiment, claim) in claims() {
        let number = claim.id.strip_prefix(experiment.id);
        let number = number.and_then(|rest| rest.strip_prefix('.')).map(str::parse::<u32>);
        assert!(matches!(number, Some(Ok(1..))), "{}", claim.id);
        assert!(seen.insert(claim.id), "{} is there twice", claim.id);
        assert_eq!(find_claim(claim.id).map(|found| found.text), Some(claim.text));
    }
}

/// Records have verdicts on these claims, which another claim of that id would take for its own.
#[test]
fn ids_of_former_claims_are_not_given_again() {
    for former in ["B16.3", "D30.4", "E15.4"] {
        assert!(find_claim(former).is_none(), "{former}");
    }
}

#[test]
fn every_claim_says_whose_it_is() {
    none(|_, claim| match claim.origin {
        Origin::Document { section, .. } => {
            let named = section.contains(|c: char| c.is_ascii_digit()) || section.len() > 3;
            (!named).then(|| format!("`{section}` is no section"))
        }
        Origin::Ours { reason } => (reason.len() < 15).then(|| "ours, for no reason".to_owned()),
        _ => Some("of an origin that this test does not know".to_owned()),
    });
}

/// Claims that no document makes have the origin `Ours`.
#[test]
fn what_no_document_asks_is_ours() {
    none(|experiment, claim| {
        let ours = matches!(claim.origin, Origin::Ours { .. });
        (experiment.id.starts_with('X') && !ours && !experiment.source.contains("Drepper"))
            .then(|| format!("of {}", claim.origin))
    });
}

/// A reader may see a text alone, in a list of hundreds.
#[test]
fn texts_stand_by_themselves() {
    const LEANING: [&str; 26] = [
        "so",
        "nor",
        "and",
        "the same",
        "it",
        "they",
        "this",
        "these",
        "those",
        "that",
        "its",
        "their",
        "there",
        "then",
        "here",
        "likewise",
        "also",
        "but",
        "which",
        "both",
        "neither",
        "either",
        "one",
        "all of them",
        "none of them",
        "as",
    ];
    none(|_, claim| {
        let text = claim.text.to_lowercase();
        let leans = LEANING.into_iter().find(|word| {
            let rest = text.strip_prefix(word);
            rest.is_some_and(|rest| rest.starts_with([' ', ',']))
        });
        let short = claim.text.split_whitespace().count() < 5;
        match leans {
            Some(word) => Some(format!("begins with `{word}`: {}", claim.text)),
            None => short.then(|| format!("says too little: {}", claim.text)),
        }
    });
}

/// A text that is printed with any verdict must not mention a verdict or a particular machine.
#[test]
fn about_contradicts_no_verdict() {
    const OF_A_VERDICT: [&str; 16] = [
        " still ",
        "no longer",
        "holds",
        "this machine",
        "development",
        "measured",
        " we ",
        "was seen",
        "were seen",
        "on one guest",
        "a few minutes",
        "Zen 4",
        "Zen 5",
        "Emerald Rapids",
        "Sapphire Rapids",
        "this guest",
    ];
    let mut wrong = Vec::new();
    for experiment in all() {
        for words in OF_A_VERDICT {
            if experiment.about.contains(words) {
                wrong.push(format!("{}: `{words}`", experiment.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

/// What one core was seen to do stands in a note on that core. A text that is printed beside the numbers of
/// any core may say since when a vendor documents something, but not what it costs there.
#[test]
fn what_a_core_takes_is_in_its_note() {
    const OF_A_CORE: [&str; 11] = [
        "on Zen",
        "Zen take",
        "Zen need",
        "Zen predict",
        "Zen cores",
        "Intel take",
        "Intel need",
        "AMD take",
        "AMD need",
        "cycle on ",
        "latency on ",
    ];
    let mut wrong = Vec::new();
    for experiment in all() {
        let claims = experiment.claims.iter();
        let follow = claims.flat_map(|claim| {
            [Verdict::Holds, Verdict::DoesNotHold].map(|of| {
                let advice = claim.takeaway.map_or("", |takeaway| takeaway.advice_on(of));
                [claim.follows(of), advice]
            })
        });
        for text in follow.flatten().chain([experiment.about]) {
            let of_a_core = OF_A_CORE.into_iter().filter(|words| text.contains(words));
            wrong.extend(of_a_core.map(|words| format!("{}: `{words}`", experiment.id)));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

/// Notes about a core use the core's name in the table of cores.
#[test]
fn cores_that_were_seen_are_in_the_table() {
    for experiment in all() {
        for seen in experiment.seen {
            let known = linefill::cpu::Core::named(seen.core).is_some();
            assert!(known, "{}: {}", experiment.id, seen.core);
            assert!(!seen.text.is_empty(), "{}", experiment.id);
        }
    }
}

/// The sentence after a verdict depends on the verdict.
#[test]
fn what_follows_differs_by_verdict() {
    none(|_, claim| {
        let [holding, failing] = [Verdict::Holds, Verdict::DoesNotHold].map(|of| claim.follows(of));
        let alike = !holding.is_empty() && holding == failing;
        alike.then(|| format!("says the same whether it holds or not: {holding}"))
    });
}

/// Only claims from documents have a document's number.
#[test]
fn numbers_of_then_are_of_a_document() {
    none(|_, claim| {
        let then = claim.then?;
        let wrong = matches!(claim.origin, Origin::Ours { .. })
            || !(then.lo.is_finite() && then.hi.is_finite() && then.lo <= then.hi);
        wrong.then(|| format!("{then:?}"))
    });
}

/// A finding compares a number measured here with the document's, and gives advice for both verdicts.
#[test]
fn takeaways_are_of_measured_numbers_and_advise_on_both_verdicts() {
    none(|_, claim| {
        let takeaway = claim.takeaway?;
        let [holding, failing] =
            [Verdict::Holds, Verdict::DoesNotHold].map(|of| takeaway.advice_on(of));
        let is_sentence = |text: &str| text.ends_with('.') && text.split(' ').count() > 3;
        if claim.then.is_none() || !claim.kind.is_of_this_machine() {
            return Some("no number of the document's beside one of this machine".to_owned());
        }
        if takeaway.headline.matches("{now}").count() != 1 || takeaway.headline.ends_with('.') {
            return Some(format!("`{}` has not one number", takeaway.headline));
        }
        // A loss is worded as an addition to the time.
        if takeaway.shown == Shown::Saved && !takeaway.headline.contains("saves {now} of the time")
        {
            return Some(format!("`{}` has no saved time", takeaway.headline));
        }
        let advises = is_sentence(holding) && is_sentence(failing) && holding != failing;
        (!advises || takeaway.subject.len() > 64).then(|| format!("{takeaway:?}"))
    });
    let many = claims().filter(|(_, claim)| claim.takeaway.is_some());
    assert!(many.count() > 30);
}

/// Arithmetic and simulation do not depend on this machine.
#[test]
fn kinds_say_what_is_of_this_machine() {
    let of_here: Vec<Kind> = Kind::ALL.into_iter().filter(|of| of.is_of_this_machine()).collect();
    assert_eq!(of_here, [Kind::Measured, Kind::Counted]);
    for kind in Kind::ALL {
        assert_eq!(Kind::named(kind.name()), Some(kind));
        assert!(claims().any(|(_, claim)| claim.kind == kind), "{}", kind.name());
    }
}

/// The README says how many claims there are.
#[test]
fn the_readme_counts_the_claims() {
    let claims: Vec<&Claim> = claims().map(|(_, claim)| claim).collect();
    let is_measured = |claim: &&&Claim| matches!(claim.kind, Kind::Measured | Kind::Counted);
    let measured = claims.iter().filter(is_measured).count();
    let is_ours = |claim: &&&Claim| matches!(claim.origin, Origin::Ours { .. });
    let ours = claims.iter().filter(is_ours).count();
    let readme = include_str!("../../README.md");
    for part in [
        format!("checks {} claims", claims.len()),
        format!("{measured} of them by measuring or counting"),
        format!("{ours} are our own"),
    ] {
        assert!(readme.contains(&part), "{part}");
    }
}
