//! The report from planted records and views: what the page must and must not contain.
#![cfg(feature = "lab")]

automod::dir!("tests/library/report");

use crate::answer::{line, registry};
use crate::records;
use linefill::counters::Quantity;
use linefill::experiment::{Claim, Count, Document, Origin, Verdict, all, find_claim};
use linefill::lab::analysis::Analysis;
use linefill::lab::answer::{Counts, Summary, findings, papers};
use linefill::lab::record::{CountingLine, MACHINE, PointLine, Record, VerdictLine};
use linefill::lab::report::view::{
    AxisView, CurveView, Figure, Form, ReferenceView, Section, UntestableView, Value,
};
use linefill::lab::report::{ReportView, build, render};
use linefill::stats::Interval;

fn report(record: Record) -> ReportView {
    build(&Analysis::of(record)).expect("a report")
}

fn planted() -> ReportView {
    report(records::planted())
}

/// The number of drawings on a page.
fn charts(page: &str) -> usize {
    page.matches("<svg class=\"lines").count()
        + page.matches("<svg class=\"lanes").count()
        + page.matches("<svg class=\"cells").count()
}

/// The page without the contents of scripts and styles: what a reader sees, and references to other places.
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
    let axis = |label: &str| AxisView { label: label.to_owned(), ..AxisView::default() };
    let curve = |label: &str, height: f64| CurveView {
        label: label.to_owned(),
        points: (1..=3)
            .map(|x| Value { x: f64::from(x), lo: height - 0.5, mid: height, hi: height + 0.5 })
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
        seen: vec![(format!("Core of {id}"), format!("Seen on the core of {id}."))],
        claims: Verdict::ALL.map(claim).to_vec(),
        figure: Some(Figure {
            form,
            x: axis("distance"),
            y: axis("time"),
            unit: "cycles per operation".to_owned(),
            ns_per_cycle: None,
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
        states: vec![format!("point of {id}: 1 ns in some passes, 9 ns in others")],
        untestable: vec![UntestableView {
            series: "3".to_owned(),
            points: 7,
            reason: "no such instruction".to_owned(),
        }],
    }
}

fn every_form() -> ReportView {
    ReportView {
        sections: vec![
            section("D1", Form::Lines),
            section("D2", Form::Bars),
            section("D3", Form::Surface("length".to_owned())),
            section("D4", Form::Table),
        ],
        ..ReportView::default()
    }
}

#[test]
fn the_page_is_small_and_loads_nothing() {
    let page = render(&every_form());
    assert!(page.len() < 100_000, "{} bytes", page.len());
    let markup = markup(&page);
    // The policy refuses styles on single elements.
    for forbidden in [
        "src=",
        "<link",
        "@import",
        "http://",
        "https://",
        "<iframe",
        "<img",
        " style=",
        " onclick=",
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
fn every_claim_is_in_its_section_escaped() {
    let markup = markup(&render(&every_form()));
    for (verdict, class) in [
        (Verdict::Holds, "holds"),
        (Verdict::DoesNotHold, "fails"),
        (Verdict::Inconclusive, "open"),
        (Verdict::Untestable, "untestable"),
    ] {
        let badges = markup.matches(&format!("<span class=\"badge {class}\">")).count();
        assert_eq!(badges, 4, "{class}");
        for id in ["D1", "D2", "D3", "D4"] {
            let claim = format!("{id} claims &amp; &lt;{}&gt;", verdict.name());
            assert!(markup.contains(&claim), "{claim}");
            assert!(markup.contains(&format!("numbers of {id}, {}", verdict.name())));
        }
    }
    assert!(markup.contains("no such instruction"));
}

/// The report of a run with these verdicts.
fn judged(verdicts: &[VerdictLine]) -> ReportView {
    let sections = all().into_iter().map(|experiment| Section {
        claims: verdicts.iter().filter(|line| line.experiment == experiment.id).cloned().collect(),
        figure: None,
        ..section(experiment.id, Form::Lines)
    });
    ReportView {
        summary: Summary {
            papers: papers(verdicts),
            findings: findings(verdicts, 9),
            ..Summary::default()
        },
        sections: sections.collect(),
        ..ReportView::default()
    }
}

#[test]
fn the_answer_comes_first_and_every_claim_stands_once_in_the_annotated_papers() {
    let verdicts = registry();
    let view = judged(&verdicts);
    let markup = markup(&render(&view));
    let at = |text: &str| markup.find(text).unwrap_or_else(|| panic!("no {text}"));
    let order = [
        view.summary.headline(),
        "id=\"findings\"".to_owned(),
        "id=\"holding\"".to_owned(),
        "id=\"paper\"".to_owned(),
        "id=\"D1\"".to_owned(),
    ];
    assert!(order.map(|text| at(&text)).is_sorted());
    for line in &verdicts {
        let claim = format!("data-claim=\"{}\"", line.id);
        assert_eq!(markup.matches(&claim).count(), 1, "{claim}");
    }
    for (index, paper) in view.summary.papers.iter().enumerate() {
        for chapter in 0..paper.chapters.len() {
            at(&format!("id=\"paper-{index}-{chapter}\""));
        }
        if paper.chapters.len() > 1 {
            for chapter in &paper.chapters {
                at(&format!("<span class=\"name\">{}</span>", chapter.name));
            }
        }
    }
    // Undecided claims are in a collapsed section, with their number.
    let open = verdicts.iter().filter(|line| line.verdict == Verdict::Inconclusive);
    assert!(open.count() > 9 && markup.contains(" undecided</summary>"));
}

/// The head names the documents of which a claim was decided.
#[test]
fn the_head_has_no_document_of_which_nothing_was_decided() {
    let mut verdicts = registry();
    let head = |verdicts: &[VerdictLine]| {
        let page = markup(&render(&judged(verdicts)));
        let (_, rest) = page.split_once("Also here: ").expect("other documents");
        rest.split("</p>").next().unwrap_or_default().to_owned()
    };
    assert!(head(&verdicts).contains("Sestoft"));
    for line in &mut verdicts {
        let origin = find_claim(&line.id).expect("a claim").origin;
        if matches!(origin, Origin::Document { document: Document::Sestoft, .. }) {
            line.verdict = Verdict::Inconclusive;
        }
    }
    let head = head(&verdicts);
    assert!(head.contains("Startin") && !head.contains("Sestoft"), "{head}");
}

#[test]
fn cards_show_both_numbers_and_the_advice_of_their_verdict() {
    let claim = find_claim("D19.1").expect("a claim");
    let takeaway = claim.takeaway.expect("a takeaway");
    for (verdict, other) in
        [(Verdict::Holds, Verdict::DoesNotHold), (Verdict::DoesNotHold, Verdict::Holds)]
    {
        let line = VerdictLine { now: Some([190.0, 198.0]), ..line("D19", claim, verdict) };
        let markup = markup(&render(&judged(&[line])));
        let card = markup.split("<article class=\"card\">").nth(1).expect("a card");
        let card = card.split("</article>").next().expect("an end");
        for expected in ["194\u{a0}times", "25x to 51x", "194x", "190x to 198x", "href=\"#D19\""] {
            assert!(card.contains(expected), "{expected}: {card}");
        }
        assert!(card.contains(plain_part(takeaway.advice_on(verdict))));
        assert!(!card.contains(plain_part(takeaway.advice_on(other))));
    }
}

/// A record may end at any line, and contain anything that a run can leave.
#[test]
fn a_report_of_little_is_a_report() {
    let whole = records::planted();
    let nothing = Record::new(whole.header.clone());
    let ladder = |line: &PointLine| line.experiment == MACHINE;
    let only = |keep: &dyn Fn(&PointLine) -> bool| Record {
        points: whole.points.iter().filter(|line| keep(line)).cloned().collect(),
        ..nothing.clone()
    };
    let one = only(&|line| ladder(line) || line.experiment == "D14");
    let without_ladder = only(&|line| line.experiment == "D15");
    let mut few = only(&|_| true);
    few.points.truncate(3);
    for (record, what) in [
        (nothing.clone(), "no point"),
        (only(&ladder), "the ladder alone"),
        (one, "one experiment"),
        (without_ladder, "no ladder"),
        (few, "three points"),
    ] {
        let page = render(&report(record));
        assert!(page.contains("The run did not finish"), "{what}");
        assert!(page.contains("still hold") || page.contains("No claim"), "{what}");
    }
}

/// The longest part of a text that escaping does not change.
fn plain_part(text: &str) -> &str {
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == ' '));
    parts.max_by_key(|part| part.len()).unwrap_or("")
}

/// Every claim with every verdict: below it is the text for that verdict, and no text for another one.
#[test]
fn what_follows_is_chosen_by_the_verdict() {
    let mut followed = 0;
    for verdict in Verdict::ALL {
        let sections = all().into_iter().map(|experiment| {
            let line = |claim: &Claim| line(experiment.id, claim, verdict);
            Section {
                id: experiment.id.to_owned(),
                title: experiment.title.to_owned(),
                claims: experiment.claims.iter().map(line).collect(),
                figure: None,
                ..section(experiment.id, Form::Lines)
            }
        });
        let markup =
            markup(&render(&ReportView { sections: sections.collect(), ..ReportView::default() }));
        for claim in all().iter().flat_map(|experiment| experiment.claims) {
            let texts = [(Verdict::Holds, claim.holding), (Verdict::DoesNotHold, claim.failing)];
            for (of, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
                let stands = markup.contains(plain_part(text));
                assert_eq!(stands, of == verdict, "{} if it {}: {text}", claim.id, verdict.name());
                followed += 1;
            }
        }
    }
    assert!(followed > 100, "{followed} sentences");
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
    assert!((first.mid - 4.0).abs() < 0.01 && first.lo < first.mid, "{first:?}");
    assert!(!figure.references.is_empty());
    let rules: Vec<(&str, &str)> =
        figure.rules.iter().map(|rule| (rule.label.as_str(), rule.meaning.as_str())).collect();
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
    let counts = Counts::of(view.claims().map(|(_, claim)| claim));
    assert!(counts.here.iter().all(|count| *count > 0), "{counts:?}");
    let decided = &view.sections[1].claims;
    assert!(decided.iter().all(|claim| claim.numbers.contains("NPAD=")));
}

/// A verdict on a claim that this version words differently, from a time when claims had no ids, is left out,
/// and the report says so.
#[test]
fn verdicts_on_unknown_claims_are_counted() {
    let told = |view: &ReportView| view.notes.iter().any(|note| note.contains("another version"));
    assert!(!told(&planted()));
    let mut record = records::planted();
    let stored = record.verdicts.first_mut().expect("a verdict");
    stored.id.clear();
    stored.claim = "a claim of earlier times".to_owned();
    let analysis = Analysis::of(record.clone());
    assert_eq!(analysis.outdated, 1);
    assert!(told(&report(record)));
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
