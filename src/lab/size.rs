//! Reading and formatting of memory sizes, and formatting of whole numbers.

use std::fmt;

use crate::experiment::Range;
use crate::sim::number;

/// Parses a size such as `512MiB`, `1GiB`, `64K` or `1048576`. Units are powers of 1024.
///
/// # Errors
/// If the text is not a size, or the size exceeds 64 bits. The message shows accepted forms.
pub fn parse(text: &str) -> Result<u64, String> {
    let wrong = || "a size is a whole number with a unit: 512MiB, 1GiB, 64K, 1048576".to_owned();
    number(text).ok_or_else(wrong)
}

/// Formats a number of bytes in the largest unit in which it is at least 1: `48 KiB`, `1.5 GiB`,
/// `1.25 MiB`.
pub fn show(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = match value {
        _ if value.fract() == 0.0 || value >= 100.0 => 0,
        // Caches of 1.25 MiB are sold.
        _ if value < 10.0 && (2.0 * value).fract() == 0.5 => 2,
        _ => 1,
    };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// Formats a range of bytes: `2 to 12 MiB`, `768 KiB to 1 MiB`, `48 KiB`.
pub(crate) fn show_range(least: f64, most: f64) -> String {
    let (least, most) = (show(least), show(most));
    match (least.split_once(' '), most.split_once(' ')) {
        _ if least == most => least,
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} to {most}"),
        _ => format!("{least} to {most}"),
    }
}

/// Rounds a measured size to quarters of a power of two, because a step of the ladder shows no more.
pub(crate) fn rounded(bytes: f64) -> f64 {
    let unit = 2_f64.powf(bytes.max(1.0).log2().floor()) / 4.0;
    (bytes / unit).round() * unit
}

/// Returns the least and the largest size of a shared last level whose `steps` lie in this range of bytes.
pub(crate) fn share(steps: Range, reported: Option<f64>) -> [f64; 2] {
    // A step is located only to an octave, so it may lie beyond the size of the level.
    let reported = reported.filter(|reported| steps.lo < *reported);
    let most = rounded(steps.hi).min(reported.unwrap_or(f64::INFINITY));
    [rounded(steps.lo).min(most), most]
}

/// Formats a whole number with thousands separators: `392,469`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number with the plural of its noun: `1 core`, `2 cores`.
pub(crate) fn counted(number: impl fmt::Display, noun: &str) -> String {
    let number = number.to_string();
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for text in ["1GiB", "1 GiB", "1g", "1024M", "1048576k", "1073741824"] {
            assert_eq!(parse(text), Ok(1 << 30), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused_with_an_example() {
        for text in ["", "GiB", "-1", "1.5GiB", "12 parsecs", "99999999999TiB"] {
            assert!(parse(text).unwrap_err().contains("512MiB"), "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_in_their_unit() {
        let sizes = [64.0, 4096.0, 49152.0, 5793.0, 1310720.0, 3.5 * 1073741824.0];
        assert_eq!(sizes.map(show), ["64 B", "4 KiB", "48 KiB", "5.7 KiB", "1.25 MiB", "3.5 GiB"]);
    }

    #[test]
    fn a_measured_size_is_rounded_to_what_a_step_can_show() {
        assert_eq!(rounded(33_100.0), 32_768.0);
        assert_eq!(rounded(12_900_000.0), 12.0 * 1_048_576.0);
    }

    #[test]
    fn thousands_stand_apart() {
        let texts = [7, 999, 4096, 392_469, 1_000_000].map(grouped);
        assert_eq!(texts, ["7", "999", "4,096", "392,469", "1,000,000"]);
    }
}
