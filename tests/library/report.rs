//! The report, from planted records and views: what is on the page, and what must not be.
#![cfg(feature = "lab")]

use linefill::counters::Quantity;
use linefill::experiment::{Claim, Count, Verdict, all};
use linefill::lab::analysis::Analysis;
use linefill::lab::read::parse;
use linefill::lab::record::{CountingLine, Record, VerdictLine};
use linefill::lab::report::view::{
    AxisView, CurveView, Figure, Form, ReferenceView, Section, UntestableView, Value,
};
use linefill::lab::report::{ReportView, build, render};
use linefill::stats::Interval;

/// A run of D14, D15 and D17 on a machine made up for this, stopped before the verdicts of D15 were
/// written, with a reason and a brand that look like markup.
const PLANTED: &str = include_str!("../fixtures/record/planted.jsonl");

fn planted_record() -> Record {
    parse(PLANTED.as_bytes()).expect("a record").record
}

fn report(record: Record) -> ReportView {
    build(&Analysis::of(record)).expect("a report")
}

fn planted() -> ReportView {
    report(planted_record())
}

/// The planted record of a machine that counts misses of L1d and has no event for walks of the
/// page tables: half a miss at every point of D14, by a counter that was shared.
fn counting() -> ReportView {
    let mut record = planted_record();
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
    assert_eq!(
        curve.label,
        format!("{}: L1d misses", timed.curves[0].label)
    );
    assert_eq!(curve.points.len(), timed.curves[0].points.len());
    assert!(curve.points.iter().all(|value| value.mid == 0.5));
    assert!(section("D15").counted.is_none(), "nothing of it was");
    let page = render(&view);
    assert_eq!(charts(&page).len(), charts(&render(&planted())).len() + 1);
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
    let expected = "Not counted, because &lt;nobody&gt; counts them: L2 misses (D14, D15, D17), page \
                    walks for loads (D14, D15, D17).";
    assert_eq!(markup.matches(expected).count(), 1, "{markup}");
    // A record from before anybody looked says nothing.
    assert!(!render(&planted()).contains("Not counted"));
}

/// The page with its scripts and styles emptied: what a reader sees, and what refers elsewhere.
fn markup(page: &str) -> String {
    let mut kept = page.to_owned();
    for name in ["script", "style"] {
        let (open, close) = (format!("<{name}"), format!("</{name}>"));
        let mut parts = kept.split(&open);
        let first = parts.next().expect("split yields one part").to_owned();
        let after = |part: &str| part.split_once(&close).expect("an end").1.to_owned();
        kept = first + &parts.map(after).collect::<String>();
    }
    kept
}

fn section(id: &str, form: Form) -> Section {
    let axis = |label: &str| AxisView {
        label: label.to_owned(),
        ..AxisView::default()
    };
    let curve = |label: &str, height: f64| CurveView {
        label: label.to_owned(),
        points: (1..=3)
            .map(|x| Value {
                x: f64::from(x),
                lo: height - 0.5,
                mid: height,
                hi: height + 0.5,
            })
            .collect(),
    };
    let claim = |verdict: Verdict| VerdictLine {
        claim: format!("{id} claims & <{}>", verdict.name()),
        numbers: format!("numbers of {id}, {}", verdict.name()),
        ..VerdictLine::bare(id, verdict)
    };
    Section {
        id: id.to_owned(),
        name: format!("name-of-{id}"),
        title: format!("Title of {id}"),
        question: format!("Question of {id}?"),
        source: format!("Source of {id}"),
        about: format!("About {id}."),
        seen: vec![(
            format!("Core of {id}"),
            format!("Seen on the core of {id}."),
        )],
        claims: Verdict::ALL.map(claim).to_vec(),
        figure: Some(Figure {
            form,
            x: axis("distance"),
            y: axis("time"),
            unit: "cycles per operation".to_owned(),
            curves: vec![curve("1", 4.0), curve("2", 8.0)],
            references: vec![ReferenceView {
                label: "1".to_owned(),
                machine: "an old machine".to_owned(),
                source: "an old paper".to_owned(),
                points: vec![(1.0, 3.0), (2.0, 3.0)],
            }],
            rules: Vec::new(),
            prediction: None,
        }),
        counted: None,
        states: vec![format!(
            "point of {id}: 1 ns in some passes, 9 ns in others"
        )],
        untestable: vec![UntestableView {
            series: "3".to_owned(),
            points: 7,
            reason: "no such instruction".to_owned(),
        }],
    }
}

fn every_form() -> ReportView {
    ReportView {
        machine: "Planted".to_owned(),
        sections: vec![
            section("D1", Form::Lines),
            section("D2", Form::Bars),
            section("D3", Form::Surface("length".to_owned())),
            section("D4", Form::Table),
        ],
        ..ReportView::default()
    }
}

/// The charts' descriptions, as plotly is given them.
fn charts(page: &str) -> Vec<serde_json::Value> {
    page.split("<script class=\"spec\" type=\"application/json\">")
        .skip(1)
        .map(|rest| {
            let json = rest.split("</script>").next().expect("an end");
            serde_json::from_str(json).expect("JSON")
        })
        .collect()
}

#[test]
fn the_page_holds_one_plotly_and_loads_nothing() {
    let page = render(&every_form());
    assert_eq!(page.matches("* plotly.js v").count(), 1);
    assert!(!page.contains("MathJax.js"));
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
    let markup = markup(&page);
    for forbidden in [
        "src=", "<link", "@import", "http://", "https://", "<iframe", "<img",
    ] {
        assert!(!markup.contains(forbidden), "{forbidden}");
    }
    assert!(markup.contains("default-src 'none'"));
    let targets = markup.split("href=\"").skip(1);
    for target in targets.map(|rest| rest.split('"').next().unwrap()) {
        let id = target.strip_prefix('#').expect("a link within the page");
        assert!(markup.contains(&format!("id=\"{id}\"")), "{target}");
    }
}

#[test]
fn every_verdict_is_counted_and_every_claim_is_there_escaped() {
    let view = every_form();
    let markup = markup(&render(&view));
    for (verdict, class) in [
        (Verdict::Holds, "holds"),
        (Verdict::DoesNotHold, "fails"),
        (Verdict::Inconclusive, "open"),
        (Verdict::Untestable, "untestable"),
    ] {
        assert_eq!(view.count(verdict), 4);
        assert!(markup.contains(&format!("<a href=\"#claims-{class}\"><b>4</b>")));
        let badges = markup
            .matches(&format!("<span class=\"badge {class}\">"))
            .count();
        // One a claim in its section, and one over the group of all claims.
        assert_eq!(badges, 5, "{class}");
        for id in ["D1", "D2", "D3", "D4"] {
            let claim = format!("{id} claims &amp; &lt;{}&gt;", verdict.name());
            assert!(markup.contains(&claim), "{claim}");
            assert!(markup.contains(&format!("numbers of {id}, {}", verdict.name())));
        }
    }
    assert!(markup.contains("no such instruction"));
}

#[test]
fn findings_come_first_and_say_what_changed() {
    let markup = markup(&render(&every_form()));
    let finding = markup
        .find("<article class=\"finding\">")
        .expect("a finding");
    assert!(finding < markup.find("id=\"claims\"").unwrap());
    assert_eq!(markup.matches("<article class=\"finding\">").count(), 4);
    assert_eq!(markup.matches("About D1.").count(), 2);
    let calm = render(&ReportView::default());
    assert!(calm.contains("No claim was put to the test."));
}

/// The longest part of a text that no markup changes.
fn plain_part(text: &str) -> &str {
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == ' '));
    parts.max_by_key(|part| part.len()).unwrap_or("")
}

/// Every claim under every verdict: beneath it stands what follows from that verdict, and nothing that
/// follows from another one.
#[test]
fn what_follows_is_chosen_by_the_verdict() {
    let mut followed = 0;
    for verdict in Verdict::ALL {
        let sections = all().into_iter().map(|experiment| {
            let line = |claim: &Claim| VerdictLine {
                id: claim.id.to_owned(),
                claim: claim.text.to_owned(),
                ..VerdictLine::bare(experiment.id, verdict)
            };
            Section {
                id: experiment.id.to_owned(),
                title: experiment.title.to_owned(),
                claims: experiment.claims.iter().map(line).collect(),
                figure: None,
                ..section(experiment.id, Form::Lines)
            }
        });
        let markup = markup(&render(&ReportView {
            sections: sections.collect(),
            ..ReportView::default()
        }));
        for claim in all().iter().flat_map(|experiment| experiment.claims) {
            let texts = [
                (Verdict::Holds, claim.holding),
                (Verdict::DoesNotHold, claim.failing),
            ];
            for (of, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
                let stands = markup.contains(plain_part(text));
                assert_eq!(
                    stands,
                    of == verdict,
                    "{} if it {}: {text}",
                    claim.id,
                    verdict.name()
                );
                followed += 1;
            }
        }
    }
    assert!(followed > 100, "{followed} sentences");
}

#[test]
fn each_form_is_drawn_as_what_it_is() {
    let page = render(&every_form());
    let charts = charts(&page);
    let types: Vec<&str> = charts
        .iter()
        .map(|chart| chart["data"][0]["type"].as_str().expect("a type"))
        .collect();
    assert_eq!(types, ["scatter", "bar", "surface", "surface"]);
    let surface = &charts[2]["data"][0];
    assert_eq!(surface["y"], serde_json::json!([1.0, 2.0]));
    assert_eq!(
        surface["z"],
        serde_json::json!([[4.0, 4.0, 4.0], [8.0, 8.0, 8.0]])
    );
    assert_eq!(charts[0]["data"][2]["line"]["dash"], "dot");
    // A table behind every plot, the paper's beside it.
    assert_eq!(page.matches("<details class=\"numbers\">").count(), 8);
    assert!(page.contains("8.00 <small>[7.50, 8.50]</small>"));
}

#[test]
fn a_record_becomes_sections_with_curves_rules_and_verdicts() {
    let view = planted();
    let ids: Vec<&str> = view.sections.iter().map(|part| part.id.as_str()).collect();
    assert_eq!(ids, ["D14", "D15", "D17"]);
    let figure = view.sections[1].figure.as_ref().expect("a figure");
    let labels: Vec<&str> = figure.curves.iter().map(|c| c.label.as_str()).collect();
    assert_eq!(labels, ["NPAD=0", "NPAD=7", "NPAD=15", "NPAD=31"]);
    let first = figure.curves[0].points[0];
    assert!(
        (first.mid - 4.0).abs() < 0.01 && first.lo < first.mid,
        "{first:?}"
    );
    assert!(!figure.references.is_empty());
    let rules: Vec<(&str, &str)> = figure
        .rules
        .iter()
        .map(|rule| (rule.label.as_str(), rule.meaning.as_str()))
        .collect();
    assert_eq!(rules[0], ("L1d", "L1d 32 KiB by CPUID"));
    assert!(rules[2].1.ends_with("MiB as measured"), "{rules:?}");
    assert!(view.notes.iter().any(|note| note.contains("stopped early")));
    assert!(view.notes.iter().any(|note| note.contains("noisy")));
    assert!(view.notes.iter().any(|note| note == "planted note"));
}

#[test]
fn a_recorded_verdict_stands_and_a_missing_one_is_decided() {
    let view = planted();
    let recorded = &view.sections[0].claims[0];
    assert_eq!(recorded.verdict, Verdict::Holds);
    assert!(recorded.numbers.contains("[3.88, 4.12]"));
    for verdict in Verdict::ALL {
        assert!(view.count(verdict) > 0, "{}", verdict.name());
    }
    let decided = &view.sections[1].claims;
    assert!(decided.iter().all(|claim| claim.numbers.contains("NPAD=")));
}

#[test]
fn what_a_record_says_is_never_markup() {
    let page = render(&planted());
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains("<CPU>"));
    let markup = markup(&page);
    assert!(
        markup.contains("planted reason: &lt;script&gt;alert('no')&lt;/script&gt; &amp; so on")
    );
    assert!(markup.contains("Planted &lt;CPU&gt; &amp; Co"));
}

#[test]
fn the_machine_sheet_sets_the_measured_beside_cpuid() {
    let view = planted();
    let row = |name: &str| view.sheet.iter().find(|row| row.name == name).unwrap();
    assert_eq!(
        row("L3").cpuid.as_deref(),
        Some("32 MiB, 16 ways, 32768 sets, lines of 64 B")
    );
    let measured = row("L3").measured.clone().expect("a measured size");
    assert!(
        ["about 12 MiB", "about 14 MiB"].contains(&measured.as_str()),
        "{measured}"
    );
    let step = row("random step in L1d")
        .measured
        .clone()
        .expect("a latency");
    assert!(step.starts_with("4.0 core cycles"), "{step}");
    assert_eq!(row("L4").kernel.as_deref(), Some("64 MiB"));
    assert_eq!(row("L4").cpuid, None);
    let stlb = row("STLB, pages of 4 KiB, 2 MiB").cpuid.as_deref();
    assert_eq!(stlb, Some("3072 entries, 12 ways"));
}
