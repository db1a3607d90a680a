//! Files made to exhaust memory or time, or to crash a reader. Each must end within seconds and a gigabyte,
//! with a message if something is wrong.

use std::fs;
use std::process::Command;

use super::elf::{self, Section, Unit};
use crate::common::cli::{Folder, Ran, program};

/// Runs `linefill layout` on a file with these bytes, with four gigabytes of address space, for at most a
/// minute.
fn layout(name: &str, bytes: &[u8], args: &[&str]) -> Ran {
    let folder = Folder::new(&format!("layout-hostile-{name}"));
    fs::write(folder.at(name), bytes).unwrap();
    let run = "ulimit -v 4194304; exec timeout 60 \"$0\" layout \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", run]).arg(program()).arg(name);
    Ran::of(command.args(args).current_dir(folder.at("")))
}

/// A type `evil` with `bytes` bytes, whose members `members` adds.
fn evil(bytes: u64, members: impl FnOnce(&mut Unit)) -> Vec<u8> {
    let mut unit = Unit::new();
    unit.entry(elf::STRUCT).text("evil").number(bytes);
    members(&mut unit);
    unit.end();
    elf::program(&[unit.finished()])
}

#[test]
fn a_stated_size_is_not_believed() {
    let abbreviations = Section::new(".debug_abbrev", elf::abbreviations());
    for (kind, stated, says) in [
        (1, 12 << 30, "it states 12884901888 bytes unpacked, and 17000 bytes hold 17544000"),
        (2, 12 << 30, "it states 12884901888 bytes unpacked, and 17000 bytes hold 557056000"),
        (1, 1 << 20, "it cannot be unpacked"),
        (9, 1 << 20, "nsupported"),
    ] {
        let info = Section::compressed(".debug_info", kind, stated, &[0x55; 17_000]);
        let file = elf::file(elf::PROGRAM, &[abbreviations.clone(), info]);
        layout("stated", &file, &["--list"]).refused(&["stated: section .debug_info", says]);
    }
    // An empty zlib block, and one with five bytes.
    let empty = [0x78, 0x01, 0x01, 0, 0, 0xFF, 0xFF, 0, 0, 0, 1];
    let five =
        [0x78, 0x01, 0x01, 5, 0, 0xFA, 0xFF, b'h', b'e', b'l', b'l', b'o', 0x06, 0x2C, 0x02, 0x15];
    for (packed, stated, says) in [
        (&empty[..], 100, "it states 100 bytes unpacked, and holds 0"),
        (&five, 4, "it states 4 bytes unpacked, and holds more"),
    ] {
        let info = Section::compressed(".debug_info", 1, stated, packed);
        let file = elf::file(elf::PROGRAM, &[abbreviations.clone(), info]);
        layout("stated", &file, &["--list"]).refused(&[says]);
    }
}

/// A zstd frame of blocks that repeat one byte: four bytes per 128 KiB.
fn zeros(blocks: usize) -> Vec<u8> {
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38];
    for block in 0..blocks {
        let last = u32::from(block + 1 == blocks);
        let head = (128 << 10) << 3 | 1 << 1 | last;
        frame.extend(&head.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

#[test]
fn the_sections_of_a_small_file_come_to_little_in_all() {
    let blocks = 200;
    let info = Section::compressed(".debug_info", 2, blocks << 17, &zeros(blocks as usize));
    // Each section has 25 MiB uncompressed, all from the same 800 bytes.
    let sections = vec![info; 400];
    let file = elf::file(elf::OBJECT, &sections);
    layout("many", &file, &["--list"]).refused(&[".debug_info", "more than 64 MiB and 64 times"]);
    // The same limit applies to uncompressed sections that overlap.
    let plain = Section::new(".debug_info", vec![0; 100_000]);
    let file = elf::file(elf::OBJECT, &vec![plain; 2000]);
    layout("many", &file, &["--list"]).refused(&[".debug_info", "more than 64 MiB and 64 times"]);
}

#[test]
fn types_that_hold_types_twice_are_expanded_up_to_a_limit() {
    let mut unit = Unit::new();
    let first = unit.next();
    for level in 0..40 {
        unit.entry(elf::NAMELESS).number(8);
        for _ in 0..2 {
            // Three entries per level.
            let next = first + 3 * (level + 1);
            unit.entry(elf::NAMELESS_MEMBER).to(next).number(0);
        }
        unit.end();
    }
    unit.entry(elf::STRUCT).text("innermost").number(8).end();
    unit.entry(elf::STRUCT).text("outermost").number(8);
    unit.entry(elf::MEMBER).text("all").to(first).number(0);
    unit.end();
    let file = elf::program(&[unit.finished()]);
    for args in [&["--type", "outermost"][..], &["--type", "outermost", "--json"], &["--list"]] {
        let ran = layout("twice", &file, args).ok();
        assert!(ran.out.contains("outermost") && ran.out.len() < 1 << 30);
    }
}

#[test]
fn a_function_that_takes_itself_is_spelt_up_to_a_limit() {
    let file = evil(8, |unit| {
        let pointer = unit.next() + 1;
        unit.entry(elf::MEMBER).text("call").to(pointer).number(0);
        unit.entry(elf::POINTER).to(pointer + 1);
        unit.entry(elf::FUNCTION);
        for _ in 0..9 {
            unit.entry(elf::PARAMETER).to(pointer);
        }
        unit.end();
    });
    let ran = layout("takes", &file, &["--type", "evil"]).ok();
    assert!(ran.out.contains("...") && ran.out.len() < 100_000, "{}", ran.out.len());
}

#[test]
fn types_that_hold_themselves_are_damaged() {
    let array = |unit: &mut Unit| {
        let own = unit.next() + 1;
        unit.entry(elf::BASE_CLASS).to(own).number(0);
        unit.entry(elf::ARRAY).to(own);
        unit.entry(elf::RANGE).number(1);
        unit.end();
    };
    let ran = layout("itself", &evil(8, array), &["--type", "evil"]);
    ran.refused(&["evil", "a type holds itself"]);
    let own = |unit: &mut Unit| {
        unit.entry(elf::MEMBER).text("me").to(1).number(0);
    };
    layout("itself", &evil(8, own), &["--type", "evil"]).refused(&["a type holds itself"]);
    let name = |unit: &mut Unit| {
        let own = unit.next() + 1;
        unit.entry(elf::MEMBER).text("me").to(own).number(0);
        unit.entry(elf::TYPEDEF).text("self").to(own + 1);
        unit.entry(elf::TYPEDEF).text("self").to(own);
    };
    layout("itself", &evil(8, name), &["--type", "evil"]).refused(&["refers to itself"]);
}

#[test]
fn scopes_nest_as_deep_as_a_compiler_has_them() {
    let nested = |depth: usize| {
        let mut unit = Unit::new();
        for _ in 0..depth {
            unit.entry(elf::NAMESPACE).text("n");
        }
        unit.entry(elf::STRUCT).text("inner").number(1).end();
        for _ in 0..depth {
            unit.end();
        }
        elf::program(&[unit.finished()])
    };
    let ran = layout("nested", &nested(90), &["--list"]).ok();
    assert!(ran.out.contains(&format!("{}::inner", ["n"; 90].join("::"))));
    layout("nested", &nested(900), &["--list"]).ok();
    layout("nested", &nested(300_000), &["--list"]).refused(&["damaged", "nested so deep"]);
}

#[test]
fn names_that_are_completed_in_circles_end() {
    let unit = |other: u32| {
        let mut unit = Unit::new();
        unit.entry(elf::COMPLETED).word(other).number(4).end();
        let at = unit.last_at();
        (at as u32, unit.finished())
    };
    // Each entry completes the other unit's entry, which has the same place in its unit.
    let (at, bytes) = unit(0);
    let first = unit(bytes.len() as u32 + at).1;
    let second = unit(at).1;
    let file = elf::program(&[first, second]);
    layout("circle", &file, &["--list"]).refused(&["no types"]);
}

#[test]
fn sizes_beyond_any_address_space_are_damaged() {
    let huge = [1 << 49, 1 << 61, u64::MAX];
    for number in huge {
        let says = format!("{number} exceeds the limit");
        let ran = layout("huge", &evil(number, |_| {}), &["--type", "evil"]);
        ran.refused(&["evil", &says]);
        type Member = fn(&mut Unit, u64);
        let members: [Member; 3] = [
            |unit, number| {
                let int = unit.next() + 1;
                unit.entry(elf::MEMBER).text("far").to(int).number(number);
                unit.entry(elf::BASE).text("int").byte(4).byte(5);
            },
            |unit, number| {
                let int = unit.next() + 1;
                unit.entry(elf::BIT_FIELD).text("wide").to(int).number(0).number(number).number(0);
                unit.entry(elf::BASE).text("int").byte(4).byte(5);
            },
            |unit, number| {
                let array = unit.next() + 1;
                unit.entry(elf::MEMBER).text("many").to(array).number(0);
                unit.entry(elf::ARRAY).to(array + 2);
                unit.entry(elf::RANGE).number(number).end();
                unit.entry(elf::BASE).text("nothing").byte(0).byte(5);
            },
        ];
        for member in members {
            let file = evil(8, |unit| member(unit, number));
            let args = ["--type", "evil", "--json"];
            layout("huge", &file, &args).refused(&["evil", &says]);
        }
    }
}

#[test]
fn a_member_of_many_lines_names_the_first_and_the_last() {
    let file = evil(1 << 47, |unit| {
        let array = unit.next() + 1;
        unit.entry(elf::MEMBER).text("all").to(array).number(0);
        unit.entry(elf::ARRAY).to(array + 2);
        unit.entry(elf::RANGE).number(1 << 47).end();
        unit.entry(elf::BASE).text("char").byte(1).byte(6);
    });
    let ran = layout("lines", &file, &["--type", "evil", "--json"]).ok();
    let value: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let last = (1_u64 << 41) - 1;
    assert_eq!(value[0]["members"][0]["lines"], serde_json::json!([0, last]));
}

#[test]
fn members_and_alignments_of_any_number_take_no_time() {
    let file = evil(60_000, |unit| {
        let first = unit.next();
        let char = first + 60_000;
        for index in 0..60_000 {
            unit.entry(elf::MEMBER).text("m").to(char).number(index);
        }
        unit.entry(elf::BASE).text("char").byte(1).byte(6);
    });
    layout("members", &file, &["--type", "evil"]).ok();
    for align in [0, 3, 1 << 40, u64::MAX] {
        let mut unit = Unit::new();
        unit.entry(elf::ALIGNED).text("evil").number(7).number(align);
        let char = unit.next() + 2;
        unit.entry(elf::MEMBER).text("a").to(char).number(1);
        unit.entry(elf::MEMBER).text("b").to(char).number(6);
        unit.end();
        unit.entry(elf::BASE).text("char").byte(1).byte(6);
        let file = elf::program(&[unit.finished()]);
        layout("align", &file, &["--type", "evil"]).ok();
    }
}

/// Units whose tables of abbreviations are different ends of one long table: without a limit, 400 kB would be
/// read once per unit.
#[test]
fn tables_that_many_units_share_in_part_are_read_up_to_a_limit() {
    let mut table = Vec::new();
    for code in 1..=100_000 {
        elf::uleb(&mut table, code);
        table.extend([0x34, 0, 0, 0]);
    }
    table.push(0);
    let units: Vec<u8> = (0..20_000_u32)
        .flat_map(|unit| {
            let mut bytes = vec![8, 0, 0, 0, 4, 0];
            bytes.extend((5 * (unit % 120)).to_le_bytes());
            bytes.extend([8, 1 + (unit % 120) as u8]);
            bytes
        })
        .collect();
    let sections = [Section::new(".debug_abbrev", table), Section::new(".debug_info", units)];
    let ran = layout("tables", &elf::file(elf::PROGRAM, &sections), &["--list"]);
    ran.refused(&["tables", "damaged"]);
}

#[test]
fn what_a_terminal_obeys_is_spelled_out_in_every_name() {
    let evil = "\u{1b}]0;title\u{7}\u{9b}2J\u{202e}\rx\n/* size: 1 */";
    let mut unit = Unit::new();
    unit.entry(elf::NAMESPACE).text(evil);
    unit.entry(elf::STRUCT).text(evil).number(4);
    let int = unit.next() + 1;
    unit.entry(elf::MEMBER).text(evil).to(int).number(0);
    unit.entry(elf::BASE).text(evil).byte(4).byte(5);
    unit.end().end();
    let file = elf::program(&[unit.finished()]);
    let obeyed = |letter: char| letter.is_control() && letter != '\n' || letter == '\u{202e}';
    for args in [&["--list"][..], &["--type", "*"], &["--type", "*", "--json"], &["--type", "zzz"]]
    {
        let ran = layout("names", &file, args);
        for printed in [&ran.out, &ran.err] {
            assert!(!printed.contains(obeyed), "{args:?}: {printed:?}");
            assert!(!printed.lines().any(|line| line.starts_with("/* size: 1 */")), "{printed}");
        }
    }
}
