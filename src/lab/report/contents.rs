//! The contents beside the page: search, and the experiments by document and chapter.

use maud::{Markup, html};

use super::first::{chapter_id, experiments, paper_id};
use super::text::{BY_INTEREST, class, mark};
use super::view::{ReportView, Section};
use crate::experiment::Verdict;
use crate::lab::record::VerdictLine;

/// What people come with, and the section that answers it.
const ASKED: [(&str, &str); 9] = [
    ("Does random access still cost more than sequential?", "D19"),
    ("Does alignment matter?", "E15"),
    ("What do non-temporal stores gain?", "E4"),
    ("What does false sharing cost?", "B8"),
    ("How large is my L2 really?", "machine"),
    ("Do huge pages pay?", "F4"),
    ("Does software prefetch pay?", "E37"),
    ("How many misses at once?", "X10"),
    ("How fast is one core's memory?", "D35"),
];

/// The contents of the page.
pub(super) fn contents(view: &ReportView) -> Markup {
    let mut seen: Vec<&str> = Vec::new();
    html! {
        nav.contents #contents aria-label="Contents" {
            h2.hidden { "Contents" }
            div {
                div.search hidden {
                    label for="search" { "Search" }
                    input #search type="search" placeholder="D14, alignment, huge pages" autocomplete="off";
                    p.hits aria-live="polite" {}
                }
                ul.top {
                    li { a href="#findings" { "What changed most" } }
                    li { a href="#holding" { "How much still holds" } }
                    li { a href="#paper" { "The papers, annotated" } }
                    li { a href="#machine" { "The machine" } }
                    @if view.predicted.is_some() { li { a href="#predictions" { "Model against measurement" } } }
                    li { a href="#notes" { "Notes on this run" } }
                    li { a href="#glossary" { "Glossary" } }
                }
                @let asked = ASKED.iter().filter(|(_, id)| is_there(view, id));
                p.document { "Often asked" }
                ul.top { @for (question, id) in asked { li { a href={ "#" (id) } { (question) } } } }
                @for (index, paper) in view.summary.papers.iter().enumerate() {
                    @let alone = paper.chapters.len() == 1;
                    p.document { a href={ "#" (paper_id(index)) } { (paper.name) } }
                    @for (number, chapter) in paper.chapters.iter().enumerate() {
                        @let own = experiments(chapter, &mut seen);
                        @if !own.is_empty() {
                            div.group {
                                @if !alone {
                                    p.chapter { a href={ "#" (chapter_id(index, number)) } { (chapter.name) } }
                                }
                                ol { @for section in of(view, &own) { (entry(section)) } }
                            }
                        }
                    }
                }
                @let others = view.sections.iter().filter(|of| !seen.contains(&of.id.as_str()));
                @let others: Vec<&Section> = others.collect();
                @if !others.is_empty() {
                    div.group { p.chapter { "Without claims" } ol { @for section in others { (entry(section)) } } }
                }
            }
        }
    }
}

/// Whether the page has such a part.
fn is_there(view: &ReportView, id: &str) -> bool {
    id == "machine" || view.sections.iter().any(|of| of.id == id)
}

/// The sections of these experiments.
fn of<'a>(view: &'a ReportView, ids: &[&str]) -> Vec<&'a Section> {
    let sections = ids.iter();
    let found = sections.filter_map(|id| view.sections.iter().find(|of| of.id == *id));
    found.collect()
}

fn entry(section: &Section) -> Markup {
    let worst = worst(section);
    html! {
        li {
            a href={ "#" (section.id) } {
                span.dot.(worst.map_or("none", class)) aria-hidden="true" { (worst.map_or("·", mark)) }
                span.id { (section.id) }
                " " span.title { (section.title) }
            }
        }
    }
}

/// The most interesting verdict of a section, of those about this machine if there are any.
fn worst(section: &Section) -> Option<Verdict> {
    let some_here = section.claims.iter().any(VerdictLine::is_of_this_machine);
    let has = |verdict: &Verdict| {
        let mut claims = section.claims.iter();
        claims.any(|claim| claim.verdict == *verdict && (claim.is_of_this_machine() || !some_here))
    };
    BY_INTEREST.into_iter().find(has)
}
