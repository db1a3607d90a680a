//! The loops of the kernels with intrinsics, compiled at every optimisation level that release builds use.
#![cfg(feature = "lab")]

use iced_x86::{Instruction, Mnemonic};

use super::compiled::{Compiled, is_call};
use super::kernel::{FLUSHES, Traffic, text, traffic};
use crate::common::target;

/// The optimisation levels.
const LEVELS: [&str; 3] = ["2", "3", "s"];

/// The work of an iteration: its instruction, how often it occurs, and its traffic.
struct Loop {
    family: &'static str,
    name: &'static str,
    mnemonic: Mnemonic,
    times: usize,
    traffic: Traffic,
    /// Whether the counting loop is the innermost one. If not, an inner loop does work that accesses no
    /// memory.
    innermost: bool,
}

const fn each(
    family: &'static str,
    name: &'static str,
    mnemonic: Mnemonic,
    times: usize,
    loads: (usize, usize),
    stores: (usize, usize),
) -> Loop {
    Loop {
        family,
        name,
        mnemonic,
        times,
        traffic: Traffic { loads: loads.0, read: loads.1, stores: stores.0, written: stores.1 },
        innermost: false,
    }
}

/// A loop whose only traffic is `times` stores.
const fn stores(
    family: &'static str,
    name: &'static str,
    mnemonic: Mnemonic,
    times: usize,
    width: usize,
) -> Loop {
    each(family, name, mnemonic, times, (0, 0), (times, times * width))
}

/// A step with a prefetch, whose address it also loads.
const fn ahead(name: &'static str, mnemonic: Mnemonic) -> Loop {
    each("walk", name, mnemonic, 1, (2, 16), (0, 0))
}

const NONE: (usize, usize) = (0, 0);

/// All kernels. Cached loads are memory operands of the additions.
const LOOPS: [Loop; 45] = [
    stores("fill", "cached", Mnemonic::Movdqa, 4, 16),
    stores("fill", "half", Mnemonic::Movntdq, 2, 16),
    Loop { innermost: true, ..stores("fill", "interleaved", Mnemonic::Movntdq, 1, 16) },
    stores("fill", "quarter", Mnemonic::Movntdq, 1, 16),
    stores("fill", "stream", Mnemonic::Movntdq, 4, 16),
    stores("fill", "three_quarters", Mnemonic::Movntdq, 3, 16),
    each("flush", "clflush", Mnemonic::Clflush, 1, NONE, NONE),
    each("flush", "clflushopt", Mnemonic::Clflushopt, 1, NONE, NONE),
    each("flush", "clwb", Mnemonic::Clwb, 1, NONE, NONE),
    each("load", "cached", Mnemonic::Paddq, 4, (4, 64), NONE),
    each("load", "cached32", Mnemonic::Vpaddq, 2, (2, 64), NONE),
    each("load", "cached64", Mnemonic::Vpaddq, 1, (1, 64), NONE),
    each("load", "stream", Mnemonic::Movntdqa, 4, (4, 64), NONE),
    each("load", "stream32", Mnemonic::Vmovntdqa, 2, (2, 64), NONE),
    each("load", "stream64", Mnemonic::Vmovntdqa, 1, (1, 64), NONE),
    each("walk", "none", Mnemonic::Prefetcht0, 0, (1, 8), NONE),
    each("walk", "none_serial", Mnemonic::Prefetcht0, 0, (1, 8), NONE),
    ahead("nta", Mnemonic::Prefetchnta),
    ahead("nta_serial", Mnemonic::Prefetchnta),
    ahead("t0", Mnemonic::Prefetcht0),
    ahead("t0_serial", Mnemonic::Prefetcht0),
    ahead("t1", Mnemonic::Prefetcht1),
    ahead("t1_serial", Mnemonic::Prefetcht1),
    ahead("t2", Mnemonic::Prefetcht2),
    ahead("t2_serial", Mnemonic::Prefetcht2),
    ahead("w", Mnemonic::Prefetchw),
    ahead("w_serial", Mnemonic::Prefetchw),
    stores("flush", "back", Mnemonic::Mov, 1, 8),
    stores("flush", "stream", Mnemonic::Movnti, 1, 8),
    each("flush", "through", Mnemonic::Clwb, 1, NONE, (1, 8)),
    stores("store", "store16", Mnemonic::Movdqa, 1, 16),
    stores("store", "store32", Mnemonic::Vmovdqa, 1, 32),
    stores("store", "store4", Mnemonic::Mov, 1, 4),
    stores("store", "store64", Mnemonic::Vmovdqa64, 1, 64),
    stores("store", "store8", Mnemonic::Mov, 1, 8),
    stores("store", "stream16", Mnemonic::Movntdq, 1, 16),
    stores("store", "stream32", Mnemonic::Vmovntdq, 1, 32),
    stores("store", "stream4", Mnemonic::Movnti, 1, 4),
    stores("store", "stream64", Mnemonic::Vmovntdq, 1, 64),
    stores("store", "stream8", Mnemonic::Movnti, 1, 8),
    each("walk", "load", Mnemonic::Mov, 1, (1, 8), NONE),
    each("walk", "prefetch", Mnemonic::Prefetcht0, 1, NONE, NONE),
    each("walk", "addnext", Mnemonic::Add, 1, (3, 24), (1, 8)),
    each("walk", "follow", Mnemonic::Mov, 1, (1, 8), NONE),
    each("walk", "inc", Mnemonic::Inc, 1, (2, 16), (1, 8)),
];

/// Whether a kernel uses no vectors, so that it also exists on soft-float targets.
fn is_general(kernel: &Loop) -> bool {
    match kernel.family {
        "fill" | "load" => false,
        "store" => ["store4", "store8", "stream4", "stream8"].contains(&kernel.name),
        _ => true,
    }
}

/// The end of a kernel's symbol: its path, each name after its length.
fn mangled(kernel: &Loop) -> String {
    let part = |name: &str| format!("{}{name}", name.len());
    format!("10intrinsics{}{}", part(kernel.family), part(kernel.name))
}

/// The kernels in an object file.
fn kernels(compiled: &Compiled) -> Vec<(String, Vec<Instruction>)> {
    let functions = compiled.functions().into_iter();
    let kernels = functions.filter(|name| name.contains("10intrinsics"));
    kernels.map(|name| (name.clone(), compiled.code(&name))).collect()
}

/// The ranges of code that end in a branch to their start: the innermost ones, or else the outermost ones.
fn loops(code: &[Instruction], innermost: bool) -> Vec<&[Instruction]> {
    let at = |ip| code.iter().position(|other| other.ip() == ip);
    let backward = |branch: &Instruction| {
        let jumps = branch.is_jcc_short_or_near() || branch.is_jmp_short_or_near();
        jumps && branch.near_branch_target() <= branch.ip()
    };
    let all: Vec<_> = (code.iter().enumerate())
        .filter(|(_, branch)| backward(branch))
        .map(|(last, branch)| at(branch.near_branch_target()).unwrap()..=last)
        .collect();
    let holds = |outer: &std::ops::RangeInclusive<usize>,
                 inner: &std::ops::RangeInclusive<usize>| {
        outer != inner && outer.contains(inner.start()) && outer.contains(inner.end())
    };
    let kept = all.iter().filter(|stretch| {
        !all.iter().any(|other| match innermost {
            true => holds(stretch, other),
            false => holds(other, stretch),
        })
    });
    kept.map(|stretch| &code[stretch.clone()]).collect()
}

/// Compares a kernel's code with its stated work.
fn check(kernel: &Loop, code: &[Instruction], level: &str) {
    let name = format!("{}::{} at {level}", kernel.family, kernel.name);
    assert!(!code.iter().any(is_call), "{name} calls");
    let mut loops = loops(code, kernel.innermost);
    // A backward jump around a loop without memory traffic is not a loop of the kernel.
    loops.retain(|body| !kernel.innermost || traffic(*body) != Traffic::NONE);
    assert!(!loops.is_empty(), "{name} has no loop");
    for body in &loops {
        let texts: Vec<_> = body.iter().map(text).collect();
        let times = body.iter().filter(|i| i.mnemonic() == kernel.mnemonic);
        // Moves between registers have the same mnemonic as loads.
        let times = match kernel.mnemonic {
            Mnemonic::Mov => times.filter(|i| traffic([*i]) != Traffic::NONE).count(),
            _ => times.count(),
        };
        assert_eq!(times, kernel.times, "{name}: {texts:#?}");
        assert_eq!(traffic(*body), kernel.traffic, "{name}: {texts:#?}");
        let hints = body.iter().filter(|i| is_hint(i.mnemonic())).count();
        let stated = kernel.times * usize::from(is_hint(kernel.mnemonic));
        assert_eq!(hints, stated, "{name}: {texts:#?}");
    }
}

/// Prefetches and flushes, which do not count as traffic.
fn is_hint(mnemonic: Mnemonic) -> bool {
    FLUSHES.contains(&mnemonic) || format!("{mnemonic:?}").starts_with("Prefetch")
}

/// Compiles and checks the kernels that `wanted` selects, and checks that there are no others.
fn check_all(options: &[&str], wanted: impl Fn(&Loop) -> bool) {
    for level in LEVELS {
        let v0 = ["-C", "symbol-mangling-version=v0"];
        let compiled = Compiled::of("forms", level, &[&v0, options].concat());
        let mut found = kernels(&compiled);
        for kernel in LOOPS.iter().filter(|kernel| wanted(kernel)) {
            let symbol = mangled(kernel);
            let at = found.iter().position(|(name, _)| name.ends_with(&symbol));
            let at = at.unwrap_or_else(|| panic!("no {symbol} at {level}"));
            let (_, code) = found.swap_remove(at);
            check(kernel, &code, level);
        }
        let left: Vec<_> = found.iter().map(|(name, _)| name).collect();
        assert!(left.is_empty(), "not stated: {left:?}");
    }
}

#[test]
fn an_iteration_by_intrinsics_holds_its_instruction_and_touches_no_other_memory() {
    check_all(&[], |_| true);
}

/// A soft-float target, where single instructions are written in assembly.
#[test]
fn kernels_without_vectors_are_the_same_on_soft_float_targets() {
    let target = "x86_64-unknown-none";
    if target::installed(target) {
        check_all(&["--target", target], is_general);
    }
}
