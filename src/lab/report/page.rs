//! The whole page: one file that loads nothing.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::section::{beneath, section};
use super::text::{BY_INTEREST, badge, class, mark, prose};
use super::view::{PredictionView, ReportView, Section};
use crate::experiment::Verdict;
use crate::lab::record::VerdictLine;
use crate::lab::sheet::Row;

pub(in crate::lab) const STYLE: &str = include_str!("style.css");
pub(in crate::lab) const SCRIPT: &str = include_str!("script.js");

/// What the page may do: run what it holds, and load nothing. Plotly's surfaces compile their
/// drawing code at run time; its pictures to save are blobs.
///
/// `unsafe-eval` is there for plotly alone, and goes with it: charts that need no script of others
/// take the place of plotly's in a later version. Until then what a record says reaches scripts as
/// JSON only, whose `<` are spelled out.
pub(in crate::lab) const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; \
                      style-src 'unsafe-inline'; img-src data: blob:";

/// Renders a report as one self-contained HTML file.
pub fn render(view: &ReportView) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "linefill: " (view.machine) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#claims" { "Skip to the claims" }
                div.frame {
                    (contents(view))
                    main {
                        (masthead(view))
                        (findings(view))
                        (claims(view))
                        (machine(view))
                        (predictions(view))
                        @for part in &view.sections { (section(part)) }
                        (not_run(view))
                    }
                }
                script { (PreEscaped(plotly_script())) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

/// The text of plotly.js. The plotly crate gives it as a script element, and one of MathJax behind
/// it, which no report needs.
pub(in crate::lab) fn plotly_script() -> String {
    let elements = plotly::Plot::offline_js_sources();
    let start = elements.find('>').map_or(0, |at| at + 1);
    let end = elements.find("</script>").unwrap_or(elements.len());
    elements[start..end].to_owned()
}

fn contents(view: &ReportView) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            ul {
                li { a href="#findings" { "Findings" } }
                li { a href="#claims" { "All claims" } }
                li { a href="#machine" { "The machine" } }
                @if view.predicted.is_some() {
                    li { a href="#predictions" { "Predicted beside measured" } }
                }
            }
            ol {
                @for part in &view.sections {
                    li {
                        a href={ "#" (part.id) } {
                            span.dot.(worst(part)) aria-hidden="true" {}
                            span.id { (part.id) }
                            " " span.title { (part.title) }
                        }
                    }
                }
            }
        }
    }
}

/// The class of the most interesting verdict of a section, of those about this machine if there are any.
fn worst(section: &Section) -> &'static str {
    let some_here = section.claims.iter().any(VerdictLine::is_of_this_machine);
    let has = |verdict: &Verdict| {
        let mut claims = section.claims.iter();
        claims.any(|claim| claim.verdict == *verdict && (claim.is_of_this_machine() || !some_here))
    };
    BY_INTEREST.into_iter().find(has).map_or("none", class)
}

fn masthead(view: &ReportView) -> Markup {
    let total = view.claims().count();
    let elsewhere = view.elsewhere().count();
    html! {
        header.masthead {
            p.eyebrow { "linefill report" }
            h1 { "Which claims about memory still hold on " span.machine { (view.machine) } "?" }
            p.date { (view.date) }
            @if total > 0 {
                div.bar aria-hidden="true" {
                    @for verdict in Verdict::ALL {
                        @let count = view.count(verdict);
                        @if count > 0 { span.(class(verdict)) style={ "flex-grow:" (count) } {} }
                    }
                }
                ul.tally {
                    @for verdict in Verdict::ALL { (tally(view, verdict)) }
                }
                @if elsewhere > 0 {
                    p.elsewhere {
                        (total - elsewhere) " claims are about this machine. "
                        a href="#claims-elsewhere" {
                            (elsewhere) " more are decided by arithmetic, simulation or what the system reports"
                        }
                        ", and come out alike elsewhere."
                    }
                }
            }
            @for note in &view.notes { p.note { (note) } }
        }
    }
}

fn tally(view: &ReportView, verdict: Verdict) -> Markup {
    let count = view.count(verdict);
    let word = match (verdict, count) {
        (Verdict::Holds, 1) => "claim holds",
        (Verdict::Holds, _) => "claims hold",
        (Verdict::DoesNotHold, 1) => "no longer holds",
        (Verdict::DoesNotHold, _) => "no longer hold",
        (Verdict::Inconclusive, _) => "inconclusive",
        (Verdict::Untestable, _) => "untestable here",
    };
    let inside = html! {
        b { (count) }
        span { span.mark aria-hidden="true" { (mark(verdict)) } " " (word) }
    };
    html! {
        li.(class(verdict)) {
            @if count > 0 { a href={ "#claims-" (class(verdict)) } { (inside) } } @else { (inside) }
        }
    }
}

/// What no longer holds, with what changed since.
fn findings(view: &ReportView) -> Markup {
    let failed = |section: &&Section| {
        let mut claims = section.claims.iter();
        claims.any(is_finding)
    };
    let sections: Vec<&Section> = view.sections.iter().filter(failed).collect();
    html! {
        section #findings aria-labelledby="findings-title" {
            h2 #findings-title { "Findings" }
            @if sections.is_empty() {
                p { "Every claim that could be decided holds on this machine." }
            } @else {
                p.lead { "These claims do not hold on this machine." }
                @for part in sections { (finding(part)) }
            }
        }
    }
}

/// Whether a claim does not hold on this machine.
fn is_finding(claim: &VerdictLine) -> bool {
    claim.verdict == Verdict::DoesNotHold && claim.is_of_this_machine()
}

fn finding(section: &Section) -> Markup {
    html! {
        article.finding {
            h3 { a href={ "#" (section.id) } { span.id { (section.id) } " " (section.title) } }
            @for claim in section.claims.iter().filter(|claim| is_finding(claim)) {
                p.text { span.mark aria-hidden="true" { (mark(claim.verdict)) } " " (prose(&claim.claim)) }
                p.figures { (prose(&claim.numbers)) }
                (beneath(claim))
            }
            @if !section.about.is_empty() { p.why { (prose(&section.about)) } }
        }
    }
}

/// Every claim, verdict by verdict.
fn claims(view: &ReportView) -> Markup {
    html! {
        section #claims aria-labelledby="claims-title" {
            h2 #claims-title { "All claims" }
            @if view.claims().next().is_none() { p { "No claim was put to the test." } }
            table.claims-table role="table" {
                @for verdict in BY_INTEREST {
                    @if view.count(verdict) > 0 { (claims_of(view, verdict)) }
                }
                @if view.elsewhere().next().is_some() { (decided_elsewhere(view)) }
            }
        }
    }
}

/// The roles keep it a table for those who hear it where the style stacks its cells.
fn claims_of(view: &ReportView, verdict: Verdict) -> Markup {
    html! {
        tbody role="rowgroup" id={ "claims-" (class(verdict)) } {
            tr.group role="row" {
                th colspan="3" scope="rowgroup" role="rowheader" { (badge(verdict)) " " (view.count(verdict)) }
            }
            @let of_here = view.claims().filter(|(_, claim)| claim.is_of_this_machine());
            @for (section, claim) in of_here.filter(|(_, claim)| claim.verdict == verdict) {
                tr role="row" { (cells(section, claim)) }
            }
        }
    }
}

/// The claims that come out alike on other machines, with their verdicts.
fn decided_elsewhere(view: &ReportView) -> Markup {
    html! {
        tbody role="rowgroup" #claims-elsewhere {
            tr.group role="row" {
                th colspan="3" scope="rowgroup" role="rowheader" {
                    "Computed, simulated or reported " (view.elsewhere().count())
                }
            }
            @for verdict in BY_INTEREST {
                @for (section, claim) in view.elsewhere().filter(|(_, claim)| claim.verdict == verdict) {
                    tr role="row" { (cells(section, claim)) }
                }
            }
        }
    }
}

fn cells(section: &Section, claim: &VerdictLine) -> Markup {
    html! {
        td.id role="cell" { a href={ "#" (section.id) } { (claim.name()) } }
        td.text role="cell" {
            @if !claim.is_of_this_machine() { (badge(claim.verdict)) " " }
            (prose(&claim.claim))
        }
        td.figures role="cell" { (prose(&claim.numbers)) }
    }
}

/// The machine sheet, then the facts of the run.
fn machine(view: &ReportView) -> Markup {
    let kernel = view.sheet.iter().any(|row| row.kernel.is_some());
    let notes = view.sheet.iter().any(|row| row.differs.is_some());
    html! {
        section #machine aria-labelledby="machine-title" {
            h2 #machine-title { "The machine" }
            @if !view.sheet.is_empty() {
                div.scroll role="region" tabindex="0" aria-label="Measured beside reported" {
                    table.sheet {
                        thead {
                            tr {
                                th scope="col" { "" }
                                th scope="col" { "measured" }
                                th scope="col" { "CPUID" }
                                @if kernel { th scope="col" { "kernel" } }
                                @if notes { th scope="col" { "note" } }
                            }
                        }
                        tbody { @for row in &view.sheet { (sheet_row(row, kernel, notes)) } }
                    }
                }
            }
            dl.facts {
                @for (name, value) in &view.facts {
                    div { dt { (name) } dd { (value) } }
                }
            }
        }
    }
}

fn sheet_row(row: &Row, kernel: bool, notes: bool) -> Markup {
    let cell = |value: &Option<String>| {
        html! { td { @match value { Some(value) => (value), None => span.none { "–" } } } }
    };
    html! {
        tr {
            th scope="row" { (row.name) }
            (cell(&row.measured))
            (cell(&row.cpuid))
            @if kernel { (cell(&row.kernel)) }
            @if notes { td { (row.differs.as_deref().unwrap_or_default()) } }
        }
    }
}

/// The table of all predictions, and what they come to; nothing if nothing was predicted.
fn predictions(view: &ReportView) -> Markup {
    let Some(outcome) = view.predicted else {
        return html! {};
    };
    let poor = view.predictions().filter(|(_, of)| of.poor()).count();
    let mut rows: Vec<(&Section, &PredictionView)> = view.predictions().collect();
    // Poor ones first, and the worst of them at the top.
    let part = |of: &PredictionView| of.error.map_or(-1.0, |error| error / of.bar);
    rows.sort_by(|(_, a), (_, b)| part(b).total_cmp(&part(a)));
    html! {
        section #predictions aria-labelledby="predictions-title" {
            h2 #predictions-title { "Predicted beside measured" }
            p.lead {
                "The median error of " (outcome.points) " points is " (percent(outcome.error))
                "; of the experiments "
                @if poor == 0 { "none misses its bar." } @else { (poor) " miss their bar." }
            }
            p {
                "Predictions follow from the machine's parameters: the ladder, the rate of a stream \
                 in each level, what the prefetchers leave of memory's latency, a step to another \
                 page, a line's way to another core, a floating-point addition, CPUID, and what is \
                 published of the core. Each experiment's figure names its models, and says of each \
                 whether its numbers are from calibration, from published values, or fitted. An \
                 error is the median of |predicted / measured - 1| over the times. A point that \
                 several experiments share counts once in the first number; "
                (outcome.own_quantity) " points whose own quantity the calibration measured, such as \
                 walks in random order that go as the ladder's, count nowhere. How long a core keeps \
                 a line that others want is published of no core, so that contended lines are not \
                 predicted."
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
                    tbody { @for (section, of) in rows { (predicted_row(section, of)) } }
                }
            }
        }
    }
}

fn predicted_row(section: &Section, of: &PredictionView) -> Markup {
    html! {
        tr {
            th scope="row" { a href={ "#" (section.id) } { (section.id) } " " (section.title) }
            td {
                @if let Some(error) = of.error {
                    (percent(error)) @if of.poor() { ", poor" }
                } @else { "from its own quantity" }
            }
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

fn not_run(view: &ReportView) -> Markup {
    html! {
        @if !view.not_run.is_empty() {
            section #not-run aria-labelledby="not-run-title" {
                h2 #not-run-title { "Not in this run" }
                ul.not-run { @for (id, title) in &view.not_run { li { span.id { (id) } " " (title) } } }
            }
        }
    }
}
