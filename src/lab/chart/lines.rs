//! Curves over a horizontal axis: in one chart, or in several small charts if there are many curves.

use maud::{Markup, html};

use super::marks::{self, Path, group, px, width, with_room};
use super::scale::Scale;
use super::{Drawing, FEW, Role, Series, Value, heading, place};
use crate::lab::size::counted;
use crate::order::{self, grouped, least_first};

/// Number of small charts that are open. The others are folded.
const OPEN: usize = 4;

/// Draws the curves with their legends.
pub(super) fn draw(drawing: &Drawing<'_>) -> Markup {
    let labels = drawing.labels();
    if labels.len() <= FEW + 1 {
        return html! {
            div.chart {
                (curves(drawing, drawing, false))
                (marks::labels(drawing))
                (marks::owners(drawing))
            }
        };
    }
    let parts: Vec<Markup> = groups(&labels)
        .iter()
        .map(|labels| {
            let of_part = drawing.series.iter().filter(|series| labels.contains(&series.label));
            let part = drawing.with(of_part.cloned().collect());
            html! { div.panel { (curves(drawing, &part, true)) (marks::labels(&part)) } }
        })
        .collect();
    let (open, folded) = parts.split_at(parts.len().min(OPEN));
    html! {
        div.chart {
            div.panels { @for part in open { (part) } }
            @if !folded.is_empty() {
                details.more {
                    summary { (counted(folded.len(), "more chart")) }
                    div.panels { @for part in folded { (part) } }
                }
            }
            (marks::owners(drawing))
        }
    }
}

/// Divides the labels into small groups. The labels of a group share a part (`NPAD=7, random` shares
/// `random` with others), or else are consecutive.
fn groups<'a>(labels: &[&'a str]) -> Vec<Vec<&'a str>> {
    let parts = |label: &'a str| label.split([',', ':']).map(str::trim).collect::<Vec<_>>();
    let most = labels.iter().map(|label| parts(label).len()).max();
    let by_part = (0..most.unwrap_or(0)).map(|part| {
        let keyed = labels.iter().map(|&label| (parts(label).get(part).copied(), label));
        let groups = grouped(keyed).into_iter().map(|(_, group)| group);
        // Labels that share the part with no other label are grouped in their order.
        let (mut groups, alone): (Vec<_>, Vec<_>) = groups.partition(|group| group.len() > 1);
        let alone: Vec<&str> = alone.into_iter().flatten().collect();
        groups.extend(in_order(&alone));
        (alone.len(), groups)
    });
    let good = |(alone, groups): &(usize, Vec<Vec<&str>>)| {
        let few = groups.iter().all(|group| group.len() <= FEW + 1);
        few && groups.len() > 1 && 2 * alone < labels.len()
    };
    let best = by_part.filter(good).min_by_key(|(_, groups)| groups.len());
    best.map_or_else(|| in_order(labels), |(_, groups)| groups)
}

/// Divides the labels into consecutive groups of about the same size.
fn in_order<'a>(labels: &[&'a str]) -> Vec<Vec<&'a str>> {
    let count = labels.len().div_ceil(FEW).max(1);
    let size = labels.len().div_ceil(count).max(1);
    labels.chunks(size).map(<[&str]>::to_vec).collect()
}

/// Width and height of a chart.
const LARGE: (f64, f64) = (640.0, 340.0);
const SMALL: (f64, f64) = (440.0, 280.0);

/// Minimum width for the numbers of the vertical axis.
const LEFT: f64 = 50.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 44.0;

/// Maximum width of the labels at the ends of curves.
const ROOM: f64 = 150.0;

/// Maximum number of markers of a curve. A document's curve has half as many.
const MARKED: usize = 24;

/// Draws the curves of `part` on the scales of `whole`.
pub(super) fn curves(whole: &Drawing<'_>, part: &Drawing<'_>, small: bool) -> Markup {
    let (wide, high) = if small { SMALL } else { LARGE };
    let labels = part.labels();
    let own: Vec<&Series<'_>> = own(part).collect();
    let widest = own.iter().map(|of| width(of.label)).fold(0.0, f64::max);
    let direct = !small && labels.len() > 1 && own.len() <= FEW && widest <= ROOM;
    let right = wide - if direct { widest + 16.0 } else { 12.0 };
    let points = whole.series.iter().flat_map(|series| &series.points);
    let up = Scale::of_values(whole.y, points, high - BOTTOM, TOP);
    let numbers = up.ticks(whole.y).into_iter();
    let left = numbers.fold(LEFT, |left, (_, text)| left.max(width(&text) + 14.0));
    let across = Scale::across(whole.x, &whole.places(), left, right);
    let index =
        |series: &Series<'_>| labels.iter().position(|label| *label == series.label).unwrap_or(0);
    // The drawing order from back to front: the model, the document, the measurements.
    let behind = |series: &&Series<'_>| match part.role(series) {
        Role::Model | Role::Median => 0,
        Role::Then(_) => 1,
        Role::Here | Role::Machine(_) => 2,
        Role::Outside => 3,
    };
    let mut order: Vec<&Series<'_>> = part.series.iter().collect();
    order::by_key(&mut order, behind);
    html! {
        svg.lines.small[small] viewBox=(format!("0 0 {wide} {high}")) role="img"
            aria-label=(part.title) data-v="y" data-s=(up.for_script()) data-u=(part.unit)
            data-ns=[part.ns_per_cycle.map(|ns| format!("{ns:.6}"))]
        {
            (values(part, &up, left, right))
            (places(whole, &across, [left, right], high))
            (rules(part, &across, high))
            @for series in order { (curve(part, series, index(series), &across, &up)) }
            @if direct { (ends(&own, &index, &across, &up, right)) }
        }
    }
}

/// Returns the series of machines, which are in the foreground.
fn own<'a>(drawing: &'a Drawing<'a>) -> impl Iterator<Item = &'a Series<'a>> {
    let of_machine = |of: &&Series<'_>| matches!(drawing.role(of), Role::Here | Role::Machine(_));
    drawing.series.iter().filter(of_machine)
}

/// Draws the axis of the values: its title above it, its ticks, and grid lines through the chart.
fn values(drawing: &Drawing<'_>, up: &Scale, left: f64, right: f64) -> Markup {
    let mut grid = Path::default();
    let mut shown = Vec::new();
    let mut last = f64::INFINITY;
    for (y, text) in up.ticks(drawing.y) {
        grid.level(y, left, right);
        if last - y >= 15.0 {
            shown.push((y, text));
            last = y;
        }
    }
    html! {
        text.title x="0" y="14" { (drawing.y.titled(drawing.unit)) }
        g.ticks.end {
            path.grid d=(grid.data()) {}
            @for (y, text) in shown {
                text x=(px(left - 6.0)) y=(px(y + 4.0)) { (text) }
            }
        }
    }
}

/// Draws the horizontal axis.
fn places(drawing: &Drawing<'_>, across: &Scale, [left, right]: [f64; 2], high: f64) -> Markup {
    let base = high - BOTTOM;
    let places = drawing.places();
    // If there are only a few places, each of them is a tick.
    let few = places.len() <= 9 && !(drawing.x.log && drawing.x.bytes);
    let ticks: Vec<(f64, String)> = match few {
        true => {
            let at = |x: &f64| Some((across.place(*x)?, place(drawing.x, *x)));
            places.iter().filter_map(at).collect()
        }
        false => across.ticks(drawing.x),
    };
    let mut axis = Path::default();
    axis.level(base, left, right);
    for (x, _) in &ticks {
        axis.upright(*x, base, base + 4.0);
    }
    html! {
        path.axis d=(axis.data()) {}
        g.mid {
            @for (x, text) in with_room(ticks) { text x=(px(x)) y=(px(base + 18.0)) { (text) } }
        }
        text.mid.title x=(px((left + right) / 2.0)) y=(px(high - 6.0)) { (heading(drawing.x)) }
    }
}

fn rules(drawing: &Drawing<'_>, across: &Scale, high: f64) -> Markup {
    let mut lines = Path::default();
    let mut texts = Vec::new();
    for rule in drawing.rules {
        if let Some(x) = across.place(rule.x)
            && across.share(rule.x).is_some_and(|share| (0.0..=1.0).contains(&share))
        {
            lines.upright(x, TOP, high - BOTTOM);
            texts.push((x, &rule.label));
        }
    }
    html! {
        @if !lines.is_empty() { path.rule d=(lines.data()) {} }
        @for (x, text) in texts { text.mid.rule-name x=(px(x)) y=(px(TOP - 6.0)) { (text) } }
    }
}

/// Draws a curve with its intervals and markers. A curve of one point is only a marker.
fn curve(
    drawing: &Drawing<'_>,
    series: &Series<'_>,
    index: usize,
    across: &Scale,
    up: &Scale,
) -> Markup {
    let role = drawing.role(series);
    let at = |value: &Value| Some((across.place(value.x)?, up.place(value.mid)?));
    let places: Vec<Option<(f64, f64)>> = series.points.iter().map(at).collect();
    let drawn = places.iter().flatten().count();
    // A few points on a linear axis are not joined, because they do not show what lies between them.
    let joined = match role {
        Role::Outside => false,
        Role::Median => true,
        _ if drawing.x.log || drawing.x.bytes => drawn > 1,
        _ => drawn > 3,
    };
    let (mut line, mut marks, mut whiskers) = (Path::default(), Path::default(), Path::default());
    let most = if matches!(role, Role::Then(_)) { MARKED / 2 } else { MARKED };
    let each = drawn.div_ceil(most).max(1);
    let mut begun = false;
    let mut count = 0;
    for (value, place) in series.points.iter().zip(&places) {
        let Some((x, y)) = *place else {
            begun = false;
            continue;
        };
        if begun {
            line.line_to(x, y)
        } else {
            line.move_to(x, y)
        }
        begun = true;
        let marked = match role {
            Role::Model => !joined,
            Role::Median => false,
            Role::Outside => true,
            Role::Then(_) => count % each == each / 2 || !joined,
            _ => count % each == 0,
        };
        match role {
            _ if !marked => {}
            Role::Model => marks.stroke(x, y, false),
            Role::Outside => marks.marker(x, y, 0),
            _ => marks.marker(x, y, index),
        }
        count += 1;
        let (low, high) = (up.within(value.lo), up.within(value.hi));
        if (low - high).abs() > 9.0 {
            whiskers.upright(x, low, high);
        }
    }
    let drawn_at = |value: &Value| at(value).is_some();
    let marks = html! {
        @if joined { path.l d=(line.data()) {} }
        @if !whiskers.is_empty() { path.e d=(whiskers.data()) {} }
        @if !marks.is_empty() { path.m d=(marks.data()) {} }
    };
    group(drawing, series, index, &drawn_at, &marks)
}

/// Draws the labels of the curves at their right ends, moved apart so that they do not overlap.
fn ends(
    own: &[&Series<'_>],
    index: &dyn Fn(&Series<'_>) -> usize,
    across: &Scale,
    up: &Scale,
    right: f64,
) -> Markup {
    let end = |series: &&Series<'_>| {
        let last = series.points.iter().rev();
        last.filter_map(|v| Some((across.place(v.x)?, up.place(v.mid)?))).next()
    };
    let mut labels: Vec<(f64, &Series<'_>)> =
        own.iter().filter_map(|series| Some((end(series)?.1, *series))).collect();
    least_first(&mut labels, |(y, _)| *y);
    let mut least = TOP;
    for (y, _) in &mut labels {
        *y = y.max(least);
        least = *y + 14.0;
    }
    html! {
        @for (y, series) in labels {
            text.name data-l=(index(series)) x=(px(right + 8.0)) y=(px(y + 4.0)) { (series.label) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_share_a_part_stand_together() {
        let labels = ["1 KiB, read", "1 KiB, write", "4 KiB, read", "4 KiB, write"];
        let by_size: [&[&str]; 2] = [&labels[..2], &labels[2..]];
        assert_eq!(groups(&labels), by_size);
        let one_alone = ["read, 1", "read, 2", "write, 1", "write, 2", "write, 4", "rep"];
        let parts: [&[&str]; 3] = [&one_alone[..2], &one_alone[2..5], &one_alone[5..]];
        assert_eq!(groups(&one_alone), parts);
        let plain = ["a", "b", "c", "d", "e", "f", "g"];
        let sizes: Vec<usize> = groups(&plain).iter().map(Vec::len).collect();
        assert_eq!(sizes, [4, 3]);
    }
}
