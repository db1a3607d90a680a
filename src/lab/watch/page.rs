//! The page of a watch's record: a self-contained file, built from the parts of a report.

use maud::{Markup, html};

use super::screen::outside_of;
use super::timeline::{Outside, Timeline, TrackedFigure};
use crate::lab::answer::machine_name;
use crate::lab::chart::{AxisView, Drawing, Owner, Role, Series, Shape, Value, draw, number};
use crate::lab::date::Date;
use crate::lab::fleet::{DISTANCE, LEAST, SCORE};
use crate::lab::record::{Header, Record};
use crate::lab::report::page::{frame, links, page, scripts, table};
use crate::lab::report::text::eyebrow;
use crate::lab::size::counted;
use crate::lab::size::show;
use crate::order::{greatest_first, grouped};

/// Maximum number of figures of a curve in a chart. The table has all.
const FEW: usize = 5;

/// Number of charts of an experiment that are open; the others are folded.
const OPEN: usize = 4;

/// Maximum number of points of a line: a chart has six hundred columns.
const DRAWN: usize = 300;

/// Maximum number of rows of the table of values outside.
const ROWS: usize = 100;

pub(super) fn render(record: &Record, timeline: &Timeline) -> String {
    let machine = machine_name(record).to_string();
    let parts = parts(timeline);
    let body = html! {
        (frame(
            html! {
                (masthead(record, timeline, &machine))
                (outside(timeline))
                @for (id, figures) in &parts { (section(id, figures, timeline)) }
            },
            contents(&parts),
        ))
        (scripts())
    };
    page(&format!("linefill over time: {machine}"), ["#outside", "Skip to what is outside"], &body)
}

/// Groups the figures by experiment.
fn parts(timeline: &Timeline) -> Vec<(&str, Vec<&TrackedFigure>)> {
    let figures = timeline.figures.iter();
    grouped(figures.filter_map(|of| of.spread().map(|_| (of.id.as_str(), of))))
}

fn title<'a>(figures: &[&'a TrackedFigure]) -> &'a str {
    figures.first().and_then(|of| of.experiment).map_or("The clock of the core", |of| of.title)
}

fn contents(parts: &[(&str, Vec<&TrackedFigure>)]) -> Markup {
    html! {
        ul { li { a href="#outside" { "Outside" } } }
        (links(parts.iter().map(|(id, figures)| (*id, title(figures)))))
    }
}

fn masthead(record: &Record, timeline: &Timeline, machine: &str) -> Markup {
    let Header { started, watch, pinned, largest, seed, notes, prefetchers_off, .. } =
        &record.header;
    let rounds = timeline.times.len();
    let measured = timeline.times.last().map_or(0, |last| last.number + 1);
    let span = timeline.times.last().map_or(0.0, |last| last.at);
    html! {
        header.masthead {
            (eyebrow("linefill over time"))
            h1 { span.machine { (machine) } }
            dl.facts {
                div { dt { "began" } dd { (Date::from_unix(*started)) } }
                div {
                    dt { "rounds" }
                    dd {
                        (rounds)
                        @if measured > rounds as u64 { " of " (measured) ", older ones thinned" }
                        @if let Some(every) = watch { ", every " (every) " s" }
                        ", over " (span_in_words(span))
                    }
                }
                @if let Some(cpu) = pinned { div { dt { "pinned to" } dd { "CPU " (cpu) } } }
                div { dt { "largest working set" } dd { (show(*largest as f64)) } }
                div { dt { "seed" } dd { (seed) } }
            }
            @if record.end.is_none() {
                p.warning { "The watch did not come to its end: it was killed, or is under way." }
            }
            @if prefetchers_off.is_some() {
                p.warning { "The hardware prefetchers were switched off." }
            }
            @for note in notes { p.warning { (note) } }
        }
    }
}

fn span_in_words(seconds: f64) -> String {
    let (divisor, unit) = unit_of(seconds);
    format!("{} {unit}", number(seconds / divisor))
}

/// Returns the unit of a time axis: its length in seconds and its name.
fn unit_of(span: f64) -> (f64, &'static str) {
    match span {
        span if span < 300.0 => (1.0, "seconds"),
        span if span < 3.0 * 3600.0 => (60.0, "minutes"),
        _ => (3600.0, "hours"),
    }
}

/// Renders the values outside, the furthest first.
fn outside(timeline: &Timeline) -> Markup {
    let found = outside_of(timeline);
    let rounds = timeline.times.len();
    let headings = ["time (UTC)", "round", "figure", "value", "median", "score"];
    let rows = html! {
        @for (of, out, median) in found.iter().take(ROWS) {
            (outside_row(timeline, of, *out, *median))
        }
    };
    html! {
        section #outside aria-labelledby="outside-title" {
            h2 #outside-title { "Values outside" }
            p.lead {
                @if rounds < LEAST {
                    "Fewer than " (LEAST) " rounds tell nothing about one of them."
                }
                @else if found.is_empty() { "No figure was outside in any of " (rounds) " rounds." }
                @else {
                    (timeline.rounds_outside().len())
                    " of " (rounds) " rounds have a figure outside."
                }
            }
            p {
                "A value is outside if the modified z-score (median and MAD, Iglewicz and Hoaglin \
                 1993) of its whole interval is above " (SCORE)
                ", over all rounds, and the value is at least "
                (100.0 * DISTANCE) " % from the median."
            }
            @if !found.is_empty() {
                (table("Values outside", headings, rows))
                @if found.len() > ROWS {
                    p { (found.len() - ROWS) " more are in the JSON of linefill report." }
                }
            }
        }
    }
}

fn outside_row(timeline: &Timeline, of: &TrackedFigure, out: Outside, median: f64) -> Markup {
    let time = timeline.times[out.round];
    html! {
        tr {
            th scope="row" { (Date::from_unix(time.started).clock()) }
            td { (time.number) }
            td { (of.name()) }
            td { (number(out.value)) " " (of.unit) }
            td { (number(median)) }
            td { (format!("{:+.1}", out.score)) }
        }
    }
}

/// Renders the charts of an experiment, one per curve, and its table.
fn section(id: &str, figures: &[&TrackedFigure], timeline: &Timeline) -> Markup {
    let curves = grouped(figures.iter().map(|of| (of.label.as_str(), *of)));
    let charts: Vec<Markup> = curves
        .iter()
        .map(|(label, figures)| {
            html! { figure { h3 { (label) } (chart(label, figures, timeline)) } }
        })
        .collect();
    let (open, folded) = charts.split_at(charts.len().min(OPEN));
    html! {
        section.experiment id=(id) aria-labelledby={ (id) "-title" } {
            header {
                @if let Some(of) = figures.first().and_then(|of| of.experiment) {
                    p.eyebrow { span.id { (of.id) } " " code { (of.name) } }
                }
                h2 id={ (id) "-title" } { (title(figures)) }
            }
            @for chart in open { (chart) }
            @if !folded.is_empty() {
                details.more {
                    summary { (counted(folded.len(), "more chart")) }
                    @for chart in folded { (chart) }
                }
            }
            (numbers(figures))
        }
    }
}

/// Returns the figures of a curve to draw: the figures furthest outside first, then evenly spread ones.
fn chosen<'a>(figures: &[&'a TrackedFigure]) -> Vec<&'a TrackedFigure> {
    if figures.len() <= FEW {
        return figures.to_vec();
    }
    let furthest = |of: &TrackedFigure| {
        of.outside().into_iter().map(|out| out.score.abs()).fold(0.0, f64::max)
    };
    let mut scored: Vec<(usize, f64)> = figures
        .iter()
        .enumerate()
        .map(|(index, of)| (index, furthest(of)))
        .filter(|(_, score)| *score > 0.0)
        .collect();
    greatest_first(&mut scored, |(_, score)| *score);
    let mut places: Vec<usize> = scored.iter().take(FEW).map(|(index, _)| *index).collect();
    let even = (0..FEW).map(|index| index * (figures.len() - 1) / (FEW - 1));
    for place in even {
        if places.len() < FEW && !places.contains(&place) {
            places.push(place);
        }
    }
    places.sort_unstable();
    places.into_iter().map(|place| figures[place]).collect()
}

/// Renders the figures of a curve over time, each with its median and its values outside.
fn chart(label: &str, figures: &[&TrackedFigure], timeline: &Timeline) -> Markup {
    let shown = chosen(figures);
    let span = timeline.times.last().map_or(0.0, |last| last.at);
    let (divisor, unit) = unit_of(span);
    let start = timeline.times.first().map_or(0, |first| first.started);
    let x = AxisView {
        label: format!("{unit} since {}", Date::from_unix(start)),
        ..AxisView::default()
    };
    let place = |round: usize| timeline.times[round].at / divisor;
    let names: Vec<String> = shown.iter().map(|of| name_in(of, label)).collect();
    let mut series = Vec::new();
    let mut medians = Vec::new();
    for (of, name) in shown.iter().zip(&names) {
        let Some(spread) = of.spread() else { continue };
        let median = spread.median();
        medians.push(median);
        let of_owner =
            |owner: usize, points: Vec<Value>| Series { owner, label: name, points, column: None };
        let values = of.figure.values.iter().map(|value| value.at(place(value.host as usize)));
        let values = thinned(values.collect(), median);
        let middle = [0.0, span / divisor].map(|x| Value::exact(x, median));
        let exact = |out: Outside| Value::exact(place(out.round), out.value);
        let outside: Vec<Value> = of.outside().into_iter().map(exact).collect();
        series.push(of_owner(0, values));
        series.push(of_owner(1, middle.to_vec()));
        if !outside.is_empty() {
            series.push(of_owner(2, outside));
        }
    }
    let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let most = medians.iter().copied().fold(0.0, f64::max);
    let y = AxisView {
        // Figures of several levels of the hierarchy: a linear axis would flatten the small ones.
        log: least > 0.0 && most > 5.0 * least,
        ..AxisView::default()
    };
    let owners = [("each round", Role::Here), ("median", Role::Median), ("outside", Role::Outside)];
    let drawing = Drawing {
        title: &format!("{label} over time"),
        shape: Shape::Lines,
        x: &x,
        y: &y,
        unit: shown.first().map_or("", |of| of.unit),
        ns_per_cycle: None,
        owners: owners.map(|(name, role)| Owner { name, role }).to_vec(),
        series,
        rules: &[],
    };
    html! {
        (draw(&drawing))
        figcaption {
            "Dotted: the median of all rounds. Rings: values outside."
            @if shown.len() < figures.len() {
                " The chart shows " (shown.len()) " of " (figures.len())
                " places. Places with values outside come first."
            }
            @if timeline.times.len() > DRAWN {
                " Of rounds that share a column the value furthest from the median is drawn."
            }
        }
    }
}

/// Returns the name of a figure among the figures of its curve.
fn name_in(of: &TrackedFigure, label: &str) -> String {
    let place = of.place();
    if place.is_empty() { label.to_owned() } else { place }
}

/// Thins the values to at most `DRAWN`: per column, the value furthest from the median stays.
fn thinned(values: Vec<Value>, median: f64) -> Vec<Value> {
    let each = values.len().div_ceil(DRAWN).max(1);
    let far = |value: &Value| (value.mid - median).abs();
    let columns = values.chunks(each);
    columns.filter_map(|of| of.iter().max_by(|a, b| far(a).total_cmp(&far(b)))).copied().collect()
}

/// Renders a table of the distribution of each figure of an experiment.
fn numbers(figures: &[&TrackedFigure]) -> Markup {
    let headings = ["figure", "least", "p10", "median", "p90", "greatest", "rounds", "outside"];
    let rows = html! {
        @for of in figures {
            @if let Some(spread) = of.spread() {
                tr {
                    th scope="row" { (of.name()) ", " (of.unit) }
                    @for value in spread.places { td { (number(value)) } }
                    td { (spread.n) }
                    td { @if spread.n < LEAST { "-" } @else { (of.outside().len()) } }
                }
            }
        }
    };
    html! {
        details.numbers {
            summary { "Numbers (" (counted(figures.len(), "figure")) ")" }
            (table("Figures over the rounds", headings, rows))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::watch::planted;

    #[test]
    fn the_page_draws_the_rounds_their_median_and_what_is_outside() {
        let record = planted(40, |round| if round == 30 { 3.0 } else { 1.0 });
        let page = render(&record, &Timeline::of(&record));
        for part in [
            "<svg",
            "seconds since 2025",
            "minutes since",
            "class=\"s outside",
            "1 of 40 rounds have a figure outside",
            " The chart shows 5 of ",
        ] {
            assert_eq!(page.contains(part), part != "seconds since 2025", "{part}");
        }
        let quiet = planted(40, |_| 1.0);
        let page = render(&quiet, &Timeline::of(&quiet));
        assert!(page.contains("No figure was outside in any of 40 rounds"));
        assert!(!page.contains("class=\"s outside"));
        let few = planted(3, |_| 1.0);
        let page = render(&few, &Timeline::of(&few));
        assert!(page.contains("seconds since 2025") && page.contains("Fewer than 8 rounds"));
    }

    #[test]
    fn of_a_thousand_rounds_a_line_keeps_its_spikes() {
        let value = |x: i32| Value::exact(x.into(), if x == 777 { 9.0 } else { 1.0 });
        let thin = thinned((0..1000).map(value).collect(), 1.0);
        assert!(thin.len() <= DRAWN && thin.contains(&value(777)));
    }
}
