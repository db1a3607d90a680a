//! Draws the memory ladder: the time of a random step over the working set, with the levels, and a table of
//! what each level delivers.

use maud::{Markup, html};

use crate::lab::answer::{Ladder, Latency, Level, digits};
use crate::lab::size::{grouped, show};
use crate::stats::Interval;

/// The dimensions of a drawing. A phone gets a separate drawing, whose letters are larger in proportion.
struct Canvas {
    class: &'static str,
    width: f64,
    height: f64,
    /// Space for the labels on the left, and above for the names of the levels.
    left: f64,
    top: f64,
    bottom: f64,
    /// Powers of two between the ticks of the horizontal axis.
    octaves: i32,
}

const WIDE: Canvas = Canvas {
    class: "wide",
    width: 640.0,
    height: 300.0,
    left: 52.0,
    top: 50.0,
    bottom: 30.0,
    octaves: 4,
};

const NARROW: Canvas = Canvas {
    class: "narrow",
    width: 368.0,
    height: 290.0,
    left: 46.0,
    top: 54.0,
    bottom: 28.0,
    octaves: 8,
};

/// Space on the right of a drawing.
const RIGHT: f64 = 8.0;

/// Draws the ladder twice, for wide and narrow screens, of which the style sheet shows one, and the table
/// beside it.
pub(super) fn draw(ladder: &Ladder) -> Markup {
    if ladder.levels.is_empty() {
        return html! { p.empty { "The memory ladder was not measured in this run." } };
    }
    html! {
        div.ladder {
            div.steps { (curve(ladder, &WIDE)) (curve(ladder, &NARROW)) }
            (table(ladder))
        }
    }
}

/// The ranges of the axes of a drawing.
struct Scale {
    bytes: (f64, f64),
    nanoseconds: (f64, f64),
}

impl Scale {
    fn of(ladder: &Ladder) -> Option<Self> {
        let all = || ladder.random.iter().chain(&ladder.in_order);
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            let values = values.filter(|value| *value > 0.0).map(|value| (value, value));
            values.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
        };
        let bytes = ends(&mut ladder.random.iter().map(|of| of.0))?;
        let times = ends(&mut all().map(|of| of.1.center()))?;
        Some(Scale {
            bytes: (bytes.0, bytes.1.max(2.0 * bytes.0)),
            nanoseconds: (times.0 / 1.3, times.1 * 1.3),
        })
    }

    fn x(&self, canvas: &Canvas, bytes: f64) -> f64 {
        let (from, to) = self.bytes;
        let share = (bytes.clamp(from, to) / from).ln() / (to / from).ln();
        canvas.left + share * (canvas.width - canvas.left - RIGHT)
    }

    fn y(&self, canvas: &Canvas, nanoseconds: f64) -> f64 {
        let (from, to) = self.nanoseconds;
        let share = (nanoseconds.max(from) / from).ln() / (to / from).ln();
        let bottom = canvas.height - canvas.bottom;
        bottom - share * (bottom - canvas.top)
    }
}

fn curve(ladder: &Ladder, canvas: &Canvas) -> Markup {
    let Some(scale) = Scale::of(ladder) else { return html! {} };
    let bottom = canvas.height - canvas.bottom;
    html! {
        svg.{"rungs " (canvas.class)} viewBox={ "0 0 " (canvas.width) " " (canvas.height) }
            role="img" aria-label=(spoken(ladder))
        {
            @for (index, (level, from, to)) in bands(ladder, &scale).into_iter().enumerate() {
                @let (left, right) = (scale.x(canvas, from), scale.x(canvas, to));
                @if index % 2 == 0 {
                    rect.band x=(at(left)) y=(at(canvas.top)) width=(at(right - left))
                        height=(at(bottom - canvas.top)) {}
                }
                (named(level, (left, right), canvas))
            }
            @for decade in decades(scale.nanoseconds) {
                @let y = scale.y(canvas, decade);
                line.grid x1=(canvas.left) x2=(canvas.width - RIGHT) y1=(at(y)) y2=(at(y)) {}
                text.tick.end x=(canvas.left - 6.0) y=(at(y + 4.0)) { (decade) " ns" }
            }
            @for bytes in powers(scale.bytes, canvas.octaves) {
                @let x = scale.x(canvas, bytes);
                // The last label must stay inside the drawing.
                text.tick.end[x > canvas.width - 30.0].mid[x <= canvas.width - 30.0]
                    x=(at(x)) y=(at(bottom + 20.0)) { (show(bytes)) }
            }
            (line(&ladder.random, "random", &scale, canvas))
            (line(&ladder.in_order, "in-order", &scale, canvas))
            @for (points, below, name) in
                [(&ladder.random, 22.0, "random"), (&ladder.in_order, -9.0, "in order")]
            {
                @if let Some((_, time)) = points.last() {
                    @let y = scale.y(canvas, time.center()) + below;
                    text.who.end x=(canvas.width - RIGHT) y=(at(y)) { (name) }
                }
            }
        }
    }
}

/// Returns the levels, each with the range of working sets over which it is drawn.
fn bands<'a>(ladder: &'a Ladder, scale: &Scale) -> Vec<(&'a Level, f64, f64)> {
    let (mut from, end) = scale.bytes;
    let mut bands = Vec::new();
    for level in &ladder.levels {
        let to = level.size.map_or(end, |size| size.center().min(end));
        if to > from {
            bands.push((level, from, to));
            from = to;
        }
    }
    bands
}

/// Draws a level's name and latency above its band.
fn named(level: &Level, (left, right): (f64, f64), canvas: &Canvas) -> Markup {
    let x = at(f64::midpoint(left, right));
    let step = (canvas.top - 4.0) / 3.0;
    let lines = match canvas.class {
        // A narrow drawing splits the text into three short lines.
        "narrow" => [
            Some(short(level.name).to_owned()),
            level.latency.as_ref().ok().map(Latency::nanoseconds_text),
            level.latency.as_ref().ok().and_then(cycles),
        ],
        _ => [
            Some(level.name.to_owned()),
            level.latency.as_ref().ok().map(|of| match cycles(of) {
                Some(cycles) => format!("{}, {cycles}", of.nanoseconds_text()),
                None => of.nanoseconds_text(),
            }),
            None,
        ],
    };
    html! {
        @for (index, text) in lines.into_iter().flatten().enumerate() {
            text.level.strong[index == 1] x=(x) y=(at(step * (index as f64 + 0.9))) { (text) }
        }
    }
}

fn short(name: &'static str) -> &'static str {
    if name == "last level" { "LLC" } else { name }
}

fn cycles(of: &Latency) -> Option<String> {
    Some(of.cycles_text()?.replace(" cycles", " cyc"))
}

fn line(points: &[(f64, Interval)], class: &str, scale: &Scale, canvas: &Canvas) -> Markup {
    let place = |(bytes, time): &(f64, Interval)| {
        let (x, y) = (scale.x(canvas, *bytes), scale.y(canvas, time.center()));
        format!("{},{}", at(x), at(y))
    };
    let places: Vec<String> = points
        .iter()
        .filter(|(bytes, _)| (scale.bytes.0..=scale.bytes.1).contains(bytes))
        .map(place)
        .collect();
    html! {
        @if !places.is_empty() { polyline.walk.(class) points=(places.join(" ")) {} }
    }
}

/// Rounds a coordinate to tenths, which are precise enough.
fn at(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Returns the powers of ten in a range.
fn decades((from, to): (f64, f64)) -> Vec<f64> {
    let powers = -2..6;
    let decades = powers.map(|power| 10_f64.powi(power));
    decades.filter(|of| (from..=to).contains(of)).collect()
}

/// Returns every `octaves`-th power of two in a range, from the first.
fn powers((from, to): (f64, f64), octaves: i32) -> Vec<f64> {
    let first = from.log2().ceil() as i32;
    let powers = (0..).map(|index| 2_f64.powi(first + index * octaves));
    powers.take_while(|of| *of <= to).collect()
}

/// Describes the drawing for screen readers.
fn spoken(ladder: &Ladder) -> String {
    let known = ladder.levels.iter().filter_map(|level| {
        let latency = level.latency.as_ref().ok()?;
        Some(format!("{} in {}", latency.nanoseconds_text(), level.name))
    });
    let known: Vec<String> = known.collect();
    format!("A random step over the working set: {}", known.join(", "))
}

/// Renders the bandwidth of each level, and further parameters of the memory system.
fn table(ladder: &Ladder) -> Markup {
    let both = || ladder.levels.iter().flat_map(|of| [&of.read, &of.write]);
    let most = both().filter_map(|of| Some(of.as_ref().ok()?.center()));
    let most = most.fold(0.0, f64::max);
    html! {
        table.levels {
            caption { "Bandwidth of one core in GB/s" }
            thead {
                tr {
                    th scope="col" { "level" }
                    th scope="col" { "read" }
                    th scope="col" { "write" }
                }
            }
            tbody {
                @for level in &ladder.levels {
                    tr {
                        th scope="row" {
                            (level.name)
                            @if level.size.is_some() { small { (level.size_text()) } }
                        }
                        td { (bandwidth(&level.read, most, "read")) }
                        td { (bandwidth(&level.write, most, "write")) }
                    }
                }
                @match &ladder.other_core {
                    Some(Ok(way)) => tr {
                        th scope="row" { "other core" }
                        td colspan="2" {
                            b { (way.nanoseconds_text()) } " there and back"
                            @if let Some(cycles) = way.cycles_text() { ", " (cycles) }
                        }
                    },
                    Some(Err(reason)) => tr {
                        th scope="row" { "other core" }
                        td.none colspan="2" { "not known: " (reason) }
                    },
                    None => {},
                }
                @if let Some(misses) = ladder.misses {
                    tr {
                        th scope="row" { "misses at once" }
                        td colspan="2" { b { (range(misses)) } }
                    }
                }
                @for (name, pages) in ["dTLB", "STLB"].into_iter().zip(ladder.pages) {
                    @if let Some(pages) = pages {
                        tr {
                            th scope="row" { (name) }
                            td colspan="2" { b { (range(pages)) } " pages of 4 KiB" }
                        }
                    }
                }
            }
        }
    }
}

fn bandwidth(value: &Result<Interval, String>, most: f64, class: &str) -> Markup {
    match value {
        Ok(value) => html! {
            (bar(value.center() / most, class)) b { (digits(value.center())) }
        },
        Err(reason) => html! {
            span.none title=(reason) { "–" span.hidden { " not known: " (reason) } }
        },
    }
}

/// Draws a bar that fills `share` of its track.
pub(super) fn bar(share: f64, class: &str) -> Markup {
    let percent = (1000.0 * share.clamp(0.01, 1.0)).round() / 10.0;
    html! {
        svg.track aria-hidden="true" { rect.(class) width={ (percent) "%" } height="100%" {} }
    }
}

/// Formats a range of whole numbers.
fn range(of: Interval) -> String {
    let (lo, hi) = (grouped(of.lo.round() as u64), grouped(of.hi.round() as u64));
    if lo == hi { lo } else { format!("{lo} to {hi}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_ticks() {
        assert_eq!(decades((0.7, 200.0)), [1.0, 10.0, 100.0]);
        let sizes = powers((4096.0, 268_435_456.0), 4);
        assert_eq!(sizes, [4096.0, 65536.0, 1048576.0, 16777216.0, 268435456.0]);
    }
}
