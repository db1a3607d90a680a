//! A made-up CPU: its counters with their select, fixed and global registers, and their overflow.

// The port's methods are unsafe because they are unsafe on a real CPU.
#![allow(unsafe_code)]

use std::collections::BTreeMap;

use linefill::pmu::{Capabilities, Counters, Encoding, Maker, MsrPort};

/// Counters similar to a Haswell's.
pub const INTEL: Capabilities = Capabilities {
    maker: Maker::Intel,
    version: 2,
    general: 4,
    general_bits: 48,
    fixed: 3,
    fixed_bits: 40,
};

/// A Zen core, which has no off-core response register.
pub const AMD: Capabilities =
    Capabilities { maker: Maker::Amd { global: true }, version: 0, general: 6, fixed: 0, ..INTEL };

/// The bit in a select register that enables its counter.
pub const ENABLE: u64 = 1 << 22;

/// The registers of a made-up CPU. A write to a register that it does not have panics.
pub struct Machine {
    pub capabilities: Capabilities,
    pub registers: BTreeMap<u32, u64>,
    pub written: Vec<(u32, u64)>,
}

impl Machine {
    pub fn new(capabilities: Capabilities) -> Self {
        let general = u32::from(capabilities.general);
        let mut present: Vec<u32> = if capabilities.maker == Maker::Intel {
            (0..general).flat_map(|n| [0x186 + n, 0xC1 + n]).collect()
        } else {
            (0..2 * general).map(|n| 0xC001_0200 + n).collect()
        };
        present.extend((0..u32::from(capabilities.fixed)).map(|n| 0x309 + n));
        if capabilities.fixed > 0 {
            present.push(0x38D);
        }
        match capabilities.maker {
            Maker::Intel if capabilities.version >= 2 => present.extend([0x38E, 0x38F, 0x390]),
            Maker::Amd { global: true } => present.extend([0xC000_0300, 0xC000_0301, 0xC000_0302]),
            _ => {}
        }
        Machine {
            capabilities,
            registers: present.into_iter().map(|register| (register, 0)).collect(),
            written: Vec::new(),
        }
    }

    /// The values that were written to a register, in order.
    pub fn written_to(&self, register: u32) -> impl Iterator<Item = u64> {
        let here = self.written.iter().filter(move |(at, _)| *at == register);
        here.map(|(_, value)| *value)
    }

    fn is_intel(&self) -> bool {
        self.capabilities.maker == Maker::Intel
    }

    fn control(&self) -> Option<u64> {
        let register = if self.is_intel() { 0x38F } else { 0xC000_0301 };
        self.registers.get(&register).copied()
    }

    /// The register of general counter `n`, if it is counting now.
    fn counting(&self, n: u32) -> Option<u32> {
        let (select, count) = if self.is_intel() {
            (0x186 + n, 0xC1 + n)
        } else {
            (0xC001_0200 + 2 * n, 0xC001_0201 + 2 * n)
        };
        let selected = self.registers[&select] & ENABLE != 0;
        let started = self.control().is_none_or(|control| control >> n & 1 == 1);
        (selected && started).then_some(count)
    }

    /// Adds `events` events to every active counter.
    pub fn happen(&mut self, events: u64) {
        for n in 0..u32::from(self.capabilities.general) {
            if let Some(count) = self.counting(n) {
                self.count(count, n, self.capabilities.general_bits, events);
            }
        }
        for n in 0..u32::from(self.capabilities.fixed) {
            let enabled = self.registers[&0x38D] >> (4 * n) & 0b11 == 0b11;
            let started = self.control().is_none_or(|all| all >> (32 + n) & 1 == 1);
            if enabled && started {
                self.count(0x309 + n, 32 + n, self.capabilities.fixed_bits, events);
            }
        }
    }

    fn count(&mut self, register: u32, place: u32, bits: u8, events: u64) {
        let sum = self.registers[&register] + events;
        let end = 1 << bits;
        self.registers.insert(register, sum % end);
        let status = if self.is_intel() { 0x38E } else { 0xC000_0300 };
        if sum >= end
            && let Some(status) = self.registers.get_mut(&status)
        {
            *status |= 1 << place;
        }
    }
}

impl MsrPort for Machine {
    unsafe fn read(&mut self, register: u32) -> u64 {
        *self
            .registers
            .get(&register)
            .unwrap_or_else(|| panic!("general protection: rdmsr {register:#x}"))
    }

    unsafe fn write(&mut self, register: u32, value: u64) {
        assert!(self.registers.contains_key(&register), "general protection: wrmsr {register:#x}");
        self.written.push((register, value));
        match register {
            // Writing a one clears that bit of the status.
            0x390 => *self.registers.get_mut(&0x38E).unwrap() &= !value,
            0xC000_0302 => *self.registers.get_mut(&0xC000_0300).unwrap() &= !value,
            _ => _ = self.registers.insert(register, value),
        }
    }
}

/// Takes over the machine's counters.
pub fn counters(machine: &mut Machine) -> Counters<'_, Machine> {
    let capabilities = machine.capabilities;
    // SAFETY: the machine is made up, and has these capabilities.
    unsafe { Counters::new(machine, capabilities) }
}

/// An event.
pub const PENDING: Encoding = Encoding::new(0x48, 0x01);

/// Any counter.
pub const ANY: u32 = u32::MAX;
