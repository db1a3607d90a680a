//! The machine sheet as `linefill machine` prints it.

use serde_json::{Value, json};

use super::Row;
use crate::lab::format::{Check, Outcome, Output, Sheet};
use crate::lab::terminal::Screen;

/// The sheet of a machine.
#[derive(Debug)]
pub(crate) struct MachineSheet(pub Vec<Row>);

impl MachineSheet {
    fn sheet(&self) -> Sheet {
        let headings = ["", "measured", "CPUID", "kernel", "note"];
        let mut sheet = Sheet::new("The machine", &headings);
        for row in &self.0 {
            let cell = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            sheet.rows.push(vec![
                row.name.clone(),
                cell(&row.measured),
                cell(&row.cpuid),
                cell(&row.kernel),
                row.differs.clone().unwrap_or_default(),
            ]);
        }
        sheet
    }
}

impl Output for MachineSheet {
    fn name(&self) -> String {
        "linefill machine".to_owned()
    }

    fn screen(&self, width: u16) -> Screen {
        Screen::of(&self.sheet().text(width))
    }

    fn json(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "name": row.name,
                "measured": row.measured,
                "cpuid": row.cpuid,
                "kernel": row.kernel,
                "note": row.differs,
            })
        };
        json!({ "rows": self.0.iter().map(row).collect::<Vec<_>>() })
    }

    fn sheets(&self) -> Vec<Sheet> {
        vec![self.sheet()]
    }

    /// What the sources of a row disagree in is to be known.
    fn checks(&self) -> Vec<Check> {
        let check = |row: &Row| Check {
            group: "machine".to_owned(),
            name: row.name.clone(),
            outcome: match (&row.differs, &row.measured) {
                (Some(_), _) => Outcome::Warned,
                (None, Some(_)) => Outcome::Passed,
                (None, None) => Outcome::Skipped,
            },
            text: match (&row.differs, &row.measured) {
                (Some(why), Some(measured)) => format!("{measured}: {why}"),
                (Some(text), None) | (None, Some(text)) => text.clone(),
                (None, None) => "not measured".to_owned(),
            },
        };
        self.0.iter().map(check).collect()
    }
}
