//! Programs counters in ring 0, and explains why an event gets none.

// Reads and writes model-specific registers through a port.
#![allow(unsafe_code)]

use core::fmt;

use super::encoding::{Flavour, bit};
use super::registers::{Count, FIXED, FIXED_CONTROL, MOST, OFFCORE, Registers, Slot};
use super::{Capabilities, Encoding, EventCode, Maker, MsrPort, Rdpmc};

/// The counters of the CPU that executes the calls, programmed register by register.
///
/// Add events while the counters are stopped; [`start`](Self::start) and [`stop`](Self::stop) switch all
/// of them. Dropping this restores the previous values of the registers that select and control. The counts
/// of counters that were used are not restored: [`start`](Self::start) set them to 0, and they keep what they
/// counted.
#[derive(Debug)]
pub struct Counters<'p, P: MsrPort> {
    port: &'p mut P,
    capabilities: Capabilities,
    registers: Registers,
    /// The event of each general counter.
    general: [Option<Encoding>; MOST],
    fixed: [bool; FIXED],
    before: Before,
}

/// The previous values of the registers that are restored.
#[derive(Clone, Copy, Debug)]
struct Before {
    select: [u64; MOST],
    fixed: u64,
    control: u64,
    /// The off-core response register, saved when the first event needs it.
    offcore: Option<u64>,
}

impl<'p, P: MsrPort> Counters<'p, P> {
    /// Stops every counter and takes control of all of them.
    ///
    /// # Safety
    /// The caller runs in ring 0 on a CPU with these capabilities, stays on that CPU until this is
    /// dropped, and no other code programs the CPU's counters meanwhile. Events added to it that need the
    /// off-core response register are events of this CPU: not every CPU has the register, and the bits that
    /// it takes differ.
    pub unsafe fn new(port: &'p mut P, capabilities: Capabilities) -> Self {
        let registers = Registers::of(&capabilities);
        let mut this = Counters {
            port,
            capabilities,
            registers,
            general: [None; MOST],
            fixed: [false; FIXED],
            before: Before { select: [0; MOST], fixed: 0, control: 0, offcore: None },
        };
        if let Some(control) = this.registers.control {
            this.before.control = this.read_register(control);
            this.write_register(control, 0);
        }
        for n in 0..this.general_counters() {
            let select = this.registers.select(n);
            this.before.select[usize::from(n)] = this.read_register(select);
            this.write_register(select, 0);
        }
        if this.fixed_counters() > 0 {
            this.before.fixed = this.read_register(FIXED_CONTROL);
            this.write_register(FIXED_CONTROL, 0);
        }
        this
    }

    /// Returns the number of usable general counters.
    pub fn general_counters(&self) -> u8 {
        self.capabilities.general.min(MOST as u8)
    }

    /// Returns the number of usable fixed counters.
    pub fn fixed_counters(&self) -> u8 {
        self.capabilities.fixed.min(FIXED as u8)
    }

    /// Assigns `event` to the first free counter among `able`, the mask of general counters that can
    /// count it.
    ///
    /// # Errors
    /// If this CPU has no such counter, if none is free, or if the off-core response register is needed
    /// with another value or on a CPU that is not Intel's.
    pub fn add(&mut self, event: Encoding, able: u32) -> Result<Slot, ProgramError> {
        let present = self.general_counters();
        let mut wanted = (0..present).filter(|&n| able >> n & 1 == 1).peekable();
        let Some(&first) = wanted.peek() else {
            return Err(ProgramError::Absent { able, present });
        };
        let Some(n) = wanted.find(|&n| self.general[usize::from(n)].is_none()) else {
            let holder = self.general[usize::from(first)].unwrap_or_default();
            return Err(ProgramError::Full { able, first, holder });
        };
        if event.offcore != 0 {
            self.check_offcore(event.offcore)?;
        }
        self.general[usize::from(n)] = Some(event);
        Ok(Slot::General(n))
    }

    /// All off-core events share one register, so those counted together must need the same value. Only
    /// Intel's CPUs have it: on others, an access to it is an exception.
    fn check_offcore(&self, wanted: u64) -> Result<(), ProgramError> {
        if self.capabilities.maker != Maker::Intel {
            return Err(ProgramError::NoOffcore { wanted });
        }
        match self.offcore().find(|&held| held != wanted) {
            Some(held) => Err(ProgramError::Offcore { wanted, held }),
            None => Ok(()),
        }
    }

    /// Returns the values that the events need in the off-core response register.
    fn offcore(&self) -> impl Iterator<Item = u64> {
        let events = self.general.iter().flatten();
        events.map(|event| event.offcore).filter(|&wanted| wanted != 0)
    }

    /// Assigns an event of the tables to its fixed counter, or else to a general counter that can count
    /// it.
    ///
    /// # Errors
    /// Same as [`add`](Self::add). If no general counter can count the event, same as
    /// [`add_fixed`](Self::add_fixed).
    pub fn add_event(&mut self, event: &EventCode) -> Result<Slot, ProgramError> {
        match event.fixed.map(|n| self.add_fixed(n)) {
            Some(Ok(slot)) => Ok(slot),
            // No general counter can count the event, so report why the fixed one does not.
            Some(Err(error)) if event.counters == 0 => Err(error),
            _ => self.add(event.encoding, event.counters),
        }
    }

    /// Assigns counters to events of the tables. Events that the fewest counters can count go first, so
    /// that none loses its only counter to an event that has a choice.
    ///
    /// # Errors
    /// Same as [`add_event`](Self::add_event), for the first event that gets no counter. The events
    /// assigned before it keep their counters.
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

    /// Returns how many general counters of this CPU can count an event.
    fn choice(&self, event: &EventCode) -> u32 {
        let present = (1 << self.general_counters()) - 1;
        (event.counters & present).count_ones()
    }

    /// Reserves fixed counter `n`.
    ///
    /// # Errors
    /// If there is no such counter, or it is taken already.
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

    /// Returns the select register's value for general counter `n`, without the enable bit.
    fn select(&self, n: u8) -> Option<u64> {
        let flavour = match self.capabilities.maker {
            Maker::Intel => Flavour::Intel,
            Maker::Amd { .. } => Flavour::Amd,
        };
        let event = self.general[usize::from(n)]?;
        Some(event.select(flavour) | bit::USER | bit::KERNEL)
    }

    /// Sets all counters to 0 and starts them, through the global control register if the CPU has one.
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

    /// Returns whether the counter is one of those in use here. A slot may come from a CPU with more
    /// counters.
    fn has(&self, slot: Slot) -> bool {
        match slot {
            Slot::General(n) => n < self.general_counters(),
            Slot::Fixed(n) => n < self.fixed_counters(),
        }
    }

    /// Returns the count of a counter; `None` if there is no such counter. The count is exact once the
    /// counters are stopped.
    pub fn read(&mut self, slot: Slot) -> Option<Count> {
        if !self.has(slot) {
            return None;
        }
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
        Some(Count { value, overflowed })
    }

    /// Returns the present value of a counter, read by `rdpmc`; `None` if there is no such counter. Much
    /// cheaper than [`read`](Self::read), but less exact than reading a stopped counter.
    pub fn peek(&self, slot: Slot, counters: &impl Rdpmc) -> Option<u64> {
        if !self.has(slot) {
            return None;
        }
        // SAFETY: the caller of `new` vouches for ring 0, where `rdpmc` is always allowed, and for the
        // capabilities, according to which the counter exists.
        Some(unsafe { counters.rdpmc(slot.number()) })
    }

    /// Returns the mask of the counters in use, as the global registers lay it out.
    fn all(&self) -> u64 {
        let general = (0..MOST as u8).filter(|&n| self.general[usize::from(n)].is_some());
        let fixed = (0..FIXED as u8).filter(|&n| self.fixed[usize::from(n)]);
        general.map(Slot::General).chain(fixed.map(Slot::Fixed)).map(Slot::place).sum()
    }

    /// Returns the fixed-counter control value: four bits per fixed counter, of which the lower two make
    /// it count in ring 0 and above.
    fn fixed_control(&self) -> u64 {
        let fixed = (0..FIXED).filter(|&n| self.fixed[n]);
        fixed.map(|n| 0b11 << (4 * n)).sum()
    }

    fn read_register(&mut self, register: u32) -> u64 {
        // SAFETY: the caller of `new` vouches for ring 0 and for the capabilities, from which it follows
        // that every register exists. Counters that the capabilities do not list are refused before, and
        // so are off-core events on a CPU that cannot have their register.
        unsafe { self.port.read(register) }
    }

    fn write_register(&mut self, register: u32, value: u64) {
        // SAFETY: as in `read_register`; the values are encodings without reserved bits, zeros, the
        // registers' previous values, or those of off-core events, for which the caller of `new` vouches.
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
    /// This CPU has none of the general counters that can count the event.
    Absent {
        /// Mask of the counters that can count it.
        able: u32,
        /// Number of general counters.
        present: u8,
    },
    /// All general counters that can count the event are taken.
    Full {
        /// Mask of the counters that can count it.
        able: u32,
        /// The lowest-numbered of these counters.
        first: u8,
        /// The event that this counter counts.
        holder: Encoding,
    },
    /// The off-core response register is needed with another value by an event added before.
    Offcore {
        /// The value that the new event needs.
        wanted: u64,
        /// The value that the other event needs.
        held: u64,
    },
    /// The event needs the off-core response register, which only Intel's CPUs have.
    NoOffcore {
        /// The value that the event needs.
        wanted: u64,
    },
    /// There is no such fixed counter.
    NoFixed {
        /// The counter that was asked for.
        asked: u8,
        /// Number of fixed counters.
        present: u8,
    },
    /// The fixed counter is already in use.
    Taken {
        /// The counter.
        fixed: u8,
    },
}

messages! { ProgramError:
    Self::Absent { able: 0, .. } => ("no general counter can count the event");
    Self::Absent { able, present } => (
        "the event can be counted by {} alone; this CPU has {present}, from 0 on", Able(*able)
    );
    Self::Full { able, first, holder: Encoding { event, umask, .. } } => (
        "the event can be counted by {}, and none is free: counter {first} counts event \
         {event:02X}h, umask {umask:02X}h",
        Able(*able)
    );
    Self::Offcore { wanted, held } => (
        "the event wants {wanted:#x} in the off-core response register, where another \
         needs {held:#x}"
    );
    Self::NoOffcore { wanted } => (
        "the event wants {wanted:#x} in the off-core response register, which this CPU does not \
         have"
    );
    Self::NoFixed { asked, present } => (
        "there is no fixed counter {asked}; this CPU has {present}"
    );
    Self::Taken { fixed } => ("fixed counter {fixed} counts already");
}

/// The general counters in a mask.
struct Able(u32);

impl fmt::Display for Able {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == u32::MAX {
            return f.write_str("any general counter");
        }
        f.write_str("counter")?;
        for (place, n) in (0..u32::BITS).filter(|n| self.0 >> n & 1 == 1).enumerate() {
            let before = if place == 0 { " " } else { ", " };
            write!(f, "{before}{n}")?;
        }
        Ok(())
    }
}
