//! The lines of `valgrind --tool=lackey --trace-mem=yes`.

use crate::sim::{Op, Reference};

/// Reads one line: `I  04000ab0,3`, ` L 1ffeffe7e0,8`, ` S …` or ` M …`, the address in hexadecimal
/// and the bytes in decimal. Other lines, such as valgrind's own, are none.
///
/// ```
/// use linefill::sim::{Reference, trace::lackey};
///
/// assert_eq!(lackey::parse(b"I  0401a2,3"), Some(Reference::fetch(0x401a2, 3)));
/// assert_eq!(lackey::parse(b"==7== Lackey, an example Valgrind tool"), None);
/// ```
pub fn parse(line: &[u8]) -> Option<Reference> {
    let (op, rest) = match line {
        [b'I', b' ', b' ', rest @ ..] => (Op::Fetch, rest),
        [b' ', b'L', b' ', rest @ ..] => (Op::Load, rest),
        [b' ', b'S', b' ', rest @ ..] => (Op::Store, rest),
        [b' ', b'M', b' ', rest @ ..] => (Op::Modify, rest),
        _ => return None,
    };
    let mut address = 0_u64;
    let mut digits = rest.iter();
    let mut read = 0;
    loop {
        let digit = match digits.next()? {
            b',' => break,
            digit @ b'0'..=b'9' => digit - b'0',
            digit @ b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        read += 1;
        address = address << 4 | u64::from(digit);
    }
    let size = digits.as_slice().trim_ascii_end();
    let mut bytes = 0_u32;
    for digit in size {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        bytes = bytes.checked_mul(10)?.checked_add(u32::from(digit))?;
    }
    (1..=16).contains(&read).then_some(())?;
    (!size.is_empty()).then_some(Reference { address, bytes, op })
}

#[cfg(test)]
mod tests {
    use super::*;

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
