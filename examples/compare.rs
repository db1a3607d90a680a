//! Which of two versions is faster, and by how much: `cargo run --release --features std --example compare`.

use std::hint::black_box;

use linefill::bench::Bench;

/// Remainders by a divisor that is known only at run time.
fn by_division(values: &[u32], divisor: u32) -> u32 {
    let remainders = values.iter().map(|value| value % divisor);
    remainders.fold(0, u32::wrapping_add)
}

/// The same for powers of two.
fn by_mask(values: &[u32], divisor: u32) -> u32 {
    let remainders = values.iter().map(|value| value & (divisor - 1));
    remainders.fold(0, u32::wrapping_add)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let values: Vec<u32> = (0..1000).collect();
    let mut bench = Bench::new()?;
    let (values, divisor) = (&values[..], 64);
    // `black_box` hides the divisor from the compiler, and makes the program compute each of the n sums.
    let both = bench.compare_fn(
        |n| (0..n).for_each(|_| _ = black_box(by_division(values, black_box(divisor)))),
        |n| (0..n).for_each(|_| _ = black_box(by_mask(values, black_box(divisor)))),
    );
    println!("{both}");

    // A gate of your own: it tests the interval, and not the median alone.
    if let Some(ratio) = both.ratio
        && ratio.interval.lo > 1.05
    {
        println!("the division is slower by 5 % at least");
    }
    Ok(())
}
