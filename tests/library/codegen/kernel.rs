//! A kernel's decoded machine code, and its memory accesses.

use std::collections::BTreeSet;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Formatter, Instruction, InstructionInfoFactory,
    IntelFormatter, Mnemonic, OpAccess,
};
use linefill::kernel::symbols;

/// A kernel's instructions.
pub struct Kernel {
    pub name: &'static str,
    pub code: Vec<Instruction>,
}

impl Kernel {
    pub fn all() -> Vec<Kernel> {
        symbols::all().map(Kernel::decoded).collect()
    }

    pub fn named(name: &str) -> Kernel {
        let found = symbols::all().find(|code| code.name == name);
        Kernel::decoded(found.unwrap_or_else(|| panic!("no kernel {name}")))
    }

    fn decoded(kernel: symbols::Code) -> Kernel {
        let address = kernel.bytes.as_ptr().addr() as u64;
        let decoder = Decoder::with_ip(64, kernel.bytes, address, DecoderOptions::NONE);
        Kernel { name: kernel.name, code: decoder.into_iter().collect() }
    }

    /// The body of the innermost loop: the shortest range that ends in a branch to its start.
    pub fn innermost(&self) -> Option<&[Instruction]> {
        let at = |ip| self.code.iter().position(|other| other.ip() == ip);
        let bodies = self.code.iter().enumerate().filter_map(|(last, branch)| {
            let backward = branch.flow_control() == FlowControl::ConditionalBranch
                && branch.near_branch_target() <= branch.ip();
            let first = backward.then(|| at(branch.near_branch_target()))??;
            Some(&self.code[first..=last])
        });
        bodies.min_by_key(|body| body.len())
    }

    /// The instructions as text, without addresses inside the code.
    pub fn texts(&self) -> Vec<String> {
        self.code.iter().map(text).collect()
    }
}

/// An instruction as text, without an address inside the code.
pub fn text(instruction: &Instruction) -> String {
    if instruction.is_jcc_short_or_near() || instruction.is_ip_rel_memory_operand() {
        return format!("{:?}", instruction.mnemonic());
    }
    let mut text = String::new();
    IntelFormatter::new().format(instruction, &mut text);
    text
}

/// Numbers of loads and stores, bytes read and bytes written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub loads: usize,
    pub stores: usize,
    pub read: usize,
    pub written: usize,
}

impl Traffic {
    pub const NONE: Traffic = Traffic { loads: 0, stores: 0, read: 0, written: 0 };
}

/// Instructions that flush or write back a line.
pub const FLUSHES: [Mnemonic; 3] = [Mnemonic::Clflush, Mnemonic::Clflushopt, Mnemonic::Clwb];

/// The memory traffic of `code`, with each instruction executed once. Prefetches and flushes do not count.
pub fn traffic<'a>(code: impl IntoIterator<Item = &'a Instruction>) -> Traffic {
    let mut factory = InstructionInfoFactory::new();
    let mut sum = Traffic::default();
    for instruction in code {
        if instruction.flow_control() == FlowControl::Return
            || FLUSHES.contains(&instruction.mnemonic())
        {
            continue;
        }
        for memory in factory.info(instruction).used_memory() {
            let bytes = memory.memory_size().size();
            let (reads, writes) = match memory.access() {
                OpAccess::NoMemAccess | OpAccess::None => (0, 0),
                OpAccess::Read | OpAccess::CondRead => (1, 0),
                OpAccess::Write | OpAccess::CondWrite => (0, 1),
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => (1, 1),
            };
            sum.loads += reads;
            sum.stores += writes;
            sum.read += reads * bytes;
            sum.written += writes * bytes;
        }
    }
    sum
}

/// The mnemonic of the only instruction of `name` that stores or loads.
pub fn access(name: &str) -> Mnemonic {
    let kernel = Kernel::named(name);
    let with_memory =
        kernel.code.iter().filter(|instruction| traffic([*instruction]) != Traffic::default());
    let found: BTreeSet<_> = with_memory.map(Instruction::mnemonic).collect();
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found.into_iter().next().unwrap()
}

/// The instructions of the loop of `name` that access memory.
pub fn accesses(name: &str) -> Vec<Instruction> {
    let kernel = Kernel::named(name);
    let body = kernel.innermost().unwrap().iter();
    body.filter(|instruction| traffic([*instruction]) != traffic([])).copied().collect()
}
