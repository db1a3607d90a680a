//! Types of C.

use super::built::{Built, has_lines, squeezed};

const FOO: [&str; 10] = [
    "struct foo {",
    "int a; /* 0 4 */",
    "/* XXX 4 bytes hole */",
    "long int fill[7]; /* 8 56 */",
    "/* --- cacheline 1 boundary (64 bytes) --- */",
    "int b; /* 64 4 */",
    "}",
    "/* size: 72, cachelines: 2, members: 3 */",
    "/* sum members: 64, holes: 1, sum holes: 4 */",
    "/* padding: 4 */",
];

#[test]
fn figure_6_3_and_its_reorganised_form() {
    let built = Built::c("foo", "-g -c plain.c", "plain.o");
    let text = built.show("plain.o", "foo");
    has_lines(&text, &FOO);
    has_lines(&text, &["/* last cacheline: 8 bytes */"]);
    has_lines(
        &text,
        &[
            "/* reorganised: saved 8 bytes, saved 1 cacheline */",
            "struct foo {",
            "int a; /* 0 4 */",
            "int b; /* 4 4 */",
            "long int fill[7]; /* 8 56 */",
            "}",
            "/* size: 64, cachelines: 1, members: 3 */",
        ],
    );
    assert!(text.starts_with("// plain.c:3, in plain.c\n"), "{text}");
}

#[test]
fn an_order_is_a_line_with_57_bytes_of_members_and_a_hole_of_7() {
    let built = Built::c("order", "-g -c plain.c", "plain.o");
    has_lines(
        &built.show("plain.o", "order"),
        &[
            "struct order {",
            "double price; /* 0 8 */",
            "_Bool paid; /* 8 1 */",
            "/* XXX 7 bytes hole */",
            "const char *buyer[5]; /* 16 40 */",
            "long int buyer_id; /* 56 8 */",
            "}",
            "/* size: 64, cachelines: 1, members: 4 */",
            "/* sum members: 57, holes: 1, sum holes: 7 */",
            "/* alignment: 8 */",
            "/* in an array: 1 cacheline per element */",
            "/* not reorganised: no other order of the members is smaller */",
        ],
    );
}

#[test]
fn every_version_of_dwarf_and_every_kind_of_binary_says_the_same() {
    let built = Built::new("versions");
    let mut seen: Vec<(String, Vec<String>)> = Vec::new();
    for args in [
        "-gdwarf-2 -gstrict-dwarf -c",
        "-gdwarf-3 -gstrict-dwarf -c",
        "-gdwarf-4 -gstrict-dwarf -c",
        "-gdwarf-4 -c",
        "-gdwarf-5 -c",
        "-gdwarf-4 -shared -fPIC",
        "-gdwarf-5 -shared -fPIC",
        "-gdwarf-5 -gz=zlib -shared -fPIC",
        "-gdwarf-5 -gz=zlib -c",
        "-gdwarf-4 -fdebug-types-section -c",
        "-gdwarf-5 -fdebug-types-section -c",
        "-gdwarf-5 -fdebug-types-section -shared -fPIC",
    ] {
        built.tool("cc", &format!("{args} plain.c -o binary"));
        // Before version 5, strict DWARF does not contain requested alignments.
        let names = ["foo", "order", "outer", "bits", "calls", "tight", "flexible", "point_t"];
        let text: String = names.iter().map(|name| built.show("binary", name)).collect();
        seen.push((args.to_owned(), squeezed(&text)));
    }
    for (args, text) in &seen {
        assert_eq!(text, &seen[0].1, "{args}");
    }
}

#[test]
fn nested_types_are_printed_on_demand_and_nameless_ones_always() {
    let built = Built::c("nested", "-g -c plain.c", "plain.o");
    let text = built.show("plain.o", "outer");
    has_lines(&text, &["struct holder h; /* 8 16 */", "char z; /* 24 1 */"]);
    let inside = [
        "struct {",
        "short int s; /* 64 2 */",
        "/* XXX 6 bytes hole */",
        "union {",
        "char b[3]; /* 72 3 */",
        "long int l; /* 72 8 */",
        "}; /* 72 8 */",
        "} in; /* 64 16 */",
    ];
    has_lines(&text, &inside);
    let args = ["plain.o", "--type", "outer", "--expand"];
    let text = built.layout(&args).ok().out;
    has_lines(
        &text,
        &[
            "struct holder {",
            "struct node *next; /* 32 8 */",
            "char c; /* 40 1 */",
            "} many[2]; /* 32 32 */",
        ],
    );
    has_lines(&text, &inside);
}

#[test]
fn bit_fields_have_their_first_bit_and_their_unit() {
    let built = Built::c("bits", "-g -c plain.c", "plain.o");
    has_lines(
        &built.show("plain.o", "bits"),
        &[
            "unsigned int a:3; /* 0: 0 4 */",
            "/* XXX 29 bits hole */",
            "unsigned int b:30; /* 4: 0 4 */",
            "/* XXX 2 bits hole */",
            "unsigned char c:4; /* 8: 0 1 */",
            "/* XXX 4 bits hole */",
            "/* XXX 3 bytes hole */",
            "int d; /* 12 4 */",
            "unsigned int e:1; /* 16: 0 4 */",
            "}",
        ],
    );
}

#[test]
fn declarations_are_those_of_c() {
    let built = Built::c("calls", "-g -c plain.c", "plain.o");
    has_lines(
        &built.show("plain.o", "calls"),
        &[
            "int (*cb)(int, const char *, ...); /* 0 8 */",
            "void (*none)(void); /* 8 8 */",
            "const int *const p; /* 16 8 */",
            "int m[2][3]; /* 24 24 */",
            "char (*pa)[7]; /* 48 8 */",
            "volatile int v; /* 56 4 */",
        ],
    );
}

#[test]
fn alignment_is_what_was_asked_for_or_follows_from_the_members() {
    let built = Built::c("align", "-gdwarf-5 -c plain.c", "plain.o");
    let tight = built.show("plain.o", "tight");
    has_lines(&tight, &["/* alignment: 1, packed */"]);
    has_lines(&tight, &["/* not reorganised: it is packed */"]);
    let wide = built.show("plain.o", "wide");
    has_lines(&wide, &["/* alignment: 64 */"]);
    has_lines(&wide, &["/* reorganised: saved 64 bytes, saved 1 cacheline */"]);
    let numbers = built.show("plain.o", "numbers");
    has_lines(&numbers, &["long double x; /* 16 16 */", "complex float cf; /* 32 8 */"]);
    has_lines(&numbers, &["/* alignment: 16 */"]);
}

#[test]
fn an_open_array_stays_at_the_end() {
    let built = Built::c("flexible", "-g -c plain.c", "plain.o");
    has_lines(
        &built.show("plain.o", "flexible"),
        &[
            "/* reorganised: saved 8 bytes */",
            "struct flexible {",
            "char a; /* 0 1 */",
            "char c; /* 1 1 */",
            "/* XXX 6 bytes hole */",
            "long int b; /* 8 8 */",
            "int tail[]; /* 16 0 */",
            "}",
        ],
    );
}

#[test]
fn members_across_two_lines_are_named_and_another_line_splits_others() {
    let built = Built::c("split", "-g -c plain.c", "plain.o");
    let text = built.show("plain.o", "split");
    has_lines(&text, &["char pair[8]; /* 60 8, across two lines */"]);
    has_lines(&text, &["/* across two cachelines: pair */"]);
    has_lines(
        &text,
        &[
            "char pair[8]; /* 60 8, across two lines */",
            "/* XXX 4 bytes hole */",
            "/* --- cacheline 1 boundary (64 bytes) was 8 bytes ago --- */",
            "long int tail; /* 72 8 */",
        ],
    );
    let args = ["plain.o", "--type", "split", "--line", "128"];
    let text = built.layout(&args).ok().out;
    has_lines(&text, &["/* size: 80, cachelines: 1, members: 3 */"]);
    assert!(!text.contains("across"), "{text}");
}

#[test]
fn typedefs_local_types_keywords_and_enumerations_are_found() {
    let built = Built::c("names", "-g -c plain.c", "plain.o");
    has_lines(&built.show("plain.o", "foo_t"), &FOO);
    has_lines(&built.show("plain.o", "struct foo"), &FOO);
    has_lines(
        &built.show("plain.o", "point_t"),
        &["struct point_t {", "int x; /* 0 4 */", "int y; /* 4 4 */", "}"],
    );
    has_lines(&built.show("plain.o", "inside"), &["struct local::inside {"]);
    has_lines(
        &built.show("plain.o", "colour"),
        &["enum colour {", "RED = 0,", "GREEN = 5,", "BEFORE = -1,", "}"],
    );
}

#[test]
fn the_same_type_of_two_units_is_shown_once_and_two_of_a_name_both() {
    let built = Built::c("units", "-g plain.c other.c", "binary");
    let text = built.show("binary", "holder");
    assert_eq!(text.matches("struct holder {").count(), 1, "{text}");
    assert!(text.contains("in plain.c, other.c"), "{text}");
    let text = built.show("binary", "foo");
    has_lines(&text, &FOO);
    has_lines(&text, &["char x; /* 0 1 */"]);
    assert!(text.contains("// plain.c:3, in plain.c"), "{text}");
    assert!(text.contains("// other.c:5, in other.c"), "{text}");
    // The type is declared in one unit and defined in the other.
    has_lines(&built.show("binary", "node"), &["long int key; /* 0 8 */"]);
}

#[test]
fn several_names_and_globs_are_shown_in_turn_and_listed() {
    let built = Built::c("several", "-g -c plain.c", "plain.o");
    let args = ["plain.o", "--type", "order", "--type", "f*", "--type", "foo"];
    let text = built.layout(&args).ok().out;
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("struct")).collect();
    // `flexible` and `foo` are printed a second time, reorganised.
    let expected = ["order", "flexible", "flexible", "foo", "foo"];
    assert_eq!(heads, expected.map(|name| format!("struct {name} {{")));

    let list = built.layout(&["plain.o", "--list"]).ok().out;
    has_lines(&list, &["size lines holes padding wasted saves type"]);
    has_lines(&list, &["72 2 4 4 8 8 foo", "16 1 0 7 7 0 holder"]);
    has_lines(&list, &["64 1 7 0 7 0 order"]);
    let list = built.layout(&["plain.o", "--list", "--type", "fo*"]).ok().out;
    assert_eq!(squeezed(&list).len(), 3, "{list}");
}
