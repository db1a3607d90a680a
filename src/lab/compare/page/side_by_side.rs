//! Renders verdicts and machines with one column per record.

use maud::{Markup, html};

use crate::lab::compare::Side;
use crate::lab::compare::difference::{differs, joined};
use crate::lab::record::VerdictLine;
use crate::lab::report::page::table;
use crate::lab::report::text::{badge, prose};
use crate::lab::sheet::Row;
use crate::order::unique;

/// Renders every claim, first those on which the records have different verdicts.
pub(super) fn verdicts(sides: &[Side]) -> Markup {
    let (differ, same): (Vec<_>, Vec<_>) = joined(sides).into_iter().partition(|row| differs(row));
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

fn verdict_row(row: &[Option<&VerdictLine>]) -> Markup {
    html! {
        tr {
            @if let Some(of) = row.iter().flatten().next() {
                td.id { a href={ "#" (of.experiment) } { (of.experiment) } }
                td.text { (prose(&of.claim)) }
            }
            @for view in row {
                td.figures {
                    @match view {
                        Some(view) => {
                            (badge(view.verdict))
                            @if differs(row) { br; (prose(&view.numbers)) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::compare::sides;
    use crate::lab::read::parse;

    /// A later version may word a claim in another way.
    #[test]
    fn claims_are_joined_by_their_ids() {
        let planted = include_bytes!("../../../../tests/fixtures/record/planted.jsonl");
        let named = ["a", "b"].map(|name| {
            let mut reading = parse(planted).unwrap();
            for line in &mut reading.record.verdicts {
                line.claim += name;
            }
            (name.to_owned(), reading)
        });
        let sides = sides(named.into()).unwrap();
        let claims = sides[0].view.claims().count();
        let page = verdicts(&sides).into_string();
        assert_eq!(page.matches("<td class=\"id\">").count(), claims);
    }
}
