//! The section of one experiment.

use maud::{Markup, PreEscaped, html};

use super::chart::{self, Group};
use super::counted::legend as legend_of;
use super::page::percent;
use super::table::tables;
use super::text::{badge, class, prose};
use super::view::{Figure, Form, PredictionView, Section};
use super::{heat, surface};
use crate::experiment::find_claim;
use crate::lab::record::VerdictLine;
use crate::stats::Interval;

/// The section of one experiment.
pub(super) fn section(section: &Section) -> Markup {
    html! {
        section.experiment id=(section.id) aria-labelledby=(heading_id(section)) {
            header {
                p.eyebrow { span.id { (section.id) } " " code { (section.name) } }
                h2 id=(heading_id(section)) { (section.title) }
                p.question { (prose(&section.question)) }
            }
            @if !section.claims.is_empty() {
                ul.claims { @for claim in &section.claims { (verdict(claim)) } }
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
                    p { (prose(&section.about)) }
                    @for (core, text) in &section.seen { p { b { "On " (core) ":" } " " (prose(text)) } }
                }
            }
            @if !section.untestable.is_empty() { (untestable(section)) }
            @if !section.states.is_empty() { (two_states(section)) }
            p.source { "Source: " (prose(&section.source)) }
        }
    }
}

/// The id of a section's heading.
fn heading_id(section: &Section) -> String {
    format!("{}-title", section.id)
}

fn verdict(claim: &VerdictLine) -> Markup {
    html! {
        li.claim.(class(claim.verdict)) {
            (badge(claim.verdict))
            div {
                p.text { (prose(&claim.claim)) }
                p.figures {
                    (prose(&claim.numbers))
                    @if let Some(passes) = claim.passes { span.passes { " (decided in " (passes) " passes)" } }
                }
                (beneath(claim))
            }
        }
    }
}

/// What stands beneath a verdict: the document's number beside this machine's, what follows, whose the
/// claim is and how it was found out.
pub(super) fn beneath(claim: &VerdictLine) -> Markup {
    let known = find_claim(&claim.id);
    let follows = known.map_or("", |of| of.follows(claim.verdict));
    html! {
        @if let (Some(then), Some([lo, hi])) = (&claim.then, claim.now) {
            p.then {
                "Then " (range(then.lo, then.hi))
                @if !then.machine.is_empty() { " (" (then.machine) ")" }
                ", now " (Interval::new(lo, hi)) "."
            }
        }
        @if !follows.is_empty() { p.follows { (prose(follows)) } }
        @if let Some(found) = claim.found {
            p.origin { span.id { (claim.id) } " · " (claim.origin) " · " (found.name()) }
        }
    }
}

/// A number of a document, or the two between which it lies.
fn range(lo: f64, hi: f64) -> String {
    match lo == hi {
        true => lo.to_string(),
        false => format!("{lo} to {hi}"),
    }
}

fn untestable(section: &Section) -> Markup {
    let points: usize = section.untestable.iter().map(|part| part.points).sum();
    html! {
        div.untested {
            h3 { (points) @if points == 1 { " point" } @else { " points" } " could not be put to the test" }
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

/// The plot with its legend, caption and tables.
fn drawn(section: &Section, figure: &Figure) -> Markup {
    html! {
        figure {
            @match &figure.form {
                Form::Table => {},
                Form::Surface(depth) => (reliefs(section, figure, depth)),
                Form::Heat(depth) => (heat::draw(figure, depth)),
                Form::Lines | Form::Bars => (lines_or_bars(section, figure)),
            }
            (caption(figure))
            (tables(figure))
        }
    }
}

fn lines_or_bars(section: &Section, figure: &Figure) -> Markup {
    let chart = chart::draw(figure);
    html! {
        div.chart {
            div.plot role="img" aria-label=(spoken("Plot", section)) {}
            (spec(&chart.json))
            (legend(&chart.legend))
        }
    }
}

fn reliefs(section: &Section, figure: &Figure, depth: &str) -> Markup {
    let reliefs = surface::draw(figure, depth);
    html! {
        div.reliefs {
            @for relief in &reliefs {
                div.chart.relief {
                    p.who { (relief.who) }
                    div.plot role="img" aria-label=(spoken("Surface", section)) {}
                    (spec(&relief.json))
                }
            }
        }
        div.turn role="group" aria-label="Turn the surface" {
            button type="button" data-turn="left" { "turn left" }
            button type="button" data-turn="right" { "turn right" }
            button type="button" data-turn="above" { "from above" }
            button type="button" data-turn="home" { "as at first" }
            span { "or drag" }
        }
    }
}

fn spoken(what: &str, section: &Section) -> String {
    format!(
        "{what}: {}. The numbers are in the tables below.",
        section.title
    )
}

/// A chart's description for the script. Only `<` could end the element early.
pub(in crate::lab) fn spec(json: &str) -> Markup {
    html! {
        script.spec type="application/json" { (PreEscaped(json.replace('<', "\\u003c"))) }
    }
}

/// Nothing to tell apart needs no legend.
pub(in crate::lab) fn legend(groups: &[Group]) -> Markup {
    if groups
        .iter()
        .map(|group| group.entries.len())
        .sum::<usize>()
        < 2
    {
        return html! {};
    }
    html! {
        div.legend {
            @for group in groups {
                div.group.faint[group.faint] {
                    @if !group.who.is_empty() { span.who { (group.who) } }
                    @for entry in &group.entries {
                        button type="button" aria-pressed="true" data-trace=(entry.trace) {
                            span.swatch.{"s" (entry.slot)}.dashed[entry.dashed] {}
                            (entry.label)
                        }
                    }
                }
            }
        }
    }
}

fn caption(figure: &Figure) -> Markup {
    let rules: Vec<&str> = figure
        .rules
        .iter()
        .map(|rule| rule.meaning.as_str())
        .collect();
    html! {
        figcaption {
            @if matches!(figure.form, Form::Lines | Form::Bars) {
                "Whiskers span the intervals of all passes."
            }
            @if figure.form == Form::Lines && !rules.is_empty() {
                " Dashed rules: " (rules.join(", ")) "."
            }
            @if matches!(figure.form, Form::Lines | Form::Bars) && !figure.references.is_empty() {
                " Faint: the document's own machine."
            }
            @if let Some(prediction) = &figure.prediction { (predicted(prediction)) }
        }
    }
}

/// How far the prediction lies from what was measured, and if too far, what its models leave out.
fn predicted(prediction: &PredictionView) -> Markup {
    html! {
        @if prediction.curves.is_empty() {
            " Predicted, and not drawn"
        } @else {
            " Dashed curves, or paler bars: predicted"
        }
        " from the machine's parameters: " (prediction.models.join("; ")) "."
        @if let Some(error) = prediction.error {
            " Half of " (prediction.points) " points lie within " (percent(error)) " of it."
        }
        @if prediction.own_quantity > 0 {
            " From their own quantity, and not counted: " (prediction.own_quantity) " points."
        }
        @if prediction.poor() {
            " That is a poor prediction: no more than " (percent(prediction.bar)) " was wanted. Where \
             it is wrong it leaves out " (prediction.lacks.join("; and ")) "."
        }
    }
}
