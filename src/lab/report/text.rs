//! Sentences with code in backquotes, and how a verdict looks: a word, a mark and a colour, never the
//! colour alone.

use maud::{Markup, html};

use crate::experiment::Verdict;

/// The verdicts as a reader wants them: findings first, what needs no attention last.
pub(super) const BY_INTEREST: [Verdict; 4] = [
    Verdict::DoesNotHold,
    Verdict::Inconclusive,
    Verdict::Untestable,
    Verdict::Holds,
];

/// The class by which `style.css` colours a verdict.
pub(super) const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "fails",
        Verdict::Inconclusive => "open",
        Verdict::Untestable => "untestable",
    }
}

/// The mark of a verdict.
pub(super) const fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "✓",
        Verdict::DoesNotHold => "✗",
        Verdict::Inconclusive => "≈",
        Verdict::Untestable => "–",
    }
}

/// The verdict as a badge.
pub(in crate::lab) fn badge(verdict: Verdict) -> Markup {
    html! {
        span.badge.(class(verdict)) {
            span aria-hidden="true" { (mark(verdict)) } " " (verdict.name())
        }
    }
}

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
