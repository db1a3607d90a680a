//! Times code of the user: assembled, loaded and run in a child process.

mod assemble;
mod measure;
mod object;

pub use assemble::{Lines, Syntax};

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::counters::{Counted, Refused};
use super::session::Session;
use crate::lab::format::{Check, Output, Sheet};
use crate::lab::size;
use crate::lab::terminal::{FAINT, STRONG, Screen};
use crate::os::Pages;
use crate::os::trial::{Ending, Fault, MOST, trial};
use crate::stats::Interval;
use measure::{Found, Row, measure};
use object::Object;

#[derive(Debug)]
pub struct Subject {
    /// The lines of code, or the name of the function.
    pub name: String,
    object: Object,
    kind: Kind,
    /// Offset of the function that sets the registers before the first call.
    init: Option<usize>,
}

/// How the code is called, and the offsets of its functions.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// By loops over copies of the code, which keep its registers between calls.
    Lines { short: usize, long: usize, one: usize, none: usize, unroll: u32 },
    /// As a function: once per repetition, or, if it `counts`, once with the number of repetitions as its
    /// third argument.
    Function { at: usize, counts: bool },
}

impl Subject {
    /// Creates a subject from lines of assembly.
    ///
    /// # Errors
    /// If there is no assembler, or the assembler refuses the lines. The error contains its message.
    pub fn of_lines(lines: &Lines) -> Result<Subject> {
        if lines.syntax == Syntax::Intel && lines.has_percent_registers() {
            bail!(
                "`%` before a register is AT&T syntax, which --syntax att takes; Intel's has none"
            );
        }
        // Assembles the user's lines alone first, so that messages refer to these lines.
        assemble::text(&lines.named(1))?;
        assemble::text(&lines.named(2))
            .context("it is copied: labels have to be numbers (1: ... jnz 1b)")?;
        let object = assemble::text(&lines.driver(std::is_x86_feature_detected!("xsave")))?;
        let object = Object::read(&object)?.whole()?;
        let at = |name| object.entry(name);
        let kind = Kind::Lines {
            short: at(assemble::SHORT)?,
            long: at(assemble::LONG)?,
            one: at(assemble::ONE)?,
            none: at(assemble::NONE)?,
            unroll: lines.unroll,
        };
        let init = Some(at(assemble::INIT)?);
        Ok(Subject { name: lines.asm.clone(), object, kind, init })
    }

    /// Creates a subject from a function of a file. A source file is compiled or assembled first. If the
    /// function `counts`, its third argument is the number of repetitions to do.
    ///
    /// # Errors
    /// If there is no compiler, the compiler refuses the file, the function or what it calls refers to
    /// something outside the file, or there is no such function.
    pub fn of_function(file: &Path, symbol: &str, counts: bool) -> Result<Subject> {
        let bytes = assemble::file(file)?;
        let named = || file.display().to_string();
        let object = Object::read(&bytes).with_context(named)?;
        let at = object.entry(symbol).with_context(named)?;
        object.reaches(at).with_context(named)?;
        Ok(Subject {
            name: symbol.to_owned(),
            object,
            kind: Kind::Function { at, counts },
            init: None,
        })
    }
}

/// The memory and time of a subject.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Size of its memory in bytes, a multiple of the line size.
    pub memory: usize,
    pub pages: Pages,
    /// The maximum time for the whole measurement.
    pub timeout: Duration,
}

/// The result of timing a subject.
#[derive(Debug)]
pub struct Timing {
    name: String,
    unroll: Option<u32>,
    memory: usize,
    cpu: Option<usize>,
    tick_hz: f64,
    found: Found,
    refused: Option<String>,
}

/// Times `subject` in a child process. `None` if it was stopped before the end.
///
/// # Errors
/// If there is no process or memory for the code, or the code faults, ends the process, or exceeds its time.
pub fn time(
    subject: &Subject,
    bounds: Bounds,
    (counted, refused): (&Counted, &Refused),
    session: &Session,
    stop: &AtomicBool,
) -> Result<Option<Timing>> {
    let ending = trial(bounds.timeout, stop, |marks| {
        let (memory, pages) = (bounds.memory, bounds.pages);
        let found = measure(subject, memory, pages, counted, session, stop, marks);
        serde_json::to_vec(&found).unwrap_or_default()
    });
    let bytes = match ending.context("no process for the code")? {
        Ending::Done(bytes) => bytes,
        Ending::Stopped => return Ok(None),
        Ending::Fault(fault) => bail!("{}", in_words(subject, fault)),
        Ending::Killed(signal) => bail!("the code was killed by signal {signal}"),
        Ending::Left(status) => bail!("the code ended its process, with status {status}"),
        Ending::TooLong => {
            bail!("the code wrote more than {} MiB into the pipe that is for its times", MOST >> 20)
        }
        Ending::Late => bail!(
            "the code did not come to an end within {} s; --timeout allows more",
            bounds.timeout.as_secs()
        ),
    };
    if bytes.is_empty() {
        bail!("the code ended its process");
    }
    let found: Result<Found, String> =
        serde_json::from_slice(&bytes).context("the code wrote over what was measured")?;
    Ok(Some(Timing {
        name: subject.name.clone(),
        unroll: match subject.kind {
            Kind::Lines { unroll, .. } => Some(unroll),
            Kind::Function { .. } => None,
        },
        memory: bounds.memory,
        cpu: session.header.pinned,
        tick_hz: session.rate.hz(),
        found: found.map_err(anyhow::Error::msg)?,
        refused: (!refused.is_empty()).then(|| refused.in_words()),
    }))
}

/// Distance in bytes from the code's memory within which a fault is described relative to it.
const NEAR: i64 = 1 << 24;

/// Describes a fault of the code in words.
fn in_words(subject: &Subject, fault: Fault) -> String {
    let name = match fault.signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGILL => "SIGILL",
        libc::SIGFPE => "SIGFPE",
        libc::SIGTRAP => "SIGTRAP",
        _ => "a signal",
    };
    let did = match (fault.signal, fault.address) {
        (libc::SIGILL, _) => "executed an instruction that this CPU does not have".to_owned(),
        (libc::SIGFPE, _) => "divided by zero, or its quotient is too large".to_owned(),
        (libc::SIGTRAP, _) => "ran into a breakpoint".to_owned(),
        (_, Some(address)) => format!("accessed address {address:#x}"),
        (_, None) => "accessed an address that is not canonical or not aligned as the instruction \
                      demands, or executed a privileged instruction"
            .to_owned(),
    };
    let trapped = |offset| subject.object.is_trap(offset);
    if fault.signal == libc::SIGTRAP && fault.offset.is_some_and(trapped) {
        return format!("{name}: the code called a function that is not in the file");
    }
    let mut text = format!("{name}: the code {did}");
    if let Some((from, size)) = fault.memory {
        let size = size as i64;
        text += &match from {
            0.. if from < size => ", which lies in its memory".to_owned(),
            0.. if from - size < NEAR => {
                format!(", {} bytes behind its memory of {size}", from - size)
            }
            ..0 if from > -NEAR => format!(", {} bytes before its memory of {size}", -from),
            _ => String::new(),
        };
    }
    let place = fault.offset.and_then(|offset| subject.object.symbol_at(offset));
    let at = match (place, subject.kind) {
        (None, _) => ", outside of itself".to_owned(),
        (Some((assemble::INIT, _)), Kind::Lines { .. }) => ", in --init".to_owned(),
        (Some(_), Kind::Lines { .. }) => ", in --asm".to_owned(),
        (Some((symbol, distance)), Kind::Function { .. }) => {
            format!(", at byte {distance} of `{symbol}`")
        }
    };
    text + &at
}

impl Timing {
    fn nanos(&self, ticks: [f64; 2]) -> [f64; 2] {
        ticks.map(|end| end * 1e9 / self.tick_hz)
    }

    fn times(&self) -> Sheet {
        let mut sheet = Sheet::new("Time", &["per repetition", "core cycles", "ns"]);
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
        let cpu = self.cpu.map_or_else(String::new, |cpu| format!("CPU {cpu}, "));
        let copies = self.unroll.map_or_else(String::new, |copies| {
            format!("; {copies} copies in the loop against {}", 2 * copies)
        });
        let memory = size::show(self.memory as f64);
        // Stopped before its first sample, it had no memory yet.
        let pages = match self.found.pages.as_str() {
            "" => String::new(),
            pages => format!(" in pages of {pages}"),
        };
        let stopped = if self.found.stopped { "; stopped early" } else { "" };
        format!("{cpu}{memory} of memory{pages}{copies}{stopped}")
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
            "interrupted": self.found.stopped,
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
