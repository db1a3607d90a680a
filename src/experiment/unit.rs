//! Units in which points are judged and drawn.

/// The unit of a value. Ticks, core cycles and nanoseconds are never mixed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Core cycles an operation.
    CoreCycles,
    /// Nanoseconds an operation.
    Nanoseconds,
    /// Gigabytes (10^9) read and written a second.
    GigabytesPerSecond,
    /// Bytes a core cycle that an operation gets through. A byte that is copied or updated counts
    /// once, as in the documents: [`GigabytesPerSecond`](Self::GigabytesPerSecond) counts it twice.
    BytesPerCycle,
    /// Core cycles a multiply-add, which is two floating-point operations.
    CyclesPerMultiplyAdd,
    /// Floating-point operations (10^9) a second.
    GigaflopsPerSecond,
    /// Core cycles an instruction.
    CyclesPerInstruction,
    /// Percent.
    Percent,
    /// A plain number.
    Count,
    /// Core cycles an operation, beside events that are counted an operation.
    Events,
}

impl Unit {
    /// The unit as an axis shows it.
    pub const fn label(self) -> &'static str {
        match self {
            Unit::CoreCycles => "core cycles an operation",
            Unit::Nanoseconds => "ns an operation",
            Unit::GigabytesPerSecond => "GB/s",
            Unit::BytesPerCycle => "bytes a core cycle",
            Unit::CyclesPerMultiplyAdd => "core cycles a multiply-add",
            Unit::GigaflopsPerSecond => "GFLOP/s",
            Unit::CyclesPerInstruction => "core cycles an instruction",
            Unit::Percent => "%",
            Unit::Count => "",
            Unit::Events => "core cycles or events an operation",
        }
    }
}
