//! The assembled kernels hold the instructions that they claim, and no others.
//!
//! A family's file states what an iteration of each of its kernels does, as the header of its
//! `asm/*.S` says, and tests what else is promised of them.

automod::dir!("tests/library/codegen");

use std::collections::BTreeSet;

use iced_x86::{Code, FlowControl, InstructionInfoFactory, Mnemonic, Register};
use kernel::{Kernel, Traffic, traffic};
use linefill::kernel::symbols;
use linefill::mem::LINE;

/// What a header says of an iteration of the innermost loop, and of what lies outside it.
#[derive(Clone, Copy)]
struct Stated {
    name: &'static str,
    inside: Traffic,
    outside: Traffic,
}

const fn stated(
    name: &'static str,
    loads: usize,
    stores: usize,
    read: usize,
    written: usize,
) -> Stated {
    Stated {
        name,
        inside: Traffic {
            loads,
            stores,
            read,
            written,
        },
        outside: Traffic::NONE,
    }
}

impl Stated {
    /// The same with accesses outside the innermost loop, each instruction counted once.
    const fn and_outside(self, outside: Traffic) -> Self {
        Stated { outside, ..self }
    }
}

/// What the headers of all families say.
fn all_stated() -> Vec<Stated> {
    [
        bandwidth::STATED,
        chases::STATED,
        codealign::STATED,
        forward::STATED,
        offsets::STATED,
        matmul::STATED,
        prefetch::STATED,
        speculate::STATED,
        sharing::STATED,
        shuffle::STATED,
        streaming::STATED,
        tensor::STATED,
        walks::STATED,
    ]
    .concat()
}

/// Kernels that are one instruction which repeats itself, instead of a loop.
const LOOPLESS: [(&str, Code); 3] = [
    ("linefill_bandwidth_rep_movsb", Code::Movsb_m8_m8),
    ("linefill_bandwidth_rep_stosb", Code::Stosb_m8_AL),
    ("linefill_fill_rep_stosb", Code::Stosb_m8_AL),
];

#[test]
fn every_symbol_of_the_sources_is_listed_once_and_in_order() {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/asm")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension() != Some("S".as_ref()) {
            continue;
        }
        let source = std::fs::read_to_string(path).unwrap();
        let words = source.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
        found.extend(
            words
                .filter(|word| word.starts_with("linefill_"))
                .map(str::to_owned),
        );
    }
    let listed: Vec<_> = symbols::all().map(|code| code.name.to_owned()).collect();
    assert_eq!(listed, found.into_iter().collect::<Vec<_>>());
}

#[test]
fn an_iteration_loads_and_stores_what_its_header_says() {
    for (name, code) in LOOPLESS {
        let kernel = Kernel::named(name);
        assert!(kernel.innermost().is_none());
        let string: Vec<_> = kernel.code.iter().filter(|i| i.has_rep_prefix()).collect();
        assert_eq!(string.len(), 1);
        assert_eq!(string[0].code(), code);
    }
    for Stated {
        name,
        inside,
        outside,
    } in all_stated()
    {
        let kernel = Kernel::named(name);
        let body = kernel
            .innermost()
            .unwrap_or_else(|| panic!("{name} has no loop"));
        assert_eq!(traffic(body), inside, "{name}");
        // And what lies outside the loop does no more than it says, mostly nothing.
        let ips = body[0].ip()..=body[body.len() - 1].ip();
        let rest = kernel.code.iter().filter(|i| !ips.contains(&i.ip()));
        assert_eq!(traffic(rest), outside, "{name}");
    }
}

#[test]
fn every_kernel_is_stated_once() {
    let mut names: Vec<_> = all_stated().iter().map(|stated| stated.name).collect();
    names.extend(LOOPLESS.map(|(name, _)| name));
    names.push(tensor::CALLING);
    names.sort_unstable();
    let listed: Vec<_> = symbols::all().map(|code| code.name).collect();
    assert_eq!(names, listed);
}

/// The stack pointer, and what a function has to preserve (System V ABI, section 3.2.1).
const CALLERS: [Register; 7] = [
    Register::RSP,
    Register::RBX,
    Register::RBP,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

#[test]
fn kernels_call_nothing_use_no_stack_and_leave_no_wide_state() {
    for kernel in Kernel::all() {
        let mut factory = InstructionInfoFactory::new();
        let (last, rest) = kernel.code.split_last().unwrap();
        assert!(
            matches!(last.mnemonic(), Mnemonic::Ret | Mnemonic::Ud2),
            "{} ends in {last}",
            kernel.name
        );
        let mut wide = false;
        for (index, instruction) in kernel.code.iter().enumerate() {
            assert!(!instruction.is_invalid(), "{}", kernel.name);
            let is_return = instruction.flow_control() == FlowControl::Return;
            let is_own_call =
                kernel.name == tensor::CALLING && instruction.flow_control() == FlowControl::Call;
            for used in factory.info(instruction).used_registers() {
                let register = used.register();
                wide |= register.is_ymm() || register.is_zmm();
                assert!(
                    is_return || is_own_call || !CALLERS.contains(&register.full_register()),
                    "{}: {instruction}",
                    kernel.name
                );
            }
            assert!(
                is_own_call
                    || !matches!(
                        instruction.flow_control(),
                        FlowControl::Call | FlowControl::IndirectCall | FlowControl::Interrupt
                    ),
                "{}: {instruction}",
                kernel.name
            );
            if is_return && wide {
                let before = rest[index - 1].mnemonic();
                assert_eq!(before, Mnemonic::Vzeroupper, "{}", kernel.name);
            }
        }
    }
}

#[test]
fn functions_start_on_a_line_and_innermost_loops_on_half_a_line() {
    for kernel in Kernel::all() {
        let start = kernel.code[0].ip();
        assert_eq!(start % LINE as u64, 0, "{}", kernel.name);
        if let Some(body) = kernel.innermost() {
            assert_eq!(body[0].ip() % 32, 0, "{}", kernel.name);
        }
    }
}
