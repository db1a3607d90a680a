//! The legend of a chart: its labels, and whose the marks are.

use maud::{Markup, html};

use super::path::{Path, STYLES};
use super::{Drawing, Role};

/// The labels of a chart, each with its line and marker; nothing if there is only one.
pub(super) fn labels(drawing: &Drawing<'_>) -> Markup {
    let labels = drawing.labels();
    html! {
        @if labels.len() > 1 {
            ul.labels {
                @for (index, label) in labels.iter().enumerate() {
                    @let first = drawing.series.iter().find(|series| series.label == *label);
                    @let role = first.map_or(Role::Here, |series| drawing.role(series));
                    li data-l=(index) { (swatch(role, index)) (label) }
                }
            }
        }
    }
}

/// The owners of the marks; nothing if there is only one.
pub(super) fn owners(drawing: &Drawing<'_>) -> Markup {
    let has = |owner: usize| drawing.series.iter().any(|series| series.owner == owner);
    let owners = drawing
        .owners
        .iter()
        .enumerate()
        .filter(|(owner, _)| has(*owner));
    let owners: Vec<_> = owners.collect();
    html! {
        @if owners.len() > 1 {
            ul.owners {
                @for (index, owner) in owners {
                    li data-o=(index) { (swatch(owner.role, 0)) (owner.name) }
                }
            }
        }
    }
}

/// A piece of line with a marker, as in the chart.
fn swatch(role: Role, index: usize) -> Markup {
    let what = match role {
        Role::Model | Role::Median => "mark-line".to_owned(),
        Role::Outside => "mark-point".to_owned(),
        _ => format!("mark-{}", index % STYLES),
    };
    html! {
        svg.swatch.(role.class()).{"k" (index % STYLES)} aria-hidden="true" { use href={ "#" (what) } {} }
    }
}

/// What swatches are made of, once a page.
pub fn definitions() -> Markup {
    let mut line = Path::default();
    line.level(6.0, 0.0, 24.0);
    html! {
        svg.definitions aria-hidden="true" {
            path #mark-line d=(line.data()) {}
            @let mut point = Path::default();
            @let () = point.marker(12.0, 6.0, 0);
            path #mark-point d=(point.data()) {}
            @for index in 0..STYLES {
                @let mut mark = Path::default();
                @let () = mark.marker(12.0, 6.0, index);
                g id={ "mark-" (index) } { path d=(line.data()) {} path d=(mark.data()) {} }
            }
        }
    }
}
