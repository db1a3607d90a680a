//! Draws a figure: as a chart of this machine, the document's machines and the prediction, or as a map of
//! pairs, with a darker cell for a higher value.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::table::sources;
use super::view::{Figure, Value};
use crate::lab::chart::{Drawing, Owner, Role, Series, draw, step_of};
use crate::order::distinct;

/// Draws the chart of a figure with its legend; `None` if the form has no chart.
pub(super) fn chart(title: &str, figure: &Figure) -> Option<Markup> {
    let shape = figure.form.shape()?;
    let mut owners = vec![Owner { name: "this machine", role: Role::Here }];
    let curves = figure.curves.iter().enumerate();
    let mut series: Vec<Series<'_>> = curves
        .map(|(column, curve)| Series {
            owner: 0,
            label: &curve.label,
            points: curve.points.clone(),
            column: Some((0, column)),
        })
        .collect();
    let prediction = figure.prediction.as_ref();
    let predicted = prediction.map_or(&[][..], |of| &of.curves);
    for (table, of) in (1 + usize::from(!predicted.is_empty())..).zip(sources(figure)) {
        let named = |owner: &Owner<'_>| owner.name == of[0].machine;
        let owner = owners.iter().position(named).unwrap_or_else(|| {
            owners.push(Owner { name: &of[0].machine, role: Role::Then(owners.len() - 1) });
            owners.len() - 1
        });
        for (column, reference) in of.into_iter().enumerate() {
            let points = reference.points.iter();
            series.push(Series {
                owner,
                label: &reference.label,
                points: points.map(|&(x, y)| Value::exact(x, y)).collect(),
                column: Some((table, column)),
            });
        }
    }
    if !predicted.is_empty() {
        owners.push(Owner { name: "predicted", role: Role::Model });
    }
    for (column, curve) in predicted.iter().enumerate() {
        series.push(Series {
            owner: owners.len() - 1,
            label: &curve.label,
            points: curve.points.clone(),
            column: Some((1, column)),
        });
    }
    Some(draw(&Drawing {
        title,
        shape,
        x: &figure.x,
        y: &figure.y,
        unit: &figure.unit,
        ns_per_cycle: figure.clock(),
        owners,
        series,
        rules: &figure.rules,
    }))
}

impl Figure {
    /// Returns the duration of a core cycle, if the figure's unit is a time that it converts.
    pub(in crate::lab) fn clock(&self) -> Option<f64> {
        let times = ["cycles per operation", "ns per operation"];
        self.ns_per_cycle.filter(|_| times.contains(&self.unit.as_str()))
    }
}

/// Values by row and column.
struct Pairs {
    rows: Vec<u64>,
    columns: Vec<u64>,
    values: BTreeMap<(u64, u64), f64>,
}

impl Pairs {
    /// Collects the pairs of a figure. If it is `mirrored`, each value also counts for the reversed pair.
    fn of(figure: &Figure, mirrored: bool) -> Self {
        let mut values = BTreeMap::new();
        for curve in &figure.curves {
            let Ok(row) = curve.label.trim().parse::<u64>() else { continue };
            for value in &curve.points {
                let column = value.x as u64;
                values.insert((row, column), value.mid);
                if mirrored {
                    values.insert((column, row), value.mid);
                }
            }
        }
        let rows = distinct(values.keys().map(|(row, _)| *row));
        let columns = distinct(values.keys().map(|(_, column)| *column));
        Pairs { rows, columns, values }
    }

    /// Returns the position of `value` on a logarithmic scale from the least value, 0, to the greatest, 1.
    fn share(&self, value: f64) -> f64 {
        let all = || self.values.values().copied().filter(|value| *value > 0.0);
        let least = all().fold(f64::INFINITY, f64::min);
        let greatest = all().fold(0.0, f64::max);
        if greatest <= least || value <= 0.0 {
            return 0.0;
        }
        ((value / least).ln() / (greatest / least).ln()).clamp(0.0, 1.0)
    }
}

/// Renders the map of a figure of pairs. `depth` is the kind of thing that is paired.
pub(super) fn heat_map(figure: &Figure, depth: &str, mirrored: bool) -> Markup {
    let pairs = Pairs::of(figure, mirrored);
    // In a mirrored map, the rows and the columns are the same things.
    let corner = match mirrored {
        true => depth.to_owned(),
        false => format!("{depth} ↓, {} →", figure.x.label),
    };
    html! {
        div.scroll {
            table.heat {
                caption { (figure.y.label) ", " (figure.unit) }
                thead {
                    tr {
                        th scope="col" { (corner) }
                        @for column in &pairs.columns { th scope="col" { (column) } }
                    }
                }
                tbody {
                    @for &row in &pairs.rows {
                        tr {
                            th scope="row" { (row) }
                            @for &column in &pairs.columns {
                                @match pairs.values.get(&(row, column)) {
                                    None => td.none {},
                                    Some(&value) => (cell(&pairs, value)),
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cell(pairs: &Pairs, value: f64) -> Markup {
    html! {
        td.{"h" (step_of(pairs.share(value)))} { (format!("{value:.0}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::report::view::{CurveView, Form, Value};

    fn figure(curves: &[(&str, &[(f64, f64)])]) -> Figure {
        let value = |&(x, mid): &(f64, f64)| Value::exact(x, mid);
        let curve = |(label, points): &(&str, &[(f64, f64)])| CurveView {
            label: (*label).to_owned(),
            points: points.iter().map(value).collect(),
        };
        Figure {
            form: Form::Heat { depth: "CPU".to_owned(), mirrored: true },
            unit: "ns".to_owned(),
            curves: curves.iter().map(curve).collect(),
            ..Figure::default()
        }
    }

    #[test]
    fn a_pair_is_its_own_mirror_image() {
        let pairs = Pairs::of(&figure(&[("0", &[(1.0, 40.0), (2.0, 160.0)])]), true);
        assert_eq!((&pairs.rows, &pairs.columns), (&vec![0, 1, 2], &vec![0, 1, 2]));
        assert_eq!(pairs.values[&(2, 0)], 160.0);
        assert!(!pairs.values.contains_key(&(1, 2)));
        assert_eq!((pairs.share(40.0), pairs.share(160.0)), (0.0, 1.0));
        assert!((pairs.share(80.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn every_cell_shows_its_number() {
        let map = heat_map(&figure(&[("0", &[(1.0, 41.4)])]), "CPU", true).into_string();
        assert_eq!(map.matches(">41<").count(), 2);
        assert_eq!(map.matches("class=\"none\"").count(), 2);
    }

    /// A path from a CPU of one node to the memory of another differs from the reverse path, and a node may
    /// have only CPUs or only memory.
    #[test]
    fn a_map_that_is_not_mirrored_keeps_both_ways_apart() {
        let figure = figure(&[
            ("0", &[(0.0, 100.0), (1.0, 140.0), (2.0, 250.0)]),
            ("1", &[(0.0, 150.0), (1.0, 101.0), (2.0, 260.0)]),
        ]);
        let pairs = Pairs::of(&figure, false);
        assert_eq!((&pairs.rows, &pairs.columns), (&vec![0, 1], &vec![0, 1, 2]));
        assert_eq!((pairs.values[&(0, 1)], pairs.values[&(1, 0)]), (140.0, 150.0));
        let map = heat_map(&figure, "CPU of node", false).into_string();
        assert!(map.contains("CPU of node ↓, ") && map.contains(">250<"), "{map}");
        assert!(!map.contains("class=\"none\""), "{map}");
    }
}
