//! A map of cells: one row per series, and one column per place. A darker cell has a higher value.

use maud::{Markup, html};

use super::marks::{Path, group, lane_name, px, width, wrapped};
use super::scale::Scale;
use super::{AxisView, Drawing, Owner, Series, Value, heading, number, place};
use crate::order::greatest_first;

/// Number of colours that `chart.css` has for values, from low to high.
const STEPS: usize = 9;

const WIDE: f64 = 720.0;

/// A map with more columns than this does not fit a narrow screen.
const BROAD: usize = 8;

/// Height of a row.
const ROW: f64 = 20.0;
/// Height of a row in a map of many rows.
const LOW_ROW: f64 = 10.0;

/// A map with more rows than this has low rows.
const MANY: usize = 24;

/// Returns the colour for a share from 0 to 1.
pub(in crate::lab) fn step_of(share: f64) -> usize {
    ((share * STEPS as f64) as usize).min(STEPS - 1)
}

/// Draws a map per owner, all in the same colours. The first two are open, and the others are folded.
/// `depth` names the axis that the labels are places on; it is empty if the labels are not places.
pub(super) fn draw(drawing: &Drawing<'_>, depth: &str) -> Markup {
    let points = drawing.series.iter().flat_map(|series| &series.points);
    let points: Vec<Value> = points.map(|of| Value::exact(of.x, of.mid)).collect();
    let finite = points.iter().map(|of| of.mid).filter(|mid| mid.is_finite());
    let (lo, hi) = finite.fold((f64::INFINITY, 0f64), |(lo, hi), mid| (lo.min(mid), hi.max(mid)));
    // If values differ by more than a factor of 8, the colours follow the ratios of the values.
    let axis = AxisView { log: lo > 0.0 && hi > 8.0 * lo, ..drawing.y.clone() };
    let height = Scale::of_values(&axis, points.iter(), 0.0, 1.0);
    let of_owner = |(index, owner): (usize, &Owner<'_>)| {
        let series = drawing.series.iter().filter(|series| series.owner == index);
        let series: Vec<Series<'_>> = series.cloned().collect();
        (!series.is_empty()).then(|| map(&drawing.with(series), owner.name, depth, &height))
    };
    let maps: Vec<Markup> = drawing.owners.iter().enumerate().filter_map(of_owner).collect();
    let (open, folded) = maps.split_at(maps.len().min(2));
    html! {
        div.chart {
            (bar(drawing, &height))
            @for map in open { (map) }
            @if !folded.is_empty() {
                details.more {
                    summary { (folded.len()) " more, in the same colours" }
                    @for map in folded { (map) }
                }
            }
        }
    }
}

/// Draws the map of one owner.
fn map(part: &Drawing<'_>, owner: &str, depth: &str, height: &Scale) -> Markup {
    let mut rows: Vec<&Series<'_>> = part.series.iter().collect();
    if !depth.is_empty() {
        // The labels are numbers, and the least is the lowest row.
        let value = |of: &&Series<'_>| of.label.trim().parse().unwrap_or(f64::INFINITY);
        greatest_first(&mut rows, value);
    }
    let columns = part.places();
    let low = rows.len() > MANY;
    let names: Vec<Vec<String>> = rows.iter().map(|of| wrapped(of.label, 42)).collect();
    let row = |lines: usize| if low { LOW_ROW } else { ROW + 12.0 * (lines - 1) as f64 };
    let heights: Vec<f64> = names.iter().map(|lines| row(lines.len())).collect();
    let widest = names.iter().flatten().map(|text| width(text)).fold(24.0, f64::max);
    let left = widest.min(300.0) + 8.0;
    let wide = ((WIDE - left - 6.0) / columns.len().max(1) as f64).min(90.0);
    let used = (left + wide * columns.len() as f64 + 6.0).max(320.0);
    let named: Vec<String> = columns.iter().map(|x| place(part.x, *x)).collect();
    let longest = named.iter().map(|text| width(text)).fold(0.0, f64::max);
    let few = wide > 13.0;
    let slanted = few && longest > wide - 4.0;
    let top = 20.0 + if slanted { (longest * 0.87).min(220.0) } else { 14.0 };
    let bottom = top + heights.iter().sum::<f64>();
    let mut y = top;
    let mut lanes = Vec::new();
    for height in heights {
        lanes.push((y, height));
        y += height;
    }
    let every = if few { 1 } else { (longest + 10.0).max(wide).div_euclid(wide) as usize + 1 };
    html! {
        div.wide role="group" tabindex="0" aria-label=(part.title) {
            svg.cells.broad[columns.len() > BROAD] width=(px(1.15 * used))
                viewBox=(format!("0 0 {} {}", px(used), px(bottom + 22.0))) role="img"
                aria-label={ (part.title) ", " (owner) } data-u=(part.unit)
                data-depth=[(!depth.is_empty()).then_some(depth)]
                data-grid={
                    (px(left)) " " (px(left + wide * columns.len() as f64)) " " (columns.len())
                }
                data-ns=[part.ns_per_cycle.map(|ns| format!("{ns:.6}"))]
            {
                text.head x="0" y="13" {
                    (owner)
                    @if !depth.is_empty() { tspan.title { ", upwards: " (depth) } }
                }
                @for (column, text) in named.iter().enumerate().step_by(every) {
                    @let x = left + wide * (column as f64 + 0.5);
                    @if slanted {
                        @let place = format!("translate({} {})rotate(-60)", px(x), px(top - 6.0));
                        text.col transform=(place) { (text) }
                    } @else {
                        text.mid x=(px(x)) y=(px(top - 5.0)) { (text) }
                    }
                }
                text.mid.title x=(px((left + used) / 2.0)) y=(px(bottom + 15.0)) {
                    (heading(part.x))
                }
                @for (index, (series, (y, high))) in rows.iter().zip(&lanes).enumerate() {
                    @if !low || (rows.len() - index).is_multiple_of(4) {
                        (lane_name(&names[index], left - 8.0, y + high / 2.0, 12.0))
                    }
                    (cells(part, series, &columns, (left, wide), (*y, *high), height))
                }
            }
        }
    }
}

/// Draws the cells of a row as one path per colour, and their numbers if there is room. Adjacent cells of
/// one colour form one rectangle if there is no gap between them. If a row lacks columns, `data-at` lists
/// its columns for the script.
fn cells(
    part: &Drawing<'_>,
    series: &Series<'_>,
    columns: &[f64],
    (left, wide): (f64, f64),
    (y, high): (f64, f64),
    height: &Scale,
) -> Markup {
    let mut paths: [Path; STEPS] = Default::default();
    let mut texts = Vec::new();
    let gap = if wide > 12.0 && high > 12.0 { 1.0 } else { 0.0 };
    let share = |value: &Value| height.share(value.mid).map(|share| share.clamp(0.0, 1.0));
    let column = |value: &Value| columns.iter().position(|x| *x == value.x);
    let cell = |value: &Value| Some((column(value)?, step_of(share(value)?), value.mid));
    let cells: Vec<(usize, usize, f64)> = series.points.iter().filter_map(cell).collect();
    let joined = |a: &(usize, usize, f64), b: &(usize, usize, f64)| {
        gap == 0.0 && a.0 + 1 == b.0 && a.1 == b.1
    };
    for run in cells.chunk_by(joined) {
        let (first, step, value) = run[0];
        let x = left + wide * first as f64;
        paths[step].cell(x, y, wide * run.len() as f64 - gap, high - gap);
        if wide > 32.0 && high > 14.0 {
            texts.push((x + (wide - gap) / 2.0, step, number(value)));
        }
    }
    let marks = html! {
        @for (step, path) in paths.iter().enumerate() {
            @if !path.is_empty() { path.{"h" (step)} d=(path.data()) {} }
        }
        @for (x, step, text) in texts {
            text class=[(step > STEPS / 2).then_some("on-dark")] x=(px(x))
                y=(px(y + high / 2.0 + 4.0)) { (text) }
        }
    };
    let there: Vec<String> = cells.iter().map(|cell| cell.0.to_string()).collect();
    let marks = html! {
        @if there.len() == columns.len() { (marks) }
        @else { g data-at=(there.join(" ")) { (marks) } }
    };
    group(part, series, 0, &|value| cell(value).is_some(), &marks)
}

/// Draws the legend of the colours.
fn bar(drawing: &Drawing<'_>, height: &Scale) -> Markup {
    const STEP: f64 = 52.0;
    let mut paths: [Path; STEPS] = Default::default();
    for (step, path) in paths.iter_mut().enumerate() {
        path.cell(14.0 + STEP * step as f64, 20.0, STEP, 12.0);
    }
    html! {
        svg.colours viewBox="0 0 720 52" role="img" aria-label="What the colours mean" {
            text.title x="14" y="13" { (drawing.y.titled(drawing.unit)) }
            @for (step, path) in paths.iter().enumerate() { path.{"h" (step)} d=(path.data()) {} }
            @for edge in 0..=STEPS {
                @let value = height.value(edge as f64 / STEPS as f64);
                text.mid x=(px(14.0 + STEP * edge as f64)) y="46" { (number(value)) }
            }
        }
    }
}
