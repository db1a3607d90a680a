//! Reads, writes, updates, copies and sums of blocks.

use iced_x86::{Instruction, Mnemonic, Register};

use super::kernel::{Kernel, Traffic, text, traffic};
use super::{Stated, stated};

/// The kernels of each name with accesses of 16, 32 and 64 bytes, and the bytes that they read and write.
macro_rules! of_three_widths {
    ($($name:literal: $read:literal, $written:literal;)*) => {
        &[$(
            stated(
                concat!("linefill_bandwidth_", $name, "16"),
                $read / 16, $written / 16, $read, $written,
            ),
            stated(
                concat!("linefill_bandwidth_", $name, "32"),
                $read / 32, $written / 32, $read, $written,
            ),
            stated(
                concat!("linefill_bandwidth_", $name, "64"),
                $read / 64, $written / 64, $read, $written,
            ),
        )*]
    };
}

pub const STATED: &[Stated] = of_three_widths! {
    "read": 512, 0;
    "read_halves": 1024, 0;
    "read_quarters": 2048, 0;
    "write": 0, 512;
    "stream": 0, 512;
    "update": 512, 512;
    "copy": 512, 512;
    "copy_stream": 512, 512;
    "add": 1024, 512;
    "add_three": 1536, 512;
    "triad": 1024, 512;
    "triad_stream": 1024, 512;
};

/// Plain and non-temporal moves of 16, 32 and 64 bytes.
const MOVES: [(usize, Mnemonic, Mnemonic); 3] = [
    (16, Mnemonic::Movdqa, Mnemonic::Movntdq),
    (32, Mnemonic::Vmovdqa, Mnemonic::Vmovntdq),
    (64, Mnemonic::Vmovdqa64, Mnemonic::Vmovntdq),
];

/// The loads and the stores of the loop of `name`.
fn accesses(name: &str) -> [Vec<Instruction>; 2] {
    let kernel = Kernel::named(name);
    let body = kernel.innermost().unwrap();
    [true, false].map(|load| {
        let of_kind = |i: &&Instruction| {
            let traffic = traffic([*i]);
            if load { traffic.loads > 0 } else { traffic.stores > 0 }
        };
        body.iter().filter(of_kind).copied().collect()
    })
}

#[test]
fn loads_and_stores_are_moves_of_the_width_in_the_name() {
    for (width, plain, non_temporal) in MOVES {
        for (kind, load, store) in [
            ("read", Some(plain), None),
            ("read_halves", Some(plain), None),
            ("read_quarters", Some(plain), None),
            ("write", None, Some(plain)),
            ("stream", None, Some(non_temporal)),
            ("update", Some(plain), Some(plain)),
            ("copy", Some(plain), Some(plain)),
            ("copy_stream", Some(plain), Some(non_temporal)),
            ("add", Some(plain), Some(plain)),
            ("add_three", Some(plain), Some(plain)),
            ("triad", Some(plain), Some(plain)),
            ("triad_stream", Some(plain), Some(non_temporal)),
        ] {
            let name = format!("linefill_bandwidth_{kind}{width}");
            // How many there are is in `STATED`.
            for (found, wanted) in accesses(&name).into_iter().zip([load, store]) {
                for instruction in found {
                    assert_eq!(Some(instruction.mnemonic()), wanted, "{name}");
                    let bytes = instruction.memory_size().size();
                    assert_eq!(bytes, width, "{name}: {instruction}");
                }
            }
        }
    }
}

/// The displacements at which `instructions` access memory relative to a base register.
fn places(instructions: &[Instruction], base: Register) -> Vec<u64> {
    let of_base = instructions.iter().filter(|i| i.memory_base() == base);
    of_base
        .inspect(|i| assert_eq!(i.memory_index(), Register::None))
        .map(Instruction::memory_displacement64)
        .collect()
}

#[test]
fn a_block_is_covered_once_in_the_order_of_its_addresses() {
    for width in [16, 32, 64] {
        let steps = |bytes: u64| (0..bytes).step_by(width).collect::<Vec<_>>();
        for (kind, loads_from, stores_to) in [
            ("read", Some(Register::RDI), None),
            ("write", None, Some(Register::RDI)),
            ("stream", None, Some(Register::RDI)),
            ("update", Some(Register::RDI), Some(Register::RDI)),
            ("copy", Some(Register::RDI), Some(Register::R9)),
            ("copy_stream", Some(Register::RDI), Some(Register::R9)),
        ] {
            let found = accesses(&format!("linefill_bandwidth_{kind}{width}"));
            for (found, base) in found.iter().zip([loads_from, stores_to]) {
                let wanted = base.map_or(Vec::new(), |_| steps(512));
                let places = places(found, base.unwrap_or(Register::RDI));
                assert_eq!(places, wanted, "{kind}{width}");
            }
        }
        let parts = [Register::RDI, Register::R9, Register::R10, Register::R11];
        for (kind, bases) in [("read_halves", &parts[..2]), ("read_quarters", &parts[..])] {
            let [loads, _] = accesses(&format!("linefill_bandwidth_{kind}{width}"));
            for base in bases {
                assert_eq!(places(&loads, *base), steps(512));
            }
            // One line of each part in turn.
            let lines = loads.chunks(64 / width);
            let read: Vec<_> = lines.map(|line| line[0].memory_base()).collect();
            assert_eq!(read, bases.repeat(8), "{kind}{width}");
        }
        for (kind, sources) in [("add", 2), ("add_three", 3), ("triad", 2), ("triad_stream", 2)] {
            let [loads, stores] = accesses(&format!("linefill_bandwidth_{kind}{width}"));
            for base in [Register::RDI, Register::R9, Register::R10] {
                let read = base != Register::R10 || sources == 3;
                let wanted = if read { steps(512) } else { Vec::new() };
                assert_eq!(places(&loads, base), wanted, "{kind}{width}");
            }
            assert_eq!(places(&stores, Register::R11), steps(512), "{kind}{width}");
        }
    }
}

#[test]
fn a_copy_loads_a_line_and_then_stores_it() {
    for width in [16, 32, 64] {
        for kind in ["copy", "copy_stream"] {
            let kernel = Kernel::named(&format!("linefill_bandwidth_{kind}{width}"));
            let body = kernel.innermost().unwrap().iter();
            let loads: Vec<bool> = body
                .filter(|i| traffic([*i]) != Traffic::default())
                .map(|i| traffic([i]).loads > 0)
                .collect();
            let line = [vec![true; 64 / width], vec![false; 64 / width]].concat();
            assert_eq!(loads, line.repeat(8), "{kind}{width}");
        }
    }
}

/// A round ends without a branch: the loop's only branch counts blocks.
#[test]
fn the_next_round_is_chosen_by_a_conditional_move() {
    for stated in STATED {
        let kernel = Kernel::named(stated.name);
        let body = kernel.innermost().unwrap();
        let last: Vec<_> = body[body.len() - 4..].iter().map(text).collect();
        assert_eq!(last, ["cmp rdi,rcx", "cmove rdi,rdx", "dec rsi", "Jne"]);
        let branches = kernel.code.iter().filter(|i| i.is_jcc_short_or_near());
        assert_eq!(branches.count(), 1, "{}", stated.name);
    }
}
