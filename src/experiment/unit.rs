//! Units in which points are judged and drawn.

/// The unit of a value. Ticks, core cycles and nanoseconds are never mixed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Core cycles an operation.
    CoreCycles,
    /// Nanoseconds an operation.
    Nanoseconds,
    /// Gigabytes (10^9) read and written a second.
    GigabytesASecond,
    /// Bytes a core cycle that an operation gets through. A byte that is copied or updated counts
    /// once, as in the documents: [`GigabytesASecond`](Self::GigabytesASecond) counts it twice.
    BytesACoreCycle,
    /// Core cycles a multiply-add, which is two floating-point operations.
    CoreCyclesAMultiplyAdd,
    /// Floating-point operations (10^9) a second.
    GigaflopsASecond,
    /// Core cycles an instruction.
    CoreCyclesAnInstruction,
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
            Unit::GigabytesASecond => "GB/s",
            Unit::BytesACoreCycle => "bytes a core cycle",
            Unit::CoreCyclesAMultiplyAdd => "core cycles a multiply-add",
            Unit::GigaflopsASecond => "GFLOP/s",
            Unit::CoreCyclesAnInstruction => "core cycles an instruction",
            Unit::Percent => "%",
            Unit::Count => "",
            Unit::Events => "core cycles or events an operation",
        }
    }
}
