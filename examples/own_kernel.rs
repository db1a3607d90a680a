//! A kernel of your own: `run` is enough to time it; with `trace` the simulator can also run it.
//! `cargo run --release --features std --example own_kernel`.

use linefill::bench::Bench;
use linefill::kernel::{Access, Kernel, Kind, Work};
use linefill::sim::{Cache, Design, Geometry, Reference};

/// Loads every `stride`-th word of a table, again and again.
struct Strided<'a> {
    words: &'a [u64],
    stride: usize,
    at: usize,
}

impl Kernel for Strided<'_> {
    fn run(&mut self, operations: u64) -> u64 {
        self.trace(operations, &mut |_| {})
    }

    fn work(&self) -> Work {
        Work::default().load(1, 8)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let mut sum = 0_u64;
        for _ in 0..operations {
            sum = sum.wrapping_add(self.words[self.at]);
            sink(Access { offset: 8 * self.at, bytes: 8, kind: Kind::Load });
            self.at += self.stride;
            if self.at >= self.words.len() {
                self.at -= self.words.len();
            }
        }
        sum
    }
}

/// Simulated misses per load of a trace of `loads` loads, in 48 KiB of 12 ways.
fn simulated(kernel: &mut dyn Kernel, loads: u64) -> f64 {
    let geometry = Geometry::new(48 << 10, 12, 64).expect("a cache that can be built");
    let mut cache = Cache::new(Design::lru(geometry));
    kernel.trace(loads, &mut |access| {
        cache.reference(Reference::load(access.offset as u64, access.bytes));
    });
    cache.counters().miss_ratio()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<u64> = (0..1 << 16).collect();
    let mut bench = Bench::new()?;
    for stride in [1, 2, 4, 8, 16] {
        let mut strided = Strided { words: &words, stride, at: 0 };
        let timing = bench.steady(&mut strided);
        let misses = simulated(&mut strided, 1 << 16);
        println!("every {} bytes: {timing}; {misses:.3} misses per load", 8 * stride);
    }
    Ok(())
}
