//! The benches of experiments and of the parts they use, one file per subject, in one program, so that the
//! shared code is built once.
//!
//! ```sh
//! cargo bench --features std -- walks
//! ```

mod common;

// Traces of cachegrind, shared with the tests.
#[path = "../../tests/kernels/sim/valgrind.rs"]
mod valgrind;

mod alignment;
mod associativity;
mod bandwidth;
mod code;
mod criticalword;
mod elements;
mod forms;
mod forwarding;
mod kmeans;
mod maps;
mod matmul;
mod mlp;
mod nontemporal;
mod overhead;
mod prefetch;
mod sharing;
mod sim;
mod tensor;
mod tlb;
mod walks;
mod writes;

/// The subjects. The names of a subject's benchmarks start with its name.
const SUBJECTS: [(&str, fn()); 21] = [
    ("alignment", alignment::main),
    ("associativity", associativity::main),
    ("bandwidth", bandwidth::main),
    ("code", code::main),
    ("criticalword", criticalword::main),
    ("elements", elements::main),
    ("forms", forms::main),
    ("forwarding", forwarding::main),
    ("kmeans", kmeans::main),
    ("maps", maps::main),
    ("matmul", matmul::main),
    ("mlp", mlp::main),
    ("nontemporal", nontemporal::main),
    ("overhead", overhead::main),
    ("prefetch", prefetch::main),
    ("sharing", sharing::main),
    ("sim", sim::main),
    ("tensor", tensor::main),
    ("tlb", tlb::main),
    ("walks", walks::main),
    ("writes", writes::main),
];

fn main() {
    for (_, subject) in SUBJECTS {
        subject();
    }
}
