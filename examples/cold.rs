//! What a function costs warm and cold: `cargo run --release --features std --example cold`.

use linefill::bench::{Bench, Cold, flush};

/// Looks a key up in a sorted table.
fn find(table: &[u64], key: u64) -> bool {
    table.binary_search(&key).is_ok()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table: Vec<u64> = (0..4096).map(|key| 3 * key).collect();
    let mut bench = Bench::new()?;
    bench.notes().iter().for_each(|note| println!("{note}"));

    let mut key = 0_u64;
    let warm = bench.steady_fn(|n| {
        let found = (0..n).filter(|_| {
            // The top bits of this sum follow no order that a predictor learns.
            key = key.wrapping_add(0x9E37_79B9_7F4A_7C15);
            find(&table, key >> 50)
        });
        found.count()
    });
    println!("warm: {warm}");

    let cold = bench.one_shot_fn(|| flush(&table[..]), || find(&table, 6000));
    println!("table in memory: {cold}");

    let mut tlbs = Cold::nothing().tlbs()?;
    let cold = bench.one_shot_fn(|| tlbs.prepare(), || find(&table, 6000));
    println!("cold TLBs: {cold}");

    // This needs executable memory, which a security module may refuse.
    match Cold::nothing().predictors() {
        Ok(mut predictors) => {
            let cold = bench.one_shot_fn(|| predictors.prepare(), || find(&table, 6000));
            println!("cold branch predictors: {cold}");
        }
        Err(reason) => println!("{reason}"),
    }
    Ok(())
}
