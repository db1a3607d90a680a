//! Formats a type as text in the style of `pahole`.

use crate::lab::size::counted;
use crate::order;

use super::{Aggregate, Hole, Holes, Kind, Language, Member, Role, Span, Summary, Variant};

#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Line size in bytes.
    pub line: u64,
    /// Whether to print the members of every member's type. Otherwise only members of unnamed types are
    /// printed.
    pub expand: bool,
}

/// Maximum width of the column of declarations. A wider declaration moves its numbers to the right.
const WIDEST: usize = 56;

/// Formats a type and its members without the numbers below them: `struct foo {`, the rows, `}`.
pub fn declaration(aggregate: &Aggregate, style: Style) -> String {
    let mut lines = Lines { style, rows: Vec::new(), border: 1 };
    lines.body(aggregate, 0, 1);
    let head = format!("{} {}", aggregate.kind.word(), aggregate.path);
    format!("{} {{\n{}}}", head.trim_end(), lines.text())
}

struct Lines {
    style: Style,
    rows: Vec<Row>,
    /// Index of the next line whose boundary is to be drawn.
    border: u64,
}

/// A row: a declaration with its place, or a remark without one.
struct Row {
    depth: usize,
    text: String,
    place: Option<String>,
}

impl Lines {
    fn text(&self) -> String {
        let width = |row: &Row| 4 * row.depth + row.text.chars().count();
        let placed = self.rows.iter().filter(|row| row.place.is_some());
        let column = placed.map(width).max().unwrap_or(0).clamp(28, WIDEST);
        let mut text = String::new();
        for row in &self.rows {
            let line = format!("{}{}", "    ".repeat(row.depth), row.text);
            match &row.place {
                Some(place) => text += &format!("{line:<column$}  /* {place} */\n"),
                None => text += &format!("{}\n", line.trim_end()),
            }
        }
        text
    }

    fn row(&mut self, depth: usize, text: impl Into<String>, place: Option<String>) {
        self.rows.push(Row { depth, text: text.into(), place });
    }

    /// Adds the members of a type that starts at byte `base`.
    fn body(&mut self, aggregate: &Aggregate, base: u64, depth: usize) {
        for (name, value) in &aggregate.values {
            self.row(depth, format!("{name} = {value},"), None);
        }
        let union = aggregate.kind == Kind::Union || !aggregate.variants.is_empty();
        let holes = if union { Vec::new() } else { Holes::of(aggregate).between };
        self.members(&aggregate.members, &holes, aggregate.language, base, depth, union);
        for variant in &aggregate.variants {
            self.variant(aggregate, variant, base, depth);
        }
    }

    fn members(
        &mut self,
        members: &[Member],
        holes: &[Hole],
        language: Language,
        base: u64,
        depth: usize,
        union: bool,
    ) {
        // Members are sorted by place, because the Rust compiler may reorder them.
        let mut sorted: Vec<&Member> = members.iter().collect();
        order::by_key(&mut sorted, |member| member.span);
        let mut holes = holes.iter().peekable();
        for member in sorted {
            while let (Some(hole), Some(span)) = (holes.peek(), member.span)
                && hole.span.end <= span.start
            {
                self.hole(hole, depth);
                holes.next();
            }
            if let Some(span) = member.span.filter(|_| !union) {
                self.boundary(span.moved(base), depth);
            }
            self.member(member, language, base, depth);
        }
        for hole in holes {
            self.hole(hole, depth);
        }
    }

    fn hole(&mut self, hole: &Hole, depth: usize) {
        let amount = match hole.in_bits {
            true => counted(hole.span.bits(), "bit"),
            false => counted(hole.span.bytes(), "byte"),
        };
        self.row(depth, format!("/* XXX {amount} hole */"), None);
    }

    /// Draws the last line boundary at or before the start of `span`, unless it has been drawn already.
    fn boundary(&mut self, span: Span, depth: usize) {
        let line = self.style.line;
        let at = span.offset();
        let passed = at / line;
        if passed >= self.border {
            let bytes = passed * line;
            let ago = match at - bytes {
                0 => String::new(),
                ago => format!(" was {} ago", counted(ago, "byte")),
            };
            let text = format!("/* --- cacheline {passed} boundary ({bytes} bytes){ago} --- */");
            self.row(depth, text, None);
            self.border = passed + 1;
        }
    }

    fn member(&mut self, member: &Member, language: Language, base: u64, depth: usize) {
        let mut place = place(member, base);
        if member.span.is_some_and(|span| span.moved(base).straddles(self.style.line)) {
            place += ", across two lines";
        }
        let end = if language == Language::Rust { "," } else { ";" };
        let role = if member.role == Role::Base { "base class " } else { "" };
        let nameless = |inner: &Aggregate| inner.path.is_empty();
        let inner = member.inner.as_deref();
        let opened = inner.filter(|inner| self.style.expand || nameless(inner));
        let width = match (member.unit, member.span) {
            (Some(_), Some(span)) => format!(":{}", span.bits()),
            _ => String::new(),
        };
        let (Some(inner), Some(span)) = (opened, member.span) else {
            let text = format!("{role}{}{width}{end}", member.declaration);
            self.row(depth, text, Some(place));
            return;
        };
        let first = match language {
            Language::Rust => format!("{} {{", member.declaration),
            Language::C | Language::Cpp if nameless(inner) => format!("{} {{", inner.kind.word()),
            Language::C | Language::Cpp => {
                format!("{role}{} {} {{", inner.kind.word(), inner.path)
            }
        };
        self.row(depth, first, None);
        // For an array, the boundaries are those in its first element. Other elements have other boundaries.
        self.body(inner, base + span.offset(), depth + 1);
        let dimensions: String = member.elements.iter().map(|n| format!("[{n}]")).collect();
        let last = match (language, &member.name) {
            (Language::Rust, _) => "},".to_owned(),
            (_, Some(name)) => format!("}} {name}{dimensions};"),
            (_, None) => "};".to_owned(),
        };
        self.row(depth, last, Some(place));
    }

    fn variant(&mut self, aggregate: &Aggregate, variant: &Variant, base: u64, depth: usize) {
        // A variant without a value covers every other value of the tag.
        let value = variant.value.map_or_else(String::new, |value| format!(" = {value}"));
        if variant.members.is_empty() {
            self.row(depth, format!("{}{value},", variant.name), None);
            return;
        }
        self.row(depth, format!("{}{value} {{", variant.name), None);
        let members = aggregate.members.iter().chain(&variant.members);
        let holes = Holes::between(members, aggregate.size);
        self.border = 1;
        self.members(&variant.members, &holes.between, aggregate.language, base, depth + 1, false);
        self.row(depth, "},", None);
    }
}

/// Formats offset and size as `pahole` aligns them, with the first bit of a bit-field.
fn place(member: &Member, base: u64) -> String {
    let Some(span) = member.span else { return "known when the program runs".to_owned() };
    if member.size_unknown {
        let offset = base + span.offset();
        return format!("{offset:>5} size not in this debug information");
    }
    match member.unit {
        None => format!("{:>5} {:>5}", base + span.offset(), span.bytes()),
        Some(unit) => {
            // The offset of the storage unit in which the bit-field starts, and its first bit in that unit.
            let bits = 8 * unit;
            let start = base + span.start / bits * unit;
            format!("{start:>5}:{:>2} {unit:>2}", span.start % bits)
        }
    }
}

/// Formats the first `most` of several names, and the number of the others: `a, b and 3 more`.
pub fn first_of(names: &[String], most: usize) -> String {
    match names.len().saturating_sub(most) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..most].join(", ")),
    }
}

/// Formats the numbers that `pahole` prints below the members.
pub fn numbers(aggregate: &Aggregate, summary: &Summary, line: u64) -> String {
    let members = aggregate.members.len();
    let mut first =
        format!("size: {}, cachelines: {}, members: {members}", summary.size, summary.lines);
    if !aggregate.variants.is_empty() {
        first += &format!(", variants: {}", aggregate.variants.len());
    }
    let mut rows = vec![first];
    if summary.holes > 0 || summary.bit_holes > 0 {
        let mut row = format!("sum members: {}", summary.used);
        if summary.holes > 0 {
            row += &format!(", holes: {}, sum holes: {}", summary.holes, summary.hole_bytes);
        }
        if summary.bit_holes > 0 {
            let bits = counted(summary.bit_hole_bits, "bit");
            row += &format!(", bit holes: {}, sum bit holes: {bits}", summary.bit_holes);
        }
        rows.push(row);
    }
    if summary.padding > 0 {
        rows.push(format!("padding: {}", summary.padding));
    }
    if summary.inside > 0 {
        let bytes = counted(summary.inside, "byte");
        rows.push(format!("unused inside members of types without a name: {bytes}"));
    }
    if !aggregate.virtual_bases().is_empty() {
        rows.push("virtual base classes lie behind the members, and not in the padding".to_owned());
    }
    if summary.bit_padding > 0 {
        rows.push(format!("bit padding: {}", counted(summary.bit_padding, "bit")));
    }
    if let Some(bytes) = summary.last_line {
        rows.push(format!("last cacheline: {}", counted(bytes, "byte")));
    }
    let packed = if aggregate.packed { ", packed" } else { "" };
    let least = if aggregate.vague { "at least " } else { "" };
    rows.push(format!("alignment: {least}{}{packed}", aggregate.align));
    if summary.size > 0 {
        let average = (summary.lines_in_array * 100.0).round() / 100.0;
        let plural = if average == 1.0 { "" } else { "s" };
        rows.push(format!("in an array: {average} cacheline{plural} per element"));
    }
    let straddling = aggregate.straddling(line);
    if !straddling.is_empty() {
        rows.push(format!("across two cachelines: {}", straddling.join(", ")));
    }
    rows.iter().map(|row| format!("/* {row} */\n")).collect()
}
