//! The assembled kernels hold the instructions that they claim, and no others.

use std::collections::BTreeSet;

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Formatter, Instruction, InstructionInfoFactory,
    IntelFormatter, Mnemonic, OpAccess, Register,
};
use linefill::kernel::x86_64::asm::code;
use linefill::mem::LINE;

/// A kernel's instructions.
struct Kernel {
    name: &'static str,
    code: Vec<Instruction>,
}

impl Kernel {
    fn all() -> Vec<Kernel> {
        let decode = |kernel: code::Code| Kernel {
            name: kernel.name,
            code: Decoder::with_ip(
                64,
                kernel.bytes,
                kernel.bytes.as_ptr().addr() as u64,
                DecoderOptions::NONE,
            )
            .iter()
            .collect(),
        };
        code::all().map(decode).collect()
    }

    fn named(name: &str) -> Kernel {
        let mut all = Kernel::all().into_iter();
        all.find(|kernel| kernel.name == name)
            .unwrap_or_else(|| panic!("no kernel {name}"))
    }

    /// The body of the innermost loop: the shortest stretch that ends in a branch to its start.
    fn innermost(&self) -> Option<&[Instruction]> {
        let at = |ip| self.code.iter().position(|other| other.ip() == ip);
        let bodies = self.code.iter().enumerate().filter_map(|(last, branch)| {
            let backward = branch.flow_control() == FlowControl::ConditionalBranch
                && branch.near_branch_target() <= branch.ip();
            let first = backward.then(|| at(branch.near_branch_target()))??;
            Some(&self.code[first..=last])
        });
        bodies.min_by_key(|body| body.len())
    }

    /// The instructions as text, addresses inside the code left out.
    fn texts(&self) -> Vec<String> {
        self.code.iter().map(text).collect()
    }
}

fn text(instruction: &Instruction) -> String {
    if instruction.is_jcc_short_or_near() || instruction.is_ip_rel_memory_operand() {
        return format!("{:?}", instruction.mnemonic());
    }
    let mut text = String::new();
    IntelFormatter::new().format(instruction, &mut text);
    text
}

/// Loads, stores, bytes read and bytes written.
#[derive(Debug, Default, PartialEq, Eq)]
struct Traffic {
    loads: usize,
    stores: usize,
    read: usize,
    written: usize,
}

/// What `code` does to memory, each instruction executed once. Prefetches do nothing to it.
fn traffic<'a>(code: impl IntoIterator<Item = &'a Instruction>) -> Traffic {
    let mut factory = InstructionInfoFactory::new();
    let mut sum = Traffic::default();
    for instruction in code {
        if instruction.flow_control() == FlowControl::Return {
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

/// What the header of `asm/*.S` says of an iteration of the innermost loop of `name`.
fn stated(name: &str) -> Traffic {
    let (loads, stores, read, written) = match name {
        "linefill_register" => (0, 0, 0, 0),
        "linefill_walk_follow" => (1, 0, 8, 0),
        "linefill_walk_inc" => (2, 1, 16, 8),
        "linefill_walk_addnext" => (3, 1, 24, 8),
        "linefill_jump" | "linefill_jump_checked" => (1, 0, 4, 0),
        "linefill_load_cached" | "linefill_load_stream" => (4, 0, 64, 0),
        "linefill_fill_cached" | "linefill_fill_stream" => (0, 4, 0, 64),
        "linefill_fill_interleaved" => (0, 1, 0, 16),
        "linefill_store4" | "linefill_stream4" => (0, 1, 0, 4),
        "linefill_store8" | "linefill_stream8" => (0, 1, 0, 8),
        "linefill_store16" | "linefill_stream16" => (0, 1, 0, 16),
        "linefill_store32" | "linefill_stream32" => (0, 1, 0, 32),
        "linefill_store64" | "linefill_stream64" => (0, 1, 0, 64),
        "linefill_prefetch_none" | "linefill_prefetch_none_serial" => (1, 0, 8, 0),
        _ if name.starts_with("linefill_prefetch_") => (2, 0, 16, 0),
        _ if name.starts_with("linefill_fields_") => (8, 0, 64, 0),
        _ => panic!("what does {name} do?"),
    };
    Traffic {
        loads,
        stores,
        read,
        written,
    }
}

/// One instruction that repeats itself instead of a loop.
const LOOPLESS: &str = "linefill_fill_rep_stosb";

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
    let listed: Vec<_> = code::all().map(|code| code.name.to_owned()).collect();
    assert_eq!(listed, found.into_iter().collect::<Vec<_>>());
}

#[test]
fn an_iteration_loads_and_stores_what_its_header_says() {
    for kernel in Kernel::all() {
        if kernel.name == LOOPLESS {
            assert!(kernel.innermost().is_none());
            let string: Vec<_> = kernel.code.iter().filter(|i| i.has_rep_prefix()).collect();
            assert_eq!(string.len(), 1);
            assert_eq!(string[0].code(), Code::Stosb_m8_AL);
            continue;
        }
        let body = kernel
            .innermost()
            .unwrap_or_else(|| panic!("{} has no loop", kernel.name));
        assert_eq!(traffic(body), stated(kernel.name), "{}", kernel.name);
        // And nothing outside the loop does any more.
        let whole = traffic(&kernel.code);
        assert_eq!(whole, stated(kernel.name), "{}", kernel.name);
    }
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
            for used in factory.info(instruction).used_registers() {
                let register = used.register();
                wide |= register.is_ymm() || register.is_zmm();
                assert!(
                    is_return || !CALLERS.contains(&register.full_register()),
                    "{}: {instruction}",
                    kernel.name
                );
            }
            assert!(
                !matches!(
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

/// The only instruction of `name` that stores, or loads.
fn access(name: &str) -> Mnemonic {
    let kernel = Kernel::named(name);
    let with_memory = kernel
        .code
        .iter()
        .filter(|instruction| traffic([*instruction]) != Traffic::default());
    let found: BTreeSet<_> = with_memory.map(Instruction::mnemonic).collect();
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found.into_iter().next().unwrap()
}

#[test]
fn stores_and_loads_are_the_instructions_they_are_named_after() {
    for (name, mnemonic) in [
        ("linefill_store4", Mnemonic::Mov),
        ("linefill_store8", Mnemonic::Mov),
        ("linefill_store16", Mnemonic::Movdqa),
        ("linefill_store32", Mnemonic::Vmovdqa),
        ("linefill_store64", Mnemonic::Vmovdqa64),
        ("linefill_stream4", Mnemonic::Movnti),
        ("linefill_stream8", Mnemonic::Movnti),
        ("linefill_stream16", Mnemonic::Movntdq),
        ("linefill_stream32", Mnemonic::Vmovntdq),
        ("linefill_stream64", Mnemonic::Vmovntdq),
        ("linefill_fill_cached", Mnemonic::Movdqa),
        ("linefill_fill_stream", Mnemonic::Movntdq),
        ("linefill_fill_interleaved", Mnemonic::Movntdq),
        ("linefill_load_cached", Mnemonic::Movdqa),
        ("linefill_load_stream", Mnemonic::Movntdqa),
    ] {
        assert_eq!(access(name), mnemonic, "{name}");
    }
}

#[test]
fn a_non_temporal_kernel_differs_from_the_cached_one_in_that_instruction_alone() {
    for (cached, streamed) in [
        ("linefill_store4", "linefill_stream4"),
        ("linefill_store8", "linefill_stream8"),
        ("linefill_store16", "linefill_stream16"),
        ("linefill_store32", "linefill_stream32"),
        ("linefill_store64", "linefill_stream64"),
        ("linefill_fill_cached", "linefill_fill_stream"),
        ("linefill_load_cached", "linefill_load_stream"),
    ] {
        let (from, to) = (access(cached), access(streamed));
        let name = |mnemonic: Mnemonic| format!("{mnemonic:?} ").to_lowercase();
        // Padding before the loop may be longer where an encoding is.
        let texts = |kernel: &str| -> Vec<_> {
            let texts = Kernel::named(kernel).texts().into_iter();
            texts.filter(|text| !text.contains("nop")).collect()
        };
        let mut replaced = texts(cached);
        for text in &mut replaced {
            if text.contains('[') {
                *text = text.replacen(&name(from), &name(to), 1);
            }
        }
        assert_eq!(replaced, texts(streamed));
    }
}

#[test]
fn a_prefetch_differs_from_the_plain_walk_by_its_address_and_itself() {
    let texts = |name: &str| -> Vec<_> {
        let body = Kernel::named(name);
        body.innermost().unwrap().iter().map(text).collect()
    };
    for pace in ["", "_serial"] {
        let plain = texts(&format!("linefill_prefetch_none{pace}"));
        for (hint, instruction) in [
            ("t0", "prefetcht0"),
            ("t1", "prefetcht1"),
            ("t2", "prefetcht2"),
            ("nta", "prefetchnta"),
            ("w", "prefetchw"),
        ] {
            let mut code = texts(&format!("linefill_prefetch_{hint}{pace}"));
            let added: Vec<_> = code.drain(..2).collect();
            assert_eq!(
                added,
                ["mov r10,[rax+rdx]", &format!("{instruction} [r10]")]
            );
            assert_eq!(code, plain);
        }
    }
}

#[test]
fn serial_and_overlapped_walks_differ_in_one_register() {
    for kernel in Kernel::all() {
        if !kernel.name.starts_with("linefill_prefetch_") || kernel.name.ends_with("_serial") {
            continue;
        }
        let serial = Kernel::named(&format!("{}_serial", kernel.name));
        let pairs = kernel.texts().into_iter().zip(serial.texts());
        let differing: Vec<_> = pairs.filter(|(one, other)| one != other).collect();
        assert_eq!(
            differing,
            [("add r11,r8".to_owned(), "add rax,r8".to_owned())]
        );
        assert_eq!(kernel.code.len(), serial.code.len());
    }
}

/// The jump goes `rcx` four-byte multiplications before their end.
#[test]
fn the_dial_enters_a_run_of_four_byte_multiplications_before_its_end() {
    for kernel in Kernel::all() {
        if !kernel.name.starts_with("linefill_prefetch_") {
            continue;
        }
        let run: Vec<_> = kernel
            .code
            .iter()
            .filter(|i| i.mnemonic() == Mnemonic::Imul)
            .collect();
        assert_eq!(run.len(), linefill::kernel::MOST_WORK as usize);
        assert!(run.iter().all(|imul| text(imul) == "imul r8,r8"));
        for (index, imul) in run.iter().enumerate() {
            assert_eq!(imul.ip(), run[0].ip() + 4 * index as u64);
        }
        let lea = kernel.code[0];
        assert_eq!(lea.mnemonic(), Mnemonic::Lea);
        let end = run[0].ip() + 4 * run.len() as u64;
        assert_eq!(lea.ip_rel_memory_address(), end);
        assert_eq!(text(&kernel.code[1]), "shl rcx,2");
        assert!(kernel.texts().contains(&"jmp r9".to_owned()));
    }
}

/// Byte displacements of the loads of the loop of `name`, in program order.
fn displacements(name: &str) -> Vec<i64> {
    let kernel = Kernel::named(name);
    let body = kernel.innermost().unwrap();
    body.iter()
        .filter(|instruction| traffic([*instruction]).loads > 0)
        .map(|instruction| instruction.memory_displacement64() as i64)
        .collect()
}

#[test]
fn fields_are_read_in_the_order_of_the_name_by_the_same_instructions() {
    let ascending: Vec<i64> = (0..8).map(|word| word * 8).collect();
    for (end, pointer) in [("first", 0), ("last", 56)] {
        let mut expected: Vec<_> = ascending.iter().map(|byte| byte - pointer).collect();
        let names = ["ascending", "descending"].map(|way| format!("linefill_fields_{end}_{way}"));
        assert_eq!(displacements(&names[0]), expected);
        expected.reverse();
        assert_eq!(displacements(&names[1]), expected);
        let sorted = |name: &str| {
            let kernel = Kernel::named(name);
            let mut mnemonics: Vec<_> = kernel.code.iter().map(Instruction::mnemonic).collect();
            mnemonics.sort_unstable();
            mnemonics
        };
        assert_eq!(sorted(&names[0]), sorted(&names[1]));
    }
}
