//! The results of simulations, as tables and as JSON.

use comfy_table::{CellAlignment, Table};
use serde_json::{Value, json};

use super::{CaseRun, Config, Tally, Traced, cases_json, levels};
use crate::experiment::Axis;
use crate::lab::size::show;
use crate::lab::terminal::{table, table_text};
use crate::sim::{Cache, Outcomes};

/// Formats the counts of a trace in every configuration.
pub fn trace_table(name: &str, tally: &Tally, configs: &[Config], width: u16) -> String {
    let Tally { fetches, loads, stores, modifies, prefetches } = tally;
    let mut text = format!(
        "{name}: {} references: {fetches} fetches, {loads} loads, {stores} stores, {modifies} \
         loads that store, {prefetches} prefetches\n",
        tally.total()
    );
    for config in configs {
        text += &format!("\n{}\n{}\n", config.text, one(config, width));
        let memory = config.hierarchy.memory();
        text += &format!("memory: {} lines read, {} writes\n", memory.reads, memory.writes);
        if let Some(tlb) = config.hierarchy.tlb() {
            text += &format!("dTLB: {} misses", tlb.first().misses);
            let second = tlb.second();
            if second.total() > 0 {
                text += &format!("; STLB: {} misses", second.misses);
            }
            text += &format!("; {} page walks\n", tlb.walks());
        }
    }
    text
}

fn one(config: &Config, width: u16) -> String {
    let levels = levels(&config.hierarchy);
    let fetched = levels.iter().any(|(_, cache)| cache.counters().prefetched > 0);
    let mut headings =
        vec!["level", "refs", "misses", "%", "fetch", "read", "write", "evicted", "written back"];
    if fetched {
        headings.extend(["prefetched", "useful"]);
    }
    let mut table = table(&headings, width);
    for (name, cache) in levels {
        let counters = cache.counters();
        let demand = counters.demand();
        let mut row = vec![name, demand.total().to_string(), demand.misses.to_string()];
        row.push(percent(demand));
        let by_kind = [counters.fetches, counters.reads, counters.writes].map(|of| of.misses);
        row.extend(by_kind.map(|misses| misses.to_string()));
        row.extend([counters.evictions, counters.write_backs].map(|count| count.to_string()));
        if fetched {
            row.extend([counters.prefetched, counters.useful].map(|count| count.to_string()));
        }
        table.add_row(row);
    }
    to_the_right(&mut table, 1);
    table_text(&table)
}

fn percent(outcomes: Outcomes) -> String {
    match outcomes.total() {
        0 => "-".to_owned(),
        total => format!("{:.2}", 100.0 * outcomes.misses as f64 / total as f64),
    }
}

/// Aligns the columns from `first` on to the right.
fn to_the_right(table: &mut Table, first: usize) {
    for column in table.column_iter_mut().skip(first) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// Formats the misses per operation of an experiment's cases, with a row per case and configuration.
pub fn case_table(runs: &[CaseRun<Traced>], x: Option<Axis>, width: u16) -> String {
    let traced = || runs.iter().filter_map(|run| run.outcome.as_ref().ok());
    let hierarchies =
        || traced().flat_map(|traced| &traced.configs).map(|config| &config.hierarchy);
    let longest = hierarchies().map(levels).max_by_key(Vec::len).unwrap_or_default();
    let names: Vec<String> = longest.into_iter().map(|(name, _)| name).collect();
    let walked = hierarchies().any(|hierarchy| hierarchy.tlb().is_some());
    let several = traced().any(|traced| traced.configs.len() > 1);
    let mut headings = vec!["series".to_owned(), x.map_or("x", |axis| axis.label).to_owned()];
    headings.extend(several.then(|| "configuration".to_owned()));
    let first_number = headings.len();
    headings.push("refs".to_owned());
    headings.extend(names.iter().map(|name| format!("{name} misses")));
    headings.extend(walked.then(|| "page walks".to_owned()));
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut table = table(&headings, width);
    let mut notes = String::new();
    for run in runs {
        let place = place(run.x, x);
        match &run.outcome {
            Err(reason) => notes += &format!("{} at {place}: {reason}\n", run.series),
            Ok(traced) => {
                for config in &traced.configs {
                    let mut row = vec![run.series.clone(), place.clone()];
                    row.extend(several.then(|| config.text.clone()));
                    row.extend(counts(traced, config, &names, walked));
                    table.add_row(row);
                }
            }
        }
    }
    if table.is_empty() {
        return notes;
    }
    to_the_right(&mut table, first_number);
    let of = match traced().next().map(|traced| traced.configs.as_slice()) {
        Some([config]) => format!("{}, all ", config.text),
        _ => "all ".to_owned(),
    };
    format!("{}\n{of}numbers per operation\n{notes}", table_text(&table))
}

/// Formats references, misses and page walks per operation.
fn counts(traced: &Traced, config: &Config, names: &[String], walked: bool) -> Vec<String> {
    let each = |count: u64| format!("{:.4}", count as f64 / traced.operations as f64);
    let levels = levels(&config.hierarchy);
    let mut row = vec![each(traced.references)];
    for name in names {
        let level = levels.iter().find(|(level, _)| level == name);
        row.push(level.map_or("-".to_owned(), |(_, cache)| each(cache.counters().misses())));
    }
    if walked {
        let tlb = config.hierarchy.tlb();
        row.push(tlb.map_or("-".to_owned(), |tlb| each(tlb.walks())));
    }
    row
}

fn place(value: f64, x: Option<Axis>) -> String {
    match x {
        Some(axis) if axis.bytes => show(value),
        _ => value.to_string(),
    }
}

/// Returns the counts of a trace in every configuration as JSON.
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

/// Returns the counts of an experiment's cases as JSON.
pub fn case_json(id: &str, runs: &[CaseRun<Traced>]) -> Value {
    cases_json(id, runs, |traced| {
        json!({
            "operations": traced.operations,
            "references": traced.references,
            "configs": traced.configs.iter().map(config).collect::<Vec<_>>(),
        })
    })
}

fn config(config: &Config) -> Value {
    let levels: Vec<Value> =
        levels(&config.hierarchy).into_iter().map(|(name, cache)| level(&name, cache)).collect();
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
        value["sets"] = json!({
            "accesses": heat.iter().map(|set| set.accesses).collect::<Vec<_>>(),
            "misses": heat.iter().map(|set| set.misses).collect::<Vec<_>>(),
        });
    }
    value
}

fn outcomes(outcomes: Outcomes) -> Value {
    json!({ "hits": outcomes.hits, "misses": outcomes.misses })
}
