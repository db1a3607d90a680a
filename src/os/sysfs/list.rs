//! Lists of CPUs in the kernel's two forms.

/// The largest CPU number believed. The kernel's own limit on x86-64 (`NR_CPUS`) is 8192; a
/// larger number is a corrupt file, and a range up to it must not be expanded.
const MAX_CPU: usize = 65_535;

/// A list such as `0-3,8`; empty text is the empty list. `None` when malformed.
pub(crate) fn parse(text: &str) -> Option<Vec<usize>> {
    let text = text.trim();
    let mut cpus = Vec::new();
    if text.is_empty() {
        return Some(cpus);
    }
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        // Nor are ranges that the list names again and again.
        if first > last || last > MAX_CPU || cpus.len() + (last - first) > MAX_CPU {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// A mask such as `00000003` or `ff,ffffffff`: groups of 32 bits in hexadecimal, the highest
/// first. `None` when malformed.
pub(in crate::os) fn parse_mask(text: &str) -> Option<Vec<usize>> {
    let groups: Vec<&str> = text.trim().split(',').collect();
    if groups.len() * 32 > MAX_CPU + 1 {
        return None;
    }
    let mut cpus = Vec::new();
    for (group, digits) in groups.iter().rev().enumerate() {
        let word = u32::from_str_radix(digits, 16).ok()?;
        cpus.extend(
            (0..32)
                .filter(|bit| word >> bit & 1 == 1)
                .map(|bit| group * 32 + bit),
        );
    }
    Some(cpus)
}

/// Rising CPU numbers as a list such as `0-3,8`.
pub(crate) fn format(cpus: &[usize]) -> String {
    let mut text = String::new();
    let mut rest = cpus;
    while let Some(&first) = rest.first() {
        let run = rest
            .iter()
            .zip(first..)
            .take_while(|(cpu, expected)| *cpu == expected)
            .count();
        if !text.is_empty() {
            text.push(',');
        }
        text += &first.to_string();
        if run > 1 {
            text += &format!("-{}", first + run - 1);
        }
        rest = &rest[run..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists() {
        assert_eq!(parse("0"), Some(vec![0]));
        assert_eq!(parse("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse("8,0-1"), Some(vec![0, 1, 8]));
        assert_eq!(parse(""), Some(vec![]));
        for bad in [
            "x",
            "1-",
            "-1",
            "3-1",
            "0,,2",
            "0-99999999999",
            "0-70000",
            "0x3",
        ] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn masks() {
        assert_eq!(parse_mask("3"), Some(vec![0, 1]));
        assert_eq!(parse_mask("00000000,00000005"), Some(vec![0, 2]));
        assert_eq!(parse_mask("1,00000000"), Some(vec![32]));
        assert_eq!(parse_mask("0"), Some(vec![]));
        for bad in ["", "g", "1,", "123456789"] {
            assert_eq!(parse_mask(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn lists_are_written_as_the_kernel_writes_them() {
        assert_eq!(format(&[]), "");
        assert_eq!(format(&[7]), "7");
        assert_eq!(format(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(cpus in prop::collection::btree_set(0usize..8192, 0..200)) {
            let cpus: Vec<usize> = cpus.into_iter().collect();
            prop_assert_eq!(parse(&format(&cpus)), Some(cpus));
        }

        #[test]
        fn no_text_panics(text in "[-0-9a-f,]{0,40}") {
            let _ = parse(&text);
            let _ = parse_mask(&text);
        }
    }
}
