//! A figure as a drawing: this machine, the document's machines, and what the model predicts.

use maud::Markup;

use super::table::sources;
use super::view::{Figure, Form, Value};
use crate::lab::chart::{Drawing, Owner, Role, Series, Shape, draw};

/// The chart of a figure with its legend; nothing of one that is a table alone.
pub(super) fn chart(title: &str, figure: &Figure) -> Option<Markup> {
    let shape = match &figure.form {
        Form::Table | Form::Heat { .. } => return None,
        Form::Lines => Shape::Lines,
        Form::Bars => Shape::Bars,
        Form::Surface(depth) => Shape::Cells(depth),
    };
    let mut owners = vec![Owner {
        name: "this machine",
        role: Role::Here,
    }];
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
            owners.push(Owner {
                name: &of[0].machine,
                role: Role::Then(owners.len() - 1),
            });
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
        owners.push(Owner {
            name: "predicted",
            role: Role::Model,
        });
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
    /// How long a core cycle took, if its numbers are times that it converts.
    pub(in crate::lab) fn clock(&self) -> Option<f64> {
        let times = ["cycles per operation", "ns per operation"];
        self.ns_per_cycle
            .filter(|_| times.contains(&self.unit.as_str()))
    }
}
