//! The shared lines, their cost, and advice, as text and as JSON.

use comfy_table::Row;
use serde_json::{Value, json as value};

use super::place::falsely;
use super::{Layout, Measured, Scheme, Shared, Touch, VARIANTS, advice, requests, sharers};
use crate::experiment::Untestable;
use crate::lab::terminal::{table, table_text};
use crate::stats::Interval;
use crate::time::Rate;

/// Describes a scheme whose structure begins at `start`, in at most `width` columns. `rate` converts the
/// ticks of the measured threads; it is `None` if nothing was measured.
pub fn text(
    scheme: &Scheme,
    start: u64,
    measured: &Result<Measured, Untestable>,
    rate: Option<Rate>,
    width: u16,
) -> String {
    let layout = Layout::structure(scheme, start);
    let shared = sharers(scheme, &layout);
    let mut parts = vec![
        heading(scheme, start),
        fields(scheme, &layout, width),
        lines(scheme, &shared),
        predicted(scheme, &layout, measured.as_ref().ok()),
        match measured {
            Ok(measured) => timed(scheme, measured, rate, width),
            Err(reason) => format!("Not measured: {reason}."),
        },
        advice(scheme, start, measured.as_ref().ok()).join("\n"),
    ];
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn heading(scheme: &Scheme, start: u64) -> String {
    let name = match (&scheme.name, scheme.size) {
        (Some(name), Some(size)) => format!("{name}, {size} bytes"),
        (Some(name), None) => name.clone(),
        (None, _) => "Offsets".to_owned(),
    };
    let starts = scheme.starts();
    let line = scheme.line;
    let falsely = falsely(scheme, &starts);
    let begins = match starts.len() {
        1 => "it begins on a line".to_owned(),
        count if falsely == 0 || falsely == count => format!(
            "wherever in a line it begins (every {} bytes); shown from byte {start} on",
            scheme.align
        ),
        count => format!(
            "{falsely} of the {count} places in a line where it may begin make threads share \
             falsely; shown from byte {start} on"
        ),
    };
    format!("{name}, aligned to {}, lines of {line} bytes: {begins}", scheme.align)
}

fn who(scheme: &Scheme, field: usize, write: bool) -> String {
    let own = scheme.touches.iter().filter(|touch| touch.field == field && touch.write == write);
    let threads: Vec<String> = own.map(|touch| touch.thread.to_string()).collect();
    if threads.is_empty() { "-".to_owned() } else { threads.join(", ") }
}

fn fields(scheme: &Scheme, layout: &Layout, width: u16) -> String {
    let mut table = table(&["field", "offset", "size", "line", "written by", "read by"], width);
    for (index, field) in scheme.fields.iter().enumerate() {
        let parts = layout.parts(scheme, index);
        let line = match (parts.first(), parts.last()) {
            (Some((first, _)), Some((last, _))) if first != last => format!("{first} to {last}"),
            (Some((first, _)), _) => first.to_string(),
            (None, _) => "-".to_owned(),
        };
        table.add_row(Row::from([
            field.name.clone(),
            field.offset.to_string(),
            field.size.to_string(),
            line,
            who(scheme, index, true),
            who(scheme, index, false),
        ]));
    }
    table_text(&table)
}

fn lines(scheme: &Scheme, shared: &[Shared]) -> String {
    let does = |touch: &Touch| {
        let verb = if touch.write { "writes" } else { "reads" };
        let field = &scheme.fields[touch.field].name;
        format!("thread {} {verb} {field}", touch.thread)
    };
    let line = |one: &Shared| {
        let how = match (one.falsely, one.truly) {
            (true, false) => "false sharing",
            (false, _) => "true sharing",
            (true, true) => "false and true sharing",
        };
        let touches: Vec<String> = one.touches.iter().map(does).collect();
        format!("Line {}: {how}: {}.", one.line, touches.join(", "))
    };
    match shared {
        [] => "No line is shared with a writer.".to_owned(),
        some => some.iter().map(line).collect::<Vec<_>>().join("\n"),
    }
}

fn predicted(scheme: &Scheme, layout: &Layout, measured: Option<&Measured>) -> String {
    let asked = requests(scheme, layout);
    let trip = measured.and_then(|measured| measured.trip.as_ref().ok());
    let mut text = "Predicted, if the threads make one access each in turn (MESI):".to_owned();
    for (index, thread) in scheme.threads().into_iter().enumerate() {
        let (own, waited) = (asked.of_thread[index], asked.waited_for[index]);
        text += &format!("\n  thread {thread} asks for a line {own:.2} times per round");
        if let Some(trip) = trip.filter(|_| waited > 0.0) {
            text += &format!(
                ", and waits for {waited:.2} line transfers: {} ns",
                trip.scaled(waited / 2.0)
            );
        }
    }
    if let Some(measured) = measured {
        let [first, second] = measured.trip_cpus;
        text += &match &measured.trip {
            Ok(trip) => format!(
                "\nA transfer is half a round trip between CPU {first} and {second}, which takes \
                 {trip} ns. Between cores that are farther apart it takes longer. A core that \
                 keeps a line for several accesses waits less often."
            ),
            Err(reason) => format!("\nThe round trip of a line was not measured: {reason}."),
        };
    }
    text
}

fn timed(scheme: &Scheme, measured: &Measured, rate: Option<Rate>, width: u16) -> String {
    let threads = measured.threads.iter();
    let locations: Vec<String> =
        threads.map(|(thread, cpu)| format!("thread {thread} on CPU {cpu}")).collect();
    let mut text = format!("Measured: {}.", locations.join(", "));
    if measured.threads.len() < scheme.threads().len() {
        text +=
            " Others are left out: threads on one CPU take turns and do not disturb each other.";
    }
    let headings =
        ["layout", "ns per round, slowest", "quickest", "times own lines", "times pairs"];
    let mut table = table(&headings, width);
    let all = VARIANTS.iter().zip(&measured.rounds).enumerate();
    for (index, ((name, lines), (nanos, stats))) in all {
        let name = match lines {
            0 => (*name).to_owned(),
            lines => format!("{name} ({} B)", lines * scheme.line),
        };
        let over = |padded| {
            let over = measured.over(index, padded).filter(|_| index != padded);
            over.map_or_else(|| "-".to_owned(), |over| over.to_string())
        };
        let quickest = stats.zip(rate).map(|(stats, rate)| stats.fastest * 1e9 / rate.hz());
        table.add_row(Row::from([
            name,
            nanos.as_ref().map_or_else(ToString::to_string, ToString::to_string),
            quickest.map_or_else(|| "-".to_owned(), |nanos| format!("{nanos:.2}")),
            over(1),
            over(2),
        ]));
    }
    text + "\n" + &table_text(&table)
}

/// Describes a scheme whose structure begins at `start` as JSON.
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
            "false_sharing": one.falsely,
            "true_sharing": one.truly,
            "touches": one.touches.iter().map(touch).collect::<Vec<_>>(),
        })
    });
    let asked = requests(scheme, &layout);
    let trip = measured.as_ref().ok().and_then(|of| of.trip.clone().ok());
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
        "starts_with_false_sharing": falsely(scheme, &starts),
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
        "round_trip_ns": or_reason(&measured.trip),
        "layouts": layouts.collect::<Vec<_>>(),
    })
}
