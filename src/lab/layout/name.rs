//! Which types somebody means.

use anyhow::{Context as _, Result};
use glob::{MatchOptions, Pattern};

use crate::spelling::distance;

/// A name of a type as somebody wrote it, or a glob.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    text: String,
    glob: Option<Pattern>,
}

/// How well a type's path answers to a name; the greater, the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// It is the name but for its generic arguments: `Vec` for `alloc::vec::Vec<u8>`.
    Generic,
    /// The name is its end: `Inner` for `outer::Inner`.
    End,
    /// It is the name.
    Whole,
}

impl Wanted {
    /// Reads a name, with or without the keyword of C before it, or a glob.
    ///
    /// # Errors
    /// If it is a broken glob.
    pub fn new(text: &str) -> Result<Self> {
        let name = text.trim();
        let name = ["struct ", "union ", "class ", "enum "]
            .iter()
            .find_map(|word| name.strip_prefix(word))
            .unwrap_or(name);
        // `[` begins a Rust slice, `&[u8]`, more often than a set of letters.
        let glob = match name.contains(['*', '?']) && !pointer(name) {
            true => {
                let escaped = name.replace('[', "[[]");
                Some(Pattern::new(&escaped).with_context(|| format!("`{text}` is no glob"))?)
            }
            false => None,
        };
        Ok(Wanted {
            text: name.to_owned(),
            glob,
        })
    }

    /// As it was written, less the keyword.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it means all types that match, however many.
    pub fn is_glob(&self) -> bool {
        self.glob.is_some()
    }

    /// How well `path` answers to it.
    pub fn answer(&self, path: &str) -> Option<Answer> {
        if let Some(glob) = &self.glob {
            let options = MatchOptions::new();
            let whole = glob.matches_with(path, options);
            return (whole || glob.matches_with(last(path), options)).then_some(Answer::Whole);
        }
        if path == self.text {
            return Some(Answer::Whole);
        }
        if ends(path).any(|end| end == self.text) {
            return Some(Answer::End);
        }
        let bare = bare(path);
        let generic = bare != path && ends(bare).any(|end| end == self.text);
        generic.then_some(Answer::Generic)
    }

    /// How far its spelling is from the end of `path`, to find what was meant.
    pub fn distance(&self, path: &str) -> usize {
        let wanted = last(bare(&self.text)).to_lowercase();
        let name = last(bare(path)).to_lowercase();
        let (length, other) = (wanted.chars().count(), name.chars().count());
        // Names can be of any length, and edits take the product of both.
        let edits = match other > 2 * length + 64 {
            true => other - length,
            false => distance(&wanted, &name),
        };
        // What contains the name is near, but not as near as a slip of the pen.
        match name.contains(&wanted) && !wanted.is_empty() {
            true => edits.min(2),
            false => edits,
        }
    }
}

/// `*const T` and `*mut T` are pointers in Rust, no globs.
fn pointer(name: &str) -> bool {
    name.starts_with("*const ") || name.starts_with("*mut ")
}

/// `path` and its ends behind each `::` that is not inside brackets.
fn ends(path: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let bytes = path.as_bytes();
    let starts = bytes.iter().enumerate().filter_map(move |(at, byte)| {
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            // Not the `>` of `->`.
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && at > 0 && bytes[at - 1] == b':' => return Some(at + 1),
            _ => {}
        }
        None
    });
    [0].into_iter().chain(starts).map(|start| &path[start..])
}

/// The last part of a path: `Inner<a::B>` of `outer::Inner<a::B>`.
fn last(path: &str) -> &str {
    ends(path).last().unwrap_or(path)
}

/// A path without the generic arguments at its end.
fn bare(path: &str) -> &str {
    let name = last(path);
    match name.find('<') {
        Some(at) if at > 0 => &path[..path.len() - name.len() + at],
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(wanted: &str, path: &str) -> Option<Answer> {
        Wanted::new(wanted).unwrap().answer(path)
    }

    #[test]
    fn a_name_is_a_path_or_the_end_of_one() {
        assert_eq!(answer("foo", "foo"), Some(Answer::Whole));
        assert_eq!(answer("struct foo", "foo"), Some(Answer::Whole));
        assert_eq!(answer("Inner", "a::b::Inner"), Some(Answer::End));
        assert_eq!(answer("b::Inner", "a::b::Inner"), Some(Answer::End));
        assert_eq!(answer("nner", "a::b::Inner"), None);
        assert_eq!(answer("Vec", "alloc::vec::Vec<u8>"), Some(Answer::Generic));
        assert_eq!(answer("Vec<u8>", "alloc::vec::Vec<u8>"), Some(Answer::End));
        assert_eq!(answer("String", "Option<alloc::string::String>"), None);
        assert_eq!(answer("(u8, u32)", "(u8, u32)"), Some(Answer::Whole));
        assert_eq!(answer("F", "a::Call<fn(u8) -> b::C>::F"), Some(Answer::End));
    }

    #[test]
    fn a_glob_matches_the_whole_path_or_its_last_part() {
        assert_eq!(answer("fo*", "foo"), Some(Answer::Whole));
        assert_eq!(answer("Vec<*>", "alloc::vec::Vec<u8>"), Some(Answer::Whole));
        assert_eq!(
            answer("alloc::*", "alloc::vec::Vec<u8>"),
            Some(Answer::Whole)
        );
        assert_eq!(answer("fo*", "x::bar"), None);
        assert_eq!(answer("*[u8]", "&[u8]"), Some(Answer::Whole));
        assert_eq!(answer("*const u8", "xconst u8"), None);
    }

    #[test]
    fn the_nearest_spelling_is_the_one_that_was_meant() {
        let nearest = |wanted: &str, paths: [&'static str; 3]| {
            let wanted = Wanted::new(wanted).unwrap();
            paths
                .into_iter()
                .min_by_key(|path| wanted.distance(path))
                .unwrap()
        };
        assert_eq!(nearest("ordr", ["foo", "order", "node"]), "order");
        assert_eq!(
            nearest("Strng", ["a::Node", "b::String", "c::Str<u8>"]),
            "b::String"
        );
        assert_eq!(
            nearest("order", ["ordinal", "x", "purchase_order_line"]),
            "purchase_order_line"
        );
    }
}
