//! The checksum by which a binary knows its debug file.

/// The remainders of all bytes, by the reversed polynomial of IEEE 802.3.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = (rest >> 1) ^ (0xEDB8_8320 * (rest & 1));
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
};

/// CRC-32 as `.gnu_debuglink` holds it.
pub(super) fn of(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |rest: u32, byte| {
        (rest >> 8) ^ TABLE[usize::from(rest as u8 ^ byte)]
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_value_of_the_catalogue() {
        assert_eq!(super::of(b"123456789"), 0xCBF4_3926);
        assert_eq!(super::of(b""), 0);
    }
}
