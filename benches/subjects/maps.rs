//! Sestoft's program with the maps that he compares and with equivalents of Java's maps: starting from an
//! empty map, with one thread and with one thread per core.

use crate::common::cases::Bench;
use linefill::experiment::topics::maps::map::MapKind;

pub fn main(bench: &mut Bench) {
    let maps = bench.cases("B10");
    let cores = bench.machine.cpu_order.cores();
    let mut timed =
        |threads: usize| MapKind::ALL.map(|map| bench.time(&maps, map.name(), threads as f64));
    let alone = timed(1);
    let all = (cores > 1).then(|| timed(cores));
    for [striped, write, padded, dash, papaya] in [Some(alone), all].into_iter().flatten() {
        bench.ratio("StripedMap over StripedWriteMap", &striped, &write);
        bench.ratio("StripedWriteMap over padded", &write, &padded);
        bench.ratio("DashMap over StripedMap", &dash, &striped);
        bench.ratio("papaya::HashMap over StripedMap", &papaya, &striped);
    }
}
