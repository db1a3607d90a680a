//! Renders verdicts and machines with one column per record.

use maud::{Markup, html};

use crate::experiment::Verdict;
use crate::lab::compare::Side;
use crate::lab::record::VerdictLine;
use crate::lab::report::page::table;
use crate::lab::report::text::{badge, prose};
use crate::lab::sheet::Row;
use crate::order::unique;

/// A claim and its verdict in each record.
struct Judged<'a> {
    id: &'a str,
    claim: &'a str,
    views: Vec<Option<&'a VerdictLine>>,
}

impl Judged<'_> {
    /// Returns whether the records with a verdict on the claim disagree.
    fn differs(&self) -> bool {
        let mut verdicts = self.views.iter().flatten().map(|view| view.verdict);
        let first: Option<Verdict> = verdicts.next();
        verdicts.any(|verdict| Some(verdict) != first)
    }
}

fn judged(sides: &[Side]) -> Vec<Judged<'_>> {
    let mut rows: Vec<Judged<'_>> = Vec::new();
    for (index, side) in sides.iter().enumerate() {
        for (section, view) in side.view.claims() {
            let seen = |row: &&mut Judged<'_>| row.id == section.id && row.claim == view.claim;
            match rows.iter_mut().find(seen) {
                Some(row) => row.views[index] = Some(view),
                None => {
                    let mut views = vec![None; sides.len()];
                    views[index] = Some(view);
                    rows.push(Judged {
                        id: &section.id,
                        claim: &view.claim,
                        views,
                    });
                }
            }
        }
    }
    rows
}

/// Renders every claim, first those on which the records have different verdicts.
pub(super) fn verdicts(sides: &[Side]) -> Markup {
    let (differ, same): (Vec<_>, Vec<_>) = judged(sides).into_iter().partition(Judged::differs);
    html! {
        section #claims aria-labelledby="claims-title" {
            h2 #claims-title { "Verdicts" }
            @if differ.is_empty() {
                p { "No claim that several records judged has another verdict in one of them." }
            } @else {
                p.lead { (differ.len()) " claims on which the records differ, then the others." }
            }
            @for (title, rows) in [("Different", &differ), ("The same", &same)] {
                @if !rows.is_empty() {
                    div.scroll role="region" tabindex="0" aria-label=(title) {
                        table.claims-table {
                            thead {
                                tr {
                                    th scope="col" { (title) }
                                    th scope="col" { "claim" }
                                    @for side in sides { th scope="col" { (side.name) } }
                                }
                            }
                            tbody { @for row in rows { (verdict_row(row)) } }
                        }
                    }
                }
            }
        }
    }
}

fn verdict_row(row: &Judged<'_>) -> Markup {
    html! {
        tr {
            td.id { a href={ "#" (row.id) } { (row.id) } }
            td.text { (prose(row.claim)) }
            @for view in &row.views {
                td.figures {
                    @match view {
                        Some(view) => {
                            (badge(view.verdict))
                            @if row.differs() { br; (prose(&view.numbers)) }
                        },
                        None => span.none { "–" },
                    }
                }
            }
        }
    }
}

/// Renders the machine sheets, followed by the facts of the runs.
pub(super) fn machines(sides: &[Side]) -> Markup {
    let views = || sides.iter().map(|side| &side.view);
    let names = unique(views().flat_map(|view| view.sheet.iter().map(|row| row.name.as_str())));
    let facts = unique(views().flat_map(|view| view.facts.iter().map(|(name, _)| name.as_str())));
    let headings = ["quantity"].into_iter();
    let headings = headings.chain(sides.iter().map(|side| side.name.as_str()));
    let rows = html! {
        @for name in names {
            tr {
                th scope="row" { (name) }
                @for side in sides {
                    td { (sheet_cell(side.view.sheet.iter().find(|row| row.name == name))) }
                }
            }
        }
        @for name in facts {
            tr {
                th scope="row" { (name) }
                @for side in sides {
                    @let fact = side.view.facts.iter().find(|(fact, _)| fact == name);
                    td { (fact.map_or("", |(_, value)| value.as_str())) }
                }
            }
        }
    };
    html! {
        section #machines aria-labelledby="machines-title" {
            h2 #machines-title { "The machines" }
            (table("Machines side by side", headings, rows))
        }
    }
}

/// Renders the measured value, and below it the value that CPUID or the kernel states.
fn sheet_cell(row: Option<&Row>) -> Markup {
    let Some(row) = row else {
        return html! { span.none { "–" } };
    };
    let stated = row.cpuid.as_ref().or(row.kernel.as_ref());
    html! {
        @if let Some(measured) = &row.measured { (measured) }
        @if row.measured.is_some() && stated.is_some() { br; }
        @if let Some(stated) = stated { small { (stated) } }
        @if let Some(differs) = &row.differs { br; small { (differs) } }
    }
}
