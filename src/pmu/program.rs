//! Programming counters in ring 0, and why an event gets none.

// Reads and writes model-specific registers through a port.
#![allow(unsafe_code)]

use core::fmt;

use super::encoding::{Flavour, bit};
use super::registers::{Count, FIXED, FIXED_CONTROL, MOST, OFFCORE, Registers, Slot};
use super::{Capabilities, Encoding, EventCode, Maker, MsrPort, Rdpmc};

/// The counters of the CPU that runs this, programmed register by register.
///
/// Events are added while the counters stand; [`start`](Self::start) and [`stop`](Self::stop)
/// switch them all. What the registers held before is put back when this is dropped.
#[derive(Debug)]
pub struct Counters<'p, P: MsrPort> {
    port: &'p mut P,
    capabilities: Capabilities,
    registers: Registers,
    /// What each general counter counts.
    general: [Option<Encoding>; MOST],
    fixed: [bool; FIXED],
    before: Before,
}

/// What the registers held.
#[derive(Clone, Copy, Debug)]
struct Before {
    select: [u64; MOST],
    fixed: u64,
    control: u64,
    /// The off-core response register, once an event needs it.
    offcore: Option<u64>,
}

impl<'p, P: MsrPort> Counters<'p, P> {
    /// Stops every counter, and takes them over.
    ///
    /// # Safety
    /// The caller runs in ring 0 on a CPU with these capabilities, stays on it until this is
    /// dropped, and nobody else programs its counters meanwhile.
    pub unsafe fn new(port: &'p mut P, capabilities: Capabilities) -> Self {
        let registers = Registers::of(&capabilities);
        let mut this = Counters {
            port,
            capabilities,
            registers,
            general: [None; MOST],
            fixed: [false; FIXED],
            before: Before {
                select: [0; MOST],
                fixed: 0,
                control: 0,
                offcore: None,
            },
        };
        this.take_over();
        this
    }

    fn take_over(&mut self) {
        if let Some(control) = self.registers.control {
            self.before.control = self.read_register(control);
            self.write_register(control, 0);
        }
        for n in 0..self.general_counters() {
            let select = self.registers.select(n);
            self.before.select[usize::from(n)] = self.read_register(select);
            self.write_register(select, 0);
        }
        if self.fixed_counters() > 0 {
            self.before.fixed = self.read_register(FIXED_CONTROL);
            self.write_register(FIXED_CONTROL, 0);
        }
    }

    /// General counters that can be used.
    pub fn general_counters(&self) -> u8 {
        self.capabilities.general.min(MOST as u8)
    }

    /// Fixed counters that can be used.
    pub fn fixed_counters(&self) -> u8 {
        self.capabilities.fixed.min(FIXED as u8)
    }

    /// Gives `event` the first free counter of those that can count it, `able`, a bit each.
    ///
    /// # Errors
    /// If none of them is there or free, or the off-core response register holds something else.
    pub fn add(&mut self, event: Encoding, able: u32) -> Result<Slot, ProgramError> {
        let present = self.general_counters();
        let mut wanted = (0..present).filter(|&n| able >> n & 1 == 1).peekable();
        let Some(&first) = wanted.peek() else {
            return Err(ProgramError::Absent { able, present });
        };
        let Some(n) = wanted.find(|&n| self.general[usize::from(n)].is_none()) else {
            let holder = self.general[usize::from(first)].unwrap_or_default();
            return Err(ProgramError::Full {
                able,
                first,
                holder,
            });
        };
        if event.offcore != 0 {
            self.check_offcore(event.offcore)?;
        }
        self.general[usize::from(n)] = Some(event);
        Ok(Slot::General(n))
    }

    /// The one register serves all off-core events, so those at a time must want the same of it.
    fn check_offcore(&self, wanted: u64) -> Result<(), ProgramError> {
        let held = self.offcore().find(|&held| held != wanted);
        match held {
            Some(held) => Err(ProgramError::Offcore { wanted, held }),
            None => Ok(()),
        }
    }

    /// What the events want of the off-core response register.
    fn offcore(&self) -> impl Iterator<Item = u64> {
        let events = self.general.iter().flatten();
        events
            .map(|event| event.offcore)
            .filter(|&wanted| wanted != 0)
    }

    /// Gives an event of the tables its fixed counter, or else a general one that can count it.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn add_event(&mut self, event: &EventCode) -> Result<Slot, ProgramError> {
        match event.fixed.map(|n| self.add_fixed(n)) {
            Some(Ok(slot)) => Ok(slot),
            // No general counter counts it: why the fixed one does not.
            Some(Err(error)) if event.counters == 0 => Err(error),
            _ => self.add(event.encoding, event.counters),
        }
    }

    /// Gives events of the tables their counters, those first that the fewest counters can count,
    /// so that none loses its only counter to one that has others.
    ///
    /// # Errors
    /// As for [`add`](Self::add), for the first event that gets none. Those before it keep theirs.
    pub fn add_all<const N: usize>(
        &mut self,
        events: &[EventCode; N],
    ) -> Result<[Slot; N], ProgramError> {
        let mut slots = [Slot::General(0); N];
        for choice in 0..=u32::from(self.general_counters()) {
            for (slot, event) in slots.iter_mut().zip(events) {
                if self.choice(event) == choice {
                    *slot = self.add_event(event)?;
                }
            }
        }
        Ok(slots)
    }

    /// How many general counters of this CPU can count an event.
    fn choice(&self, event: &EventCode) -> u32 {
        let present = (1 << self.general_counters()) - 1;
        (event.counters & present).count_ones()
    }

    /// Has fixed counter `n` count.
    ///
    /// # Errors
    /// If there is no such counter, or it counts already.
    pub fn add_fixed(&mut self, n: u8) -> Result<Slot, ProgramError> {
        let present = self.fixed_counters();
        if n >= present {
            return Err(ProgramError::NoFixed { asked: n, present });
        }
        if core::mem::replace(&mut self.fixed[usize::from(n)], true) {
            return Err(ProgramError::Taken { fixed: n });
        }
        Ok(Slot::Fixed(n))
    }

    /// What counter `n` selects, without the enabling bit.
    fn select(&self, n: u8) -> Option<u64> {
        let flavour = match self.capabilities.maker {
            Maker::Intel => Flavour::Intel,
            Maker::Amd { .. } => Flavour::Amd,
        };
        let event = self.general[usize::from(n)]?;
        Some(event.select(flavour) | bit::USER | bit::KERNEL)
    }

    /// Sets all counters to 0 and starts them, by one register where there is one.
    pub fn start(&mut self) {
        let wanted = self.offcore().next();
        if let Some(wanted) = wanted {
            if self.before.offcore.is_none() {
                self.before.offcore = Some(self.read_register(OFFCORE));
            }
            self.write_register(OFFCORE, wanted);
        }
        if let Some((_, clear)) = self.registers.overflow {
            self.write_register(clear, self.all());
        }
        for n in 0..self.general_counters() {
            if let Some(select) = self.select(n) {
                self.write_register(self.registers.count(n), 0);
                self.write_register(self.registers.select(n), select | bit::ENABLE);
            }
        }
        for n in 0..self.fixed_counters() {
            if self.fixed[usize::from(n)] {
                self.write_register(Registers::fixed(n), 0);
            }
        }
        if self.fixed_counters() > 0 {
            self.write_register(FIXED_CONTROL, self.fixed_control());
        }
        if let Some(control) = self.registers.control {
            self.write_register(control, self.all());
        }
    }

    /// Stops all counters.
    pub fn stop(&mut self) {
        if let Some(control) = self.registers.control {
            self.write_register(control, 0);
        }
        for n in 0..self.general_counters() {
            if let Some(select) = self.select(n) {
                self.write_register(self.registers.select(n), select);
            }
        }
        if self.fixed_counters() > 0 {
            self.write_register(FIXED_CONTROL, 0);
        }
    }

    /// What a counter came to. Exact once the counters are stopped.
    pub fn read(&mut self, slot: Slot) -> Count {
        let (register, bits) = match slot {
            Slot::General(n) => (self.registers.count(n), self.capabilities.general_bits),
            Slot::Fixed(n) => (Registers::fixed(n), self.capabilities.fixed_bits),
        };
        let value =
            self.read_register(register) & (u64::MAX >> (64 - u32::from(bits.clamp(1, 64))));
        let overflowed = self.registers.overflow.map(|(status, _)| {
            let status = self.read_register(status);
            status & slot.place() != 0
        });
        Count { value, overflowed }
    }

    /// What a counter holds at this moment, by `rdpmc`: less exact than [`read`](Self::read) of a
    /// counter that stands, and much cheaper.
    pub fn peek(&self, slot: Slot, counters: &impl Rdpmc) -> u64 {
        // SAFETY: `new`'s caller vouches for ring 0, where `rdpmc` is always allowed, and `add`
        // hands out counters that exist.
        unsafe { counters.rdpmc(slot.number()) }
    }

    /// The counters in use, at their places in the global registers.
    fn all(&self) -> u64 {
        let general = (0..MOST as u8).filter(|&n| self.general[usize::from(n)].is_some());
        let fixed = (0..FIXED as u8).filter(|&n| self.fixed[usize::from(n)]);
        general
            .map(Slot::General)
            .chain(fixed.map(Slot::Fixed))
            .map(Slot::place)
            .sum()
    }

    /// Four bits a fixed counter, of which the lower two have it count in ring 0 and above.
    fn fixed_control(&self) -> u64 {
        let fixed = (0..FIXED).filter(|&n| self.fixed[n]);
        fixed.map(|n| 0b11 << (4 * n)).sum()
    }

    fn read_register(&mut self, register: u32) -> u64 {
        // SAFETY: `new`'s caller vouches for ring 0 and for the capabilities, from which every
        // register's existence follows.
        unsafe { self.port.read(register) }
    }

    fn write_register(&mut self, register: u32, value: u64) {
        // SAFETY: as above; the values are encodings without reserved bits, zeros, or what the
        // register held before.
        unsafe { self.port.write(register, value) }
    }
}

impl<P: MsrPort> Drop for Counters<'_, P> {
    fn drop(&mut self) {
        self.stop();
        for n in 0..self.general_counters() {
            let before = self.before.select[usize::from(n)];
            self.write_register(self.registers.select(n), before);
        }
        if self.fixed_counters() > 0 {
            self.write_register(FIXED_CONTROL, self.before.fixed);
        }
        if let Some(offcore) = self.before.offcore {
            self.write_register(OFFCORE, offcore);
        }
        if let Some(control) = self.registers.control {
            self.write_register(control, self.before.control);
        }
    }
}

/// Why an event got no counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramError {
    /// This CPU has none of the general counters that can count it.
    Absent {
        /// The counters that can, a bit each.
        able: u32,
        /// How many general counters there are.
        present: u8,
    },
    /// All general counters that can count it are taken.
    Full {
        /// The counters that can, a bit each.
        able: u32,
        /// The first of them.
        first: u8,
        /// What that one counts.
        holder: Encoding,
    },
    /// An off-core event wants the register that another one needs otherwise.
    Offcore {
        /// The value that it wants.
        wanted: u64,
        /// The value that the other needs.
        held: u64,
    },
    /// There is no such fixed counter.
    NoFixed {
        /// The counter that was asked for.
        asked: u8,
        /// How many there are.
        present: u8,
    },
    /// The fixed counter is taken already.
    Taken {
        /// The counter.
        fixed: u8,
    },
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramError::Absent { able: 0, .. } => {
                f.write_str("no general counter can count the event")
            }
            ProgramError::Absent { able, present } => {
                f.write_str("the event can be counted by ")?;
                counters(f, *able)?;
                write!(f, " alone; this CPU has {present}, from 0 on")
            }
            ProgramError::Full {
                able,
                first,
                holder: Encoding { event, umask, .. },
            } => {
                f.write_str("the event can be counted by ")?;
                counters(f, *able)?;
                write!(
                    f,
                    ", and none is free: counter {first} counts event {event:02X}h, umask {umask:02X}h"
                )
            }
            ProgramError::Offcore { wanted, held } => write!(
                f,
                "the event wants {wanted:#x} in the off-core response register, where another \
                 needs {held:#x}"
            ),
            ProgramError::NoFixed { asked, present } => write!(
                f,
                "there is no fixed counter {asked}; this CPU has {present}"
            ),
            ProgramError::Taken { fixed } => write!(f, "fixed counter {fixed} counts already"),
        }
    }
}

/// The counters of a mask, by their numbers.
fn counters(f: &mut fmt::Formatter<'_>, able: u32) -> fmt::Result {
    if able == u32::MAX {
        return f.write_str("any general counter");
    }
    f.write_str("counter")?;
    for (place, n) in (0..u32::BITS).filter(|n| able >> n & 1 == 1).enumerate() {
        let before = if place == 0 { " " } else { ", " };
        write!(f, "{before}{n}")?;
    }
    Ok(())
}

impl core::error::Error for ProgramError {}
