//! Programming the counters of a CPU that is made up: select, count, fixed and global registers,
//! overflow, and what is left behind.

// The port's methods are unsafe, because on a real CPU they are.
#![allow(unsafe_code)]

use std::collections::BTreeMap;

use linefill::pmu::{Capabilities, Count, Counters, Encoding, Maker, MsrPort, ProgramError, Slot};

const INTEL: Capabilities = Capabilities {
    maker: Maker::Intel,
    version: 2,
    general: 4,
    general_bits: 48,
    fixed: 3,
    fixed_bits: 40,
};

const ENABLE: u64 = 1 << 22;
const BOTH_RINGS: u64 = 0b11 << 16;

/// The registers of a made-up CPU. Writes to registers that it does not have are a fault.
struct Machine {
    capabilities: Capabilities,
    registers: BTreeMap<u32, u64>,
    written: Vec<(u32, u64)>,
}

impl Machine {
    fn new(capabilities: Capabilities) -> Self {
        let general = u32::from(capabilities.general);
        let mut present: Vec<u32> = match capabilities.maker {
            Maker::Intel => (0..general).flat_map(|n| [0x186 + n, 0xC1 + n]).collect(),
            Maker::Amd { .. } => (0..2 * general).map(|n| 0xC001_0200 + n).collect(),
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

    fn control(&self) -> Option<u64> {
        let register = match self.capabilities.maker {
            Maker::Intel => 0x38F,
            Maker::Amd { .. } => 0xC000_0301,
        };
        self.registers.get(&register).copied()
    }

    /// The register that holds general counter `n`, if that counts now.
    fn counting(&self, n: u32) -> Option<u32> {
        let (select, count) = match self.capabilities.maker {
            Maker::Intel => (0x186 + n, 0xC1 + n),
            Maker::Amd { .. } => (0xC001_0200 + 2 * n, 0xC001_0201 + 2 * n),
        };
        let selected = self.registers[&select] & ENABLE != 0;
        let started = self.control().is_none_or(|control| control >> n & 1 == 1);
        (selected && started).then_some(count)
    }

    /// Every counter that counts sees `events` events.
    fn happen(&mut self, events: u64) {
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
        let status = match self.capabilities.maker {
            Maker::Intel => 0x38E,
            Maker::Amd { .. } => 0xC000_0300,
        };
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
        assert!(
            self.registers.contains_key(&register),
            "general protection: wrmsr {register:#x}"
        );
        self.written.push((register, value));
        match register {
            // Writing ones clears the status.
            0x390 => *self.registers.get_mut(&0x38E).unwrap() &= !value,
            0xC000_0302 => *self.registers.get_mut(&0xC000_0300).unwrap() &= !value,
            _ => _ = self.registers.insert(register, value),
        }
    }
}

fn counters(machine: &mut Machine) -> Counters<'_, Machine> {
    let capabilities = machine.capabilities;
    // SAFETY: the machine is made up, and has these capabilities.
    unsafe { Counters::new(machine, capabilities) }
}

const PENDING: Encoding = Encoding::new(0x48, 0x01);
const ANY: u32 = u32::MAX;

#[test]
fn events_count_between_start_and_stop_alone() {
    let mut machine = Machine::new(INTEL);
    machine.happen(7);
    let (capabilities, mut counts) = (machine.capabilities, Vec::new());
    let port = &raw mut machine;
    // SAFETY: the machine is made up; the port is used in turn with the counters, never at once.
    let mut counters = unsafe { Counters::new(&mut *port, capabilities) };
    let slots = [
        counters.add(PENDING, ANY).unwrap(),
        counters.add(PENDING.cmask(1), ANY).unwrap(),
        counters.add_fixed(0).unwrap(),
        counters.add_fixed(2).unwrap(),
    ];
    assert_eq!(
        slots,
        [
            Slot::General(0),
            Slot::General(1),
            Slot::Fixed(0),
            Slot::Fixed(2)
        ]
    );
    let happen = |events| {
        // SAFETY: as above.
        unsafe { (*port).happen(events) }
    };
    happen(100);
    counters.start();
    happen(30);
    counters.stop();
    happen(1000);
    for slot in slots {
        counts.push(counters.read(slot));
    }
    // And again from 0.
    counters.start();
    happen(4);
    counters.stop();
    counts.push(counters.read(slots[1]));
    let count = |value| Count {
        value,
        overflowed: Some(false),
    };
    assert_eq!(counts, [30, 30, 30, 30, 4].map(count));
}

#[test]
fn the_registers_hold_what_the_manual_draws() {
    let mut machine = Machine::new(INTEL);
    let mut counters = counters(&mut machine);
    counters.add(PENDING.cmask(1), 0b0100).unwrap();
    counters.add_fixed(1).unwrap();
    counters.start();
    core::mem::forget(counters);
    let registers = &machine.registers;
    assert_eq!(registers[&0x188], 0x0100_0148 | BOTH_RINGS | ENABLE);
    assert_eq!(registers[&0x38D], 0b11 << 4);
    assert_eq!(registers[&0x38F], 1 << 33 | 1 << 2);
    // The other counters select nothing.
    for select in [0x186, 0x187, 0x189] {
        assert_eq!(registers[&select], 0);
    }
}

#[test]
fn counters_are_set_before_anything_starts_them() {
    let mut machine = Machine::new(INTEL);
    let mut counters = counters(&mut machine);
    counters.add(PENDING, ANY).unwrap();
    counters.start();
    core::mem::forget(counters);
    let last = |register| {
        machine
            .written
            .iter()
            .rposition(|(written, _)| *written == register)
            .unwrap()
    };
    assert!(last(0xC1) < last(0x186), "counted before it was 0");
    assert!(last(0x186) < last(0x38F));
    assert_eq!(last(0x38F), machine.written.len() - 1);
}

#[test]
fn an_event_of_one_counter_gets_that_or_none() {
    let mut machine = Machine::new(INTEL);
    let mut counters = counters(&mut machine);
    // PENDING counts in PMC2 alone before Skylake.
    assert_eq!(counters.add(PENDING, 0b0100), Ok(Slot::General(2)));
    let full = ProgramError::Full { able: 0b0100 };
    assert_eq!(counters.add(PENDING, 0b0100), Err(full));
    for n in [0, 1, 3] {
        assert_eq!(counters.add(PENDING, ANY), Ok(Slot::General(n)));
    }
    let error = counters.add(PENDING, ANY).unwrap_err();
    assert_eq!(error, ProgramError::Full { able: ANY });
    assert!(error.to_string().contains("0xffffffff"), "{error}");
}

#[test]
fn fixed_counters_are_those_there_are_and_each_once() {
    let mut machine = Machine::new(INTEL);
    let mut counters = counters(&mut machine);
    assert_eq!(counters.add_fixed(1), Ok(Slot::Fixed(1)));
    assert_eq!(counters.add_fixed(1), Err(ProgramError::Taken { fixed: 1 }));
    let absent = ProgramError::NoFixed {
        asked: 3,
        present: 3,
    };
    assert_eq!(counters.add_fixed(3), Err(absent));
    assert_eq!(
        absent.to_string(),
        "there is no fixed counter 3; this CPU has 3"
    );
    assert_eq!(
        ProgramError::Taken { fixed: 1 }.to_string(),
        "fixed counter 1 counts already"
    );
}

/// A counter of few bits, so that it overflows soon.
fn overflowing(capabilities: Capabilities) -> (Count, Count) {
    let mut machine = Machine::new(Capabilities {
        general_bits: 8,
        ..capabilities
    });
    let capabilities = machine.capabilities;
    let port = &raw mut machine;
    // SAFETY: as in `events_count_between_start_and_stop_alone`.
    let mut counters = unsafe { Counters::new(&mut *port, capabilities) };
    let slot = counters.add(PENDING, ANY).unwrap();
    let mut measure = |events| {
        counters.start();
        // SAFETY: as above.
        unsafe { (*port).happen(events) };
        counters.stop();
        counters.read(slot)
    };
    (measure(300), measure(20))
}

#[test]
fn an_overflow_is_told_and_forgotten_at_the_next_start() {
    let count = |value, overflowed| Count { value, overflowed };
    let amd = |global| Capabilities {
        maker: Maker::Amd { global },
        version: 0,
        general: 6,
        fixed: 0,
        ..INTEL
    };
    let told = (count(300 - 256, Some(true)), count(20, Some(false)));
    assert_eq!(overflowing(INTEL), told);
    assert_eq!(overflowing(amd(true)), told);
    let untold = (count(300 - 256, None), count(20, None));
    assert_eq!(overflowing(amd(false)), untold);
    let first = Capabilities {
        version: 1,
        fixed: 0,
        ..INTEL
    };
    assert_eq!(overflowing(first), untold);
}

#[test]
fn what_was_there_before_is_there_afterwards() {
    for capabilities in [
        INTEL,
        Capabilities {
            maker: Maker::Amd { global: true },
            version: 0,
            general: 6,
            fixed: 0,
            ..INTEL
        },
    ] {
        let mut machine = Machine::new(capabilities);
        // Somebody else's: each register that selects or controls holds a number of its own.
        let held: Vec<u32> = machine
            .registers
            .keys()
            .copied()
            .filter(|register| match register {
                0x186..=0x18D | 0x38D | 0x38F | 0xC000_0301 => true,
                0xC001_0200..=0xC001_020F => register % 2 == 0,
                _ => false,
            })
            .collect();
        for (number, register) in held.iter().enumerate() {
            machine
                .registers
                .insert(*register, 0x1_0000 + number as u64);
        }
        let before = machine.registers.clone();
        let mut counters = counters(&mut machine);
        counters.add(PENDING, ANY).unwrap();
        counters.start();
        drop(counters);
        for register in held {
            assert_eq!(machine.registers[&register], before[&register]);
        }
    }
}

#[test]
fn more_counters_than_are_used_are_left_alone() {
    let mut machine = Machine::new(Capabilities {
        general: 12,
        fixed: 4,
        ..INTEL
    });
    let mut counters = counters(&mut machine);
    assert_eq!(counters.general_counters(), 8);
    assert_eq!(counters.fixed_counters(), 3);
    for _ in 0..8 {
        counters.add(PENDING, ANY).unwrap();
    }
    assert!(counters.add(PENDING, ANY).is_err());
    counters.start();
    drop(counters);
    let touched = |register| {
        machine
            .written
            .iter()
            .any(|(written, _)| *written == register)
    };
    assert!(!touched(0x186 + 8) && !touched(0xC1 + 8) && !touched(0x309 + 3));
}
