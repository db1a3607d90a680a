//! The page of a comparison: one file that loads nothing, made of the parts of a report.

mod chart;
mod section;
mod side_by_side;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::difference::median_of;
use super::{Ahead, Difference, Side};
use crate::lab::report::number;
use crate::lab::report::page::{POLICY, SCRIPT, STYLE, plotly_script};
use crate::lab::report::view::Section;

/// Renders the comparison of the first of `sides` with each of the others, whose differences
/// `found` has, as one self-contained HTML file.
pub fn render(sides: &[Side], found: &[Vec<Difference>]) -> String {
    let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    let shown = sections(sides);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "linefill: " (names.join(", ")) }
                style { (PreEscaped(STYLE)) }
            }
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
                script { (PreEscaped(plotly_script())) }
                script { (PreEscaped(SCRIPT)) }
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
                    div { dt { (side.name) } dd { (side.view.machine) ", " (side.view.date) } }
                }
            }
            @for side in sides {
                @for note in &side.view.notes { p.note { b { (side.name) } ": " (note) } }
            }
        }
    }
}

/// A row an experiment: the median of the ratios, and how many points differ beyond doubt.
fn differences(sides: &[Side], found: &[Vec<Difference>]) -> Markup {
    let first = sides.first().map_or("", |side| side.name.as_str());
    let others = || sides.iter().skip(1).zip(found);
    let mut ids: Vec<&Difference> = Vec::new();
    for difference in found.iter().flatten() {
        if ids.iter().all(|seen| seen.id != difference.id) {
            ids.push(difference);
        }
    }
    html! {
        section #differences aria-labelledby="differences-title" {
            h2 #differences-title { "Differences" }
            p.lead {
                "The median of the other record's values over those of " (first)
                ", and how many points are larger or smaller beyond the doubt of both."
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
                        @for of in ids {
                            tr {
                                th scope="row" {
                                    a href={ "#" (of.id) } { (of.id) } " " (of.title)
                                }
                                @for (_, found) in others() { td { (summary(found, &of.id)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn summary(found: &[Difference], id: &str) -> Markup {
    let of = || found.iter().filter(|difference| difference.id == id);
    let count = |ahead| {
        let places = of().flat_map(|difference| &difference.places);
        places.filter(|place| place.ahead() == ahead).count()
    };
    let all: usize = of().map(|difference| difference.places.len()).sum();
    match median_of(of().flat_map(Difference::ratios)) {
        None => html! { span.none { "–" } },
        Some(median) => html! {
            (number(median))
            " " small {
                (count(Ahead::Other)) " larger, " (count(Ahead::First)) " smaller of " (all)
            }
        },
    }
}
