//! The lines of `valgrind --tool=lackey --trace-mem=yes`.

use crate::sim::{Op, Reference};

/// Parses one line: `I  04000ab0,3`, ` L 1ffeffe7e0,8`, ` S …` or ` M …`, with the address in hexadecimal
/// and the bytes in decimal. Returns `None` for other lines, such as valgrind's own.
///
/// ```
/// use linefill::sim::{Reference, trace::lackey};
///
/// assert_eq!(lackey::parse(b"I  0401a2,3"), Some(Reference::fetch(0x401a2, 3)));
/// assert_eq!(lackey::parse(b"==7== Lackey, an example Valgrind tool"), None);
/// ```
pub fn parse(line: &[u8]) -> Option<Reference> {
    let (head, rest) = line.split_first_chunk()?;
    let op = operation(head)?;
    let comma = rest.iter().position(|&byte| byte == b',')?;
    let (digits, size) = (&rest[..comma], rest[comma + 1..].trim_ascii_end());
    if !(1..=16).contains(&digits.len()) || size.is_empty() {
        return None;
    }
    let address = digits
        .iter()
        .try_fold(0_u64, |address, &digit| Some(address << 4 | u64::from(hexadecimal(digit)?)))?;
    let bytes = size.iter().try_fold(0_u32, |bytes, &digit| {
        bytes.checked_mul(10)?.checked_add(decimal(digit)?.into())
    })?;
    Some(Reference { address, bytes, op })
}

/// Parses the first line of a text as [`parse`] does, and returns the reference with the length of the
/// line in bytes, including its newline.
///
/// This is a fast path, which takes a third of the time and handles all but a few lines of a trace.
/// `None` means that the caller must use [`parse`]: the line is not exactly as lackey prints it, or the
/// text is shorter than 32 bytes.
#[inline]
pub fn first(text: &[u8]) -> Option<(Reference, usize)> {
    // The longest such line has 3 bytes, 16 digits, a comma, 9 digits and a newline.
    let text = text.first_chunk::<32>()?;
    let op = operation(text.first_chunk()?)?;
    let mut address = eight_digits(*text[3..].first_chunk()?)?;
    let mut at = 11;
    while text[at] != b',' {
        address = address << 4 | u64::from(hexadecimal(text[at])?);
        at += 1;
        if at > 19 {
            return None;
        }
    }
    let comma = at;
    let mut bytes = u32::from(decimal(text[comma + 1])?);
    at += 2;
    while text[at] != b'\n' {
        // Nine digits cannot overflow.
        if at == comma + 10 {
            return None;
        }
        bytes = bytes * 10 + u32::from(decimal(text[at])?);
        at += 1;
    }
    Some((Reference { address, bytes, op }, at + 1))
}

/// Returns the operation that the first three bytes of a line name.
#[inline]
fn operation(head: &[u8; 3]) -> Option<Op> {
    Some(match head {
        b"I  " => Op::Fetch,
        b" L " => Op::Load,
        b" S " => Op::Store,
        b" M " => Op::Modify,
        _ => return None,
    })
}

/// A word whose every byte is 1.
const BYTES: u64 = 0x0101_0101_0101_0101;

/// Returns the value of eight hexadecimal digits, computed in parallel; lackey prints at least eight.
#[inline]
fn eight_digits(text: [u8; 8]) -> Option<u64> {
    // The last digit becomes the lowest byte.
    let text = u64::from_be_bytes(text);
    // Bit 6 distinguishes letters from digits.
    let digits = (text & (0x0F * BYTES)) + 9 * (text >> 6 & BYTES);
    let letters = (digits + 6 * BYTES) >> 4 & BYTES;
    // The digits are valid if printing them again gives the input.
    let again = digits + b'0' as u64 * BYTES + (b'a' - b'9' - 1) as u64 * letters;
    if again != text || digits & (0x10 * BYTES) != 0 {
        return None;
    }
    let pairs = (digits | digits >> 4) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs | pairs >> 8) & 0x0000_FFFF_0000_FFFF;
    Some((fours | fours >> 16) & 0xFFFF_FFFF)
}

#[inline]
fn hexadecimal(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[inline]
fn decimal(digit: u8) -> Option<u8> {
    let value = digit.wrapping_sub(b'0');
    (value <= 9).then_some(value)
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::*;
    use crate::pattern::Rng;

    /// Checks that the plain parser gives the same result for every line that the fast path accepts.
    #[test]
    fn the_first_line_is_read_as_any_is() {
        let behind = "I  04000ab0,3\nI  04000ab3,5\n";
        for line in
            ["I  04000ab0,3", " L 1ffeffe7e0,8", " S ffffffffffffffff,123456789", " M 00abcdef,16"]
        {
            let text = String::from(line) + "\n" + behind;
            let reference = parse(line.as_bytes()).unwrap();
            assert_eq!(first(text.as_bytes()), Some((reference, line.len() + 1)));
        }
        // Replaces one byte of a line at random.
        let mut rng = Rng::new(3);
        let mut refused = 0;
        for _ in 0..200_000 {
            let digits = 8 + rng.below(9);
            let hex = "0123456789abcdef".as_bytes();
            let mut line: Vec<u8> = b" L ".to_vec();
            line.extend((0..digits).map(|_| hex[rng.below(16)]));
            line.extend_from_slice(b",48");
            let at = rng.below(line.len());
            line[at] = rng.below(128) as u8;
            let mut text = line.clone();
            text.push(b'\n');
            text.extend_from_slice(behind.as_bytes());
            let first_line = text.split(|&byte| byte == b'\n').next().unwrap();
            match first(&text) {
                Some((reference, taken)) => {
                    assert_eq!(taken, first_line.len() + 1);
                    assert_eq!(Some(reference), parse(first_line));
                }
                None => {
                    refused += 1;
                    // The fast path must accept lackey's own lines.
                    let plain = parse(first_line).is_none() || line[at].is_ascii_whitespace();
                    assert!(plain || digits > 16, "{:?}", String::from_utf8(line));
                }
            }
        }
        assert!((1000..190_000).contains(&refused), "{refused}");
    }

    #[test]
    fn what_does_not_follow_or_is_not_as_lackey_prints_is_left_to_others() {
        let behind = "\nI  04000ab0,3\nI  04000ab3,5\n";
        for line in [
            "I  0401a2,3",
            " L 04000ab0,8\r",
            "==1== I",
            "",
            " L 04000abg,8",
            " L 04000ab0,1234567890",
            " L 04000ab0,99999999999",
            " L ffffffffffffffff0,8",
        ] {
            let text = String::from(line) + behind;
            assert_eq!(first(text.as_bytes()), None, "{line}");
        }
        assert_eq!(first(b"I  04000ab0,3\n"), None);
    }

    #[test]
    fn each_kind_of_line_is_read() {
        let of = |address, bytes, op| Some(Reference { address, bytes, op });
        assert_eq!(parse(b"I  04000ab0,3"), of(0x400_0ab0, 3, Op::Fetch));
        assert_eq!(parse(b" L 1ffeffe7e0,8"), of(0x1f_feff_e7e0, 8, Op::Load));
        assert_eq!(parse(b" S 04222cac,512\r"), of(0x422_2cac, 512, Op::Store));
        assert_eq!(parse(b" M ffffffffffffffff,1"), of(u64::MAX, 1, Op::Modify));
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "",
            "==12== Command: ./p",
            "I  ,3",
            "I  0400",
            "I  0400,",
            " L 04g0,8",
            " L 0400,8x",
            " X 0400,8",
            " L 10000000000000000,8",
            " L 0400,99999999999",
            "L 0400,8",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }
}
