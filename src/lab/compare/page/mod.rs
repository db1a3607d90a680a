//! The page of a comparison: one file that loads nothing, made of the parts of a report.

mod section;
mod side_by_side;

use maud::{DOCTYPE, Markup, html};

use super::side::prefetchers_apart;
use super::{Difference, Effect, Side, effects};
use crate::lab::report::page::{head, scripts};
use crate::lab::report::view::Section;

/// Renders the comparison of the first of `sides` with each of the others, whose differences
/// `found` has, as one self-contained HTML file.
pub fn render(sides: &[Side], found: &[Vec<Difference>]) -> String {
    let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    let shown = sections(sides);
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("linefill: {}", names.join(", "))))
            body {
                a.skip href="#differences" { "Skip to the differences" }
                div.frame {
                    (contents(&shown))
                    main {
                        (masthead(sides))
                        (differences(sides, found))
                        (side_by_side::verdicts(sides))
                        (side_by_side::machines(sides))
                        @for one in &shown { (section::section(one, sides, found)) }
                    }
                }
                (scripts())
            }
        }
    }
    .into_string()
}

/// The sections of all records, each once, in the order in which they first occur.
fn sections(sides: &[Side]) -> Vec<&Section> {
    let mut sections: Vec<&Section> = Vec::new();
    for section in sides.iter().flat_map(|side| &side.view.sections) {
        if sections.iter().all(|seen| seen.id != section.id) {
            sections.push(section);
        }
    }
    sections
}

fn contents(sections: &[&Section]) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            ul {
                li { a href="#differences" { "Differences" } }
                li { a href="#claims" { "Verdicts" } }
                li { a href="#machines" { "The machines" } }
            }
            ol {
                @for section in sections {
                    li {
                        a href={ "#" (section.id) } {
                            span.dot.none aria-hidden="true" {}
                            span.id { (section.id) }
                            " " span.title { (section.title) }
                        }
                    }
                }
            }
        }
    }
}

fn masthead(sides: &[Side]) -> Markup {
    html! {
        header.masthead {
            p.eyebrow { "linefill comparison" }
            h1 {
                @for (index, side) in sides.iter().enumerate() {
                    @match index { 0 => {}, 1 => " beside ", _ => ", " }
                    span.machine { (side.name) }
                }
            }
            dl.facts {
                @for side in sides {
                    div { dt { (side.name) } dd { (side.view.summary.machine) ", " (side.view.date) } }
                }
            }
            @if let Some(apart) = prefetchers_apart(sides) { p.warning { (apart) } }
            @for (warning, of) in told(sides, |side| &side.view.warnings) {
                p.warning { (of) ": " (warning) }
            }
            (notes(sides))
        }
    }
}

/// What must be known before trusting the numbers, folded up.
fn notes(sides: &[Side]) -> Markup {
    let notes = told(sides, |side| &side.view.notes);
    html! {
        @if !notes.is_empty() {
            details.numbers {
                summary { "Notes on the records (" (notes.len()) ")" }
                @for (note, of) in &notes { p.note { b { (of) } ": " (note) } }
            }
        }
    }
}

/// Each text once, with the records that say it.
fn told(sides: &[Side], texts: fn(&Side) -> &Vec<String>) -> Vec<(&str, String)> {
    let mut told: Vec<(&str, Vec<&str>)> = Vec::new();
    for side in sides {
        for text in texts(side) {
            match told.iter_mut().find(|(known, _)| known == text) {
                Some((_, names)) => names.push(&side.name),
                None => told.push((text, vec![&side.name])),
            }
        }
    }
    let all = sides.len();
    let names = |names: Vec<&str>| match names.len() {
        count if count == all && all > 1 => "All".to_owned(),
        _ => names.join(", "),
    };
    told.into_iter()
        .map(|(text, of)| (text, names(of)))
        .collect()
}

/// A row an experiment, the largest effect first: the median of the ratios, and how many points differ
/// beyond doubt.
fn differences(sides: &[Side], found: &[Vec<Difference>]) -> Markup {
    let first = sides.first().map_or("", |side| side.name.as_str());
    let others = || sides.iter().skip(1).zip(found);
    let effects: Vec<Vec<Effect<'_>>> = found.iter().map(|of| effects(of)).collect();
    let mut rows: Vec<&Effect<'_>> = Vec::new();
    for effect in effects.iter().flatten() {
        if rows.iter().all(|seen| seen.of.id != effect.of.id) {
            rows.push(effect);
        }
    }
    rows.sort_by(|a, b| b.size().total_cmp(&a.size()));
    html! {
        section #differences aria-labelledby="differences-title" {
            h2 #differences-title { "Differences" }
            p.lead {
                "How much slower or faster than " (first) ", by the median of all points that both have, "
                "the largest effect first; and how many points differ beyond the doubt of both."
            }
            div.scroll role="region" tabindex="0" aria-label="Differences by experiment" {
                table.sheet {
                    thead {
                        tr {
                            th scope="col" { "experiment" }
                            @for (side, _) in others() { th scope="col" { (side.name) } }
                        }
                    }
                    tbody {
                        @for row in rows {
                            tr {
                                th scope="row" {
                                    a href={ "#" (row.of.id) } { (row.of.id) } " " (row.of.title)
                                }
                                @for effects in &effects { td { (summary(effects, &row.of.id)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn summary(effects: &[Effect<'_>], id: &str) -> Markup {
    let Some(effect) = effects.iter().find(|effect| effect.of.id == id) else {
        return html! { span.none { "–" } };
    };
    html! { (effect.in_words()) " " small { (effect.points_in_words()) } }
}
