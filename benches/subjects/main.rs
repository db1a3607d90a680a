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

use Subject::{Cases, Code};
use common::cases::Bench;
use common::driver::Driver;

/// What a subject times.
enum Subject {
    /// Cases of experiments.
    Cases(fn(&mut Bench)),
    /// Other code.
    Code(fn(&mut Driver)),
}

/// The subjects. The names of a subject's benchmarks start with its name.
const SUBJECTS: [(&str, Subject); 21] = [
    ("alignment", Cases(alignment::main)),
    ("associativity", Cases(associativity::main)),
    ("bandwidth", Code(bandwidth::main)),
    ("code", Cases(code::main)),
    ("criticalword", Cases(criticalword::main)),
    ("elements", Cases(elements::main)),
    ("forms", Code(forms::main)),
    ("forwarding", Cases(forwarding::main)),
    ("kmeans", Code(kmeans::main)),
    ("maps", Cases(maps::main)),
    ("matmul", Cases(matmul::main)),
    ("mlp", Cases(mlp::main)),
    ("nontemporal", Cases(nontemporal::main)),
    ("overhead", Code(overhead::main)),
    ("prefetch", Cases(prefetch::main)),
    ("sharing", Cases(sharing::main)),
    ("sim", Code(sim::main)),
    ("tensor", Cases(tensor::main)),
    ("tlb", Cases(tlb::main)),
    ("walks", Cases(walks::main)),
    ("writes", Cases(writes::main)),
];

fn main() {
    for (name, subject) in SUBJECTS {
        let Some(mut driver) = Driver::new(name) else { continue };
        match subject {
            Cases(time) => time(&mut Bench::new(driver)),
            Code(time) => time(&mut driver),
        }
    }
}
