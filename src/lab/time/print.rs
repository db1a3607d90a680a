//! Times of code of one's own, as text and as JSON.

use serde_json::{Value, json};

use super::Timing;
use super::measure::Row;
use crate::lab::format::{Check, Output, Sheet};
use crate::lab::size;
use crate::lab::terminal::{FAINT, STRONG, Screen};
use crate::stats::Interval;

impl Timing {
    fn nanos(&self, ticks: [f64; 2]) -> [f64; 2] {
        ticks.map(|end| end * 1e9 / self.tick_hz)
    }

    fn times(&self) -> Sheet {
        let headings = ["per repetition", "core cycles", "ns"];
        let mut sheet = Sheet::new("Time", &headings);
        for Row { name, time } in &self.found.rows {
            let [cycles, nanos] = match time {
                Ok(time) => [
                    time.cycles.map_or_else(|| "-".to_owned(), shown),
                    shown(self.nanos(time.ticks)),
                ],
                Err(reason) => [reason.clone(), "-".to_owned()],
            };
            sheet.row([name, &cycles, &nanos]);
        }
        sheet
    }

    fn events(&self) -> Option<Sheet> {
        let mut sheet = Sheet::new("Events", &["event", "per repetition, warm"]);
        for (name, count) in &self.found.counts {
            let text = match count {
                Ok(count) if count.counted < 1.0 => format!(
                    "{} (scaled: counted {:.0} % of the time)",
                    shown(count.value),
                    100.0 * count.counted
                ),
                Ok(count) => shown(count.value),
                Err(reason) => format!("- ({reason})"),
            };
            sheet.row([name, &text]);
        }
        (!sheet.rows.is_empty()).then_some(sheet)
    }

    fn scene(&self) -> String {
        let cpu = self
            .cpu
            .map_or_else(String::new, |cpu| format!("CPU {cpu}, "));
        let copies = self.unroll.map_or_else(String::new, |copies| {
            format!("; {copies} copies in the loop against {}", 2 * copies)
        });
        format!(
            "{cpu}{} of memory in pages of {}{copies}",
            size::show(self.memory as f64),
            self.found.pages
        )
    }
}

fn shown([lo, hi]: [f64; 2]) -> String {
    Interval::new(lo, hi).to_string()
}

impl Output for Timing {
    fn name(&self) -> String {
        "linefill time".to_owned()
    }

    fn screen(&self, width: u16) -> Screen {
        let mut screen = Screen::default();
        screen.paint(STRONG, &self.name).end();
        screen.paint(FAINT, &self.scene()).add("\n\n");
        screen.add(&self.times().text(width)).end();
        if let Some(events) = self.events() {
            screen.end().add(&events.text(width)).end();
        }
        if let Some(refused) = &self.refused {
            screen.add(&format!("\nnot counted: {refused}\n"));
        }
        screen
    }

    fn json(&self) -> Value {
        let ends = |[lo, hi]: [f64; 2]| json!([lo, Interval::new(lo, hi).middle(), hi]);
        let row = |row: &Row| match &row.time {
            Ok(time) => json!({
                "state": row.name,
                "cycles": time.cycles.map(ends),
                "nanoseconds": ends(self.nanos(time.ticks)),
                "ticks": ends(time.ticks),
            }),
            Err(reason) => json!({ "state": row.name, "untestable": reason }),
        };
        let counts = self.found.counts.iter().map(|(name, count)| match count {
            Ok(count) => {
                json!({ "event": name, "value": ends(count.value), "counted": count.counted })
            }
            Err(reason) => json!({ "event": name, "refused": reason }),
        });
        json!({
            "code": self.name,
            "cpu": self.cpu,
            "tick_hz": self.tick_hz,
            "memory": self.memory,
            "pages": self.found.pages,
            "unroll": self.unroll,
            "times": self.found.rows.iter().map(row).collect::<Vec<_>>(),
            "counts": counts.collect::<Vec<_>>(),
            "not_counted": self.refused,
        })
    }

    fn sheets(&self) -> Vec<Sheet> {
        std::iter::once(self.times()).chain(self.events()).collect()
    }

    fn checks(&self) -> Vec<Check> {
        Vec::new()
    }
}
