//! The machine sheet: what was measured beside what the machine says of itself.

use maud::{Markup, html};

use super::view::ReportView;
use crate::lab::sheet::Row;

/// The machine sheet, then the facts of the run.
pub(super) fn machine(view: &ReportView) -> Markup {
    let kernel = view.sheet.iter().any(|row| row.kernel.is_some());
    let notes = view.sheet.iter().any(|row| row.differs.is_some());
    html! {
        section #machine aria-labelledby="machine-title" {
            h2 #machine-title { "The machine" }
            @if !view.sheet.is_empty() {
                div.scroll role="region" tabindex="0" aria-label="Measured beside reported" {
                    table.sheet {
                        thead {
                            tr {
                                th scope="col" { "" }
                                th scope="col" { "measured" }
                                th scope="col" { "CPUID" }
                                @if kernel { th scope="col" { "kernel" } }
                                @if notes { th scope="col" { "note" } }
                            }
                        }
                        tbody { @for row in &view.sheet { (sheet_row(row, kernel, notes)) } }
                    }
                }
            }
            dl.facts {
                @for (name, value) in &view.facts {
                    div { dt { (name) } dd { (value) } }
                }
            }
        }
    }
}

fn sheet_row(row: &Row, kernel: bool, notes: bool) -> Markup {
    let cell = |value: &Option<String>| {
        html! { td { @match value { Some(value) => (value), None => span.none { "–" } } } }
    };
    html! {
        tr {
            th scope="row" { (row.name) }
            (cell(&row.measured))
            (cell(&row.cpuid))
            @if kernel { (cell(&row.kernel)) }
            @if notes { td { (row.differs.as_deref().unwrap_or_default()) } }
        }
    }
}
