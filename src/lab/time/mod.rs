//! Times code of one's own: assembled, loaded and run in a process of its own.

mod assemble;
mod driver;
mod measure;
mod object;
mod print;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

pub use driver::{Lines, Syntax};
use measure::{Found, measure};
use object::Object;

use super::counters::{Counted, Refused};
use super::session::Session;
use crate::os::Pages;
use crate::os::trial::{Ending, Fault, trial};

/// What is timed.
#[derive(Debug)]
pub struct Subject {
    /// Its name: the code, or the function.
    pub name: String,
    object: Object,
    kind: Kind,
    /// What sets the registers before the first call.
    init: Option<usize>,
}

/// How it is called, and where its functions lie.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// By a loop of copies of it, that keeps its registers between calls.
    Lines {
        short: usize,
        long: usize,
        one: usize,
        none: usize,
        unroll: u32,
    },
    /// As a function, once per repetition; or once for as many as its third argument counts.
    Function { at: usize, counts: bool },
}

impl Subject {
    /// Lines of assembly.
    ///
    /// # Errors
    /// What the assembler says of them, or that there is none.
    pub fn of_lines(lines: &Lines) -> Result<Subject> {
        if lines.syntax == Syntax::Intel && lines.has_percent_registers() {
            bail!(
                "`%` before a register is AT&T syntax, which --syntax att takes; Intel's has none"
            );
        }
        // By themselves first: a message then names their own lines.
        assemble::text(&lines.named(1))?;
        assemble::text(&lines.named(2))
            .context("it is copied: labels have to be numbers (1: ... jnz 1b)")?;
        let extended = std::is_x86_feature_detected!("xsave");
        let object = assemble::text(&lines.driver(extended))?;
        let object = Object::read(&object)?;
        let at = |name| object.entry(name);
        let kind = Kind::Lines {
            short: at(driver::SHORT)?,
            long: at(driver::LONG)?,
            one: at(driver::ONE)?,
            none: at(driver::NONE)?,
            unroll: lines.unroll,
        };
        let init = Some(at(driver::INIT)?);
        Ok(Subject {
            name: lines.asm.clone(),
            object,
            kind,
            init,
        })
    }

    /// A function of a file, which is assembled or compiled if it is no object file. If it `counts`, it
    /// does as many repetitions as its third argument says.
    ///
    /// # Errors
    /// What the compiler says of the file, that there is none, what the code lacks, or that there is no
    /// such function.
    pub fn of_function(file: &Path, symbol: &str, counts: bool) -> Result<Subject> {
        let bytes = assemble::file(file)?;
        let named = || file.display().to_string();
        let object = Object::read(&bytes).with_context(named)?;
        let at = object.entry(symbol).with_context(named)?;
        Ok(Subject {
            name: symbol.to_owned(),
            object,
            kind: Kind::Function { at, counts },
            init: None,
        })
    }
}

/// Where and how long it runs.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of its memory, whole lines.
    pub memory: usize,
    /// The pages of it.
    pub pages: Pages,
    /// How long all of it may take.
    pub timeout: Duration,
}

/// What came of it.
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

/// Times `subject` in a process of its own. `None` if it was stopped before the end.
///
/// # Errors
/// If it gets no process or no memory; if it faults, ends the process or does not come back in time.
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
        Ending::Late => bail!(
            "the code did not come to an end within {} s; --timeout allows more",
            bounds.timeout.as_secs()
        ),
    };
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

/// The distance from its memory at which an address has to do with it.
const NEAR: i64 = 1 << 24;

/// What the code did that is forbidden.
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
        (libc::SIGILL, _) => "executed what is no instruction of this CPU".to_owned(),
        (libc::SIGFPE, _) => "divided by zero, or its quotient is too large".to_owned(),
        (libc::SIGTRAP, _) => "ran into a breakpoint".to_owned(),
        (_, Some(address)) => format!("accessed address {address:#x}"),
        (_, None) => "accessed an address that is not canonical or not aligned as the instruction \
                      demands, or executed a privileged instruction"
            .to_owned(),
    };
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
    let place = fault
        .offset
        .and_then(|offset| subject.object.symbol_at(offset));
    let at = match (place, subject.kind) {
        (None, _) => ", outside of itself".to_owned(),
        (Some((driver::INIT, _)), Kind::Lines { .. }) => ", in --init".to_owned(),
        (Some(_), Kind::Lines { .. }) => ", in --asm".to_owned(),
        (Some((symbol, distance)), Kind::Function { .. }) => {
            format!(", at byte {distance} of `{symbol}`")
        }
    };
    text + &at
}
