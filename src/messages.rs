//! The implementations that all error types share.

/// Implements `Display` and `Error` for an error type: `pattern => ("message", arguments);` per variant.
/// The message may use the names that the pattern binds.
macro_rules! messages {
    ($error:ident: $($pattern:pat => ($($message:tt)+);)+) => {
        impl core::fmt::Display for $error {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $($pattern => write!(f, $($message)+),)+
                }
            }
        }

        impl core::error::Error for $error {}
    };
}
