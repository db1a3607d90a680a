//! What was counted, as JSON.

use serde_json::{Value, json};

use super::{CaseRun, Config, Tally, levels};
use crate::sim::{Cache, Outcomes};

/// What a trace came to in every configuration.
pub fn trace_json(name: &str, tally: &Tally, configs: &[Config]) -> Value {
    json!({
        "trace": name,
        "references": {
            "total": tally.total(),
            "fetches": tally.fetches,
            "loads": tally.loads,
            "stores": tally.stores,
            "modifies": tally.modifies,
            "prefetches": tally.prefetches,
        },
        "configs": configs.iter().map(config).collect::<Vec<_>>(),
    })
}

/// What the cases of an experiment came to.
pub fn case_json(id: &str, runs: &[CaseRun]) -> Value {
    let cases: Vec<Value> = runs
        .iter()
        .map(|run| match &run.outcome {
            Ok(traced) => json!({
                "series": run.series,
                "x": run.x,
                "operations": traced.operations,
                "references": traced.references,
                "configs": traced.configs.iter().map(config).collect::<Vec<_>>(),
            }),
            Err(reason) => json!({
                "series": run.series,
                "x": run.x,
                "untestable": reason.to_string(),
            }),
        })
        .collect();
    json!({ "experiment": id, "cases": cases })
}

fn config(config: &Config) -> Value {
    let levels: Vec<Value> = levels(&config.hierarchy)
        .into_iter()
        .map(|(name, cache)| level(&name, cache))
        .collect();
    let memory = config.hierarchy.memory();
    let mut value = json!({
        "config": config.text,
        "levels": levels,
        "memory": { "reads": memory.reads, "writes": memory.writes },
    });
    if let Some(tlb) = config.hierarchy.tlb() {
        value["tlb"] = json!({
            "dtlb": outcomes(tlb.first()),
            "stlb": outcomes(tlb.second()),
            "walks": tlb.walks(),
        });
    }
    value
}

fn level(name: &str, cache: &Cache) -> Value {
    let counters = cache.counters();
    let mut value = json!({
        "level": name,
        "fetches": outcomes(counters.fetches),
        "reads": outcomes(counters.reads),
        "writes": outcomes(counters.writes),
        "prefetches": outcomes(counters.prefetches),
        "fills": counters.fills,
        "evictions": counters.evictions,
        "write_backs": counters.write_backs,
        "bus_writes": counters.bus_writes,
        "invalidations": counters.invalidations,
        "prefetched": counters.prefetched,
        "useful": counters.useful,
    });
    let heat = cache.heat();
    if !heat.is_empty() {
        let accesses: Vec<u64> = heat.iter().map(|set| set.accesses).collect();
        let misses: Vec<u64> = heat.iter().map(|set| set.misses).collect();
        value["sets"] = json!({ "accesses": accesses, "misses": misses });
    }
    value
}

fn outcomes(outcomes: Outcomes) -> Value {
    json!({ "hits": outcomes.hits, "misses": outcomes.misses })
}
