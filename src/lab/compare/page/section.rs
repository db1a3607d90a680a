//! The section of one experiment: its curves in all records, and by what they differ.

use maud::{Markup, html};

use crate::lab::chart::{Drawing, Owner, Role, Series, Shape, draw, heading, number, place};
use crate::lab::compare::{Ahead, Difference, Place, Side};
use crate::lab::report::text::prose;
use crate::lab::report::view::{Figure, Form, Section, Value};
use crate::stats::Interval;

/// A record's name and its figure.
type Named<'a> = (&'a str, &'a Figure);

/// The section of one experiment, which the first of `sides` need not have.
pub(super) fn section(section: &Section, sides: &[Side], found: &[Vec<Difference>]) -> Markup {
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
                        (differences(section, sides, side, found))
                    }
                }
            }
        }
    }
}

fn figure_of<'a>(side: &'a Side, id: &str) -> Option<&'a Figure> {
    let mut sections = side.view.sections.iter();
    sections.find(|section| section.id == id)?.figure.as_ref()
}

/// The plots, one for each unit: a machine without a core clock has its own.
fn drawn(section: &Section, figures: &[Named<'_>]) -> Markup {
    let mut units: Vec<&str> = figures
        .iter()
        .map(|(_, figure)| figure.unit.as_str())
        .collect();
    units.dedup();
    html! {
        @for unit in units {
            @let same: Vec<Named<'_>> = figures
                .iter()
                .filter(|(_, figure)| figure.unit == unit)
                .copied()
                .collect();
            @if let Some(chart) = chart(&section.title, &same) { (chart) }
        }
    }
}

/// The curves of several records, a colour a record. The document's curve and the sizes of caches, which
/// differ from machine to machine, are in the reports.
fn chart(title: &str, figures: &[Named<'_>]) -> Option<Markup> {
    let (_, first) = figures.first()?;
    let shape = match &first.form {
        // A map of pairs shows one machine; the tables below show all.
        Form::Table | Form::Heat { .. } => return None,
        Form::Lines => Shape::Lines,
        Form::Bars => Shape::Bars,
        Form::Surface(depth) => Shape::Cells(depth),
    };
    let owners = figures.iter().enumerate().map(|(side, (name, _))| Owner {
        name,
        role: Role::Machine(side),
    });
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
        // Machines differ in their clocks.
        ns_per_cycle: None,
        owners: owners.collect(),
        series: series.collect(),
        rules: &[],
    }))
}

/// Whose curves are missing.
fn caption(sides: &[Side], figures: &[Named<'_>]) -> String {
    let has = |side: &&Side| figures.iter().any(|(name, _)| *name == side.name);
    let missing: Vec<&str> = sides
        .iter()
        .filter(|side| !has(side))
        .map(|side| side.name.as_str())
        .collect();
    match missing.is_empty() {
        true => "Thin lines at the points show the range of all passes.".to_owned(),
        false => format!(
            "Thin lines at the points show the range of all passes. Not in {}.",
            missing.join(", ")
        ),
    }
}

/// Every point that two records share, folded up.
fn differences(section: &Section, sides: &[Side], side: &Side, found: &[Difference]) -> Markup {
    let first = sides.first().map_or("", |side| side.name.as_str());
    let of = || {
        found
            .iter()
            .filter(|difference| difference.id == section.id)
    };
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
        Ahead::Other => " ▲",
        Ahead::First => " ▼",
        Ahead::Neither => "",
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
