//! The text of the file with words.

use core::fmt::{self, Display, Formatter};

/// The maximum size of the file.
pub const BYTES: usize = 1024;

/// Why the bytes of a file are not words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// There are more than [`BYTES`].
    TooLong,
    /// The bytes are not UTF-8.
    Encoding,
}

impl Display for Invalid {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Invalid::TooLong => write!(f, "longer than {BYTES} bytes"),
            Invalid::Encoding => f.write_str("not UTF-8"),
        }
    }
}

/// The words in the bytes of a file. Some editors write a byte order mark before them.
pub fn words(bytes: &[u8]) -> Result<&str, Invalid> {
    if bytes.len() > BYTES {
        return Err(Invalid::TooLong);
    }
    let text = str::from_utf8(bytes).map_err(|_| Invalid::Encoding)?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}
