//! Counts of events in the report, and why there are none.

use super::*;

/// The planted record, on a machine that counts misses of L1d but has no event for page walks: half a miss at
/// every point of D14, from a multiplexed counter.
fn counting() -> ReportView {
    let mut record = records::planted();
    let answer = |counts: &str, by: Option<&str>, refused: Option<&str>| CountingLine {
        counts: counts.to_owned(),
        by: by.map(str::to_owned),
        refused: refused.map(str::to_owned),
    };
    record.header.counting = vec![
        answer("L1d misses", Some("ls_dmnd_fills_from_sys.all"), None),
        answer("L2 misses", None, Some("<nobody> counts them")),
        answer("page walks for loads", None, Some("<nobody> counts them")),
    ];
    for line in &mut record.points {
        if let Some(measured) = line.point.measured_mut()
            && line.experiment == "D14"
        {
            measured.counts.push(Count {
                quantity: Quantity::L1dMisses,
                value: Interval::exact(0.5),
                multiplexed: true,
            });
        }
    }
    report(record)
}

#[test]
fn counts_have_a_plot_a_table_and_the_vendors_name() {
    let view = counting();
    let section = |id: &str| view.sections.iter().find(|of| of.id == id).unwrap();
    let counted = section("D14").counted.as_ref().expect("D14 was counted");
    assert_eq!(counted.figure.form, Form::Lines);
    let timed = section("D14").figure.as_ref().unwrap();
    let curve = &counted.figure.curves[0];
    assert_eq!(curve.label, format!("{}: L1d misses", timed.curves[0].label));
    assert_eq!(curve.points.len(), timed.curves[0].points.len());
    assert!(curve.points.iter().all(|value| value.mid == 0.5));
    assert!(section("D15").counted.is_none(), "nothing of it was");
    let page = render(&view);
    assert_eq!(charts(&page), charts(&render(&planted())) + 1);
    let markup = markup(&page);
    for expected in [
        "Events per operation",
        "L1d misses by ls_dmnd_fills_from_sys.all",
        "Some events shared a counter",
    ] {
        assert_eq!(markup.matches(expected).count(), 1, "{expected}");
    }
}

#[test]
fn what_is_not_counted_is_said_once_with_its_reason() {
    let markup = markup(&render(&counting()));
    let expected = "Not counted, because &lt;nobody&gt; counts them: L2 misses (D14, D15, D17), \
                    page walks for loads (D14, D15, D17).";
    assert_eq!(markup.matches(expected).count(), 1, "{markup}");
    // A record without the field says nothing about counting.
    assert!(!render(&planted()).contains("Not counted"));
}
