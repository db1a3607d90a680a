//! Every claim has rows for all verdicts that it can have.

use std::collections::BTreeSet;

use linefill::experiment::{Verdict, find_claim, topics};

use super::other_hardware::UNTESTABLE;
use super::{exact, rows};

#[test]
fn every_claim_is_driven_to_every_verdict_that_it_can_come_to() {
    let planted: BTreeSet<(&str, usize, Verdict)> =
        rows().iter().map(|row| (row.id, row.claim().0, row.wanted)).collect();
    let exact = exact();
    let mut missing = Vec::new();
    for experiment in topics::built() {
        assert!(!experiment.claims.is_empty(), "{} claims nothing", experiment.id);
        for (index, claim) in experiment.claims.iter().enumerate() {
            let exact = exact.iter().any(|(id, number)| claim.id == format!("{id}{number}"));
            for verdict in Verdict::ALL {
                let possible = match verdict {
                    Verdict::Untestable => true,
                    _ if UNTESTABLE.contains(&experiment.id) => false,
                    Verdict::Inconclusive => !exact,
                    _ => true,
                };
                if planted.contains(&(experiment.id, index, verdict)) != possible {
                    let what = if possible { "no row for" } else { "exempt, but planted:" };
                    missing.push(format!(
                        "{}: {what} `{}` {}",
                        experiment.id,
                        claim.text,
                        verdict.name()
                    ));
                }
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

#[test]
fn every_exemption_names_one_claim() {
    for (id, number) in exact() {
        let name = format!("{id}{number}");
        assert!(find_claim(&name).is_some(), "{name}");
    }
}

/// A verdict shows the claim's text without its experiment.
#[test]
fn no_two_claims_of_an_experiment_read_alike() {
    for experiment in topics::built() {
        let texts: BTreeSet<&str> = experiment.claims.iter().map(|claim| claim.text).collect();
        assert_eq!(texts.len(), experiment.claims.len(), "{}", experiment.id);
    }
}
