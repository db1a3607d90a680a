//! Writes types in the notation of their language.

use gimli::UnitOffset;
use gimli::constants::*;

use super::super::Language;
use super::At;
use super::types::{Types, is_declaration};

/// Maximum depth to which a type is written out, such as pointers to pointers.
const DEEPEST: u32 = 30;

/// Maximum number of parts of a type that are written out. A function type may have several function types
/// as parameters, and these may have further function types as parameters.
const MOST_PARTS: u32 = 1000;

impl Types<'_, '_> {
    /// Formats a declaration of `name` with the type at `at`, or the type alone if the name is empty.
    pub(super) fn spell(&self, at: Option<At>, name: &str, language: Language) -> String {
        self.parts.set(MOST_PARTS);
        match language {
            Language::Rust => {
                let spelt = self.rust(at, 0);
                if name.is_empty() { spelt } else { format!("{name}: {spelt}") }
            }
            Language::C | Language::Cpp => self.c(at, name.to_owned(), language, 0),
        }
    }

    /// Counts a part of a type. Returns whether the maximum number of parts was reached before it.
    fn last_part(&self) -> bool {
        let left = self.parts.get();
        self.parts.set(left.saturating_sub(1));
        left == 0
    }

    /// Formats a C declaration. The text grows outwards from the declared name, `inside`.
    fn c(&self, at: Option<At>, inside: String, language: Language, depth: u32) -> String {
        let before = |word: &str| match inside.is_empty() || inside.starts_with('[') {
            true => format!("{word}{inside}"),
            false => format!("{word} {inside}"),
        };
        let Some(at) = at else { return before("void") };
        let Ok(entry) = self.entry(at) else { return before("?") };
        let tag = entry.tag();
        let target = self.type_of(at.unit, &entry);
        let target_tag = || Some(self.entry(target?).ok()?.tag());
        if depth > DEEPEST || self.last_part() {
            return before("...");
        }
        if let Some(word) = qualifier(tag) {
            // A qualifier stands before a type, as in `const int x`, but after a `*`, as in `int *const p`.
            return match target_tag().is_some_and(is_indirect) {
                true => self.c(target, before(word), language, depth + 1),
                false => format!("{word} {}", self.c(target, inside, language, depth + 1)),
            };
        }
        if let Some(mark) = mark(tag) {
            let mark = match tag == DW_TAG_ptr_to_member_type {
                true => {
                    let class = self.reference(at.unit, &entry, DW_AT_containing_type);
                    let class = class.and_then(|class| self.path(class));
                    format!("{}::*", class.unwrap_or_default())
                }
                false => mark.to_owned(),
            };
            let inside = match target_tag() {
                Some(DW_TAG_array_type | DW_TAG_subroutine_type) => format!("({mark}{inside})"),
                _ => format!("{mark}{inside}"),
            };
            return self.c(target, inside, language, depth + 1);
        }
        if tag == DW_TAG_array_type {
            let lengths = self.dimensions(at).unwrap_or_default();
            let lengths = lengths.iter().map(|length| match length {
                0 => "[]".to_owned(),
                length => format!("[{length}]"),
            });
            let inside = format!("{inside}{}", lengths.collect::<String>());
            return self.c(target, inside, language, depth + 1);
        }
        if tag == DW_TAG_subroutine_type {
            let inside = format!("{inside}({})", self.parameters(at, language, depth));
            return self.c(target, inside, language, depth + 1);
        }
        before(&self.named(at, tag, language))
    }

    /// Formats a type that has a name, or should have one.
    fn named(&self, at: At, tag: DwTag, language: Language) -> String {
        // A declaration may state only a signature. The name is then in the definition.
        let (at, tag) = match self.entry(at).ok().filter(is_declaration) {
            Some(_) => self.bare(at).map_or((at, tag), |(at, entry)| (at, entry.tag())),
            None => (at, tag),
        };
        let keyword = match tag {
            DW_TAG_structure_type => "struct",
            DW_TAG_class_type => "class",
            DW_TAG_union_type => "union",
            DW_TAG_enumeration_type => "enum",
            _ => "",
        };
        let path = self.path(at).or_else(|| self.name(at.unit, &self.entry(at).ok()?));
        match (path, language) {
            (Some(path), Language::C) if !keyword.is_empty() => format!("{keyword} {path}"),
            (Some(path), _) => path,
            (None, _) if !keyword.is_empty() => format!("{keyword} {{...}}"),
            (None, _) => "?".to_owned(),
        }
    }

    fn parameters(&self, at: At, language: Language, depth: u32) -> String {
        let read = || -> gimli::Result<Vec<String>> {
            let mut tree = self.program.unit(at.unit)?.entries_tree(Some(UnitOffset(at.offset)))?;
            let mut children = tree.root()?.children();
            let mut found = Vec::new();
            while let Some(child) = children.next()? {
                let entry = child.entry();
                self.note(entry)?;
                if self.parts.get() == 0 {
                    break;
                }
                if entry.attr(DW_AT_artificial).is_some() {
                    // Source code does not declare `this`.
                } else if entry.tag() == DW_TAG_formal_parameter {
                    let target = self.type_of(at.unit, entry);
                    found.push(self.c(target, String::new(), language, depth + 1));
                } else if entry.tag() == DW_TAG_unspecified_parameters {
                    found.push("...".to_owned());
                }
            }
            Ok(found)
        };
        let parameters = read().unwrap_or_default();
        match parameters.is_empty() && language == Language::C {
            true => "void".to_owned(),
            false => parameters.join(", "),
        }
    }

    /// Formats a Rust type. Most Rust types have their full name in the debug information.
    fn rust(&self, at: Option<At>, depth: u32) -> String {
        let Some(at) = at else { return "()".to_owned() };
        let Ok(entry) = self.entry(at) else { return "?".to_owned() };
        let target = self.type_of(at.unit, &entry);
        if depth > DEEPEST || self.last_part() {
            return "...".to_owned();
        }
        if entry.tag() == DW_TAG_array_type {
            let element = self.rust(target, depth + 1);
            let lengths = self.dimensions(at).unwrap_or_default();
            return lengths
                .iter()
                .rev()
                .fold(element, |inner, length| format!("[{inner}; {length}]"));
        }
        if let Some(path) = self.path(at).or_else(|| self.name(at.unit, &entry)) {
            return path;
        }
        if qualifier(entry.tag()).is_some() {
            return self.rust(target, depth + 1);
        }
        match is_indirect(entry.tag()) {
            true => format!("*const {}", self.rust(target, depth + 1)),
            false => "?".to_owned(),
        }
    }
}

pub(super) fn qualifier(tag: DwTag) -> Option<&'static str> {
    match tag {
        DW_TAG_const_type => Some("const"),
        DW_TAG_volatile_type => Some("volatile"),
        DW_TAG_restrict_type => Some("restrict"),
        DW_TAG_atomic_type => Some("_Atomic"),
        _ => None,
    }
}

/// Returns the symbol that a declaration of a pointer or reference has before the name.
fn mark(tag: DwTag) -> Option<&'static str> {
    match tag {
        DW_TAG_pointer_type | DW_TAG_ptr_to_member_type => Some("*"),
        DW_TAG_reference_type => Some("&"),
        DW_TAG_rvalue_reference_type => Some("&&"),
        _ => None,
    }
}

pub(super) fn is_indirect(tag: DwTag) -> bool {
    mark(tag).is_some()
}
