//! Passes arbitrary bytes to the program's parsers: one function per kind of input. The mutation tests and
//! the fuzz targets share them. None may panic. Input of the wrong kind must give an error.

// Each fuzz target uses only one function.
#![allow(dead_code)]

use std::fs;
use std::path::Path;

use linefill::lab::analysis::Analysis;
use linefill::lab::compare::{self, Gate, differences, sides};
use linefill::lab::layout::print::{Style, declaration, numbers};
use linefill::lab::layout::{Binary, Places, Reorder, Summary, TypeJson};
use linefill::lab::read::{self, Reading};
use linefill::lab::report::{build, render};
use linefill::lab::simulate::{
    Config, Tally, affordable, feed, heat_text, trace_json, trace_table,
};
use linefill::lab::{plain, sharing, size};
use linefill::sim::trace::lackey;
use linefill::sim::{Hierarchy, HierarchyDesign, Reference};

/// A record, as for `report`, `compare` and `machine --record`. Also writes the pages if `pages`, because
/// their scripts have megabytes.
///
/// # Errors
/// The wrong line, and what is wrong with it.
pub fn record(data: &[u8], pages: bool) -> Result<Reading, (Option<usize>, String)> {
    let reading = read::parse(data)?;
    let analysis = Analysis::of(reading.record.clone());
    assert!(!analysis.sheet().is_empty());
    for answer in &analysis.answers {
        assert_eq!(answer.claims.len(), answer.experiment.claims.len());
    }
    let view = build(&analysis).expect("a record has a report");
    let named = |name: &str| (name.to_owned(), reading.clone());
    let sides = sides(vec![named("a"), named("a")]).expect("as it has");
    let found = differences(&sides[0], &sides[1]);
    let printed = compare::table(&found, 100) + &compare::verdicts(&sides, 100);
    assert!(matches!(plain::lines(&printed), std::borrow::Cow::Borrowed(_)), "{printed}");
    compare::json(&sides, std::slice::from_ref(&found), &[]);
    if pages {
        for page in [render(&view), compare::render(&sides, &[found])] {
            assert!(page.ends_with("</html>"));
        }
    }
    Ok(reading)
}

/// The caches that simulate the traces.
const CACHES: &str = "L1i=1K/2:plru:wt,L1d=1K/2/32:random@7:next:stride:stream@4,\
                      L2=4K/4/64:QLRU_H11_M1_R0_U0:incl:nwa,dTLB=4/2,STLB=8/2";
const EXCLUSIVE: &str = "L1=1K/full:lru,L2=4K/4:rr,L3=8K/2:mru:excl";

/// A trace, in either form.
///
/// # Errors
/// What is wrong with it.
pub fn trace(data: &[u8]) -> Result<Tally, String> {
    let mut configs: Vec<Config> = [CACHES, EXCLUSIVE]
        .iter()
        .map(|text| Config::new(text, &text.parse().unwrap(), true).unwrap())
        .collect();
    let tally = feed(data, "trace", &mut configs, None).map_err(|error| format!("{error:#}"))?;
    assert!(!trace_table("trace", &tally, &configs, 100).is_empty());
    assert!(!heat_text(&configs).is_empty());
    trace_json("trace", &tally, &configs);
    Ok(tally)
}

/// The maximum number of lines of a cache that is built here.
const FEW_LINES: u64 = 1 << 12;

/// The input as text of a command line: caches, and everything else that is parsed from its words.
///
/// # Errors
/// What is wrong with the caches.
pub fn configuration(data: &[u8]) -> Result<HierarchyDesign, String> {
    let text = String::from_utf8_lossy(data);
    let _ = size::parse(&text).map(|bytes| size::show(bytes as f64));
    let _ = text.parse::<Gate>().map_err(|error| error.to_string());
    let _ = lackey::parse(data);
    let fields: [sharing::Field; 0] = [];
    let _ = sharing::touches(&text, &fields, true).map_err(|error| error.to_string());
    let design: HierarchyDesign = text.parse().map_err(|error| format!("{error}"))?;
    // The output must parse to the same design.
    assert_eq!(design.to_string().parse::<HierarchyDesign>().as_ref(), Ok(&design), "{text}");
    let _ = affordable(&[(text.into_owned(), design.clone())], 3);
    if design.lines() > FEW_LINES {
        return Ok(design);
    }
    let mut hierarchy = Hierarchy::new(&design).expect("it was read").with_heat();
    for at in 0..200_u64 {
        let places = [at * 64, at * at * 4099, u64::MAX - at, at << 40];
        for (index, address) in places.into_iter().enumerate() {
            let bytes = [1, 8, 100, 4096][index];
            hierarchy.reference(Reference::load(address, bytes));
            hierarchy.reference(Reference::store(address ^ at, bytes));
            hierarchy.reference(Reference::fetch(address, bytes));
        }
    }
    hierarchy.clean();
    hierarchy.memory();
    Ok(design)
}

/// A binary with debug information, written to the file `at` first.
///
/// # Errors
/// What is wrong with it.
pub fn debug_information(data: &[u8], at: &Path) -> Result<usize, String> {
    fs::write(at, data).expect("a file for the binary");
    layout(at).map_err(|error| format!("{error:#}"))
}

fn layout(at: &Path) -> anyhow::Result<usize> {
    let places = Places { named: None, tree: Path::new("/nonexistent") };
    let binary = Binary::open(at, &places)?;
    let style = |expand| Style { line: 64, expand };
    let listed = binary.list(&[], 64)?;
    for (path, _) in &listed {
        assert!(matches!(plain::word(path), std::borrow::Cow::Borrowed(_)), "{path:?}");
    }
    let _ = binary.types(&["foo".to_owned()]).map_err(|error| error.to_string());
    for definition in binary.types(&["*".to_owned()])? {
        let aggregate = &*definition.aggregate;
        let text = declaration(aggregate, style(true)) + &declaration(aggregate, style(false));
        assert!(matches!(plain::lines(&text), std::borrow::Cow::Borrowed(_)), "{text:?}");
        numbers(aggregate, &Summary::of(aggregate, 64), 64);
        if let Reorder::Better(better) = Reorder::of(aggregate, 64) {
            declaration(&better.aggregate, style(false));
        }
        serde_json::to_string(&TypeJson::of(&definition, 64))?;
        for member in aggregate.used().filter_map(|member| member.name.as_deref()).take(100) {
            let _ = aggregate.field(member).map_err(|error| error.to_string());
        }
    }
    Ok(listed.len())
}
