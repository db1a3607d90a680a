//! The places of a type's fields, queried by name.

use std::path::Path;

use linefill::lab::layout::{Binary, Places, Span};

use super::built::Built;
use crate::common::untested::starts;

fn open(built: &Built, binary: &str) -> Binary {
    let places = Places { named: None, tree: Path::new("/nowhere") };
    Binary::open(&built.at(binary), &places).unwrap()
}

#[test]
fn fields_are_found_by_the_words_of_the_program() {
    let built = Built::c("field", "-g -c plain.c", "plain.o");
    let outer = open(&built, "plain.o").only("outer").unwrap();
    for (words, offset, size) in [
        ("a", 0, 1),
        ("h.c", 16, 1),
        ("many[1]", 48, 16),
        ("many[1].next", 48, 8),
        ("in.l", 72, 8),
        ("in.b[2]", 74, 1),
    ] {
        let span = outer.field(words).unwrap();
        assert_eq!(span, Span::of_bytes(offset, size), "{words}");
    }
    let error = outer.field("in.x").unwrap_err().to_string();
    assert!(error.contains("no member `x`; there are `s`, `l`, `b`"), "{error}");
}

#[test]
fn a_type_with_two_definitions_is_not_the_only_one() {
    let built = Built::c("only", "-g plain.c other.c", "binary");
    let binary = open(&built, "binary");
    assert_eq!(binary.only("holder").unwrap().size, 16);
    let error = binary.only("foo").unwrap_err().to_string();
    assert!(error.contains("`foo` is defined in 2 ways"), "{error}");
}

const VARIABLES: &str = "\
typedef struct { long one, two; } row[4];
row rows[2];
int main(void) { return (int)rows[0][0].one; }
";

/// In DWARF 5, clang describes the address of a variable by its index in a table.
#[test]
fn variables_are_found_by_their_addresses() {
    for compiler in ["cc", "clang"] {
        if !starts(compiler) {
            return;
        }
        let built = Built::new("variables");
        std::fs::write(built.at("rows.c"), VARIABLES).unwrap();
        built.tool(compiler, "-gdwarf-5 -no-pie rows.c -o binary");
        let symbols = built.tool("nm", "binary");
        let symbol = symbols.lines().find(|line| line.ends_with(" rows"));
        let address = u64::from_str_radix(&symbol.unwrap()[..16], 16).unwrap();
        let found = open(&built, "binary").variables(&[address]).unwrap();
        let words = found[&address].words(64 + 2 * 16 + 8, 128);
        assert_eq!(words.as_deref(), Some("[1][2].two"), "{compiler}");
    }
}
