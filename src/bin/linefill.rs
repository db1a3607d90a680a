//! The lab's program.

fn main() {}
