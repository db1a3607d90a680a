//! Sentences with code in backquotes.

use maud::{Markup, html};

/// The text, escaped, with what stands between backquotes as code.
pub(in crate::lab) fn prose(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // An odd number of backquotes leaves one without its partner: then none is special.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (index, part) in parts.iter().enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_marked_and_everything_escaped() {
        let shown = |text| prose(text).into_string();
        assert_eq!(shown("as `a<b>` & c"), "as <code>a&lt;b&gt;</code> &amp; c");
        assert_eq!(shown("a lone ` stays"), "a lone ` stays");
    }
}
