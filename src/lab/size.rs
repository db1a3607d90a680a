//! Sizes of memory as people write them.

/// Powers of 1024 by name, the largest first.
const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];

/// Reads a size such as `512MiB`, `1GiB`, `64K` or `1048576`; units are powers of 1024.
///
/// # Errors
/// With what would be accepted.
pub fn parse(text: &str) -> Result<u64, String> {
    let wrong = || "a size is a whole number with a unit: 512MiB, 1GiB, 64K, 1048576".to_owned();
    let text = text.trim();
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
    let unit = text[digits..].trim_start();
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(wrong()),
    };
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// A size with three digits at least: `512 MiB`, `1.50 GiB`, `100 B`.
pub fn show(bytes: f64) -> String {
    for (name, shift) in UNITS {
        let value = bytes / (1_u64 << shift) as f64;
        if value >= 1.0 {
            let digits = match value {
                _ if value.fract() < 0.005 || value >= 100.0 => 0,
                _ if value >= 10.0 => 1,
                _ => 2,
            };
            return format!("{value:.digits$} {name}");
        }
    }
    format!("{bytes:.0} B")
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
        assert_eq!(show(4096.0), "4 KiB");
        assert_eq!(show(1.5 * 1073741824.0), "1.50 GiB");
        assert_eq!(show(48.0 * 1024.0), "48 KiB");
        assert_eq!(show(33.3 * 1048576.0), "33.3 MiB");
        assert_eq!(show(100.0), "100 B");
    }
}
