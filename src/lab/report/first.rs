//! The first screen: the answer, the machine, what changed most, and how many claims hold.

use maud::{Markup, html};

use super::ladder::{self, bar};
use super::text::{class, eyebrow, mark, prose};
use super::view::ReportView;
use crate::experiment::{Verdict, find_claim};
use crate::lab::answer::{Chapter, Counts, Finding, Paper};
use crate::lab::record::VerdictLine;

/// Renders the head of the page.
pub(super) fn masthead(view: &ReportView) -> Markup {
    let answer = &view.summary;
    let machine = &answer.machine;
    html! {
        header.masthead {
            (eyebrow("linefill report"))
            h1 { (answer.headline()) }
            p.sub {
                @match answer.foremost() {
                    Some(paper) => {
                        (paper.name) "'s " i { (paper.title) }
                        @if let Some(year) = paper.year { " (" (year) ")" }
                        ", re-measured on "
                    }
                    None => "Measured on ",
                }
                b.machine { (machine.cpu()) }
                @for part in machine.extent() { ", " (part) }
                @if !view.date.is_empty() { " · " span.date { (view.date) } }
                @if !view.duration.is_empty() { ", " (view.duration) }
                @if !view.caveats.is_empty() {
                    " · " a href="#notes" { (view.caveats.join(", ")) ": what that means" }
                }
            }
            @if rest(view).next().is_some() {
                p.others {
                    "Also here: "
                    @for (index, paper) in rest(view).enumerate() {
                        @if index > 0 { ", " }
                        (paper.name) " " (paper.counts().holding("–"))
                    }
                    "."
                }
            }
            @for warning in &view.warnings { p.warning { (warning) } }
            (ladder::draw(&answer.ladder))
        }
    }
}

/// Returns the documents other than the foremost of which a claim was decided.
fn rest(view: &ReportView) -> impl Iterator<Item = &Paper> {
    let foremost = view.summary.foremost().and_then(|paper| paper.document);
    let papers = view.summary.papers.iter();
    papers.filter(move |paper| {
        let other = paper.document.is_some() && paper.document != foremost;
        other && paper.counts().decided() > 0
    })
}

/// Renders what changed most, as cards.
pub(super) fn findings(view: &ReportView) -> Markup {
    let findings = &view.summary.findings;
    html! {
        section #findings aria-labelledby="findings-title" {
            h2 #findings-title { "What changed most" }
            @if findings.is_empty() {
                p {
                    @if view.summary.papers.iter().flat_map(Paper::claims).any(compared) {
                        "No number compared here certainly differs by 10 % from its document's."
                    } @else {
                        "This run compares no number of this list with its document's."
                    }
                }
            }
            div.cards { @for finding in findings { (card(finding)) } }
        }
    }
}

/// Returns whether a claim is decided by comparing a number of a finding with the document's.
fn compared(line: &VerdictLine) -> bool {
    let decided = line.verdict.is_decided();
    let claim = find_claim(&line.id).filter(|of| of.takeaway.is_some());
    let then = claim.and_then(|of| of.then).filter(|of| !of.beyond_bus);
    decided && then.is_some() && line.then.is_some() && line.now.is_some()
}

fn card(finding: &Finding) -> Markup {
    let [then, now] = finding.bars();
    html! {
        article.card {
            // A no-break space keeps a number and its unit on one line.
            h3 { (finding.headline().replace(" %", "\u{a0}%").replace(" times", "\u{a0}times")) }
            div.pair {
                span.when { "then" } (bar(then, "then")) b { (finding.then_text()) }
                span.when { "now" } (bar(now, "now")) b { (finding.now_text()) }
            }
            @if !finding.why.is_empty() { p.why { (prose(finding.why)) } }
            p.advice { (prose(finding.advice())) }
            p.from {
                span.verdict.(class(finding.verdict)) {
                    span.mark aria-hidden="true" { (mark(finding.verdict)) }
                    " " (finding.verdict.name())
                }
                " · " (finding.source())
                " · " span.unbroken { "here " (finding.interval_text()) } " · "
                a href={ "#" (finding.experiment) } { (finding.experiment) }
            }
        }
    }
}

/// Renders how many claims hold: a bar per document, and a bar per chapter if a document has several.
pub(super) fn holding(view: &ReportView) -> Markup {
    let papers = &view.summary.papers;
    html! {
        section #holding aria-labelledby="holding-title" {
            h2 #holding-title { "How much still holds" }
            @if papers.is_empty() {
                p { "No claim was tested." }
            } @else {
                div.bars {
                    @for (index, paper) in papers.iter().enumerate() {
                        (row(paper.name, &paper_id(index), paper.counts(), true))
                        @if paper.chapters.len() > 1 {
                            @for (chapter, of) in paper.chapters.iter().enumerate() {
                                (row(of.name, &chapter_id(index, chapter), of.counts(), false))
                            }
                        }
                    }
                }
                (key(Counts::of(papers.iter().flat_map(Paper::claims))))
            }
        }
    }
}

/// Returns the anchor of a document in the annotated papers.
pub(super) fn paper_id(paper: usize) -> String {
    format!("paper-{paper}")
}

/// Returns the anchor of a chapter in the annotated papers.
pub(super) fn chapter_id(paper: usize, chapter: usize) -> String {
    format!("paper-{paper}-{chapter}")
}

fn row(name: &str, id: &str, counts: Counts, whole: bool) -> Markup {
    html! {
        a.row.whole[whole] href={ "#" (id) } {
            span.name { (name) }
            (stack(counts))
            span.count {
                (counts.holding("–"))
                @if counts.beside() > 0 {
                    small title="computed, simulated or reported" { " +" (counts.beside()) }
                }
            }
        }
    }
}

/// Renders the counts of verdicts on claims measured or counted on this machine, as parts of a bar.
pub(in crate::lab) fn stack(counts: Counts) -> Markup {
    let whole = counts.measured().max(1) as f64;
    let mut before = 0.0;
    let parts = Verdict::ALL.map(|verdict| {
        let share = 100.0 * counts.here(verdict) as f64 / whole;
        let start = before;
        before += share;
        (class(verdict), start, share)
    });
    let round = |percent: f64| (percent * 100.0).round() / 100.0;
    html! {
        svg.stack role="img" aria-label=(in_words(counts)) {
            @for (class, start, share) in parts {
                @if share > 0.0 {
                    rect.(class) x={ (round(start)) "%" } width={ (round(share)) "%" }
                        height="100%" {}
                }
            }
        }
    }
}

/// Describes counts: `12 hold, 3 do not hold, 2 undecided, 1 not testable here`.
pub(super) fn in_words(counts: Counts) -> String {
    let parts = Verdict::ALL.map(|verdict| words(verdict, counts.here(verdict)));
    parts.join(", ")
}

fn words(verdict: Verdict, count: usize) -> String {
    let words = match verdict {
        Verdict::Holds if count == 1 => "holds",
        Verdict::Holds => "hold",
        Verdict::DoesNotHold if count == 1 => "does not hold here",
        Verdict::DoesNotHold => "do not hold here",
        Verdict::Inconclusive => "undecided",
        Verdict::Untestable => "not testable here",
    };
    format!("{count} {words}")
}

/// Renders the key to the parts of the bars, with the sums over all bars.
fn key(counts: Counts) -> Markup {
    html! {
        p.key {
            "Claims measured here: "
            @for verdict in Verdict::ALL {
                span {
                    svg.swatch aria-hidden="true" {
                        rect.(class(verdict)) width="100%" height="100%" {}
                    }
                    (words(verdict, counts.here(verdict)))
                }
            }
            @if counts.beside() > 0 {
                span {
                    "+ " (counts.beside())
                    " computed, simulated or reported by the system, not measured here"
                }
            }
        }
    }
}

/// Renders the patterns that distinguish verdicts without colour.
pub(in crate::lab) fn patterns() -> Markup {
    html! {
        svg.defs width="0" height="0" aria-hidden="true" {
            defs {
                pattern #fails-pattern width="7" height="7" patternUnits="userSpaceOnUse"
                    patternTransform="rotate(45)"
                {
                    rect.ground width="7" height="7" {}
                    rect.gap width="1.6" height="7" {}
                }
                pattern #open-pattern width="6" height="6" patternUnits="userSpaceOnUse" {
                    rect.ground width="3" height="6" {}
                }
            }
        }
    }
}

/// Returns the experiments of a chapter in the order of their claims, without the experiments in `seen`, and
/// adds them to `seen`.
pub(super) fn experiments<'a>(chapter: &'a Chapter, seen: &mut Vec<&'a str>) -> Vec<&'a str> {
    let mut own = Vec::new();
    for claim in chapter.claims() {
        let id = claim.experiment.as_str();
        if !seen.contains(&id) {
            seen.push(id);
            own.push(id);
        }
    }
    own
}
