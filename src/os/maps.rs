//! How far the mappings of a process are spread over its address space.

use std::collections::BTreeSet;
use std::path::Path;

use super::root::{Root, Unreadable, read};

/// The page-table pages that a process needs for its files, heap and stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Page tables: one per 2 MiB piece of the address space that holds a mapping.
    pub tables: usize,
    /// Page directories: one per 1 GiB piece that holds a mapping.
    pub directories: usize,
}

impl Spread {
    /// Counts the tables of this process, from `/proc/self/maps`.
    ///
    /// # Errors
    /// [`Unreadable`] if the file cannot be read.
    pub fn of_this_process() -> Result<Self, Unreadable> {
        read(Path::new("/proc/self/maps")).map(|maps| Self::of(&maps))
    }

    /// Counts the tables of the process whose `maps` file has this text. Only named mappings
    /// count: files, the heap, the stack, and the mappings that the kernel adds to every process. A program
    /// creates unnamed mappings while it runs.
    pub fn of(maps: &str) -> Self {
        let mut tables = BTreeSet::new();
        for line in maps.lines() {
            let mut words = line.split_whitespace();
            let range = words.next().and_then(addresses);
            // Access, offset, device and inode lie between the addresses and the name.
            let name = words.nth(4);
            if let (Some((from, to)), Some(name)) = (range, name)
                && name != VSYSCALL
            {
                tables.extend(from >> 21..=(to - 1) >> 21);
            }
        }
        let directories: BTreeSet<u64> = tables.iter().map(|table| table >> 9).collect();
        Spread { tables: tables.len(), directories: directories.len() }
    }
}

/// A page in the kernel's half of the address space, whose tables all processes share.
const VSYSCALL: &str = "[vsyscall]";

/// Whether the kernel randomises the address space of this process. True where it does not say.
pub fn randomised(root: &Root) -> bool {
    let switched_off = |text: String| text == "0";
    let machine = read(&root.proc.join("sys/kernel/randomize_va_space"));
    let process = read(&root.proc.join("self/personality"));
    let asked =
        |text: String| u64::from_str_radix(&text, 16).map(|bits| bits & NO_RANDOMISATION != 0);
    !machine.is_ok_and(switched_off) && !process.is_ok_and(|text| asked(text).unwrap_or(false))
}

/// The bit of a personality that `setarch -R` and debuggers set.
const NO_RANDOMISATION: u64 = 0x0004_0000;

fn addresses(range: &str) -> Option<(u64, u64)> {
    let (from, to) = range.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    let (from, to) = (address(from)?, address(to)?);
    (from < to).then_some((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::root::Planted;

    const RANDOMISED: &str = "\
55d0c8a00000-55d0c8a02000 r--p 00000000 fe:00 1234                       /usr/bin/true
55d0c8bff000-55d0c8c01000 rw-p 00002000 fe:00 1234                       /usr/bin/true
55d0f1e35000-55d0f1e56000 rw-p 00000000 00:00 0                          [heap]
7f1e40000000-7f1e80000000 rw-p 00000000 00:00 0
7f3a1c000000-7f3a1c026000 r--p 00000000 fe:00 5678                       /usr/lib/libc.so.6
7ffd0a9f1000-7ffd0aa12000 rw-p 00000000 00:00 0                          [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";

    #[test]
    fn named_mappings_are_counted_by_the_tables_that_they_take() {
        let spread = Spread::of(RANDOMISED);
        // The program crosses a 2 MiB boundary; the unnamed mapping of 1 GiB does not count.
        assert_eq!((spread.tables, spread.directories), (6, 3));
        assert_eq!(Spread::of(""), Spread::default());
        assert_eq!(Spread::of("what is this\n1-0 r--p 0 0 0 x\n"), Spread::default());
    }

    #[test]
    fn randomisation_is_switched_off_for_the_machine_or_for_the_process() {
        let [setting, own] = ["sys/kernel/randomize_va_space", "self/personality"];
        for (machine, process, on) in [
            ("2", "00000000", true),
            ("1", "00000000", true),
            ("0", "00000000", false),
            ("2", "00040000", false),
            ("2", "08000000", true),
        ] {
            let files = [(setting, machine), (own, process)];
            let planted = Planted::new("randomised", "proc", &files);
            assert_eq!(randomised(&planted.root()), on, "{machine}, {process}");
        }
        assert!(randomised(&Planted::new("randomised", "proc", &[]).root()));
    }

    #[test]
    fn this_process_has_at_least_one_table() {
        let spread = Spread::of_this_process().unwrap();
        assert!(spread.directories >= 1 && spread.tables >= spread.directories);
    }
}
