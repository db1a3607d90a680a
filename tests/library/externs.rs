//! Only integers and addresses may be passed by value to an assembled kernel.
//!
//! On Linux, compilers pass `f32`, `f64` and vectors in xmm registers. On targets without these registers
//! (`x86_64-unknown-none`, `x86_64-unknown-uefi`) they pass them elsewhere, so a kernel that takes or returns
//! one is silently wrong there. No type expresses this rule, so the test reads the declarations as text.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use linefill::kernel::symbols;

const ABI: &str = "extern \"sysv64\"";
/// The folder in which kernels are declared.
const DECLARED: &str = "kernel";
const INTEGERS: [&str; 12] =
    ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize", "bool", "()"];

/// A Rust file without its line comments and without the macro that declares kernels of one shape. The macro
/// names no types; its arguments are read where it is used.
fn code_of(text: &str) -> String {
    let lines = text.lines();
    let code = lines.map(|line| line.split("//").next().unwrap_or_default());
    let code = code.collect::<Vec<_>>().join("\n");
    match code.split_once("macro_rules! family") {
        Some((before, rest)) => before.to_owned() + enclosed(rest, '{', '}').1,
        None => code,
    }
}

/// The text between the first `open` and its matching `close`, and the rest.
fn enclosed(text: &str, open: char, close: char) -> (&str, &str) {
    let from = text.find(open).expect("an opening bracket") + open.len_utf8();
    let mut depth = 1;
    for (at, letter) in text[from..].char_indices() {
        depth += i32::from(letter == open) - i32::from(letter == close);
        if depth == 0 {
            let end = from + at;
            return (&text[from..end], &text[end + close.len_utf8()..]);
        }
    }
    panic!("no `{close}` for `{open}` in {text}");
}

/// The signatures with the foreign ABI in a file, each from its opening parenthesis on: functions in extern
/// blocks, function pointers and definitions.
fn signatures(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(ABI) {
        let behind = code[at + ABI.len()..].trim_start();
        if !behind.starts_with('{') {
            found.push(&behind[behind.find('(').expect("a list of parameters")..]);
            continue;
        }
        let mut block = enclosed(behind, '{', '}').0;
        while let Some(function) = block.find("fn ") {
            let signature = &block[function..];
            let signature = &signature[signature.find('(').expect("a list of parameters")..];
            found.push(signature);
            block = enclosed(signature, '(', ')').1;
        }
    }
    found
}

/// The parts of a list that is separated by commas; no type here contains a comma.
fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// The type in `name: type`, or in a type alone.
fn type_of(part: &str) -> &str {
    part.split_once(": ").map_or(part, |(_, ty)| ty).trim()
}

/// The types that a signature passes by value.
fn by_value(signature: &str) -> Vec<&str> {
    let (parameters, behind) = enclosed(signature, '(', ')');
    let mut types: Vec<_> = parts(parameters).map(type_of).collect();
    if let Some(result) = behind.trim_start().strip_prefix("->") {
        let end = result.find([';', '{', '=']).unwrap_or(result.len());
        types.push(result[..end].trim());
    }
    types
}

/// The reason why a type must not be passed by value, if any. A structure that `code` defines is judged by
/// its fields.
fn refused(ty: &str, code: &str) -> Option<String> {
    let address = ["*const ", "*mut ", "&", "fn("];
    if INTEGERS.contains(&ty) || address.iter().any(|start| ty.starts_with(start)) {
        return None;
    }
    let structure = format!("struct {ty} {{");
    let Some(at) = code.find(&structure) else {
        return Some(format!("`{ty}` is neither an integer nor an address"));
    };
    let fields = parts(enclosed(&code[at..], '{', '}').0);
    fields.map(type_of).find_map(|field| refused(field, code))
}

/// Every Rust file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the sources");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let files = paths.flat_map(|path| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    });
    files.filter(|path| path.extension() == Some("rs".as_ref())).collect()
}

#[test]
fn no_float_and_no_vector_crosses_by_value() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let read = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).expect("a source");
        (file, code_of(&text))
    };
    let sources: Vec<_> = files(&src).into_iter().map(read).collect();
    // The definitions of the structures that kernels return.
    let declared = sources.iter().filter(|(file, _)| file.starts_with(src.join(DECLARED)));
    let declared: String = declared.map(|(_, code)| &**code).collect();
    let mut checked = 0;
    let mut named = BTreeSet::new();
    for (file, code) in &sources {
        let signatures = signatures(code);
        for signature in &signatures {
            for ty in by_value(signature) {
                let why = refused(ty, &declared);
                assert_eq!(why, None, "{}: {signature:.200}", file.display());
                checked += 1;
            }
        }
        if !signatures.is_empty() {
            let words = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let kernels = words.filter(|word| word.starts_with("linefill_"));
            named.extend(kernels.map(str::to_owned));
        }
    }
    // The files whose signatures were read must name every kernel, so that none was missed.
    let missing: Vec<_> =
        symbols::all().map(|kernel| kernel.name).filter(|&name| !named.contains(name)).collect();
    assert!(missing.is_empty(), "not declared: {missing:?}");
    assert!(checked > 100, "{checked} types");
}

#[test]
fn what_is_planted_is_refused() {
    for planted in [
        "unsafe extern \"sysv64\" { pub fn a(at: *const u8, sum: f64) -> u64; }",
        "unsafe extern \"sysv64\" { pub fn a(at: usize); pub fn $b(at: u64) -> f32; }",
        "pub type T = unsafe extern \"sysv64\" fn(\n    at: u64,\n    value: __m128i,\n) -> u64;",
        "extern \"sysv64\" fn a() -> [u64; 2] { [0; 2] }",
        "struct S { at: u64, sum: f64 }\nunsafe extern \"sysv64\" { fn a(at: u64) -> S; }",
    ] {
        let code = code_of(planted);
        let types = signatures(&code).into_iter().flat_map(by_value);
        let refusals = types.filter_map(|ty| refused(ty, &code)).count();
        assert_eq!(refusals, 1, "{planted}");
    }
    let fine =
        "struct S { at: u64 }\nunsafe extern \"sysv64\" { fn a(at: *const f64, n: u32) -> S; }";
    let types = signatures(fine).into_iter().flat_map(by_value);
    let types: Vec<_> = types.map(|ty| (ty, refused(ty, fine))).collect();
    assert_eq!(types, [("*const f64", None), ("u32", None), ("S", None)]);
}
