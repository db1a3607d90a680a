//! What a run has found so far, told as soon as an experiment was measured in every pass.

use super::Machine;
use super::book::Book;
use crate::experiment::{Evidence, Experiment};
use crate::lab::answer::{Finding, findings};
use crate::lab::record::{VerdictLine, points_of};

/// The greatest change that an experiment shows, in a line. Further passes may move its number.
pub(super) fn so_far(book: &Book, experiment: &Experiment, machine: &Machine) -> Option<String> {
    let points = points_of(&book.points, experiment.id);
    let evidence = Evidence::new(machine, &points, experiment.unit());
    let claims = experiment
        .claims
        .iter()
        .filter(|claim| claim.takeaway.is_some());
    let judged = claims.map(|claim| VerdictLine::new(experiment, claim, claim.decide(&evidence)));
    let judged: Vec<VerdictLine> = judged.collect();
    findings(&judged, 1).first().map(in_words)
}

fn in_words(finding: &Finding) -> String {
    let (id, then) = (&finding.experiment, finding.then_text());
    format!("{id}: {}; then {then}", finding.headline())
}
