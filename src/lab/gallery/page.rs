//! The first page of a gallery.

use maud::{DOCTYPE, Markup, html};

use super::{Gallery, file_of, holds, pair_of};
use crate::lab::report::first::{patterns, stack};
use crate::lab::report::page::head;

/// Renders it as one self-contained HTML file beside the pages that it links.
pub(super) fn render(gallery: &Gallery) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head("linefill: machines side by side"))
            body {
                a.skip href="#holding" { "Skip to the table" }
                (patterns())
                div.frame {
                    main {
                        header.masthead {
                            p.eyebrow { "linefill gallery" }
                            h1 { "The classic claims about memory, machine by machine" }
                            p.sub {
                                "Each machine has a report; any two can be laid over each other."
                            }
                        }
                        (machines(gallery))
                        (changed(gallery))
                        (pairs(gallery))
                    }
                }
            }
        }
    }
    .into_string()
}

fn scroll(label: &str, table: Markup) -> Markup {
    html! { div.scroll role="region" tabindex="0" aria-label=(label) { (table) } }
}

/// The machines, and a row a section: how many of its claims hold on each.
fn machines(gallery: &Gallery) -> Markup {
    let columns = gallery.columns();
    let table = html! {
        table.sheet {
            thead {
                tr {
                    th scope="col" { "section" }
                    @for side in &gallery.sides {
                        th scope="col" { a href=(file_of(side)) { (side.name) } }
                    }
                }
            }
            tbody {
                @for column in &columns {
                    tr {
                        th scope="row" {
                            @if !column.whole { "\u{2003}" } (column.name)
                        }
                        @for counts in &column.counts {
                            td { (stack(*counts)) (holds(counts)) }
                        }
                    }
                }
            }
        }
    };
    html! {
        section #machines aria-labelledby="machines-title" {
            h2 #machines-title { "The machines" }
            ul {
                @for side in &gallery.sides {
                    li {
                        a href=(file_of(side)) { (side.name) }
                        ": " (side.view.summary.machine) ", " (side.view.date)
                    }
                }
            }
        }
        section #holding aria-labelledby="holding-title" {
            h2 #holding-title { "How much still holds" }
            p.lead { "How many of the claims that the machine measured and decided hold there." }
            (scroll("Sections by machines", table))
        }
    }
}

/// A row a quantity: what its document has, and each machine.
fn changed(gallery: &Gallery) -> Markup {
    let table = html! {
        table.sheet {
            thead {
                tr {
                    th scope="col" { "quantity" }
                    th scope="col" { "then" }
                    @for side in &gallery.sides { th scope="col" { (side.name) } }
                }
            }
            tbody {
                @for of in gallery.quantities() {
                    @let experiment = of.claim.split('.').next().unwrap_or_default();
                    tr {
                        th scope="row" { (of.subject) br; small { (of.source) } }
                        td { (of.then) }
                        @for (side, now) in gallery.sides.iter().zip(&of.now) {
                            td {
                                @match now {
                                    Some(now) => a href={ (file_of(side)) "#" (experiment) } { (now) },
                                    None => span.none { "–" },
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    html! {
        section #changed aria-labelledby="changed-title" {
            h2 #changed-title { "What changed most" }
            (scroll("Then, and now on each machine", table))
        }
    }
}

/// A link for any two.
fn pairs(gallery: &Gallery) -> Markup {
    html! {
        @if gallery.paired().len() > 1 {
            section #pairs aria-labelledby="pairs-title" {
                h2 #pairs-title { "Two machines in one chart" }
                ul {
                    @for (index, side) in gallery.paired().iter().enumerate() {
                        @for first in &gallery.sides[..index] {
                            li { a href=(pair_of(first, side)) { (side.name) " beside " (first.name) } }
                        }
                    }
                }
            }
        }
    }
}
