//! The same as JSON.

use serde_json::{Value, json as value};

use super::{Layout, Measured, Scheme, Sharing, Touch, VARIANTS, advice, requests, sharers};
use crate::experiment::Untestable;
use crate::stats::Interval;

/// All that is said of a scheme whose structure begins at `start`.
pub fn json(scheme: &Scheme, start: u64, measured: &Result<Measured, Untestable>) -> Value {
    let layout = Layout::structure(scheme, start);
    let starts = scheme.starts();
    let name = |field: usize| &scheme.fields[field].name;
    let touch = |touch: &Touch| {
        value!({
            "thread": touch.thread,
            "field": name(touch.field),
            "access": if touch.write { "writes" } else { "reads" },
        })
    };
    let fields = scheme.fields.iter().enumerate().map(|(index, field)| {
        let lines = layout.parts(scheme, index).into_iter();
        value!({
            "field": field.name,
            "offset": field.offset,
            "size": field.size,
            "lines": lines.map(|(line, _)| line).collect::<Vec<_>>(),
        })
    });
    let shared = sharers(scheme, &layout).into_iter().map(|one| {
        value!({
            "line": one.line,
            "false_sharing": one.how.contains(&Sharing::False),
            "true_sharing": one.how.contains(&Sharing::True),
            "touches": one.touches.iter().map(touch).collect::<Vec<_>>(),
        })
    });
    let asked = requests(scheme, &layout);
    let trip = measured
        .as_ref()
        .ok()
        .and_then(|of| of.trip.nanos.clone().ok());
    let threads = scheme.threads().into_iter().enumerate();
    let threads = threads.map(|(index, thread)| {
        let waited = asked.waited_for[index];
        value!({
            "thread": thread,
            "requests_a_round": asked.of_thread[index],
            "at_most_ns_a_round": trip.map(|trip| interval(trip.scaled(waited / 2.0))),
        })
    });
    value!({
        "type": scheme.name,
        "size": scheme.size,
        "align": scheme.align,
        "line": scheme.line,
        "start": start,
        "starts_possible": starts.len(),
        "starts_with_false_sharing": super::place::falsely(scheme, &starts),
        "fields": fields.collect::<Vec<_>>(),
        "touches": scheme.touches.iter().map(touch).collect::<Vec<_>>(),
        "shared": shared.collect::<Vec<_>>(),
        "threads": threads.collect::<Vec<_>>(),
        "measured": match measured {
            Ok(measured) => of_measured(measured),
            Err(Untestable(reason)) => value!({ "untestable": reason }),
        },
        "advice": advice(scheme, start, measured.as_ref().ok()),
    })
}

fn interval(of: Interval) -> Value {
    value!({ "middle": of.middle(), "lo": of.lo, "hi": of.hi })
}

fn or_reason(of: &Result<Interval, Untestable>) -> Value {
    match of {
        Ok(of) => interval(*of),
        Err(Untestable(reason)) => value!({ "untestable": reason }),
    }
}

fn of_measured(measured: &Measured) -> Value {
    let threads = measured.threads.iter();
    let layouts = VARIANTS.iter().zip(&measured.rounds).enumerate();
    let layouts = layouts.map(|(index, ((name, _), (nanos, _)))| {
        value!({
            "layout": name,
            "ns_a_round": or_reason(nanos),
            "over_own_lines": measured.over(index, 1).map(interval),
            "over_pairs_of_lines": measured.over(index, 2).map(interval),
        })
    });
    value!({
        "threads": threads
            .map(|(thread, cpu)| value!({ "thread": thread, "cpu": cpu }))
            .collect::<Vec<_>>(),
        "round_trip_ns": or_reason(&measured.trip.nanos),
        "layouts": layouts.collect::<Vec<_>>(),
    })
}
