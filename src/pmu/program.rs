//! Programming counters in ring 0.

// Reads and writes model-specific registers through a port.
#![allow(unsafe_code)]

use super::encoding::{Flavour, bit};
use super::registers::{FIXED_CONTROL, Registers};
use super::{Capabilities, Encoding, Maker, MsrPort};

/// The most general counters that are used of a CPU.
const MOST: usize = 8;

/// The fixed counters that are used: instructions, core cycles, reference cycles.
const FIXED: usize = 3;

/// A counter that was given to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// General counter of this number.
    General(u8),
    /// Fixed counter of this number: 0 retired instructions, 1 core cycles, 2 reference cycles.
    Fixed(u8),
}

/// What a counter came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Its value. Counters start at 0.
    pub value: u64,
    /// Whether it went past its width, so that the value is too small by a multiple of
    /// 2^width. `None` if this CPU does not tell.
    pub overflowed: Option<bool>,
}

/// Why an event got no counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramError {
    /// All counters that can count it are taken.
    Full {
        /// The counters that can, a bit each.
        able: u32,
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

impl core::fmt::Display for ProgramError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            ProgramError::Full { able } => write!(
                f,
                "no counter is left for the event, which the counters of mask {able:#x} can count"
            ),
            ProgramError::NoFixed { asked, present } => write!(
                f,
                "there is no fixed counter {asked}; this CPU has {present}"
            ),
            ProgramError::Taken { fixed } => write!(f, "fixed counter {fixed} counts already"),
        }
    }
}

impl core::error::Error for ProgramError {}

/// The counters of the CPU that runs this, programmed register by register.
///
/// Events are added while the counters stand; [`start`](Self::start) and [`stop`](Self::stop)
/// switch them all. What the registers held before is put back when this is dropped.
#[derive(Debug)]
pub struct Counters<'p, P: MsrPort> {
    port: &'p mut P,
    capabilities: Capabilities,
    registers: Registers,
    /// What each general counter selects, without the enabling bit.
    general: [Option<u64>; MOST],
    fixed: [bool; FIXED],
    before: Before,
}

/// What the registers held.
#[derive(Clone, Copy, Debug)]
struct Before {
    select: [u64; MOST],
    fixed: u64,
    control: u64,
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
    /// If none of them is free.
    pub fn add(&mut self, event: Encoding, able: u32) -> Result<Slot, ProgramError> {
        let free = (0..self.general_counters())
            .find(|&n| able >> n & 1 == 1 && self.general[usize::from(n)].is_none());
        let n = free.ok_or(ProgramError::Full { able })?;
        let flavour = match self.capabilities.maker {
            Maker::Intel => Flavour::Intel,
            Maker::Amd { .. } => Flavour::Amd,
        };
        self.general[usize::from(n)] = Some(event.select(flavour) | bit::USER | bit::KERNEL);
        Ok(Slot::General(n))
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

    /// Sets all counters to 0 and starts them, by one register where there is one.
    pub fn start(&mut self) {
        if let Some((_, clear)) = self.registers.overflow {
            self.write_register(clear, self.all());
        }
        for n in 0..self.general_counters() {
            if let Some(select) = self.general[usize::from(n)] {
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
            if let Some(select) = self.general[usize::from(n)] {
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
            status & place(slot) != 0
        });
        Count { value, overflowed }
    }

    /// The counters in use, at their places in the global registers.
    fn all(&self) -> u64 {
        let general = (0..MOST as u8).filter(|&n| self.general[usize::from(n)].is_some());
        let fixed = (0..FIXED as u8).filter(|&n| self.fixed[usize::from(n)]);
        general
            .map(Slot::General)
            .chain(fixed.map(Slot::Fixed))
            .map(place)
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

/// A counter's bit in the global registers.
fn place(slot: Slot) -> u64 {
    match slot {
        Slot::General(n) => 1 << n,
        Slot::Fixed(n) => 1 << (32 + u32::from(n)),
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
        if let Some(control) = self.registers.control {
            self.write_register(control, self.before.control);
        }
    }
}
