//! What was counted beside the times of an experiment, and what could not be.

use maud::{Markup, html};

use super::build::at;
use super::text::prose;
use super::view::{AxisView, CountedView, CurveView, Figure, Form};
use crate::counters::Quantity;
use crate::experiment::{Counting, Experiment, Point, Shape};

/// The counts among `points` as a figure beside that of the times. `None` if nothing was counted.
pub(super) fn counted(
    experiment: &Experiment,
    points: &[Point],
    counting: &Counting,
    x: AxisView,
) -> Option<CountedView> {
    let mut curves: Vec<CurveView> = Vec::new();
    let mut quantities: Vec<Quantity> = Vec::new();
    let mut multiplexed = false;
    for point in points {
        for count in point.counts() {
            multiplexed |= count.multiplexed;
            if !quantities.contains(&count.quantity) {
                quantities.push(count.quantity);
            }
            let label = format!("{}: {}", point.series, count.quantity);
            let value = at(point.x, count.value);
            match curves.iter_mut().find(|curve| curve.label == label) {
                Some(curve) => curve.points.push(value),
                None => curves.push(CurveView {
                    label,
                    points: vec![value],
                }),
            }
        }
    }
    if curves.is_empty() {
        return None;
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    let form = match experiment.plot.map(|plot| plot.shape) {
        Some(Shape::Lines) => Form::Lines,
        Some(Shape::Bars) => Form::Bars,
        Some(Shape::Surface { .. } | Shape::Heat { .. }) | None => Form::Table,
    };
    let event = |quantity| counting.event(quantity).unwrap_or("an event").to_owned();
    Some(CountedView {
        figure: Figure {
            form,
            x,
            y: AxisView {
                label: "events".to_owned(),
                ..AxisView::default()
            },
            unit: "per operation".to_owned(),
            ns_per_cycle: None,
            curves,
            references: Vec::new(),
            rules: Vec::new(),
            prediction: None,
        },
        events: quantities
            .into_iter()
            .map(|quantity| (quantity.name().to_owned(), event(quantity)))
            .collect(),
        multiplexed,
    })
}

/// By which events it was counted, below the figure.
pub(super) fn legend(counted: &CountedView) -> Markup {
    let events = counted.events.iter();
    let events: Vec<String> = events.map(|(what, by)| format!("{what} by {by}")).collect();
    html! {
        p.source {
            (prose(&format!("Counted as the difference of N and 2N operations: {}.", events.join(", "))))
            @if counted.multiplexed {
                " Some events shared a counter and are extrapolated."
            }
        }
    }
}

/// What the experiments that were `run` want counted and this machine does not count: a sentence a
/// reason, however many points it concerns.
pub(super) fn uncounted(run: &[&Experiment], counting: &Counting) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (quantity, answer) in counting.answers() {
        let Err(reason) = answer else { continue };
        let wants = |experiment: &&&Experiment| experiment.events.contains(&quantity);
        let ids: Vec<&str> = run.iter().filter(wants).map(|of| of.id).collect();
        if ids.is_empty() {
            continue;
        }
        // Many ids would drown what they are about; the sections name their events themselves.
        let part = match ids.len() {
            ..=3 => format!("{quantity} ({})", ids.join(", ")),
            many => format!("{quantity} ({many} experiments)"),
        };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, parts)) => parts.push(part),
            None => reasons.push((reason, vec![part])),
        }
    }
    let sentence = |(reason, parts): (&str, Vec<String>)| {
        format!("Not counted, because {reason}: {}.", parts.join(", "))
    };
    reasons.into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::find;

    #[test]
    fn what_is_not_counted_is_said_once_a_reason() {
        let Some(c9) = find("C9") else {
            panic!("C9 is built");
        };
        let no_pmu = || Err("there is no PMU".to_owned());
        let counting = Counting::of([
            (Quantity::Cycles, no_pmu()),
            (Quantity::Instructions, no_pmu()),
        ]);
        assert_eq!(
            uncounted(&[c9], &counting),
            ["Not counted, because there is no PMU: instructions (C9)."]
        );
        assert!(uncounted(&[], &counting).is_empty(), "nobody wants it");
        let counts = Counting::of([(Quantity::Instructions, Ok("INST_RETIRED.ANY".into()))]);
        assert!(uncounted(&[c9], &counts).is_empty());
        assert!(uncounted(&[c9], &Counting::default()).is_empty());
    }
}
