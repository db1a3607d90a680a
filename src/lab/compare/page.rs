//! The page of a comparison: one HTML file that loads nothing, built from the parts of a report. Verdicts and
//! machines have one column per record. Each experiment has a section with its curves in all records, and their
//! differences.

use std::cmp::Ordering;

use maud::{Markup, html};

use super::{Difference, Effect, Side, effects, prefetchers_apart};
use crate::lab::chart::{Drawing, Owner, Role, Series, draw, heading, number, place};
use crate::lab::compare::Place;
use crate::lab::compare::difference::{differs, joined};
use crate::lab::record::VerdictLine;
use crate::lab::report::page::{frame, links, page, scripts, table};
use crate::lab::report::text::{badge, eyebrow, prose};
use crate::lab::report::view::{Figure, Section, Value};
use crate::lab::sheet::Row;
use crate::order::{greatest_first, grouped, unique};
use crate::stats::Interval;

/// Renders the comparison of the first of `sides` with each of the others as one self-contained HTML file.
/// `found` contains the differences of each of the others.
pub fn render(sides: &[Side], found: &[Vec<Difference>]) -> String {
    let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    let shown = sections(sides);
    let body = html! {
        (frame(
            html! {
                (masthead(sides))
                (differences(sides, found))
                (verdicts(sides))
                (machines(sides))
                @for one in &shown { (section(one, sides, found)) }
            },
            contents(&shown),
        ))
        (scripts())
    };
    page(
        &format!("linefill: {}", names.join(", ")),
        ["#differences", "Skip to the differences"],
        &body,
    )
}

/// Returns the sections of all records, each once, in the order in which they first occur.
fn sections(sides: &[Side]) -> Vec<&Section> {
    let sections = sides.iter().flat_map(|side| &side.view.sections);
    let by_id = grouped(sections.map(|section| (section.id.as_str(), section)));
    by_id.into_iter().map(|(_, same)| same[0]).collect()
}

fn contents(sections: &[&Section]) -> Markup {
    html! {
        ul {
            li { a href="#differences" { "Differences" } }
            li { a href="#claims" { "Verdicts" } }
            li { a href="#machines" { "The machines" } }
        }
        (links(sections.iter().map(|of| (of.id.as_str(), of.title.as_str()))))
    }
}

fn masthead(sides: &[Side]) -> Markup {
    html! {
        header.masthead {
            (eyebrow("linefill comparison"))
            h1 {
                @for (index, side) in sides.iter().enumerate() {
                    @match index { 0 => {}, 1 => " beside ", _ => ", " }
                    span.machine { (side.name) }
                }
            }
            dl.facts {
                @for side in sides {
                    div {
                        dt { (side.name) }
                        dd { (side.view.summary.machine) ", " (side.view.date) }
                    }
                }
            }
            @if let Some(apart) = prefetchers_apart(sides) { p.warning { (apart) } }
            @for (warning, of) in with_owners(sides, |side| &side.view.warnings) {
                p.warning { (of) ": " (warning) }
            }
            (notes(sides))
        }
    }
}

/// Renders the notes that a reader must know before trusting the numbers, folded.
fn notes(sides: &[Side]) -> Markup {
    let notes = with_owners(sides, |side| &side.view.notes);
    html! {
        @if !notes.is_empty() {
            details.numbers {
                summary { "Notes on the records (" (notes.len()) ")" }
                @for (note, of) in &notes { p.note { b { (of) } ": " (note) } }
            }
        }
    }
}

/// Returns each text once, with the names of the records that have it.
fn with_owners(sides: &[Side], texts: fn(&Side) -> &Vec<String>) -> Vec<(&str, String)> {
    let found = grouped(
        sides
            .iter()
            .flat_map(|side| texts(side).iter().map(|text| (text.as_str(), side.name.as_str()))),
    );
    let all = sides.len();
    let names = |names: Vec<&str>| match names.len() {
        count if count == all && all > 1 => "All".to_owned(),
        _ => names.join(", "),
    };
    found.into_iter().map(|(text, of)| (text, names(of))).collect()
}

/// Renders a row per experiment, the largest effect first, with the median of the ratios and the number of
/// points that differ beyond doubt.
fn differences(sides: &[Side], found: &[Vec<Difference>]) -> Markup {
    let first = sides.first().map_or("", |side| side.name.as_str());
    let others = sides.iter().skip(1).zip(found);
    let effects: Vec<Vec<Effect<'_>>> = found.iter().map(|of| effects(of)).collect();
    let by_id = grouped(effects.iter().flatten().map(|effect| (&effect.of.id, effect)));
    let mut rows: Vec<&Effect<'_>> = by_id.into_iter().map(|(_, same)| same[0]).collect();
    greatest_first(&mut rows, |of| of.size());
    let headings = ["experiment"].into_iter().chain(others.map(|(side, _)| side.name.as_str()));
    let rows = html! {
        @for row in rows {
            tr {
                th scope="row" { a href={ "#" (row.of.id) } { (row.of.id) } " " (row.of.title) }
                @for effects in &effects { td { (summary(effects, &row.of.id)) } }
            }
        }
    };
    html! {
        section #differences aria-labelledby="differences-title" {
            h2 #differences-title { "Differences" }
            p.lead {
                "How much slower or faster than " (first)
                ", by the median of all points that both have, "
                "the largest effect first; and how many points differ beyond the doubt of both."
            }
            (table("Differences by experiment", headings, rows))
        }
    }
}

fn summary(effects: &[Effect<'_>], id: &str) -> Markup {
    let Some(effect) = effects.iter().find(|effect| effect.of.id == id) else {
        return html! { span.none { "–" } };
    };
    html! { (effect.in_words()) " " small { (effect.points_in_words()) } }
}

/// Renders every claim, first those on which the records have different verdicts.
fn verdicts(sides: &[Side]) -> Markup {
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
fn machines(sides: &[Side]) -> Markup {
    let views = || sides.iter().map(|side| &side.view);
    let names = unique(views().flat_map(|view| view.sheet.iter().map(|row| row.name.as_str())));
    let facts = unique(views().flat_map(|view| view.facts.iter().map(|(name, _)| name.as_str())));
    let headings = ["quantity"].into_iter().chain(sides.iter().map(|side| side.name.as_str()));
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
    let Some(row) = row else { return html! { span.none { "–" } } };
    let stated = row.cpuid.as_ref().or(row.kernel.as_ref());
    html! {
        @if let Some(measured) = &row.measured { (measured) }
        @if row.measured.is_some() && stated.is_some() { br; }
        @if let Some(stated) = stated { small { (stated) } }
        @if let Some(differs) = &row.differs { br; small { (differs) } }
    }
}

type Named<'a> = (&'a str, &'a Figure);

/// Renders the section of one experiment, which the first of `sides` may lack.
fn section(section: &Section, sides: &[Side], found: &[Vec<Difference>]) -> Markup {
    let title = format!("{}-title", section.id);
    let figures: Vec<Named<'_>> = sides
        .iter()
        .filter_map(|side| Some((side.name.as_str(), figure_of(side, &section.id)?)))
        .collect();
    let others = sides.iter().skip(1).zip(found);
    html! {
        section.experiment id=(section.id) aria-labelledby=(title) {
            header {
                p.eyebrow { span.id { (section.id) } " " code { (section.name) } }
                h2 id=(title) { (section.title) }
                p.question { (prose(&section.question)) }
            }
            @if figures.is_empty() {
                p.empty { "No point of this experiment has a number." }
            } @else {
                figure {
                    (drawn(section, &figures))
                    figcaption { (caption(sides, &figures)) }
                    @for (side, found) in others {
                        (by_how_much(section, sides, side, found))
                    }
                }
            }
        }
    }
}

fn figure_of<'a>(side: &'a Side, id: &str) -> Option<&'a Figure> {
    side.view.sections.iter().find(|section| section.id == id)?.figure.as_ref()
}

/// Draws a chart per unit. A machine without a core clock has values in another unit.
fn drawn(section: &Section, figures: &[Named<'_>]) -> Markup {
    let by_unit = grouped(figures.iter().map(|of| (&of.1.unit, *of)));
    html! {
        @for (_, same) in by_unit {
            @if let Some(chart) = chart(&section.title, &same) { (chart) }
        }
    }
}

/// Draws the curves of several records, in one colour per record. Curves of documents and sizes of caches
/// differ between machines, so they are only in the reports.
fn chart(title: &str, figures: &[Named<'_>]) -> Option<Markup> {
    let (_, first) = figures.first()?;
    // A map of pairs can show only one machine. The tables below the chart show all machines.
    let shape = first.form.shape()?;
    let owners = figures
        .iter()
        .enumerate()
        .map(|(side, (name, _))| Owner { name, role: Role::Machine(side) });
    let series = figures.iter().enumerate().flat_map(|(side, (_, figure))| {
        figure.curves.iter().map(move |curve| Series {
            owner: side,
            label: &curve.label,
            points: curve.points.clone(),
            column: None,
        })
    });
    Some(draw(&Drawing {
        title,
        shape,
        x: &first.x,
        y: &first.y,
        unit: &first.unit,
        // The clock rates of the machines differ.
        ns_per_cycle: None,
        owners: owners.collect(),
        series: series.collect(),
        rules: &[],
    }))
}

/// Returns the caption, with the records that have no curves.
fn caption(sides: &[Side], figures: &[Named<'_>]) -> String {
    let has = |side: &&Side| figures.iter().any(|(name, _)| *name == side.name);
    let missing: Vec<&str> =
        sides.iter().filter(|side| !has(side)).map(|side| side.name.as_str()).collect();
    match missing.is_empty() {
        true => "Thin lines at the points show the range of all passes.".to_owned(),
        false => format!(
            "Thin lines at the points show the range of all passes. Not in {}.",
            missing.join(", ")
        ),
    }
}

/// Renders all points that two records share, folded.
fn by_how_much(section: &Section, sides: &[Side], side: &Side, found: &[Difference]) -> Markup {
    let first = sides.first().map_or("", |side| side.name.as_str());
    let of = || found.iter().filter(|difference| difference.id == section.id);
    let title = format!("{} beside {first}", side.name);
    if of().next().is_none() {
        return html! { p.source { (side.name) " and " (first) " share no series." } };
    }
    html! {
        details.numbers {
            summary { (title) }
            div.scroll role="region" tabindex="0" aria-label=(title) {
                table {
                    @for difference in of() {
                        thead {
                            tr {
                                th scope="col" { (difference.series) }
                                th scope="col" { (first) }
                                th scope="col" { (side.name) }
                                th scope="col" { "ratio" }
                            }
                        }
                        tbody {
                            @for at in &difference.places { (row(difference, at)) }
                            @if difference.alone > 0 {
                                tr { td colspan="4" {
                                    (difference.alone) " points that one of them alone has"
                                } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn row(difference: &Difference, at: &Place) -> Markup {
    let what = match at.ahead() {
        Ordering::Greater => " ▲",
        Ordering::Less => " ▼",
        Ordering::Equal => "",
    };
    html! {
        tr {
            th scope="row" { (heading(&difference.axis)) " " (place(&difference.axis, at.x)) }
            td { (cell(&at.a)) }
            td { (cell(&at.b)) }
            td {
                @match at.ratio.zip(at.times()) {
                    Some((ratio, times)) => { (interval(times, ratio)) (what) },
                    None => span.none { "–" },
                }
            }
        }
    }
}

fn cell(value: &Value) -> Markup {
    html! {
        (number(value.mid))
        @if value.lo != value.hi {
            " " small { "[" (number(value.lo)) ", " (number(value.hi)) "]" }
        }
    }
}

fn interval(times: f64, ratio: Interval) -> Markup {
    html! {
        b { (format!("{times:.3}")) }
        " " small { "[" (format!("{:.3}", ratio.lo)) ", " (format!("{:.3}", ratio.hi)) "]" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::compare::sides;
    use crate::lab::read::parse;

    /// A later version may word a claim in another way. It is then judged anew, in one row.
    #[test]
    fn claims_are_joined_by_their_ids() {
        let planted = include_bytes!("../../../tests/fixtures/record/planted.jsonl");
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
