//! Makes foreign text harmless to print: text from records, debug information, traces, file names and
//! command lines.
//!
//! A terminal acts on control characters: they clear the screen, set the title, and overwrite other output.
//! Bidirectional control characters change the order in which text is displayed.

use std::borrow::Cow;

/// Returns whether a character controls a terminal or the direction of text: C0, DEL, C1, line and paragraph
/// separators, and directional marks.
const fn obeyed(letter: char) -> bool {
    matches!(
        letter,
        '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}

/// Returns a text as one word for a shell. Quotes the text if it has characters that a shell may act on.
pub fn for_shell(text: &str) -> Cow<'_, str> {
    let taken = |letter: char| letter.is_ascii_alphanumeric() || "_-./,:=@%+".contains(letter);
    match !text.is_empty() && text.chars().all(taken) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("'{}'", text.replace('\'', "'\\''"))),
    }
}

/// Returns a text as a single line, with every control character spelled out (`\u{1b}`, `\n`).
pub fn word(text: &str) -> Cow<'_, str> {
    spelled(text, obeyed)
}

/// Returns a text of several lines with every control character but newlines and tabs spelled out.
pub fn lines(text: &str) -> Cow<'_, str> {
    spelled(text, |letter| obeyed(letter) && !matches!(letter, '\n' | '\t'))
}

fn spelled(text: &str, is: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is(letter) { plain.extend(letter.escape_default()) } else { plain.push(letter) }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_spelled_out() {
        assert_eq!(word("\x1b]0;title\x07"), "\\u{1b}]0;title\\u{7}");
        assert_eq!(word("\u{9b}2J\x7f"), "\\u{9b}2J\\u{7f}");
        assert_eq!(word("a\u{202e}b\u{2066}c\u{200f}"), "a\\u{202e}b\\u{2066}c\\u{200f}");
        assert_eq!(word("one\ntwo\r\t"), "one\\ntwo\\r\\t");
        assert_eq!(lines("one\n\ttwo\r\n"), "one\n\ttwo\\r\n");
    }

    #[test]
    fn a_shell_takes_any_text_as_one_word() {
        assert_eq!(for_shell("linefill-out/record.jsonl"), "linefill-out/record.jsonl");
        assert_eq!(for_shell("my run.jsonl"), "'my run.jsonl'");
        assert_eq!(for_shell("it's; $HOME"), "'it'\\''s; $HOME'");
        assert_eq!(for_shell(""), "''");
    }

    #[test]
    fn what_is_plain_stays_where_it_is() {
        for text in ["", "Zen 4 \u{b5}s, \u{2264} 5 %, \u{2591}\u{2588}", "\u{5d0}\u{5d1}"] {
            assert!(matches!(word(text), Cow::Borrowed(same) if same == text));
        }
    }
}
