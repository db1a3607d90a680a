//! Where fields lie in lines, which thread touches which field, and which lines several threads need.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

use super::{Field, Scheme, Touch};

/// Where the fields begin, in bytes from the beginning of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    begins: Vec<u64>,
    line: u64,
}

impl Layout {
    /// Creates the layout of the structure, which begins `at` bytes into a line.
    pub fn structure(scheme: &Scheme, at: u64) -> Self {
        Layout {
            begins: scheme.fields.iter().map(|field| at + field.offset).collect(),
            line: scheme.line,
        }
    }

    /// Creates a layout in which each field begins at the next multiple of `apart` bytes after the previous
    /// field.
    pub fn apart(scheme: &Scheme, apart: u64) -> Self {
        let mut next = 0;
        let begins = scheme.fields.iter().map(|field| {
            let begin = next;
            next += field.size.next_multiple_of(apart);
            begin
        });
        Layout { begins: begins.collect(), line: scheme.line }
    }

    /// Returns the lines on which a field lies, each with the field's first and last byte on the line.
    pub fn parts(&self, scheme: &Scheme, field: usize) -> Vec<(u64, [u64; 2])> {
        let (begin, size) = (self.begins[field], scheme.fields[field].size);
        let last = begin + size - 1;
        let part = |line: u64| {
            let from = begin.max(line * self.line);
            (line, [from, last.min((line + 1) * self.line - 1)])
        };
        (begin / self.line..=last / self.line).map(part).collect()
    }

    /// Returns the size in bytes from the first line to the end of the last.
    pub fn bytes(&self, scheme: &Scheme) -> u64 {
        let end = |(begin, field): (&u64, &Field)| begin + field.size;
        let ends = self.begins.iter().zip(&scheme.fields).map(end);
        ends.max().unwrap_or(0).next_multiple_of(self.line)
    }
}

/// A line that several threads need, at least one of them to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Number of the line, from 0 at the first line of the structure.
    pub line: u64,
    /// Whether threads touch different bytes of the line. Padding ends this sharing.
    pub falsely: bool,
    /// Whether threads touch the same bytes. Padding does not end this sharing.
    pub truly: bool,
    pub touches: Vec<Touch>,
}

/// Returns the lines that several threads need, at least one of them to write.
pub fn sharers(scheme: &Scheme, layout: &Layout) -> Vec<Shared> {
    let mut lines: BTreeMap<u64, Vec<(Touch, [u64; 2])>> = BTreeMap::new();
    for touch in &scheme.touches {
        for (line, bytes) in layout.parts(scheme, touch.field) {
            lines.entry(line).or_default().push((*touch, bytes));
        }
    }
    let shared = |(line, touches): (u64, Vec<(Touch, [u64; 2])>)| {
        let (mut falsely, mut truly) = (false, false);
        for (index, (one, bytes)) in touches.iter().enumerate() {
            for (other, others) in &touches[index + 1..] {
                if one.thread != other.thread && (one.write || other.write) {
                    let apart = bytes[1] < others[0] || others[1] < bytes[0];
                    falsely |= apart;
                    truly |= !apart;
                }
            }
        }
        let touches = touches.into_iter().map(|(touch, _)| touch).collect();
        (falsely || truly).then_some(Shared { line, falsely, truly, touches })
    };
    lines.into_iter().filter_map(shared).collect()
}

/// Returns the lines that are shared falsely if the structure begins at `start`.
pub(super) fn shared_falsely(scheme: &Scheme, start: u64) -> Vec<Shared> {
    let mut shared = sharers(scheme, &Layout::structure(scheme, start));
    shared.retain(|one| one.falsely);
    shared
}

/// Returns the number of these starts at which at least one line is shared falsely.
pub(super) fn falsely(scheme: &Scheme, starts: &[u64]) -> usize {
    let shares = |start: &&u64| !shared_falsely(scheme, **start).is_empty();
    starts.iter().filter(shares).count()
}

/// Returns the start at which the falsely shared lines have the most touches; the lowest of several.
pub fn worst(scheme: &Scheme) -> u64 {
    let fields = |start: u64| {
        shared_falsely(scheme, start).iter().map(|one| one.touches.len()).sum::<usize>()
    };
    scheme.starts().into_iter().rev().max_by_key(|&start| fields(start)).unwrap_or(0)
}

/// Maximum number of threads. Thread numbers are below it.
pub const MOST_THREADS: usize = 256;

/// Parses `0:hits,1:misses`: thread 0 touches `hits`, thread 1 `misses`.
///
/// # Errors
/// If a part is not `THREAD:FIELD`, the thread is not a number below [`MOST_THREADS`], or there is no such
/// field. The message lists the fields.
pub fn touches(text: &str, fields: &[Field], write: bool) -> Result<Vec<Touch>> {
    let one = |part: &str| {
        let (thread, field) = part.split_once(':').with_context(|| {
            let field = fields.first().map_or("name", |field| &field.name);
            format!("`{part}` is not THREAD:FIELD, such as `0:{field}`")
        })?;
        let number: Option<usize> = thread.trim().parse().ok();
        let thread = number.filter(|thread| *thread < MOST_THREADS).with_context(|| {
            let last = MOST_THREADS - 1;
            format!("`{part}`: `{thread}` is not a thread; threads are numbers from 0 to {last}")
        })?;
        let field = find(field.trim(), fields).with_context(|| format!("`{part}`"))?;
        Ok(Touch { thread, field, write })
    };
    text.split(',').map(|part| one(part.trim())).collect()
}

fn find(name: &str, fields: &[Field]) -> Result<usize> {
    fields.iter().position(|field| field.name == name).with_context(|| {
        let names: Vec<String> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
        format!("`{name}` was not given as a field or an offset; {} were", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::super::planted::{counters, scheme};
    use super::*;

    /// Returns the shared lines, each with whether it is shared falsely and truly.
    fn how(scheme: &Scheme, layout: &Layout) -> Vec<(u64, bool, bool)> {
        sharers(scheme, layout).into_iter().map(|one| (one.line, one.falsely, one.truly)).collect()
    }

    #[test]
    fn neighbours_share_a_line_unless_it_ends_between_them() {
        let counters = counters();
        for start in counters.starts() {
            let found = how(&counters, &Layout::structure(&counters, start));
            let expected = (start != 56).then_some((0, true, false));
            assert_eq!(found, Vec::from_iter(expected), "{start}");
        }
        for apart in [64, 128] {
            assert_eq!(how(&counters, &Layout::apart(&counters, apart)), []);
        }
        assert_eq!(worst(&counters), 0);
    }

    #[test]
    fn readers_share_with_writers_and_not_with_each_other() {
        let of = |touches: &[(usize, usize, bool)]| {
            let scheme = scheme(&[(0, 8), (8, 8)], touches);
            how(&scheme, &Layout::structure(&scheme, 0))
        };
        assert_eq!(of(&[(0, 0, false), (1, 1, false)]), []);
        assert_eq!(of(&[(0, 0, true), (0, 1, true)]), []);
        assert_eq!(of(&[(0, 0, true), (1, 1, false)]), [(0, true, false)]);
        assert_eq!(of(&[(0, 0, true), (1, 0, false)]), [(0, false, true)]);
        assert_eq!(of(&[(0, 0, true), (1, 0, true), (1, 1, true)]), [(0, true, true)]);
    }

    #[test]
    fn a_long_field_lies_on_several_lines() {
        let long = scheme(&[(0, 100), (100, 4)], &[(0, 0, true), (1, 1, true)]);
        let layout = Layout::structure(&long, 0);
        assert_eq!(layout.parts(&long, 0), [(0, [0, 63]), (1, [64, 99])]);
        assert_eq!(layout.bytes(&long), 128);
        assert_eq!(how(&long, &layout), [(1, true, false)]);
        // The first field begins on a new line and takes two lines.
        let apart = Layout::apart(&long, 64);
        assert_eq!(apart.parts(&long, 1), [(2, [128, 131])]);
    }

    #[test]
    fn the_worst_start_is_where_most_share() {
        // The fields are adjacent at byte 64, so that they share a line only if the structure does not begin
        // on a line.
        let late = scheme(&[(56, 8), (64, 8)], &[(0, 0, true), (1, 1, true)]);
        assert_eq!(worst(&late), 8);
    }

    #[test]
    fn touches_are_read() {
        let fields = counters().fields;
        let found = touches("0:f0, 3 : f8,0:f8", &fields, true).unwrap();
        let found: Vec<_> =
            found.iter().map(|touch| (touch.thread, touch.field, touch.write)).collect();
        assert_eq!(found, [(0, 0, true), (3, 1, true), (0, 1, true)]);
    }

    #[test]
    fn what_is_no_touch_is_named_with_what_would_be() {
        let fields = counters().fields;
        for (text, says) in [
            ("f0", "`f0` is not THREAD:FIELD, such as `0:f0`"),
            ("", "is not THREAD:FIELD"),
            ("0:f0,", "is not THREAD:FIELD"),
            ("a:f0", "`a` is not a thread; threads are numbers from 0 to 255"),
            ("-1:f0", "`-1` is not a thread"),
            ("256:f0", "`256` is not a thread"),
            ("0:f4", "`f4` was not given as a field or an offset; `f0`, `f8` were"),
        ] {
            let error = touches(text, &fields, false).unwrap_err();
            let error = format!("{error:#}");
            assert!(error.contains(says), "{error}");
        }
    }
}
