//! Instruction fetch: the place of code in a line, inlining, and the place of cold code.

use crate::common::cases::Bench;
use linefill::cpu::CacheKind;

pub fn main(bench: &mut Bench) {
    let cases = bench.cases("E24");
    for (name, across) in [
        ("a loop of 24 bytes", 52.0),
        ("a loop of 48 bytes", 40.0),
        ("25 bytes that a loop jumps to", 52.0),
    ] {
        let inside = bench.time(&cases, name, 0.0);
        let across = bench.time(&cases, name, across);
        let what = format!("{name}, across two lines over on one");
        bench.ratio(&what, &across, &inside);
    }

    let l1i = bench.machine.caches.iter();
    let l1i = l1i.filter(|cache| cache.kind == CacheKind::Instruction);
    let l1i = l1i.map(|cache| cache.size as f64).next().unwrap_or(32768.0);
    let cases = bench.cases("E21");
    for part in [0.125, 3.0] {
        let inlined = bench.time(&cases, "inlined", part * l1i);
        let called = bench.time(&cases, "called", part * l1i);
        bench.ratio("called over inlined", &called, &inlined);
    }
    let cases = bench.cases("E22");
    for part in [0.25, 2.0] {
        let between = bench.time(&cases, "cold code between the hot", part * l1i);
        let moved = bench.time(&cases, "cold code moved away", part * l1i);
        bench.ratio("cold code between the hot over moved away", &between, &moved);
    }
}
