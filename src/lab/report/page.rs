//! The page: one file that loads nothing, with its contents and its content security policy.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac_sha256::Hash;
use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

use super::first::{chapter_id, experiments, findings, holding, masthead, paper_id, patterns};
use super::paper::{annotated, link};
use super::section::section;
use super::text::{BY_INTEREST, class, glossary, mark, percent, prose};
use super::view::{PredictionView, ReportView, Section};
use crate::experiment::Verdict;
use crate::lab::chart;
use crate::lab::record::VerdictLine;
use crate::lab::sheet::Row;
use crate::lab::size::grouped;
use crate::order::greatest_first;

pub(in crate::lab) const STYLE: &str = include_str!("style.css");
const NAVIGATION: &str = include_str!("page.js");

/// Renders the head of a page with this title: its content security policy and its styles.
fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta http-equiv="Content-Security-Policy"
                content=(policy(&[STYLE, chart::STYLE], &[chart::SCRIPT, NAVIGATION]));
            title { (title) }
            style { (PreEscaped(STYLE)) }
            style { (PreEscaped(chart::STYLE)) }
        }
    }
}

/// Renders a page with this title and body as one file. `skip` is the target and text of a link that skips
/// to the main part.
pub(in crate::lab) fn page(title: &str, skip: [&str; 2], body: &Markup) -> String {
    let [to, text] = skip;
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title))
            body {
                a.skip href=(to) { (text) }
                (body)
            }
        }
    }
    .into_string()
}

/// Renders the end of a page: the definitions that charts share, and scripts.
pub(in crate::lab) fn scripts() -> Markup {
    html! {
        (chart::definitions())
        script { (PreEscaped(chart::SCRIPT)) }
    }
}

/// Renders the main part of a page beside its contents. On a phone the page starts with the answer and ends with
/// the contents.
pub(in crate::lab) fn frame(main: Markup, contents: Markup) -> Markup {
    html! {
        div.frame {
            main { (main) }
            nav.contents #contents aria-label="Contents" {
                h2.hidden { "Contents" }
                (contents)
            }
        }
    }
}

/// Renders a table with these headings, which scrolls if it is too wide; `label` is for screen readers.
pub(in crate::lab) fn table(
    label: &str,
    headings: impl IntoIterator<Item = impl Render>,
    rows: Markup,
) -> Markup {
    html! {
        div.scroll role="region" tabindex="0" aria-label=(label) {
            table.sheet {
                thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                tbody { (rows) }
            }
        }
    }
}

/// Renders links to the sections of experiments, from their ids and titles.
pub(in crate::lab) fn links<'s>(sections: impl Iterator<Item = (&'s str, &'s str)>) -> Markup {
    html! {
        ol {
            @for (id, title) in sections {
                li {
                    a href={ "#" (id) } {
                        span.dot.none aria-hidden="true" {}
                        span.id { (id) }
                        " " span.title { (title) }
                    }
                }
            }
        }
    }
}

/// End tags that HTML allows to be omitted in all lists and tables of the page (HTML, 13.1.2.4, Optional
/// tags). They make up a fifteenth of a page.
const IMPLIED: [&str; 4] = ["</td>", "</th>", "</tr>", "</li>"];

/// Renders a report as one self-contained HTML file.
pub fn render(view: &ReportView) -> String {
    let page = whole(view);
    IMPLIED.iter().fold(page, |page, end| page.replace(end, ""))
}

fn whole(view: &ReportView) -> String {
    let body = html! {
        (patterns())
        (frame(
            html! {
                (masthead(view))
                (findings(view))
                (holding(view))
                (annotated(view))
                (machine(view))
                @for part in &view.sections { (section(part)) }
                (predictions(view))
                (notes(view))
                (glossary())
                (not_run(view))
            },
            contents(view),
        ))
        (scripts())
        script { (PreEscaped(NAVIGATION)) }
    };
    page(
        &format!("linefill: {}", view.summary.machine.cpu()),
        ["#findings", "Skip to what changed most"],
        &body,
    )
}

/// Renders the machine sheet and the facts of the run.
fn machine(view: &ReportView) -> Markup {
    let kernel = view.sheet.iter().any(|row| row.kernel.is_some());
    let notes = view.sheet.iter().any(|row| row.differs.is_some());
    let asked = [kernel.then_some("kernel"), notes.then_some("note")];
    let headings = ["quantity", "measured", "CPUID"].into_iter();
    let headings = headings.chain(asked.into_iter().flatten());
    let rows = html! { @for row in &view.sheet { (sheet_row(row, kernel, notes)) } };
    html! {
        section #machine aria-labelledby="machine-title" {
            h2 #machine-title { "The machine" (link("machine")) }
            @if !view.sheet.is_empty() { (table("Measured beside reported", headings, rows)) }
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

/// Renders the notes that a reader must know before trusting the numbers.
fn notes(view: &ReportView) -> Markup {
    html! {
        section #notes aria-labelledby="notes-title" {
            h2 #notes-title { "Notes on this run" (link("notes")) }
            @if view.notes.is_empty() { p { "linefill knows of nothing that disturbed this run." } }
            ul { @for note in &view.notes { li { (note) } } }
        }
    }
}

/// Renders the table of all predictions and their overall error; nothing if nothing was predicted.
fn predictions(view: &ReportView) -> Markup {
    let Some(outcome) = view.predicted else { return html! {} };
    let poor = view.predictions().filter(|(_, of)| of.poor()).count();
    let mut rows: Vec<(&Section, &PredictionView)> = view.predictions().collect();
    // Predictions that miss their bar come first, the worst at the top.
    let part = |of: &PredictionView| of.error.map_or(-1.0, |error| error / of.bar);
    greatest_first(&mut rows, |(_, of)| part(of));
    html! {
        section #predictions aria-labelledby="predictions-title" {
            h2 #predictions-title { "Model against measurement" (link("predictions")) }
            p.lead {
                "Median error " (percent(outcome.error))
                " over " (grouped(outcome.points as u64)) " points; "
                @if poor == 0 { "every experiment meets its target." }
                @else if poor == 1 { "1 experiment misses its target." }
                @else { (poor) " experiments miss their targets." }
            }
            p {
                "The models use the machine's parameters: the ladder, the rate of a stream in each \
                 level, the part of memory's latency that prefetchers do not hide, a step to \
                 another page, the transfer of a line to another core, a floating-point addition, \
                 CPUID, and published facts about the core. Each figure names its models, and says \
                 whether their numbers are calibrated, published or fitted. The error is the \
                 median of |predicted / measured - 1| over the times. A point that several \
                 experiments share counts once. "
                (grouped(outcome.own_quantity as u64))
                " points are not counted, because the calibration \
                 measured the same quantity. Of contended lines, turns of an MCS lock are \
                 predicted, which hand the line on each time; no vendor publishes how long a core \
                 otherwise keeps a line that other cores request."
            }
            table.sheet.models role="table" {
                thead {
                    tr {
                        th scope="col" { "experiment" }
                        th scope="col" { "error" }
                        th scope="col" { "target" }
                        th scope="col" { "points" }
                        th scope="col" { "what the model leaves out" }
                    }
                }
                tbody { @for (section, of) in rows { (predicted_row(section, of)) } }
            }
        }
    }
}

fn predicted_row(section: &Section, of: &PredictionView) -> Markup {
    html! {
        tr role="row" {
            th scope="row" { a href={ "#" (section.id) } { (section.id) } " " (section.title) }
            td data-label="error" {
                @if let Some(error) = of.error {
                    (percent(error)) @if of.poor() { ", too much" }
                } @else { "same quantity as the calibration" }
            }
            td data-label="target" { (percent(of.bar)) }
            td data-label="points" { (of.points) }
            td.lacks { @if of.poor() { (prose(&of.lacks.join("; and "))) } }
        }
    }
}

fn not_run(view: &ReportView) -> Markup {
    html! {
        @if !view.not_run.is_empty() {
            section #not-run aria-labelledby="not-run-title" {
                h2 #not-run-title { "Not in this run" }
                ul.not-run {
                    @for (id, title) in &view.not_run { li { span.id { (id) } " " (title) } }
                }
            }
        }
    }
}

/// Frequent questions, and the section that answers each.
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

/// Renders the contents of the page.
fn contents(view: &ReportView) -> Markup {
    let mut seen: Vec<&str> = Vec::new();
    html! {
        div {
            div.search hidden {
                label for="search" { "Search" }
                input #search type="search" placeholder="D14, alignment, huge pages"
                    autocomplete="off";
                p.hits aria-live="polite" {}
            }
            ul.top {
                li { a href="#findings" { "What changed most" } }
                li { a href="#holding" { "How much still holds" } }
                li { a href="#paper" { "The papers, annotated" } }
                li { a href="#machine" { "The machine" } }
                @if view.predicted.is_some() {
                    li { a href="#predictions" { "Model against measurement" } }
                }
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
                                p.chapter {
                                    a href={ "#" (chapter_id(index, number)) } { (chapter.name) }
                                }
                            }
                            ol { @for section in of(view, &own) { (entry(section)) } }
                        }
                    }
                }
            }
            @let others = view.sections.iter().filter(|of| !seen.contains(&of.id.as_str()));
            @let others: Vec<&Section> = others.collect();
            @if !others.is_empty() {
                div.group {
                    p.chapter { "Without claims" }
                    ol { @for section in others { (entry(section)) } }
                }
            }
        }
    }
}

/// Returns whether the page has a part with this id.
fn is_there(view: &ReportView, id: &str) -> bool {
    id == "machine" || view.sections.iter().any(|of| of.id == id)
}

/// Returns the sections of these experiments.
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
                span.dot.(worst.map_or("none", class)) aria-hidden="true" {
                    (worst.map_or("·", mark))
                }
                span.id { (section.id) }
                " " span.title { (section.title) }
            }
        }
    }
}

/// Returns the most interesting verdict of a section, among the claims about this machine if there are any.
fn worst(section: &Section) -> Option<Verdict> {
    let some_here = section.claims.iter().any(VerdictLine::is_of_this_machine);
    let has = |verdict: &Verdict| {
        let mut claims = section.claims.iter();
        claims.any(|claim| claim.verdict == *verdict && (claim.is_of_this_machine() || !some_here))
    };
    BY_INTEREST.into_iter().find(has)
}

/// Returns the content security policy of a page with these styles and scripts, each the text of an element.
/// Browsers refuse all other scripts and styles, including those in attributes, so a record cannot inject
/// any.
pub(in crate::lab) fn policy(styles: &[&str], scripts: &[&str]) -> String {
    format!("default-src 'none'; style-src {}; script-src {}", sources(styles), sources(scripts))
}

fn sources(texts: &[&str]) -> String {
    let source = |text: &&str| format!("'sha256-{}'", STANDARD.encode(Hash::hash(text.as_bytes())));
    texts.iter().map(source).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hashes of the empty text and of `abc`, from FIPS 180-4.
    #[test]
    fn a_source_is_the_hash_of_its_text() {
        assert_eq!(
            policy(&[""], &["abc"]),
            "default-src 'none'; style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; \
             script-src 'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='"
        );
    }
}
