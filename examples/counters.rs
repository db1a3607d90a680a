//! Counts events in a piece of code: `cargo run --release --features std --example counters`.

use std::collections::HashMap;
use std::hint::black_box;

use linefill::counters::{self, Counters};

fn count_words(text: &str) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

fn main() {
    let text = "the cache and the memory behind the cache ".repeat(1000);

    // The usual events: one line per event, with its count or the reason why it is not counted here.
    let (words, counts) = counters::scope(|| count_words(&text));
    println!("{} words:\n{counts}", words.len());

    // Events by name: the name in the kernel, the vendor's name (`MEM_LOAD_RETIRED.L1_MISS`) or a generic
    // name.
    match Counters::of("page-faults,instructions,L1-dcache-load-misses") {
        Ok(counters) => {
            let (_, counts) = counters.scope(|| black_box(vec![1_u8; 1 << 20]).len());
            println!("a megabyte of ones:\n{counts}");
        }
        Err(unknown) => println!("{unknown}"),
    }
}
