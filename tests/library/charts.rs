//! Charts: how a figure is drawn, and that every figure can be drawn.
#![cfg(feature = "lab")]

use std::process::{Command, Stdio};

use linefill::lab::report::view::{
    AxisView, CurveView, Figure, Form, PredictionView, ReferenceView, Rule, Section, Value,
};
use linefill::lab::report::{ReportView, render};
use proptest::prelude::*;

fn curve(label: &str, points: &[(f64, f64)]) -> CurveView {
    let value = |&(x, mid): &(f64, f64)| Value { x, lo: mid * 0.75, mid, hi: mid * 1.25 };
    CurveView { label: label.to_owned(), points: points.iter().map(value).collect() }
}

fn reference(label: &str, points: &[(f64, f64)]) -> ReferenceView {
    ReferenceView {
        label: label.to_owned(),
        machine: "an old machine".to_owned(),
        source: "an old paper".to_owned(),
        points: points.to_vec(),
    }
}

fn prediction(curves: Vec<CurveView>) -> PredictionView {
    PredictionView {
        curves,
        error: None,
        points: 0,
        own_quantity: 0,
        bar: 0.25,
        models: vec!["a model".to_owned()],
        lacks: Vec::new(),
    }
}

/// Curves over working sets, with two logarithmic axes.
fn figure(form: Form, curves: Vec<CurveView>) -> Figure {
    Figure {
        form,
        x: AxisView { label: "working set".to_owned(), log: true, bytes: true },
        y: AxisView { label: "time".to_owned(), log: true, bytes: false },
        unit: "cycles per operation".to_owned(),
        ns_per_cycle: Some(0.25),
        curves,
        references: Vec::new(),
        rules: Vec::new(),
        prediction: None,
    }
}

fn page(figure: Figure) -> String {
    let section = Section {
        id: "D1".to_owned(),
        name: String::new(),
        title: "Title".to_owned(),
        question: String::new(),
        source: String::new(),
        about: String::new(),
        seen: Vec::new(),
        claims: Vec::new(),
        figure: Some(figure),
        counted: None,
        untestable: Vec::new(),
        states: Vec::new(),
    };
    render(&ReportView { sections: vec![section], ..ReportView::default() })
}

/// The figure as it is on the page.
fn drawn(figure: Figure) -> String {
    let page = page(figure);
    let (_, rest) = page.split_once("<figure>").expect("a figure");
    rest.split_once("</figure>").expect("its end").0.to_owned()
}

/// The marks of each series in a drawing, with their classes: `<path class="m" d="...">`.
fn groups(drawn: &str) -> Vec<&str> {
    // The legend's swatches have no data.
    let groups = drawn.split("<g class=\"s ").skip(1);
    let whole = groups.map(|rest| rest.split("</g>").next().expect("its end"));
    whole.filter(|group| group.contains("data-l=")).collect()
}

/// The number of marks in the path with these classes.
fn marks(group: &str, class: &str) -> usize {
    let Some((_, rest)) = group.split_once(&format!("<path class=\"{class}\" d=\"")) else {
        return 0;
    };
    rest.split('"').next().unwrap().matches(['M', 'L']).count()
}

const DOUBLES: [(f64, f64); 4] = [(4096.0, 4.0), (8192.0, 5.0), (16384.0, 9.0), (32768.0, 20.0)];

#[test]
fn every_curve_has_its_marks_and_a_single_point_is_a_point() {
    let mut figure = figure(Form::Lines, vec![curve("a", &DOUBLES), curve("b", &DOUBLES[2..3])]);
    figure.references = vec![reference("a", &DOUBLES[..3]), reference("c", &DOUBLES[1..2])];
    figure.prediction = Some(prediction(vec![curve("a", &DOUBLES), curve("b", &DOUBLES[2..3])]));
    let drawn = drawn(figure);
    let of = |owner: &str, label: usize| {
        let data = format!(" data-l=\"{label}\"");
        let mut groups = groups(&drawn).into_iter();
        let group = groups.find(|group| group.starts_with(owner) && group.contains(&data));
        let group = group.unwrap_or_else(|| panic!("{owner} {label}: {drawn}"));
        (marks(group, "l"), marks(group, "m"))
    };
    assert_eq!(of("here k0", 0), (4, 4));
    assert_eq!(of("here k1", 1), (0, 1));
    // The document's curve with the same label has the same marker.
    assert_eq!(of("then k0", 0), (3, 3));
    assert_eq!(of("then k2", 2), (0, 1));
    // Only predictions have the class for dashed lines.
    assert_eq!(of("model k0", 0), (4, 0));
    assert_eq!(of("model k1", 1), (0, 1));
    assert_eq!(groups(&drawn).len(), 6);
    for owner in ["this machine", "an old machine", "predicted"] {
        assert_eq!(drawn.matches(&format!("</svg>{owner}<")).count(), 1, "{owner}");
    }
}

/// Each mark names a table and a column, so that the script can find its number.
#[test]
fn every_mark_has_its_number_in_the_table_that_it_names() {
    let odd = [(4096.0, 0.0), (8192.0, 5.0), (65536.0, 9.0)];
    let mut figure = figure(Form::Lines, vec![curve("a", &DOUBLES), curve("b", &odd)]);
    figure.references = vec![
        reference("a", &DOUBLES[1..]),
        reference("c", &DOUBLES[..2]),
        ReferenceView { machine: "another one".to_owned(), ..reference("a", &DOUBLES[..3]) },
    ];
    figure.prediction = Some(prediction(vec![curve("b", &DOUBLES)]));
    let drawn = drawn(figure);
    let tables: Vec<&str> = drawn.split("<table>").skip(1).collect();
    assert_eq!(tables.len(), 4);
    let attribute = |group: &str, name: &str| -> Vec<usize> {
        let Some((_, rest)) = group.split_once(&format!(" {name}=\"")) else {
            return Vec::new();
        };
        let words = rest.split('"').next().unwrap().split(' ');
        words.map(|word| word.parse().unwrap()).collect()
    };
    for group in groups(&drawn) {
        let [table, column] = attribute(group, "data-c")[..] else {
            panic!("{group}");
        };
        let rows = tables[table].split("<tr>").skip(2);
        let cells = rows.map(|row| row.split("<td>").nth(column + 1).unwrap());
        let numbers = cells.filter(|cell| !cell.is_empty() && !cell.starts_with('<'));
        let numbers = numbers.count();
        let all = marks(group, "l") + attribute(group, "data-skip").len();
        assert_eq!(numbers, all, "{group}");
    }
}

#[test]
fn intervals_are_drawn_where_they_show() {
    let mut figure = figure(Form::Lines, vec![curve("a", &DOUBLES)]);
    assert_eq!(marks(groups(&drawn(figure.clone()))[0], "e"), 4);
    for value in &mut figure.curves[0].points {
        (value.lo, value.hi) = (value.mid * 0.999, value.mid * 1.001);
    }
    assert_eq!(marks(groups(&drawn(figure))[0], "e"), 0);
}

#[test]
fn what_a_label_says_is_never_markup() {
    let labels = ["<b>&\"", "<script>alert('no')</script>"];
    let curves = labels.map(|label| curve(label, &DOUBLES)).to_vec();
    for form in [Form::Lines, Form::Bars, Form::Surface("<i>".to_owned())] {
        let drawn = drawn(figure(form, curves.clone()));
        assert!(!drawn.contains("<b>&") && !drawn.contains("<script>") && !drawn.contains("<i>"));
        assert!(drawn.contains("&lt;b&gt;&amp;&quot;"), "{drawn}");
    }
}

#[test]
fn a_logarithmic_axis_leaves_out_what_has_no_place_and_says_which() {
    let points = [(1024.0, 0.0), (2048.0, -1.0), (4096.0, 4.0), (8192.0, f64::NAN), (16384.0, 8.0)];
    let drawn = drawn(figure(Form::Lines, vec![curve("a", &points)]));
    let group = groups(&drawn)[0];
    assert!(group.contains(" data-skip=\"0 1 3\""), "{group}");
    assert_eq!(marks(group, "m"), 2);
}

#[test]
fn things_in_a_list_have_a_lane_each_and_no_line_between_them() {
    let mut figure = figure(Form::Bars, vec![curve("a", &DOUBLES), curve("b", &DOUBLES[..2])]);
    figure.references = vec![reference("a", &DOUBLES[..1])];
    let lanes = drawn(figure.clone());
    assert!(lanes.contains("<svg class=\"lanes\""));
    assert_eq!(lanes.matches("class=\"end lane\"").count(), 6);
    let all: Vec<(usize, usize)> =
        groups(&lanes).iter().map(|g| (marks(g, "l"), marks(g, "m"))).collect();
    assert_eq!(all, [(0, 1), (0, 4), (0, 2)]);
    // Three places on a linear axis are also drawn as a list.
    figure.form = Form::Lines;
    figure.x = AxisView::default();
    for curve in &mut figure.curves {
        curve.points.truncate(3);
    }
    assert!(drawn(figure).contains("<svg class=\"lanes\""));
}

#[test]
fn a_map_has_a_cell_for_every_point_and_a_bar_of_its_colours() {
    let curves = (1..=20).map(|length| curve(&length.to_string(), &DOUBLES));
    let map = drawn(figure(Form::Surface("length".to_owned()), curves.collect()));
    let cells = groups(&map).into_iter().map(|group| group.matches("h89v").count());
    assert_eq!(cells.sum::<usize>(), 80);
    assert_eq!(map.matches("<svg class=\"colours\"").count(), 1);
    // The longest list is the top row.
    assert!(map.find(">20</text>").unwrap() < map.find(">1</text>").unwrap());
}

#[test]
fn many_curves_become_small_charts_or_a_map() {
    let labels = ["read", "write", "copy"];
    let widths = ["16 B", "32 B", "64 B", "128 B"];
    let curves = labels.iter().flat_map(|what| {
        let points: Vec<(f64, f64)> = (10..24).map(|power| (2f64.powi(power), 5.0)).collect();
        widths.iter().map(move |width| curve(&format!("{what}, {width}"), &points))
    });
    let mut figure = figure(Form::Lines, curves.collect());
    let small = drawn(figure.clone());
    assert_eq!(small.matches("<div class=\"panel\">").count(), 3);
    assert_eq!(groups(&small).len(), 12);
    for curve in &mut figure.curves {
        curve.points.truncate(4);
    }
    assert!(drawn(figure).contains("<svg class=\"cells\""));
}

#[test]
fn colours_stand_in_the_style_for_light_and_dark_and_print() {
    let page = page(figure(Form::Lines, vec![curve("a", &DOUBLES)]));
    let (_, style) = page.rsplit_once("<style>").unwrap();
    for wanted in
        ["prefers-color-scheme: dark", "@media print", ".here {", ".then {", ".model {", ".h8 {"]
    {
        assert!(style.contains(wanted), "{wanted}");
    }
    let body = page.split_once("<body>").unwrap().1;
    let (markup, _) = body.split_once("<script>").unwrap();
    for fixed in ["fill=\"", "stroke=\"", "rgb(", "#000"] {
        assert!(!markup.contains(fixed), "{fixed}");
    }
}

/// The policy must contain the hashes of exactly the texts on the page. Another program computes them for
/// comparison.
#[test]
fn the_policy_allows_the_scripts_and_styles_of_the_page_alone() {
    let page = page(figure(Form::Lines, vec![curve("a", &DOUBLES)]));
    let (_, rest) = page.split_once("Content-Security-Policy\" content=\"").expect("a policy");
    let policy = rest.split('"').next().unwrap().replace("&#39;", "'");
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let mut texts = 0;
    for name in ["script", "style"] {
        for part in page.split(&format!("<{name}>")).skip(1) {
            let text = part.split(&format!("</{name}>")).next().unwrap();
            let Some(hash) = sha256(text) else {
                return crate::common::untested::tool("openssl");
            };
            assert!(policy.contains(&format!("'sha256-{hash}'")), "{name}: {hash}");
            texts += 1;
        }
    }
    assert_eq!(policy.matches("sha256-").count(), texts);
}

/// The base64 hash of a text, computed by `openssl`. `None` if openssl is missing.
fn sha256(text: &str) -> Option<String> {
    use std::io::Write;
    let pipe = "openssl dgst -sha256 -binary | openssl base64 -A";
    let mut child = Command::new("sh")
        .args(["-c", pipe])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    let out = child.wait_with_output().ok()?;
    let hash = String::from_utf8(out.stdout).ok()?;
    (hash.len() == 44).then_some(hash)
}

/// Numbers of all magnitudes, infinities and NaN.
fn numbers() -> impl Strategy<Value = f64> {
    const SPECIAL: [f64; 6] =
        [0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, f64::MAX];
    // One selection, and first: proptest makes a generator for each alternative up to the one that it takes.
    prop_oneof![
        6 => proptest::sample::select(&SPECIAL[..]),
        4 => 0.001..1e6,
        1 => proptest::num::f64::ANY,
    ]
}

fn curves() -> impl Strategy<Value = Vec<CurveView>> {
    let value = (numbers(), numbers(), numbers(), numbers());
    let value = value.prop_map(|(x, lo, mid, hi)| Value { x, lo, mid, hi });
    let points = proptest::collection::vec(value, 0..6);
    let label = prop_oneof!["[a-z]{0,3}, [a-z]{0,40}", "[0-9]{1,2}"];
    let curve = (label, points).prop_map(|(label, points)| CurveView { label, points });
    proptest::collection::vec(curve, 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Any numbers can be drawn, and every coordinate is a finite number.
    #[test]
    fn any_figure_is_drawn(
        curves in curves(),
        predicted in curves(),
        form in prop_oneof![
            Just(Form::Lines),
            Just(Form::Bars),
            Just(Form::Surface("depth".to_owned())),
        ],
        logs in any::<[bool; 4]>(),
        label in "[a-z]{0,8}( \\(0\\))?",
        rule in numbers(),
    ) {
        let mut figure = figure(form, curves);
        (figure.x.log, figure.x.bytes) = (logs[0], logs[1]);
        (figure.y.log, figure.y.bytes) = (logs[2], logs[3]);
        figure.x.label = label;
        figure.references = predicted
            .iter()
            .map(|of| {
                let points: Vec<_> = of.points.iter().map(|value| (value.x, value.mid)).collect();
                reference(&of.label, &points)
            })
            .collect();
        figure.prediction = Some(prediction(predicted));
        figure.rules = vec![Rule { label: "L2".to_owned(), meaning: String::new(), x: rule }];
        let drawn = drawn(figure);
        // Only the drawings: the tables may say that a value is not a number.
        let drawings = drawn.split("<details class=\"numbers\">").next().unwrap();
        for attribute in [" d=\"", " x=\"", " y=\"", " viewBox=\"", " transform=\"", " data-s=\""] {
            for rest in drawings.split(attribute).skip(1) {
                let value = rest.split('"').next().unwrap();
                let is_number = !value.contains("NaN") && !value.contains("inf");
                prop_assert!(is_number, "{attribute}{value}");
            }
        }
    }
}
