//! Interprets Drepper's two IA-64 sequences (section 6.3.3): with the advanced load and its check, the
//! program has the same result as without, whatever bytes the store overwrites.
//!
//! Source: Intel Itanium Architecture Software Developer's Manual, volume 1, section 4.4.5 ("Data
//! Speculation"). `ld.a` enters its register and address into the ALAT. Every store removes the entries that
//! it overlaps. `ld.c.clr` loads again only if its entry is missing, and removes the entry.
//! entries that it overlaps, and `ld.c.clr` loads again only if its entry is gone, and removes it.

use std::collections::{BTreeMap, HashMap};

/// A register by its number, as in `r6`.
type Register = u8;

/// The instructions of the listings.
#[derive(Clone, Copy)]
enum Op {
    /// `st8 [address] = value`, an immediate.
    StoreImmediate(Register, u64),
    /// `st8 [address] = register`.
    Store(Register, Register),
    /// `ld8 to = [address]`.
    Load(Register, Register),
    /// `ld8.a to = [address]`.
    Advanced(Register, Register),
    /// `ld8.c.clr to = [address]`.
    Check(Register, Register),
    /// `add to = one, other`.
    Add(Register, Register, Register),
}
use Op::{Add, Advanced, Check, Load, Store, StoreImmediate};

/// The sequence with a plain load after the store.
const PLAIN: [Op; 4] = [
    StoreImmediate(4, 12),
    Load(6, 8),
    Add(5, 6, 7),
    Store(18, 5),
];

/// The sequence with the load started before the store, and checked after it.
const SPECULATIVE: [Op; 5] = [
    Advanced(6, 8),
    StoreImmediate(4, 12),
    Check(6, 8),
    Add(5, 6, 7),
    Store(18, 5),
];

/// The speculative sequence without the check, to show why the check is needed.
const UNCHECKED: [Op; 4] = [
    Advanced(6, 8),
    StoreImmediate(4, 12),
    Add(5, 6, 7),
    Store(18, 5),
];

const WORD: u64 = 8;

/// Registers, memory by bytes, and the advanced load address table.
#[derive(Clone, Debug, Default, PartialEq)]
struct Machine {
    registers: HashMap<Register, u64>,
    memory: BTreeMap<u64, u8>,
    alat: HashMap<Register, u64>,
    /// The number of loads from memory.
    loads: u32,
}

impl Machine {
    /// A machine with the addresses of the first store, the load and the second store, and 5 in r7. The
    /// loaded word is 100.
    fn new(r4: u64, r8: u64, r18: u64) -> Self {
        let mut machine = Machine {
            registers: HashMap::from([(4, r4), (8, r8), (18, r18), (7, 5)]),
            ..Machine::default()
        };
        machine.store(r8, 100);
        machine
    }

    fn register(&self, number: Register) -> u64 {
        self.registers.get(&number).copied().unwrap_or(0)
    }

    fn word(&self, address: u64) -> u64 {
        let byte = |at| self.memory.get(&at).copied().unwrap_or(0);
        u64::from_le_bytes(core::array::from_fn(|index| byte(address + index as u64)))
    }

    fn store(&mut self, address: u64, value: u64) {
        self.memory.extend((address..).zip(value.to_le_bytes()));
        self.alat.retain(|_, entry| entry.abs_diff(address) >= WORD);
    }

    fn load(&mut self, to: Register, address: u64) {
        self.loads += 1;
        let value = self.word(address);
        self.registers.insert(to, value);
    }

    fn step(&mut self, op: Op) {
        match op {
            StoreImmediate(at, value) => self.store(self.register(at), value),
            Store(at, from) => self.store(self.register(at), self.register(from)),
            Load(to, at) => self.load(to, self.register(at)),
            Advanced(to, at) => {
                let address = self.register(at);
                self.load(to, address);
                self.alat.insert(to, address);
            }
            Check(to, at) => {
                let address = self.register(at);
                if self.alat.remove(&to) != Some(address) {
                    self.load(to, address);
                }
            }
            Add(to, one, other) => {
                let sum = self.register(one).wrapping_add(self.register(other));
                self.registers.insert(to, sum);
            }
        }
    }

    /// The machine after the program.
    fn run(mut self, program: &[Op]) -> Machine {
        for &op in program {
            self.step(op);
        }
        self
    }
}

/// Addresses of the first store, for a load of the word at 64: elsewhere, at the same word, and overlapping
/// it from both sides.
const STORES: [u64; 7] = [0, 128, 64, 57, 60, 68, 71];

#[test]
fn an_advanced_load_with_its_check_means_what_a_plain_load_means() {
    for store in STORES {
        let machine = Machine::new(store, 64, 256);
        let plain = machine.clone().run(&PLAIN);
        let speculative = machine.run(&SPECULATIVE);
        assert_eq!(plain.registers, speculative.registers, "store to {store}");
        assert_eq!(plain.memory, speculative.memory, "store to {store}");
        assert!(speculative.alat.is_empty(), "the check clears its entry");
    }
}

#[test]
fn it_loads_again_only_if_the_store_was_of_the_same_bytes() {
    for store in STORES {
        let loads = Machine::new(store, 64, 256).run(&SPECULATIVE).loads;
        let overlaps = store.abs_diff(64) < WORD;
        assert_eq!(loads, 1 + u32::from(overlaps), "store to {store}");
    }
}

#[test]
fn the_sum_is_of_what_the_store_left() {
    let apart = Machine::new(0, 64, 256).run(&SPECULATIVE);
    assert_eq!((apart.word(0), apart.word(256)), (12, 105));
    let same = Machine::new(64, 64, 256).run(&SPECULATIVE);
    assert_eq!((same.word(64), same.word(256)), (12, 17));
}

#[test]
fn without_the_check_the_sum_is_of_what_was_there_before() {
    let apart = Machine::new(0, 64, 256).run(&UNCHECKED);
    assert_eq!(apart.word(256), 105);
    let same = Machine::new(64, 64, 256).run(&UNCHECKED);
    assert_eq!(same.word(256), 105, "17 wanted, as the check would have it");
}
