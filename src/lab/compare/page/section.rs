//! The section of one experiment: its curves in all records, and by what they differ.

use maud::{Markup, html};

use super::chart::{self, Named};
use crate::lab::compare::{Ahead, Difference, Place, Side};
use crate::lab::report::scale::{heading, number, place};
use crate::lab::report::section::{legend, spec};
use crate::lab::report::surface;
use crate::lab::report::text::prose;
use crate::lab::report::view::{Figure, Form, Section, Value};
use crate::stats::Interval;

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
            @match same.first().map(|(_, figure)| &figure.form) {
                // A map shows one machine; the tables below show all.
                None | Some(Form::Table | Form::Heat(_)) => {},
                Some(Form::Surface(depth)) => (reliefs(section, &same, depth)),
                Some(Form::Lines | Form::Bars) => (plotted(section, &same)),
            }
        }
    }
}

fn plotted(section: &Section, figures: &[Named<'_>]) -> Markup {
    let chart = chart::draw(figures);
    html! {
        div.chart {
            div.plot role="img" aria-label=(spoken("Plot", section)) {}
            (spec(&chart.json))
            (legend(&chart.legend))
        }
    }
}

fn reliefs(section: &Section, figures: &[Named<'_>], depth: &str) -> Markup {
    html! {
        div.reliefs {
            @for (name, figure) in figures {
                // The first surface is the machine's own; the document's follow.
                @for relief in surface::draw(figure, depth).iter().take(1) {
                    div.chart.relief {
                        p.who { (name) }
                        div.plot role="img" aria-label=(spoken("Surface", section)) {}
                        (spec(&relief.json))
                    }
                }
            }
        }
    }
}

fn spoken(what: &str, section: &Section) -> String {
    format!(
        "{what}: {}. The numbers are in the tables below.",
        section.title
    )
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
        true => "Whiskers span the intervals of all passes.".to_owned(),
        false => format!(
            "Whiskers span the intervals of all passes. Not in {}.",
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
