//! How a verdict looks: a word, a mark and a colour, never the colour alone.

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
