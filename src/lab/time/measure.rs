//! Runs the code in the child process: times it and counts its events.

// Runs untrusted code. The child process exists for that.
#![allow(unsafe_code)]

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::object::EMPTY;
use super::{Kind, Subject};
use crate::counters::Each;
use crate::cpu::{Features, flush_bytes};
use crate::experiment::{
    Case, Context, Effort, Point, Rig, Setup, State, Unit, Untestable, Workload, merged,
};
use crate::kernel::{Kernel, Work};
use crate::lab::counters::Counted;
use crate::lab::session::Session;
use crate::measure::Shot;
use crate::mem::{LINE, Region};
use crate::os::perf::Refusal;
use crate::os::trial::Marks;
use crate::os::{Code, Pages};
use crate::pattern::{Layout, Order, Ring};
use crate::stats::Interval;

/// The effort per row and pass, and the number of passes.
const EFFORT: Effort = Effort { warm_up: 0.05, sampling: 0.06, passes: 5 };

/// Why a difference of two times is not shown.
const LOST: &str = "lost in the noise of this machine";

/// Why a time of fewer passes than planned is not shown where noise hides it.
const STOPPED: &str = "it was stopped before";

/// Words of an element of the list besides its pointer: an element fills a line.
const NPAD: usize = 7;

/// The results of the child process.
#[derive(Debug, Deserialize, Serialize)]
pub struct Found {
    /// The page size that the memory got.
    pub pages: String,
    /// Time per repetition, in rows.
    pub rows: Vec<Row>,
    /// Events per repetition, or why an event is not counted.
    pub counts: Vec<(String, Result<Count, String>)>,
    /// Whether a signal stopped the measurement before its end.
    pub stopped: bool,
}

/// The time of a repetition with the caches in one state.
#[derive(Debug, Deserialize, Serialize)]
pub struct Row {
    /// The state of the caches.
    pub name: String,
    /// The time, or why it could not be measured.
    pub time: Result<Time, String>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct Time {
    /// Ticks of the time-stamp counter: the two ends of the interval.
    pub ticks: [f64; 2],
    /// Core cycles: the two ends of the interval. `None` if the yardstick failed.
    pub cycles: Option<[f64; 2]>,
}

impl Time {
    fn middle(&self) -> f64 {
        f64::midpoint(self.ticks[0], self.ticks[1])
    }

    /// Returns whether noise hides the time: it is negative, or may be and is known less well than a warm
    /// repetition takes. A warm repetition itself may take no time.
    fn is_lost(&self, warm: f64, is_warm: bool) -> bool {
        let [lo, hi] = self.ticks;
        self.middle() < 0.0 || !is_warm && lo <= 0.0 && hi - lo > warm
    }
}

/// The count of an event per repetition.
#[derive(Debug, Deserialize, Serialize)]
pub struct Count {
    /// The two ends of the interval.
    pub value: [f64; 2],
    /// The share of the time for which the event had a counter.
    pub counted: f64,
}

/// How the code is called.
#[derive(Clone, Copy, Debug)]
enum Call {
    /// The function at this offset, with the number of repetitions as its third argument.
    Counted(usize),
    /// The function at this offset, once per repetition.
    Once(usize),
}

/// A row before it is measured.
struct Plan {
    name: &'static str,
    /// The set-up to measure.
    with: CodeSetup,
    /// The set-up whose time is subtracted, and the divisor of the difference.
    less: Option<(CodeSetup, f64)>,
}

/// Times all rows of `subject` in `bytes` of memory, and counts the events that can be counted.
pub fn measure(
    subject: &Subject,
    bytes: usize,
    pages: Pages,
    counted: &Counted,
    session: &Session,
    stop: &AtomicBool,
    marks: &'static Marks,
) -> Result<Found, String> {
    let code = subject.object.place().map_err(|error| error.to_string())?;
    let code = Rc::new(code);
    marks.code(code.bytes());
    let setup = |call, flush| CodeSetup {
        code: Rc::clone(&code),
        call,
        init: subject.init,
        bytes,
        flush,
        marks,
    };
    let plans = plans(subject, setup);
    let mut rig = Rig::new(session.rate, session.context, EFFORT, stop);
    rig = rig.with_pages(Some(pages)).with_node(session.header.node);
    let mut points: Vec<Point> = Vec::new();
    for _ in 0..EFFORT.passes {
        for (index, plan) in plans.iter().enumerate() {
            let less = plan.less.iter().map(|(setup, _)| setup);
            for (part, setup) in std::iter::once(&plan.with).chain(less).enumerate() {
                points.extend(rig.measure(&setup.case(index, part)));
            }
        }
    }
    let points = merged(points);
    if let Some(State::Untestable(reason)) = points.first().map(|point| &point.state) {
        return Err(reason.to_string());
    }
    let of = |index: usize, part: usize| {
        let found =
            points.iter().find(|point| point.series == index.to_string() && point.x == part as f64);
        found.ok_or_else(|| STOPPED.to_owned())
    };
    let rows = plans.iter().enumerate().map(|(index, plan)| {
        let unit = |unit: Unit| -> Result<Interval, String> {
            let value = |part| {
                of(index, part)?.interval(unit, session.rate).map_err(|reason| reason.to_string())
            };
            match &plan.less {
                None => value(0),
                Some((_, by)) => Ok(value(0)?.difference(value(1)?).scaled(1.0 / by)),
            }
        };
        let time = unit(Unit::Nanoseconds).map(|nanos| {
            let ticks = nanos.scaled(session.rate.hz() / 1e9);
            Time { ticks: ends(ticks), cycles: unit(Unit::CoreCycles).ok().map(ends) }
        });
        Row { name: plan.name.to_owned(), time }
    });
    let mut rows: Vec<Row> = rows.collect();
    let warm = rows[0].time.as_ref().map_or(f64::INFINITY, Time::middle);
    for (index, row) in rows.iter_mut().enumerate() {
        if let Ok(time) = &row.time
            && time.is_lost(warm, index == 0)
        {
            // With all its passes the time might not be lost.
            let reason = if stop.load(Ordering::Relaxed) { STOPPED } else { LOST };
            row.time = Err(reason.to_owned());
        }
    }
    let granted = points.iter().find_map(|point| point.measured());
    let pages = granted.map_or_else(String::new, |measured| measured.pages.clone());
    Ok(Found {
        pages,
        rows,
        counts: counts(&plans[0], counted, &mut rig),
        stopped: stop.load(Ordering::Relaxed),
    })
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.lo, interval.hi]
}

/// Returns the rows of a subject. Events are counted for the first row.
fn plans(subject: &Subject, setup: impl Fn(Call, Flush) -> CodeSetup) -> Vec<Plan> {
    let warm = |call| setup(call, Flush::Nothing);
    let (first, one, none) = match subject.kind {
        Kind::Lines { short, long, one, none, unroll } => {
            let first = Plan {
                name: "warm",
                with: warm(Call::Counted(long)),
                less: Some((warm(Call::Counted(short)), f64::from(unroll))),
            };
            (vec![first], Call::Counted(one), Call::Counted(none))
        }
        Kind::Function { at, counts } => {
            let call = if counts { Call::Counted(at) } else { Call::Once(at) };
            let plan = |name, call| Plan { name, with: warm(call), less: None };
            let mut plans = vec![plan("warm", call)];
            if !counts {
                plans.push(plan("a call of an empty function", Call::Once(EMPTY)));
            }
            // Called in the same way, so that the cost of the call cancels in the difference.
            let none = if counts { Call::Counted(EMPTY) } else { Call::Once(EMPTY) };
            (plans, call, none)
        }
    };
    let cold = [("memory flushed", Flush::Memory), ("memory and code flushed", Flush::All)];
    let cold = cold.into_iter().map(|(name, flush)| Plan {
        name,
        with: setup(one, flush),
        less: Some((setup(none, flush), 1.0)),
    });
    first.into_iter().chain(cold).collect()
}

/// Counts the events of a warm repetition.
fn counts(
    plan: &Plan,
    counted: &Counted,
    rig: &mut Rig<'_>,
) -> Vec<(String, Result<Count, String>)> {
    let events = counted.events();
    if events.is_empty() {
        return Vec::new();
    }
    let mut count = |part, setup: &CodeSetup| rig.count(&setup.case(0, part), &events);
    let with = count(0, &plan.with);
    let less = plan.less.as_ref().map(|(setup, by)| (count(1, setup), *by));
    let each = |index: usize| -> Result<Count, String> {
        let of = |all: &Result<Vec<Result<Each, Refusal>>, Untestable>| match all {
            Err(reason) => Err(reason.to_string()),
            Ok(all) => all[index].clone().map_err(|refusal| refusal.to_string()),
        };
        let with = of(&with)?;
        let (value, counted) = match &less {
            None => (with.value, with.counted),
            Some((less, by)) => {
                let less = of(less)?;
                let value = with.value.difference(less.value).scaled(1.0 / by);
                (value, with.counted.min(less.counted))
            }
        };
        Ok(Count { value: ends(value), counted })
    };
    counted.names().enumerate().map(|(index, name)| (name.to_owned(), each(index))).collect()
}

/// What is flushed from the caches before a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flush {
    Nothing,
    Memory,
    All,
}

/// The user's code and memory, as a set-up of the rig.
#[derive(Clone, Debug)]
struct CodeSetup {
    code: Rc<Code>,
    call: Call,
    /// Offset of the function that sets the registers, if the code keeps them between calls.
    init: Option<usize>,
    bytes: usize,
    flush: Flush,
    marks: &'static Marks,
}

impl CodeSetup {
    fn case(&self, index: usize, part: usize) -> Case {
        Case::new(index.to_string(), part as u32, self.clone())
    }
}

impl Setup for CodeSetup {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Workload<'m>, Untestable> {
        let order = Order::Random { seed: 1 };
        let ring = Ring::new(region, Layout::npad(NPAD), self.bytes / LINE, order)?;
        self.marks.memory(ring.cursor(), self.bytes);
        let running = Running { setup: self.clone(), features: context.features, ring };
        if let Some(init) = self.init {
            running.call(init, 0);
        }
        Ok(match self.flush {
            Flush::Nothing => Workload::steady(running, (self.bytes / LINE) as u64),
            Flush::Memory | Flush::All => Workload::shot(running, Work::default()),
        })
    }
}

/// The code with its memory, ready to run.
struct Running<'m> {
    setup: CodeSetup,
    features: Features,
    ring: Ring<'m>,
}

impl Running<'_> {
    #[inline]
    fn call(&self, at: usize, third: u64) -> u64 {
        let arguments = [self.ring.cursor() as u64, self.setup.bytes as u64, third];
        // SAFETY: this process exists only to run the code, which may break it. The parent process reports
        // how it ended.
        unsafe { self.setup.code.call_with(at, arguments) }
    }
}

impl Kernel for Running<'_> {
    fn run(&mut self, operations: u64) -> u64 {
        match self.setup.call {
            // The driver's loop runs at least once, so it must not be called for zero repetitions.
            Call::Counted(_) if operations == 0 => 0,
            Call::Counted(at) => self.call(at, operations),
            Call::Once(at) => (0..operations).fold(0, |_, _| self.call(at, 0)),
        }
    }
}

impl Shot for Running<'_> {
    fn prepare(&mut self) {
        let flush = |first: usize, bytes: usize| {
            // SAFETY: the lines are mapped and readable: they belong to the ring or to the code.
            unsafe { flush_bytes(first as *const u8, bytes, &self.features) };
        };
        flush(self.ring.cursor(), self.setup.bytes);
        if self.setup.flush == Flush::All {
            let code = self.setup.code.bytes();
            flush(code.as_ptr().addr(), code.len());
        }
    }

    fn shoot(&mut self) -> u64 {
        self.run(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_may_be_negative_is_lost_unless_it_is_known_well() {
        let lost = |lo, hi, is_warm| Time { ticks: [lo, hi], cycles: None }.is_lost(5.0, is_warm);
        assert!(lost(-4190.0, 96.0, false), "negative");
        assert!(lost(-3.0, 4.0, false), "a warm repetition takes 5");
        assert!(!lost(-1.0, 2.0, false));
        assert!(!lost(1.0, 9.0, false));
        assert!(lost(-2.0, 1.0, true));
        assert!(!lost(-3.0, 4.0, true));
    }
}
