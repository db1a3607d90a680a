//! Types of C++.

use super::built::{Built, has_lines, squeezed};
use crate::common::untested::starts;

/// Compiles the fixture with these arguments.
fn classes(name: &str, args: &str) -> Option<Built> {
    starts("g++").then(|| {
        let built = Built::new(name);
        built.tool("g++", &format!("{args} -c classes.cpp -o classes.o"));
        built
    })
}

#[test]
fn a_derived_class_begins_in_the_padding_of_its_base() {
    for args in ["-gdwarf-4", "-gdwarf-5", "-gdwarf-4 -fdebug-types-section"] {
        let Some(built) = classes("derived", args) else {
            return;
        };
        has_lines(
            &built.show("classes.o", "Derived"),
            &[
                "class ns::Derived {",
                "base class ns::Base; /* 0 16 */",
                "char c; /* 13 1 */",
                "long int l; /* 16 8 */",
                "ns::Derived::In in; /* 24 8 */",
                "}",
                "/* size: 32, cachelines: 1, members: 4 */",
                "/* last cacheline: 32 bytes */",
                "/* alignment: 8 */",
            ],
        );
        has_lines(
            &built.show("classes.o", "ns::Base"),
            &["int (**_vptr.Base)(...); /* 0 8 */", "int a; /* 8 4 */", "char t; /* 12 1 */"],
        );
    }
}

#[test]
fn empty_and_virtual_bases_take_no_place_of_their_own() {
    let Some(built) = classes("bases", "-g") else {
        return;
    };
    has_lines(
        &built.show("classes.o", "WithEmpty"),
        &[
            "base class ns::Empty; /* 0 0 */",
            "int x; /* 0 4 */",
            "}",
            "/* size: 4, cachelines: 1, members: 2 */",
        ],
    );
    let far = built.show("classes.o", "Far");
    has_lines(&far, &["virtual ns::Base; /* known when the program runs */"]);
    let note = "/* virtual base classes lie behind the members, and not in the padding */";
    has_lines(&far, &[note]);
    let further = built.show("classes.o", "Further");
    has_lines(
        &further,
        &[
            "base class ns::Far; /* 0 12 */",
            "/* XXX 4 bytes hole */",
            "long int w; /* 16 8 */",
            "}",
            "/* size: 40, cachelines: 1, members: 2 */",
            "/* sum members: 36, holes: 1, sum holes: 4 */",
            note,
        ],
    );
    assert!(!further.contains("padding: "), "{further}");
    // The base lies at the start, because it is only a pointer.
    let primary = built.show("classes.o", "Primary");
    assert!(!primary.contains("hole"), "{primary}");
    has_lines(&primary, &["/* padding: 4 */", note]);
}

#[test]
fn a_type_that_is_only_declared_leaves_no_hole() {
    let Some(built) = classes("declared", "-g") else {
        return;
    };
    let text = built.show("classes.o", "Log");
    has_lines(
        &text,
        &[
            "char c; /* 0 1 */",
            "/* XXX 7 bytes hole */",
            "ns::Elsewhere file; /* 8 size not in this debug information */",
            "/* --- cacheline 8 boundary (512 bytes) was 16 bytes ago --- */",
            "int n; /* 528 4 */",
            "}",
            "/* size: 536, cachelines: 9, members: 3 */",
            "/* sum members: 5, holes: 1, sum holes: 7 */",
            "/* padding: 4 */",
        ],
    );
    has_lines(&text, &["/* alignment: at least 4 */"]);
    assert!(text.contains("not reorganised: a type inside"), "{text}");
}

#[test]
fn templates_nested_and_hidden_types_have_their_full_names() {
    let Some(built) = classes("templates", "-g") else {
        return;
    };
    let args = ["classes.o", "--type", "Box<*"];
    let text = built.layout(&args).ok().out;
    has_lines(
        &text,
        &[
            "struct ns::Box<int> {",
            "int value; /* 0 4 */",
            "char c; /* 4 1 */",
            "/* XXX 3 bytes hole */",
            "int (ns::Derived::*call)(int); /* 8 16 */",
            "int ns::Derived::*field; /* 24 8 */",
            "int &reference; /* 32 8 */",
        ],
    );
    has_lines(&text, &["struct ns::Box<double> {", "double value; /* 0 8 */"]);
    has_lines(&built.show("classes.o", "Later"), &["struct ns::Outer::Later {"]);
    let hidden = "struct (anonymous namespace)::Hidden {";
    has_lines(&built.show("classes.o", "Hidden"), &[hidden]);
    has_lines(&built.show("classes.o", "Colour"), &["Red = 0,", "Green = 1,"]);
    let args = ["classes.o", "--type", "Box"];
    built.layout(&args).refused(&["`Box` is ambiguous", "`ns::Box<double>`", "`ns::Box<int>`"]);
}

/// Types that several programs share are in units that do not state their language.
#[test]
fn shared_types_are_printed_as_their_language_writes_them() {
    if !starts("g++") || !starts("dwz") {
        return;
    }
    let built = Built::new("shared-classes");
    for name in ["one.so", "two.so"] {
        built.tool("g++", &format!("-g -shared -fPIC classes.cpp -o {name}"));
    }
    let show = |built: &Built| squeezed(&built.layout(&["one.so", "--type", "*"]).ok().out);
    let before = show(&built);
    built.tool("dwz", "-m common one.so two.so");
    assert_eq!(show(&built), before);
}
