//! Units in which points are judged and drawn.

/// The unit of a value. Ticks, core cycles and nanoseconds are never mixed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Core cycles per operation.
    CoreCycles,
    /// Nanoseconds an operation.
    Nanoseconds,
    /// Gigabytes (10^9) read and written a second.
    GigabytesPerSecond,
    /// Bytes per core cycle that an operation gets through. A byte that is copied or updated counts
    /// once, as in the documents: [`GigabytesPerSecond`](Self::GigabytesPerSecond) counts it twice.
    BytesPerCycle,
    /// Core cycles per multiply-add, which is two floating-point operations.
    CyclesPerMultiplyAdd,
    /// Floating-point operations (10^9) a second.
    GigaflopsPerSecond,
    /// Core cycles per instruction.
    CyclesPerInstruction,
    /// Percent.
    Percent,
    /// A plain number.
    Count,
    /// Core cycles per operation, beside events that are counted an operation.
    Events,
}

impl Unit {
    /// The unit as an axis shows it.
    pub const fn label(self) -> &'static str {
        match self {
            Unit::CoreCycles => "cycles per operation",
            Unit::Nanoseconds => "ns per operation",
            Unit::GigabytesPerSecond => "GB/s",
            Unit::BytesPerCycle => "bytes per cycle",
            Unit::CyclesPerMultiplyAdd => "cycles per multiply-add",
            Unit::GigaflopsPerSecond => "GFLOP/s",
            Unit::CyclesPerInstruction => "cycles per instruction",
            Unit::Percent => "%",
            Unit::Count => "",
            Unit::Events => "cycles or events per operation",
        }
    }
}
