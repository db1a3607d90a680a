//! The machine sheet of a planted record: what was measured, beside what CPUID and the kernel say.
#![cfg(feature = "lab")]

use linefill::lab::analysis::Analysis;
use linefill::lab::read::parse;

const PLANTED: &str = include_str!("../fixtures/record/planted.jsonl");

#[test]
fn the_machine_sheet_sets_the_measured_beside_cpuid() {
    let record = parse(PLANTED.as_bytes()).expect("a record").record;
    let sheet = Analysis::of(record).sheet();
    let row = |name: &str| sheet.iter().find(|row| row.name == name).unwrap();
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
