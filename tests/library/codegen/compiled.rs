//! The effect of `#[inline]`, `#[cold]` and `cold_path` on compiled code: the sizes of functions, and the
//! place of cold code (Drepper 6.2.2).
#![cfg(feature = "lab")]

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use object::{Object, ObjectSection, ObjectSymbol};

/// The object file of a compiled fixture.
pub struct Compiled(Vec<u8>);

impl Compiled {
    /// Compiles the fixture `layout` at an optimisation level.
    fn at(level: &str) -> Self {
        Compiled::of("layout", level, &[])
    }

    /// Compiles a fixture at an optimisation level, with additional options.
    pub fn of(fixture: &str, level: &str, options: &[&str]) -> Self {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/codegen");
        // The compiler writes temporary files next to the output, named after it. The unique name keeps
        // concurrent tests at the same level from overwriting each other's files.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let output = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("{fixture}-{}-{count}.o", std::process::id()));
        let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
        let ran = Command::new(rustc)
            .args(["--edition=2024", "--crate-type=lib", "--emit=obj"])
            .args(["-C", &format!("opt-level={level}"), "-C", "codegen-units=1"])
            .args(options)
            .arg("-o")
            .arg(&output)
            .arg(Path::new(fixtures).join(fixture).with_extension("rs"))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let bytes = std::fs::read(&output).unwrap();
        std::fs::remove_file(output).unwrap();
        Compiled(bytes)
    }

    /// The names of all functions.
    pub fn functions(&self) -> Vec<String> {
        let file = object::File::parse(&*self.0).unwrap();
        let functions = file.symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Text);
        functions.map(|symbol| symbol.name().unwrap().to_owned()).collect()
    }

    /// The instructions of a function.
    pub fn code(&self, name: &str) -> Vec<Instruction> {
        let file = object::File::parse(&*self.0).unwrap();
        let symbol = file.symbol_by_name(name).unwrap();
        let section = file.section_by_index(symbol.section_index().unwrap());
        let (from, size) = (symbol.address() as usize, symbol.size() as usize);
        let section = section.unwrap();
        let bytes = &section.data().unwrap()[from..][..size];
        Decoder::new(64, bytes, DecoderOptions::NONE).iter().collect()
    }

    /// The size of a function in bytes.
    fn size(&self, name: &str) -> usize {
        self.code(name).iter().map(Instruction::len).sum()
    }
}

/// Whether the instruction stands for the function's own code or for the candidate's.
fn is_code(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Nop && instruction.len() == 8
}

#[test]
fn inlining_into_two_functions_takes_the_candidate_twice_and_calling_once() {
    let compiled = Compiled::at("3");
    let size = |name| compiled.size(name);
    let candidate = 64 * 8;
    let ret = 1;
    assert_eq!(size("inlcand"), candidate + ret);
    // Table 6.3 of the paper does not count the calls themselves.
    let calls: usize = ["f1_called", "f2_called"]
        .into_iter()
        .flat_map(|name| compiled.code(name))
        .filter(|i| !is_code(i) && i.mnemonic() != Mnemonic::Ret)
        .map(|i| i.len())
        .sum();
    assert!((10..=30).contains(&calls), "{calls} bytes for two calls");
    let own = [8, 17].map(|instructions| instructions * 8 + ret);
    assert_eq!(size("f1_inlined"), own[0] + candidate);
    assert_eq!(size("f2_inlined"), own[1] + candidate);
    let inlined = size("f1_inlined") + size("f2_inlined");
    let called = size("f1_called") + size("f2_called") + size("inlcand");
    assert_eq!(inlined, own[0] + own[1] + 2 * candidate);
    assert_eq!(called, own[0] + own[1] + candidate + ret + calls);
}

/// Whether the instruction is a call, possibly through a table of addresses.
pub fn is_call(instruction: &Instruction) -> bool {
    let flow = instruction.flow_control();
    matches!(flow, FlowControl::Call | FlowControl::IndirectCall)
}

/// At every optimisation level, the attributes take precedence.
#[test]
fn attributes_decide_what_is_inlined() {
    for level in ["1", "2", "3", "s", "z"] {
        let compiled = Compiled::at(level);
        for (name, calls) in [("f1_inlined", 0), ("f2_inlined", 0), ("f1_called", 1)] {
            let code = compiled.code(name);
            let found = code.iter().filter(|i| is_call(i));
            assert_eq!(found.count(), calls, "{name} at {level}");
        }
    }
}

#[test]
fn optimising_for_size_takes_less_of_it() {
    let [speed, size] = ["3", "z"].map(|level| Compiled::at(level).size("sum"));
    assert!(size < speed, "{size} bytes for size, {speed} for speed");
}

/// The instructions from the entry to the return if no conditional branch is taken.
fn straight_on(code: &[Instruction]) -> &[Instruction] {
    let ret = code.iter().position(|i| i.mnemonic() == Mnemonic::Ret);
    &code[..=ret.unwrap()]
}

#[test]
fn the_hot_path_goes_straight_to_its_return_and_the_cold_block_lies_behind() {
    let compiled = Compiled::at("3");
    for name in ["then_is_cold", "else_is_cold", "then_calls_cold", "else_calls_cold"] {
        let code = compiled.code(name);
        let hot = straight_on(&code);
        let behind = hot[hot.len() - 1].next_ip();
        // Code that is not cold is executed without a jump and without a call.
        assert_eq!(hot.iter().filter(|i| is_code(i)).count(), 2, "{name}");
        for instruction in hot {
            let flow = instruction.flow_control();
            assert!(
                matches!(
                    flow,
                    FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::Return
                ),
                "{name}: {instruction}"
            );
            if flow == FlowControl::ConditionalBranch {
                assert!(instruction.near_branch_target() >= behind, "{name}");
            }
        }
        // The cold code is a block after the return, or a call of a function.
        let is_cold = |i: &Instruction| match name {
            "then_is_cold" | "else_is_cold" => i.mnemonic() == Mnemonic::Nop && i.len() == 7,
            _ => is_call(i),
        };
        let cold = code.iter().find(|i| is_cold(i));
        let cold = cold.unwrap_or_else(|| panic!("{name} has no cold block"));
        assert!(cold.ip() >= behind, "{name}");
    }
}
