//! Types of Rust.

use super::built::{Built, has_lines};

fn types(name: &str) -> Built {
    let built = Built::new(name);
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    built.tool(
        &rustc,
        "--cap-lints allow --edition 2021 -g --crate-type lib --emit=obj types.rs -o types.o",
    );
    built
}

#[test]
fn repr_c_keeps_the_order_and_rust_does_not() {
    let built = types("repr");
    let text = built.show("types.o", "InOrder");
    has_lines(
        &text,
        &[
            "struct types::shapes::InOrder {",
            "a: i32, /* 0 4 */",
            "/* XXX 4 bytes hole */",
            "fill: [i64; 7], /* 8 56 */",
            "/* --- cacheline 1 boundary (64 bytes) --- */",
            "b: i32, /* 64 4 */",
            "}",
            "/* size: 72, cachelines: 2, members: 3 */",
        ],
    );
    assert!(text.contains("saved 8 bytes, saved 1 cacheline (without #[repr(C)]"), "{text}");
    let text = built.show("types.o", "shapes::Reordered");
    has_lines(&text, &["/* size: 64, cachelines: 1, members: 3 */"]);
    has_lines(
        &text,
        &["/* not reorganised: no other order of the members is smaller: the compiler chooses \
             it, but for #[repr(C)] */"],
    );
}

#[test]
fn enums_show_their_variants() {
    let built = types("enum");
    let text = built.show("types.o", "Shape");
    has_lines(&text, &["enum types::shapes::Shape {"]);
    has_lines(&text, &["radius: f64, /* 8 8 */", "},"]);
    assert!(text.contains("(tag): "), "{text}");
    assert!(text.contains("Rectangle = "), "{text}");
    assert!(text.contains("members: 1, variants: 3 */"), "{text}");
    has_lines(&text, &["/* not reorganised: the compiler chooses the order inside a Rust enum */"]);
    has_lines(&built.show("types.o", "Plain"), &["A = 1,", "B = -7,", "}"]);
    has_lines(&built.show("types.o", "Option<u32>"), &["enum core::option::Option<u32> {"]);
}

#[test]
fn the_variants_of_an_enum_are_no_types_of_the_list() {
    let built = types("variants");
    let listed = |args: &[&str]| {
        let text = built.layout(args).ok().out;
        let rows = text.lines().filter(|line| line.contains("Shape"));
        rows.map(|row| row.split_whitespace().last().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = listed(&["types.o", "--list"]);
    assert_eq!(all, ["types::shapes::Shape"]);
    assert_eq!(listed(&["types.o", "--list", "--type", "*Shape*"]), all);
    assert!(!listed(&["types.o", "--top", "1000"]).concat().contains("Shape::"));
    let one = ["types.o", "--list", "--type", "Shape::Circle"];
    assert_eq!(listed(&one), ["types::shapes::Shape::Circle"]);
    has_lines(&built.show("types.o", "Shape::Circle"), &["radius: f64, /* 8 8 */"]);
}

#[test]
fn generics_tuples_unions_and_stated_alignments() {
    let built = types("generics");
    has_lines(&built.show("types.o", "Generic<u16>"), &["pair: (u8, u32), /* 0 8 */"]);
    // The fields may be in any order.
    let tuple = built.show("types.o", "(u8, u32)");
    has_lines(&tuple, &["/* size: 8, cachelines: 1, members: 2 */"]);
    assert!(tuple.contains("__0: u8,") && tuple.contains("__1: u32,"), "{tuple}");
    has_lines(&built.show("types.o", "Aligned"), &["/* alignment: 64 */"]);
    has_lines(&built.show("types.o", "Packed"), &["y: u64, /* 1 8 */"]);
    has_lines(
        &built.show("types.o", "Either"),
        &["union types::shapes::Either {", "a: u32, /* 0 4 */", "b: [u8; 9], /* 0 9 */", "}"],
    );
    has_lines(&built.show("types.o", "&str"), &["length: usize, /* 8 8 */", "}"]);
    built.layout(&["types.o", "--type", "Generic"]).refused(&[
        "ambiguous",
        "`types::shapes::Generic<f64>`",
        "`types::shapes::Generic<u16>`",
    ]);
}
