//! The assembled kernels contain exactly the instructions that they state.
//!
//! The work of an iteration is stated in the header of the kernel's `asm/<subject>/*.S`, in a line such as
//! `linefill_walk_inc: 2 loads, 16 bytes; 1 store, 8 bytes`. For older families, a table in a file of this
//! folder states it. These files also test other properties of the families.

automod::dir!("tests/library/codegen");

use std::collections::BTreeSet;
use std::path::Path;

use iced_x86::{Code, FlowControl, InstructionInfoFactory, Mnemonic, Register};
use kernel::{Kernel, Traffic, traffic};
use linefill::kernel::symbols;
use linefill::mem::LINE;

/// The stated work of an iteration of the innermost loop, and of the code outside it.
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
    Stated { name, inside: Traffic { loads, stores, read, written }, outside: Traffic::NONE }
}

impl Stated {
    /// Adds accesses outside the innermost loop. Each instruction counts once.
    const fn and_outside(self, outside: Traffic) -> Self {
        Stated { outside, ..self }
    }
}

/// Parses a line of a header; `None` if it states no work.
fn stated_by(line: &str) -> Option<Stated> {
    let (name, accesses) = line.trim().split_once(": ")?;
    if !name.starts_with("linefill_") {
        return None;
    }
    let mut inside = Traffic::NONE;
    for access in accesses.split("; ") {
        let words: Vec<_> = access.split([' ', ',']).collect();
        let [count, kind, "", bytes, "bytes"] = words[..] else {
            panic!("`{line}`: `{access}` is not like `2 loads, 16 bytes`");
        };
        let number = |text: &str| text.parse::<usize>().expect(line);
        match kind {
            "load" | "loads" => (inside.loads, inside.read) = (number(count), number(bytes)),
            "store" | "stores" => (inside.stores, inside.written) = (number(count), number(bytes)),
            _ => panic!("`{line}`: `{kind}` is neither loads nor stores"),
        }
    }
    Some(Stated { name: name.to_owned().leak(), inside, outside: Traffic::NONE })
}

/// The sources of all kernels.
fn sources() -> impl Iterator<Item = String> {
    let files = |folder: &Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path())
    };
    let subjects = files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/asm")));
    subjects
        .filter(|path| path.is_dir())
        .flat_map(move |subject| files(&subject))
        .map(|path| std::fs::read_to_string(path).unwrap())
}

#[test]
fn a_header_states_loads_and_stores() {
    let stated = stated_by("   linefill_some: 2 loads, 16 bytes; 1 store, 8 bytes").unwrap();
    assert_eq!(stated.name, "linefill_some");
    let Traffic { loads, stores, read, written } = stated.inside;
    assert_eq!([loads, stores, read, written], [2, 1, 16, 8]);
    assert!(stated_by("   rdi  address of the word").is_none());
}

/// The statements of headers and tables for all kernels.
fn all_stated() -> Vec<Stated> {
    let of_headers = sources().flat_map(|source| {
        let stated: Vec<_> = source.lines().filter_map(stated_by).collect();
        stated
    });
    let of_headers: Vec<_> = of_headers.collect();
    [
        &of_headers[..],
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

/// Kernels without a loop: one instruction that repeats itself.
const LOOPLESS: [(&str, Code); 3] = [
    ("linefill_bandwidth_rep_movsb", Code::Movsb_m8_m8),
    ("linefill_bandwidth_rep_stosb", Code::Stosb_m8_AL),
    ("linefill_fill_rep_stosb", Code::Stosb_m8_AL),
];

#[test]
fn every_symbol_of_the_sources_is_listed_once_and_in_order() {
    let mut found = BTreeSet::new();
    for source in sources() {
        let words = source.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
        found.extend(words.filter(|word| word.starts_with("linefill_")).map(str::to_owned));
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
    for Stated { name, inside, outside } in all_stated() {
        let kernel = Kernel::named(name);
        let body = kernel.innermost().unwrap_or_else(|| panic!("{name} has no loop"));
        assert_eq!(traffic(body), inside, "{name}");
        // The code outside the loop has exactly the stated accesses, usually none.
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

/// The stack pointer and the registers that a function must preserve (System V ABI, section 3.2.1).
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
