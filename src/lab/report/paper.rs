//! The annotated papers: every claim once, in the section that makes it, with a mark, the numbers then and
//! now, and a link to its figure.

use maud::{Markup, html};

use super::first::{chapter_id, in_words, paper_id, stack};
use super::text::{class, mark, prose};
use super::view::ReportView;
use crate::experiment::topics::topic_of;
use crate::experiment::{Shown, Verdict, find_claim};
use crate::lab::answer::{Paper, Part, number_text, range_text};
use crate::lab::chart::{number, range};
use crate::lab::figures::{beside_claim, quantity};
use crate::lab::record::VerdictLine;
use crate::order;
use crate::stats::Interval;

/// Renders all documents.
pub(super) fn annotated(view: &ReportView) -> Markup {
    html! {
        section #paper aria-labelledby="paper-title" {
            h2 #paper-title { "The papers, annotated" }
            p.lead {
                "Every claim of this run in the section that makes it. "
                @for verdict in Verdict::ALL {
                    span.verdict.(class(verdict)) {
                        span.mark aria-hidden="true" { (mark(verdict)) } " " (verdict.name())
                    }
                    " "
                }
            }
            (filters(view))
            @for (index, paper) in view.summary.papers.iter().enumerate() {
                (document(index, paper))
            }
        }
    }
}

/// Renders the filters of the claims, which stay hidden unless the script shows them.
fn filters(view: &ReportView) -> Markup {
    let claims = || view.summary.papers.iter().flat_map(Paper::claims);
    let topics = order::distinct(claims().map(topic));
    let kinds = order::distinct(claims().filter_map(|of| Some(of.found?.name())));
    let verdicts = Verdict::ALL.map(|of| (class(of), of.name()));
    let names = view.summary.papers.iter().map(|paper| paper.name).collect();
    let same = |of: Vec<&'static str>| of.into_iter().map(|of| (of, of)).collect::<Vec<_>>();
    html! {
        form.filters hidden role="search" aria-label="Filter the claims" {
            (choice("verdict", &verdicts))
            (choice("document", &same(names)))
            (choice("topic", &same(topics)))
            (choice("kind", &same(kinds)))
            button type="reset" { "all claims" }
            output aria-live="polite" {}
        }
    }
}

fn choice(name: &str, options: &[(&str, &str)]) -> Markup {
    html! {
        label {
            (name) " "
            select name=(name) {
                option value="" { "any" }
                @for (value, text) in options { option value=(value) { (text) } }
            }
        }
    }
}

fn topic(claim: &VerdictLine) -> &'static str {
    topic_of(&claim.experiment).map_or("", |topic| topic.name)
}

fn document(index: usize, paper: &Paper) -> Markup {
    html! {
        article.paper id=(paper_id(index)) data-document=(paper.name) {
            h3 {
                (paper.title)
                @if let Some(year) = paper.year { " (" (year) ")" }
                (link(&paper_id(index)))
            }
            @for (chapter, of) in paper.chapters.iter().enumerate() {
                div.chapter id=(chapter_id(index, chapter)) {
                    @for part in &of.parts { (section(part)) }
                }
            }
        }
    }
}

/// Renders a link to a heading, for copying.
pub(super) fn link(id: &str) -> Markup {
    html! { " " a.permalink href={ "#" (id) } aria-label="Link to this heading" { "#" } }
}

fn section(part: &Part) -> Markup {
    let counts = part.counts();
    let of_here = |verdict| {
        let claims = part.claims.iter().filter(|of| of.is_of_this_machine());
        claims.filter(move |of| of.verdict == verdict)
    };
    let beside = part.claims.iter().filter(|of| !of.is_of_this_machine()).collect();
    html! {
        div.part {
            h4 {
                @if !part.number.is_empty() { span.number { (part.number) } " " }
                (part.title)
            }
            @if counts.measured() > 0 {
                p.standing title=(in_words(counts)) {
                    (stack(counts)) " "
                    span { (counts.holding("–")) }
                }
            }
            @for verdict in [Verdict::DoesNotHold, Verdict::Holds] {
                @if of_here(verdict).next().is_some() {
                    ul.annotated { @for line in of_here(verdict) { (claim(line)) } }
                }
            }
            @for (verdict, words) in [
                (Verdict::Inconclusive, "undecided"),
                (Verdict::Untestable, "not testable here"),
            ] {
                (fold(of_here(verdict).collect(), words))
            }
            (fold(beside, "computed, simulated or reported"))
        }
    }
}

fn fold(claims: Vec<&VerdictLine>, words: &str) -> Markup {
    html! {
        @if !claims.is_empty() {
            details.more {
                summary { (claims.len()) " " (words) }
                ul.annotated { @for line in claims { (claim(line)) } }
            }
        }
    }
}

fn claim(line: &VerdictLine) -> Markup {
    let kind = line.found.map_or("", |found| found.name());
    html! {
        li.(class(line.verdict)) data-claim=(line.name()) data-verdict=(class(line.verdict))
            data-topic=(topic(line)) data-kind=(kind)
        {
            span.mark role="img" aria-label=(line.verdict.name()) { (mark(line.verdict)) }
            span.text { (prose(&line.claim)) }
            span.then-now { (then_now(line)) }
            a.id href={ "#" (line.experiment) } { (line.name()) }
        }
    }
}

/// Renders the document's number and this machine's. A finding has its own quantity and scale, so it is named. Where
/// the document gives no number, this machine's would say little by itself: the judgement's words have it.
fn then_now(line: &VerdictLine) -> Markup {
    let Some([lo, hi]) = line.now else { return html! {} };
    let takeaway = find_claim(&line.id).and_then(|of| of.takeaway);
    let now = Interval::new(lo, hi);
    let then = line.then.as_ref().map(|then| Interval::new(then.lo, then.hi));
    let (then, now) = match takeaway.map(|of| of.shown) {
        Some(shown) => (
            then.map(|then| range_text(shown, then, Shown::text)),
            number_text(shown, now, Shown::text),
        ),
        None => {
            (then.map(range), if now.tells_a_value() { number(now.center()) } else { range(now) })
        }
    };
    let (None, None) = (takeaway, then.as_ref()) else {
        return html! {
            @if let Some(name) = takeaway.map(|of| of.subject).or(quantity(line)) { (name) ": " }
            @if let Some(then) = then { span.then { "then " (then) } " " }
            "now " b { (now) }
        };
    };
    html! { (beside_claim(line).split("; ").next().unwrap_or_default()) }
}
