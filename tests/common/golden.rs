//! A golden file: keys and values that this revision must reproduce.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// The command that rewrites all golden files.
const BLESS: &str = "BLESS=1 cargo test --all-features --test library --test program golden";

/// The number of differences that a failure shows; for the others it shows only their number.
const SHOWN: usize = 12;

/// Makes the text for a changed value, from its key, the old value and the new value.
type Explain = dyn Fn(&str, &str, &str) -> String;

/// The content of a golden file, and how it is compared.
pub struct Golden {
    /// The file is `tests/golden/NAME.txt`.
    name: &'static str,
    /// The first lines of the file, which explain the others.
    about: &'static str,
    entries: Vec<(String, String)>,
    same: fn(&str, &str) -> bool,
    explain: Box<Explain>,
}

impl Golden {
    /// A golden file without entries.
    pub fn new(name: &'static str, about: &'static str) -> Self {
        Golden {
            name,
            about,
            entries: Vec::new(),
            same: |old, new| old == new,
            explain: Box::new(|_, old, new| format!("    was: {old}\n    is:  {new}\n")),
        }
    }

    /// Compares values with `same` instead of equality.
    pub fn comparing(self, same: fn(&str, &str) -> bool) -> Self {
        Golden { same, ..self }
    }

    /// Explains a changed value with a text made from the key, the old value and the new value.
    pub fn explaining(self, explain: impl Fn(&str, &str, &str) -> String + 'static) -> Self {
        let explain = Box::new(explain);
        Golden { explain, ..self }
    }

    /// Adds a value. A key that already exists gets a number.
    pub fn push(&mut self, key: impl Into<String>, value: impl Into<String>) {
        let (key, value) = (key.into(), value.into());
        assert!(!key.contains([TAB, '\n']) && !value.contains('\n'), "{key}");
        self.entries.push((key, value));
    }

    /// Compares with the file, or writes it if `BLESS` is set.
    ///
    /// # Panics
    /// If a value changed, is missing or is new.
    #[track_caller]
    pub fn check(mut self) {
        self.number_equal_keys();
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let path = folder.join(self.name).with_extension("txt");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, self.text()).unwrap();
            return;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let old: BTreeMap<&str, &str> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once(TAB))
            .collect();
        let differences = self.differences(&old);
        if differences.is_empty() {
            return;
        }
        let shown: String = differences.iter().take(SHOWN).cloned().collect();
        let more = match differences.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!("... and {more} more\n"),
        };
        panic!(
            "tests/golden/{}.txt: {} of {} values differ\n{shown}{more}\
             If that is intended, write the golden files anew and review their diff:\n  {BLESS}\n",
            self.name,
            differences.len(),
            self.entries.len(),
        );
    }

    fn differences(&self, old: &BTreeMap<&str, &str>) -> Vec<String> {
        let mut differences = Vec::new();
        for (key, value) in &self.entries {
            match old.get(key.as_str()) {
                None => differences.push(format!("  new: {key}\n    is:  {value}\n")),
                Some(was) if !(self.same)(was, value) => {
                    let text = (self.explain)(key, was, value);
                    differences.push(format!("  changed: {key}\n{text}"));
                }
                Some(_) => {}
            }
        }
        let now: HashMap<_, _> = self.entries.iter().map(|(key, of)| (&**key, of)).collect();
        let gone = old.iter().filter(|(key, _)| !now.contains_key(**key));
        differences.extend(gone.map(|(key, was)| format!("  gone: {key}\n    was: {was}\n")));
        differences
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for line in self.about.lines() {
            writeln!(text, "# {line}").unwrap();
        }
        writeln!(text, "# Written by: {BLESS}").unwrap();
        for (key, value) in &self.entries {
            writeln!(text, "{key}{TAB}{value}").unwrap();
        }
        text
    }

    fn number_equal_keys(&mut self) {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for (key, _) in &mut self.entries {
            let count = seen.entry(key.clone()).or_default();
            *count += 1;
            if *count > 1 {
                write!(key, " #{count}").unwrap();
            }
        }
    }
}

/// Separates key and value.
const TAB: char = '\t';

/// A hash that is the same on all machines and in all versions of Rust, and fast in a debug build.
#[derive(Clone, Copy)]
pub struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = Hash::default();
        hash.bytes(bytes);
        hash
    }

    pub fn word(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    /// The first `count` hexadecimal digits of the hash.
    pub fn digits(self, count: usize) -> String {
        format!("{:016x}", self.0)[..count].to_owned()
    }
}
