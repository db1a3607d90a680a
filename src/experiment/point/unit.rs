//! The units in which points are judged and drawn.

/// The unit of a value. Ticks, core cycles and nanoseconds are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Core cycles per operation.
    CoreCycles,
    /// Nanoseconds per operation.
    Nanoseconds,
    /// Gigabytes (10^9 bytes) read and written per second.
    GigabytesPerSecond,
    /// Bytes per core cycle that an operation processes. A byte that is copied or updated counts once,
    /// as in the documents; in [`GigabytesPerSecond`](Self::GigabytesPerSecond) it counts twice.
    BytesPerCycle,
    /// Core cycles per multiply-add, which is two floating-point operations.
    CyclesPerMultiplyAdd,
    /// Floating-point operations (10^9) per second.
    GigaflopsPerSecond,
    /// Core cycles per instruction.
    CyclesPerInstruction,
    /// Percent.
    Percent,
    /// A plain number.
    Count,
    /// Core cycles per operation, drawn beside events per operation.
    Events,
}

impl Unit {
    /// Whether a value in this unit follows from core cycles, and not from the time.
    pub(super) const fn counts_cycles(self) -> bool {
        match self {
            Unit::CoreCycles
            | Unit::BytesPerCycle
            | Unit::CyclesPerMultiplyAdd
            | Unit::CyclesPerInstruction
            | Unit::Events => true,
            Unit::Nanoseconds
            | Unit::GigabytesPerSecond
            | Unit::GigaflopsPerSecond
            | Unit::Percent
            | Unit::Count => false,
        }
    }

    /// Returns the unit as an axis shows it.
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
