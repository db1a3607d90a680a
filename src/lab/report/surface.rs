//! A surface over two axes that turns with the mouse, and the document's own beside it.

use std::collections::BTreeMap;

use plotly::common::{ColorScale, ColorScaleElement, Title};
use plotly::layout::{AspectRatio, Camera, CameraCenter, Eye, Layout, LayoutScene, Margin};
use plotly::surface::Lighting;
use plotly::{Plot, Surface};

use super::axes::{axis, titled};
use super::chart::text;
use super::view::{AxisView, Figure, ReferenceView};

/// Colours of heights, from low to high, that `style.css` defines.
const STEPS: usize = 6;

/// A surface ready for the page.
#[derive(Debug)]
pub(in crate::lab) struct Relief {
    /// Whose it is.
    pub(in crate::lab) who: String,
    /// What plotly draws.
    pub(in crate::lab) json: String,
}

/// Heights over a grid; holes where nothing was measured.
#[derive(Debug, PartialEq)]
struct Grid {
    across: Vec<f64>,
    depth: Vec<f64>,
    heights: Vec<Vec<Option<f64>>>,
}

impl Grid {
    /// The grid of labelled curves. Those whose label is not a number are left out.
    fn of<'a>(curves: impl Iterator<Item = (&'a str, Vec<(f64, f64)>)>) -> Self {
        // Axis values are positive, so their bits sort as they do.
        let mut rows: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
        for (label, points) in curves {
            if let Some(depth) = label.trim().parse().ok().filter(|depth| *depth >= 0.0) {
                rows.insert(f64::to_bits(depth), points);
            }
        }
        let mut across: Vec<f64> = rows.values().flatten().map(|point| point.0).collect();
        across.sort_by(f64::total_cmp);
        across.dedup();
        let height = |points: &[(f64, f64)], x: f64| {
            points
                .iter()
                .find(|point| point.0 == x)
                .map(|point| point.1)
        };
        Grid {
            heights: rows
                .values()
                .map(|points| across.iter().map(|&x| height(points, x)).collect())
                .collect(),
            depth: rows.into_keys().map(f64::from_bits).collect(),
            across,
        }
    }
}

/// Draws this machine's surface, then one for each machine of the source.
pub(in crate::lab) fn draw(figure: &Figure, depth: &str) -> Vec<Relief> {
    let ours = figure.curves.iter().map(|curve| {
        let points = curve.points.iter().map(|value| (value.x, value.mid));
        (curve.label.as_str(), points.collect())
    });
    let mut reliefs = vec![relief("this machine", Grid::of(ours), figure, depth)];
    let mut machines: Vec<&str> = figure
        .references
        .iter()
        .map(|reference| reference.machine.as_str())
        .collect();
    machines.dedup();
    for machine in machines {
        let of_machine = |reference: &&ReferenceView| reference.machine == machine;
        let theirs = figure
            .references
            .iter()
            .filter(of_machine)
            .map(|reference| (reference.label.as_str(), reference.points.clone()));
        reliefs.push(relief(machine, Grid::of(theirs), figure, depth));
    }
    reliefs
}

fn relief(who: &str, grid: Grid, figure: &Figure, depth: &str) -> Relief {
    let depth_axis = AxisView {
        label: depth.to_owned(),
        ..AxisView::default()
    };
    let (across, along) = (grid.across.iter().copied(), grid.depth.iter().copied());
    let heights = grid.heights.iter().flatten().flatten().copied();
    let scene = LayoutScene::new()
        .x_axis(axis(&figure.x, "", across))
        .y_axis(axis(&depth_axis, "", along))
        .z_axis(axis(&figure.y, &figure.unit, heights).title(unit_title(figure)))
        .aspect_ratio(AspectRatio::from((1.3, 1.0, 0.75)))
        .camera(
            Camera::new()
                .center(CameraCenter::from((-0.1, 0.08, -0.16)))
                .eye(Eye::from((-1.55, -1.95, 1.05))),
        );
    let colours = (0..STEPS).map(|step| {
        let share = step as f64 / (STEPS - 1) as f64;
        ColorScaleElement(share, format!("--height-{}", step + 1))
    });
    let surface = Surface::new(grid.heights)
        .x(grid.across)
        .y(grid.depth)
        .show_scale(false)
        .lighting(Lighting::new().ambient(0.75).diffuse(0.5).specular(0.05))
        .color_scale(ColorScale::Vector(colours.collect()))
        .hover_template(format!(
            "{} %{{x}}, {} %{{y}}<br><b>%{{z:.2f}}</b> {}<extra></extra>",
            text(&figure.x.label),
            text(depth),
            text(&figure.unit),
        ));
    let mut plot = Plot::new();
    plot.add_trace(surface);
    plot.set_layout(
        Layout::new()
            .auto_size(true)
            .margin(Margin::new().top(0).right(0).bottom(0).left(0))
            .scene(scene),
    );
    Relief {
        who: who.to_owned(),
        json: plot.to_json(),
    }
}

/// Labels in a scene stand askew: the unit alone is short enough to be read there.
fn unit_title(figure: &Figure) -> Title {
    let unit = match figure.unit.as_str() {
        "" => titled(&figure.y, ""),
        unit => text(unit.split(" an ").next().unwrap_or(unit)),
    };
    Title::with_text(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_sorts_its_rows_and_leaves_holes() {
        let curves = [
            ("10", vec![(1.0, 5.0), (2.0, 6.0)]),
            ("9", vec![(2.0, 7.0)]),
            ("nine", vec![(3.0, 8.0)]),
        ];
        assert_eq!(
            Grid::of(curves.into_iter()),
            Grid {
                across: vec![1.0, 2.0],
                depth: vec![9.0, 10.0],
                heights: vec![vec![None, Some(7.0)], vec![Some(5.0), Some(6.0)]],
            }
        );
    }
}
