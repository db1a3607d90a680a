//! The facts of the run, in words.

use crate::lab::record::{EndLine, Header};
use crate::lab::size::show;

/// The brand, or the vendor and the numbers of a CPU without one.
pub(super) fn machine_name(header: &Header) -> String {
    let cpu = &header.cpu;
    match cpu.brand.trim() {
        "" => format!(
            "{} family {:X}h model {:X}h",
            cpu.vendor, cpu.family, cpu.model
        ),
        brand => brand.to_owned(),
    }
}

/// What is known of the run.
pub(super) fn facts(header: &Header, end: Option<&EndLine>) -> Vec<(String, String)> {
    let cpu = &header.cpu;
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let facts = [
        (
            "CPU",
            Some(format!(
                "{} family {:X}h, model {:X}h, stepping {}",
                cpu.vendor, cpu.family, cpu.model, cpu.stepping
            )),
        ),
        ("microarchitecture", cpu.microarchitecture.clone()),
        ("features", known(&cpu.features.join(", "))),
        ("masked away", known(&header.masked)),
        ("memory", header.memory.map(|size| show(size as f64))),
        ("hypervisor", header.hypervisor.clone()),
        ("system", header.os.clone()),
        ("pinned to", header.pinned.map(|cpu| format!("CPU {cpu}"))),
        ("profile", known(&header.profile)),
        ("pages", header.pages.clone()),
        ("selection", known(&header.selection.join(", "))),
        ("largest working set", Some(show(header.largest as f64))),
        ("seed", Some(header.seed.to_string())),
        ("duration", end.map(|end| format!("{:.0} s", end.seconds))),
        ("linefill", Some(version(header))),
        ("compiler", known(&header.rustc)),
    ];
    facts
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

fn version(header: &Header) -> String {
    match &header.revision {
        Some(revision) => format!("{} ({revision})", header.linefill),
        None => header.linefill.clone(),
    }
}
