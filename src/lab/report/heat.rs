//! A map of pairs: a cell each, the darker the higher its value.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::view::Figure;
use crate::lab::chart::step_of;

/// Values by row and column. What is known of a pair holds for its mirror image, too.
#[derive(Debug, Default, PartialEq)]
struct Pairs {
    places: Vec<u64>,
    values: BTreeMap<(u64, u64), f64>,
}

impl Pairs {
    fn of(figure: &Figure) -> Self {
        let mut pairs = Pairs::default();
        for curve in &figure.curves {
            let Ok(row) = curve.label.trim().parse::<u64>() else {
                continue;
            };
            for value in &curve.points {
                let column = value.x as u64;
                pairs.values.insert((row, column), value.mid);
                pairs.values.insert((column, row), value.mid);
                pairs.places.extend([row, column]);
            }
        }
        pairs.places.sort_unstable();
        pairs.places.dedup();
        pairs
    }

    /// Where `value` lies between the least, 0, and the greatest, 1, by ratios.
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

/// The map of a figure whose curves' labels and x are the numbers of what is paired, `depth`.
pub(super) fn draw(figure: &Figure, depth: &str) -> Markup {
    let pairs = Pairs::of(figure);
    html! {
        div.scroll {
            table.heat {
                caption { (figure.y.label) ", " (figure.unit) }
                thead {
                    tr {
                        th scope="col" { (depth) }
                        @for column in &pairs.places { th scope="col" { (column) } }
                    }
                }
                tbody {
                    @for &row in &pairs.places {
                        tr {
                            th scope="row" { (row) }
                            @for &column in &pairs.places {
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
    use crate::lab::report::view::{AxisView, CurveView, Form, Value};

    fn figure(curves: &[(&str, &[(f64, f64)])]) -> Figure {
        let value = |&(x, mid): &(f64, f64)| Value {
            x,
            lo: mid,
            mid,
            hi: mid,
        };
        let curve = |(label, points): &(&str, &[(f64, f64)])| CurveView {
            label: (*label).to_owned(),
            points: points.iter().map(value).collect(),
        };
        Figure {
            form: Form::Heat("CPU".to_owned()),
            x: AxisView::default(),
            y: AxisView::default(),
            unit: "ns".to_owned(),
            ns_per_cycle: None,
            curves: curves.iter().map(curve).collect(),
            references: Vec::new(),
            prediction: None,
            rules: Vec::new(),
        }
    }

    #[test]
    fn a_pair_is_its_own_mirror_image() {
        let pairs = Pairs::of(&figure(&[("0", &[(1.0, 40.0), (2.0, 160.0)])]));
        assert_eq!(pairs.places, [0, 1, 2]);
        assert_eq!(pairs.values[&(2, 0)], 160.0);
        assert!(!pairs.values.contains_key(&(1, 2)));
        assert_eq!((pairs.share(40.0), pairs.share(160.0)), (0.0, 1.0));
        assert!((pairs.share(80.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn every_cell_shows_its_number() {
        let map = draw(&figure(&[("0", &[(1.0, 41.4)])]), "CPU").into_string();
        assert_eq!(map.matches(">41<").count(), 2);
        assert_eq!(map.matches("class=\"none\"").count(), 2);
    }
}
