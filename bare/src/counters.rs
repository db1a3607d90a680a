//! Performance counters, which ring 0 programs itself.

use linefill::pmu::{
    Capabilities, Counters, Cpu, Encoding, EventCode, Maker, Microarch, ProgramError, Quantity,
    Slot,
};
use linefill::record::{CountLine, CountingLine};

/// The quantities that are counted for every walk.
pub const COUNTED: [Quantity; 3] = [Quantity::Cycles, Quantity::Instructions, Quantity::L1dMisses];

/// Whether a quantity is counted: a record line names the event, or the reason why it is not.
pub type Counting = CountingLine<&'static str>;

/// The count per step.
pub type Count = CountLine<&'static str>;

/// Number of differences between N and 2N operations per count. The interval from the minimum to the maximum
/// of six values contains their median with 97 % confidence.
const ROUNDS: usize = 6;

/// Counters for an emulator that reports none but accepts accesses to their registers, as QEMU does. They are
/// programmed like real ones, and count 0.
const PLANTED: Capabilities = Capabilities {
    maker: Maker::Intel,
    version: 2,
    general: 4,
    general_bits: 48,
    fixed: 3,
    fixed_bits: 48,
};

/// The CPU's counters, or if requested the planted ones, if `ring` allows programming them.
pub fn detect(planted: bool, ring: u16) -> Result<Capabilities, &'static str> {
    let capabilities = planted
        .then_some(PLANTED)
        .or_else(Capabilities::detect)
        .ok_or("no PMU: CPUID reports no counters")?;
    match ring {
        0 => Ok(capabilities),
        _ => Err("counters are programmed in ring 0 alone"),
    }
}

/// The events that are counted, each in a separate counter.
pub struct Programmed<'p> {
    counters: Counters<'p, Cpu>,
    slots: [Option<Slot>; COUNTED.len()],
}

impl<'p> Programmed<'p> {
    /// Assigns a counter to each quantity. Also returns, for each quantity, the event or the reason why it is
    /// not counted.
    pub fn new(port: &'p mut Cpu, capabilities: Capabilities) -> (Self, [Counting; COUNTED.len()]) {
        // SAFETY: `detect` found ring 0 and these counters, or the command line guarantees them. There is one
        // CPU, and no other code uses the counters.
        let mut counters = unsafe { Counters::new(port, capabilities) };
        let mut slots = [None; COUNTED.len()];
        let mut counting = refused("this core has no event for it in the tables");
        for ((slot, said), quantity) in slots.iter_mut().zip(&mut counting).zip(COUNTED) {
            let Some(event) = Known::of(quantity, capabilities.maker) else {
                continue;
            };
            let given = event.add(&mut counters);
            *slot = given.ok();
            *said = match given {
                Ok(_) => Counting { by: Some(event.name()), refused: None, ..*said },
                Err(_) => Counting { refused: Some("no counter is left for it"), ..*said },
            };
        }
        (Programmed { counters, slots }, counting)
    }

    /// Counts per operation for `run`, which runs the given number of operations: the difference between
    /// `operations` and twice as many.
    pub fn count(
        &mut self,
        operations: u64,
        mut run: impl FnMut(u64),
    ) -> [Option<Count>; COUNTED.len()] {
        let mut each = [[0.0; ROUNDS]; COUNTED.len()];
        for round in 0..ROUNDS {
            let once = self.around(|| run(operations));
            let twice = self.around(|| run(2 * operations));
            for (each, (once, twice)) in each.iter_mut().zip(once.into_iter().zip(twice)) {
                each[round] = (twice as f64 - once as f64) / operations as f64;
            }
        }
        let mut counts = [None; COUNTED.len()];
        for (index, count) in counts.iter_mut().enumerate() {
            let values = each[index].iter().copied();
            *count = self.slots[index].map(|_| Count {
                of: COUNTED[index].name(),
                lo: values.clone().fold(f64::INFINITY, f64::min),
                hi: values.fold(f64::NEG_INFINITY, f64::max),
                multiplexed: false,
            });
        }
        counts
    }

    /// The counts of all counters around `work`; 0 for a quantity without a counter. Counters of 40 bits or
    /// more do not overflow in the tenths of a second that this takes.
    fn around(&mut self, work: impl FnOnce()) -> [u64; COUNTED.len()] {
        self.counters.start();
        work();
        self.counters.stop();
        let counters = &mut self.counters;
        self.slots.map(|slot| {
            let count = slot.and_then(|slot| counters.read(slot));
            count.map_or(0, |count| count.value)
        })
    }
}

/// No quantity is counted, for this reason.
pub fn refused(reason: &'static str) -> [Counting; COUNTED.len()] {
    COUNTED.map(|quantity| Counting { counts: quantity.name(), by: None, refused: Some(reason) })
}

/// An event that counts a quantity.
#[derive(Clone, Copy)]
pub enum Known {
    /// An event from the table of this core.
    Listed(EventCode),
    /// An event with the same encoding on all CPUs of a vendor.
    Architectural(Encoding),
}

impl Known {
    /// The event of this CPU, if one is known.
    pub fn of(quantity: Quantity, maker: Maker) -> Option<Self> {
        let listed = Microarch::detect().and_then(|core| quantity.event_of(core));
        let listed = listed.map(Known::Listed);
        listed.or_else(|| architectural(quantity, maker).map(Known::Architectural))
    }

    /// The event's name in a record.
    pub fn name(&self) -> &'static str {
        match self {
            Known::Listed(event) => event.name,
            Known::Architectural(_) => "architectural event",
        }
    }

    /// Assigns a counter to the event.
    pub fn add(&self, counters: &mut Counters<'_, Cpu>) -> Result<Slot, ProgramError> {
        match self {
            Known::Listed(event) => counters.add_event(event),
            Known::Architectural(event) => counters.add(*event, u32::MAX),
        }
    }
}

/// Events with the same encoding on all CPUs of a vendor: Intel SDM volume 3B, "Pre-defined Architectural
/// Performance Events"; AMD's PMCx076 and PMCx0C0, in all families since 0Fh.
fn architectural(quantity: Quantity, maker: Maker) -> Option<Encoding> {
    match (quantity, maker) {
        (Quantity::Cycles, Maker::Intel) => Some(Encoding::new(0x3C, 0)),
        (Quantity::Cycles, Maker::Amd { .. }) => Some(Encoding::new(0x76, 0)),
        (Quantity::Instructions, _) => Some(Encoding::new(0xC0, 0)),
        _ => None,
    }
}
