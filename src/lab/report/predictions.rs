//! How well predictions did, experiment by experiment.

use maud::{Markup, html};

use super::prose::prose;
use super::view::{PredictionView, ReportView, Section};

/// The table of all predictions, and what they come to; nothing if nothing was predicted.
pub(super) fn predictions(view: &ReportView) -> Markup {
    let Some(median) = view.predicted() else {
        return html! {};
    };
    let poor = view.predictions().filter(|(_, of)| of.poor()).count();
    let mut rows: Vec<(&Section, &PredictionView)> = view.predictions().collect();
    // Poor ones first, and the worst of them at the top.
    rows.sort_by(|(_, a), (_, b)| (b.error / b.bar).total_cmp(&(a.error / a.bar)));
    html! {
        section #predictions aria-labelledby="predictions-title" {
            h2 #predictions-title { "Predicted beside measured" }
            p.lead {
                "The median error over " (rows.len()) " experiments is " (percent(median)) "; "
                @if poor == 0 { "none misses its bar." } @else { (poor) " miss their bar." }
            }
            p {
                "Predictions follow from the machine's parameters: the ladder, the rate of a stream \
                 in each level, a step to another page, a line's way to another core, CPUID, and \
                 what is published of the core. None is fitted to a curve that is predicted. An \
                 error is the median of |predicted / measured - 1| over an experiment's times."
            }
            div.scroll role="region" tabindex="0" aria-label="Errors of predictions" {
                table.sheet {
                    thead {
                        tr {
                            th scope="col" { "" }
                            th scope="col" { "error" }
                            th scope="col" { "bar" }
                            th scope="col" { "points" }
                            th scope="col" { "what the model leaves out" }
                        }
                    }
                    tbody { @for (section, of) in rows { (row(section, of)) } }
                }
            }
        }
    }
}

fn row(section: &Section, of: &PredictionView) -> Markup {
    html! {
        tr {
            th scope="row" { a href={ "#" (section.id) } { (section.id) } " " (section.title) }
            td { (percent(of.error)) @if of.poor() { ", poor" } }
            td { (percent(of.bar)) }
            td { (of.points) }
            td { @if of.poor() { (prose(&of.lacks.join("; and "))) } }
        }
    }
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
