//! What a page may do: run the script and use the style that it holds, and load nothing.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac_sha256::Hash;

/// The content policy of a page with these styles and scripts, each the text of an element. Whatever else a
/// record slipped in as a script or a style, attributes of elements among them, is refused.
pub(in crate::lab) fn policy(styles: &[&str], scripts: &[&str]) -> String {
    format!(
        "default-src 'none'; style-src {}; script-src {}",
        sources(styles),
        sources(scripts)
    )
}

fn sources(texts: &[&str]) -> String {
    let source = |text: &&str| format!("'sha256-{}'", STANDARD.encode(Hash::hash(text.as_bytes())));
    texts.iter().map(source).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the empty text and of `abc`, as FIPS 180-4 has them.
    #[test]
    fn a_source_is_the_hash_of_its_text() {
        assert_eq!(
            policy(&[""], &["abc"]),
            "default-src 'none'; style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; \
             script-src 'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='"
        );
    }
}
