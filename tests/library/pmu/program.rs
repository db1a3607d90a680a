//! Programming the counters of a made-up CPU: select, count, fixed and global registers, overflow, and the
//! state that is left behind.

// The port's methods are unsafe because they are unsafe on a real CPU.
#![allow(unsafe_code)]

use std::cell::Cell;

use super::machine::{AMD, ANY, ENABLE, INTEL, Machine, PENDING, counters};
use linefill::pmu::{Capabilities, Count, Counters, Encoding, Maker, Rdpmc, Slot};

const BOTH_RINGS: u64 = 0b11 << 16;

#[test]
fn events_count_between_start_and_stop_alone() {
    let mut machine = Machine::new(INTEL);
    machine.happen(7);
    let (capabilities, mut counts) = (machine.capabilities, Vec::new());
    let port = &raw mut machine;
    // SAFETY: the machine is made up; the test uses the port and the counters alternately, never at the same
    // time.
    let mut counters = unsafe { Counters::new(&mut *port, capabilities) };
    let slots = [
        counters.add(PENDING, ANY).unwrap(),
        counters.add(PENDING.cmask(1), ANY).unwrap(),
        counters.add_fixed(0).unwrap(),
        counters.add_fixed(2).unwrap(),
    ];
    assert_eq!(slots, [Slot::General(0), Slot::General(1), Slot::Fixed(0), Slot::Fixed(2)]);
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
        counts.push(counters.read(slot).unwrap());
    }
    // Counts from 0 again.
    counters.start();
    happen(4);
    counters.stop();
    counts.push(counters.read(slots[1]).unwrap());
    counts.push(counters.read(slots[3]).unwrap());
    let count = |value| Count { value, overflowed: Some(false) };
    assert_eq!(counts, [30, 30, 30, 30, 4, 4].map(count));
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
fn amds_event_numbers_have_an_upper_part() {
    let mut machine = Machine::new(AMD);
    let mut counters = counters(&mut machine);
    // Op cache hits, PMCx28F.
    counters.add(Encoding::new(0x28F, 0x03), ANY).unwrap();
    counters.start();
    core::mem::forget(counters);
    let registers = &machine.registers;
    assert_eq!(registers[&0xC001_0200], 2 << 32 | 0x038F | BOTH_RINGS | ENABLE);
    assert_eq!(registers[&0xC000_0301], 1);
}

#[test]
fn counters_are_set_before_anything_starts_them() {
    let mut machine = Machine::new(INTEL);
    let mut counters = counters(&mut machine);
    counters.add(PENDING, ANY).unwrap();
    counters.start();
    core::mem::forget(counters);
    let last =
        |register| machine.written.iter().rposition(|(written, _)| *written == register).unwrap();
    assert!(last(0xC1) < last(0x186), "counted before it was 0");
    assert!(last(0x186) < last(0x38F));
    assert_eq!(last(0x38F), machine.written.len() - 1);
}

#[test]
fn a_running_counter_is_read_by_rdpmc() {
    struct Asked(Cell<u32>);
    impl Rdpmc for Asked {
        unsafe fn rdpmc(&self, counter: u32) -> u64 {
            self.0.set(counter);
            42
        }
    }
    let mut machine = Machine::new(INTEL);
    let mut counters = counters(&mut machine);
    let general = counters.add(PENDING, 0b1000).unwrap();
    let fixed = counters.add_fixed(1).unwrap();
    let cpu = Asked(Cell::new(0));
    assert_eq!(counters.peek(general, &cpu), Some(42));
    assert_eq!(cpu.0.get(), 3);
    assert_eq!(counters.peek(fixed, &cpu), Some(42));
    assert_eq!(cpu.0.get(), 1 << 30 | 1);
}

/// A slot has public variants, and may also come from another CPU. The made-up CPU panics where a real one
/// raises an exception.
#[test]
fn a_counter_that_does_not_exist_is_not_read() {
    struct Never;
    impl Rdpmc for Never {
        unsafe fn rdpmc(&self, counter: u32) -> u64 {
            panic!("general protection: rdpmc {counter:#x}")
        }
    }
    let without_fixed = Capabilities { fixed: 0, ..INTEL };
    for capabilities in [INTEL, without_fixed] {
        let mut machine = Machine::new(capabilities);
        let mut counters = counters(&mut machine);
        counters.add(PENDING, ANY).unwrap();
        counters.start();
        counters.stop();
        let general = [4, 8, 32, 64, 255].map(Slot::General);
        let fixed = [3, 4, 32, 64, 255].map(Slot::Fixed);
        for slot in general.into_iter().chain(fixed) {
            assert_eq!(counters.read(slot), None, "{slot:?}");
            assert_eq!(counters.peek(slot, &Never), None, "{slot:?}");
        }
        assert!(counters.read(Slot::General(3)).is_some());
        let last = counters.read(Slot::Fixed(2));
        assert_eq!(last.is_some(), capabilities.fixed > 0);
    }
}

/// A counter with few bits, so that it overflows early.
fn overflowing(capabilities: Capabilities) -> (Count, Count) {
    let mut machine = Machine::new(Capabilities { general_bits: 8, ..capabilities });
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
        counters.read(slot).unwrap()
    };
    (measure(300), measure(20))
}

#[test]
fn an_overflow_is_told_and_forgotten_at_the_next_start() {
    let count = |value, overflowed| Count { value, overflowed };
    let amd = |global| Capabilities { maker: Maker::Amd { global }, ..AMD };
    let told = (count(300 - 256, Some(true)), count(20, Some(false)));
    assert_eq!(overflowing(INTEL), told);
    assert_eq!(overflowing(amd(true)), told);
    let untold = (count(300 - 256, None), count(20, None));
    assert_eq!(overflowing(amd(false)), untold);
    let first = Capabilities { version: 1, fixed: 0, ..INTEL };
    assert_eq!(overflowing(first), untold);
}

#[test]
fn what_was_there_before_is_there_afterwards() {
    for capabilities in [INTEL, AMD] {
        let mut machine = Machine::new(capabilities);
        // Registers of another owner: each select and control register has a different value.
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
            machine.registers.insert(*register, 0x1_0000 + number as u64);
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
    let mut machine = Machine::new(Capabilities { general: 12, fixed: 4, ..INTEL });
    let mut counters = counters(&mut machine);
    assert_eq!(counters.general_counters(), 8);
    assert_eq!(counters.fixed_counters(), 3);
    for _ in 0..8 {
        counters.add(PENDING, ANY).unwrap();
    }
    assert!(counters.add(PENDING, ANY).is_err());
    counters.start();
    drop(counters);
    let touched = |register| machine.written.iter().any(|(written, _)| *written == register);
    assert!(!touched(0x186 + 8) && !touched(0xC1 + 8) && !touched(0x309 + 3));
}
