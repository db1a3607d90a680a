//! Experiments that no machine here can run.

use linefill::experiment::Verdict::Untestable;

use super::planted::{Planted, Row, row};

/// Experiments whose claims are always `untestable`.
pub const UNTESTABLE: &[&str] = &["E3", "E16", "E44"];

pub fn rows() -> Vec<Row> {
    vec![
        row("E3", ".1", Untestable, |m| nothing("E3", m)).says("an instruction of PowerPC"),
        row("E16", ".1", Untestable, |m| nothing("E16", m)).says("requires 16 bytes"),
        row("E44", ".1", Untestable, |m| nothing("E44", m)).says("15 million cycles"),
    ]
}

fn nothing(id: &str, machine: &linefill::experiment::Machine) -> Planted {
    let planted = Planted::new(id, machine, |_, _| unreachable!("{id} has no points"));
    assert!(planted.points.is_empty());
    planted
}
