//! The section of one experiment.

use maud::{Markup, html};

use super::drawing::{self, chart};
use super::paper::link;
use super::table::{legend as legend_of, tables};
use super::text::{Linked, badge, class, percent, prose};
use super::view::{Figure, Form, PredictionView, Section};
use crate::experiment::find_claim;
use crate::experiment::topics::{families, topic_of};
use crate::lab::figures::{self, beside_claim, quantity};
use crate::lab::record::VerdictLine;
use crate::lab::size;
use crate::stats::Interval;

pub(super) fn section(section: &Section) -> Markup {
    let words = Linked::default();
    let topic = topic(&section.id);
    html! {
        section.experiment id=(section.id) aria-labelledby=(heading_id(section))
            data-topic=(topic)
        {
            header {
                p.eyebrow {
                    span.id { (section.id) } " " code { (section.name) }
                    @if !topic.is_empty() { " · " (topic) }
                }
                h2 id=(heading_id(section)) { (section.title) (link(&section.id)) }
                p.question { (words.prose(&section.question)) }
            }
            @if !section.claims.is_empty() {
                ul.claims { @for claim in &section.claims { (verdict(claim, &words)) } }
            }
            @match &section.figure {
                Some(figure) => (drawn(section, figure)),
                None => p.empty { "No point of this experiment has a number." },
            }
            @if let Some(counted) = &section.counted {
                div.counted {
                    h3 { "Events per operation" }
                    (drawn(section, &counted.figure))
                    (legend_of(counted))
                }
            }
            @if !section.about.is_empty() {
                div.about {
                    h3 { "What the hardware does" }
                    p { (words.prose(&section.about)) }
                    @for (core, text) in &section.seen {
                        p { b { "On " (core) ":" } " " (prose(text)) }
                    }
                }
            }
            @if !section.untestable.is_empty() { (untestable(section)) }
            @if !section.states.is_empty() { (two_states(section)) }
            p.source { "Source: " (prose(&section.source)) }
        }
    }
}

/// Returns the topic and the family of an experiment: `layout, alignment`.
fn topic(id: &str) -> String {
    let topic = topic_of(id).map(|topic| topic.name);
    let mut families = families();
    let family = families.find(|family| family.experiments.iter().any(|of| of.id == id));
    let family = family.map(|family| family.name);
    let names = topic.into_iter().chain(family.filter(|name| topic != Some(name)));
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the id of a section's heading.
fn heading_id(section: &Section) -> String {
    format!("{}-title", section.id)
}

fn verdict(claim: &VerdictLine, words: &Linked) -> Markup {
    html! {
        li.claim.(class(claim.verdict)) {
            (badge(claim.verdict))
            div {
                p.text { (words.prose(&claim.claim)) }
                p.figures {
                    (prose(&beside_claim(claim)))
                    @if let Some(passes) = claim.passes {
                        span.passes { " (decided in " (passes) " passes)" }
                    }
                }
                (beneath(claim))
            }
        }
    }
}

/// Renders the details of a verdict: the document's number beside this machine's, the consequence, the
/// origin of the claim, and how it was decided.
fn beneath(claim: &VerdictLine) -> Markup {
    let known = find_claim(&claim.id);
    let follows = known.map_or("", |of| of.follows(claim.verdict));
    html! {
        @if let (Some(then), Some([lo, hi])) = (&claim.then, claim.now) {
            p.then {
                @match quantity(claim) {
                    Some(name) => { (name) ": then " }
                    None => { "Then " }
                }
                (figures::then(then)) ", now " (Interval::new(lo, hi)) "."
            }
        }
        @if !follows.is_empty() { p.follows { (prose(follows)) } }
        @if let Some(found) = claim.found {
            p.origin { span.id { (claim.id) } " · " (claim.origin) " · " (found.name()) }
        }
    }
}

fn untestable(section: &Section) -> Markup {
    let points: usize = section.untestable.iter().map(|part| part.points).sum();
    html! {
        div.untested {
            h3 { (size::counted(points, "point")) " could not be tested" }
            ul {
                @for part in &section.untestable {
                    li { b { (part.series) } " (" (part.points) "): " (prose(&part.reason)) }
                }
            }
        }
    }
}

fn two_states(section: &Section) -> Markup {
    html! {
        div.untested {
            h3 { "Two steady states" }
            p { "A claim on such a point holds only if it holds in both." }
            ul { @for point in &section.states { li { (prose(point)) } } }
        }
    }
}

/// Renders the plot with its legend, caption and tables.
fn drawn(section: &Section, figure: &Figure) -> Markup {
    html! {
        figure {
            @if let Form::Heat { depth, mirrored } = &figure.form {
                (drawing::heat_map(figure, depth, *mirrored))
            }
            @if let Some(chart) = chart(&section.title, figure) { (chart) }
            (caption(figure))
            (tables(figure))
        }
    }
}

fn caption(figure: &Figure) -> Markup {
    let rules = figure.rules.iter().map(|rule| rule.meaning.as_str());
    let rules: Vec<&str> = rules.collect();
    html! {
        figcaption {
            @if matches!(figure.form, Form::Lines | Form::Bars) {
                "Thin lines at the points show the range of all passes, if it is wider than a \
                 marker."
            }
            @if figure.form == Form::Lines && !rules.is_empty() {
                " Upright lines: " (rules.join(", ")) "."
            }
            @if let Some(prediction) = &figure.prediction { (predicted(prediction)) }
        }
    }
}

/// Renders the error of the prediction and, if it misses its bar, what its models leave out.
fn predicted(prediction: &PredictionView) -> Markup {
    html! {
        @if prediction.curves.is_empty() {
            " Predicted, and not drawn,"
        } @else {
            " Dashed: predicted"
        }
        " from the machine's parameters: " (prediction.models.join("; ")) "."
        @if let Some(error) = prediction.error {
            " Model error " (percent(error)) " (target " (percent(prediction.bar)) ")."
        }
        @if prediction.own_quantity > 0 {
            " Not counted, because the calibration measured the same quantity: "
            (size::counted(prediction.own_quantity, "point")) "."
        }
        @if prediction.poor() {
            " The model leaves out " (prediction.lacks.join("; and ")) "."
        }
    }
}
