//! Text of the report: sentences with code in backquotes; verdicts as a word, a mark and a colour, never as
//! a colour only; and the glossary at the end of the page, to which texts link.

use std::cell::RefCell;

use maud::{Markup, html};

use crate::experiment::Verdict;

/// The verdicts by interest: findings first, verdicts that need no attention last.
pub(super) const BY_INTEREST: [Verdict; 4] =
    [Verdict::DoesNotHold, Verdict::Inconclusive, Verdict::Untestable, Verdict::Holds];

/// Renders the line above a page's heading: the kind of the page, and on a phone a link to the contents.
pub(in crate::lab) fn eyebrow(kind: &str) -> Markup {
    html! {
        p.eyebrow {
            (kind)
            a.to-contents href="#contents" { "Contents" }
        }
    }
}

/// Returns the class by which `style.css` colours a verdict.
pub(super) const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "fails",
        Verdict::Inconclusive => "open",
        Verdict::Untestable => "untestable",
    }
}

pub(super) const fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "✓",
        Verdict::DoesNotHold => "✗",
        Verdict::Inconclusive => "≈",
        Verdict::Untestable => "–",
    }
}

/// Renders a verdict as a badge.
pub(in crate::lab) fn badge(verdict: Verdict) -> Markup {
    html! {
        span.badge.(class(verdict)) {
            span aria-hidden="true" { (mark(verdict)) } " " (verdict.name())
        }
    }
}

/// Escapes a text, and renders the parts between backquotes as code.
pub(in crate::lab) fn prose(text: &str) -> Markup {
    code_apart(text, &|words| html! { (words) })
}

/// Formats a share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Renders the parts of a text between backquotes as code, and the other parts by `words`.
fn code_apart(text: &str, words: &dyn Fn(&str) -> Markup) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // An odd number of backquotes leaves one without a partner: then no part is code.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (index, part) in parts.iter().enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (words(part)) }
        }
    }
}

/// A term of the glossary, the forms in which texts use it, and its meaning.
struct Term {
    id: &'static str,
    name: &'static str,
    forms: &'static str,
    meaning: &'static str,
}

/// Returns the terms of the glossary. A line of the file is `id|name|form;form|meaning`.
fn terms() -> impl Iterator<Item = Term> {
    let lines = include_str!("glossary.txt").lines();
    lines.filter_map(|line| {
        let mut fields = line.split('|');
        Some(Term {
            id: fields.next()?,
            name: fields.next()?,
            forms: fields.next()?,
            meaning: fields.next()?,
        })
    })
}

/// Links the first use of each term in a part of the page to the glossary.
#[derive(Default)]
pub(super) struct Linked {
    seen: RefCell<Vec<&'static str>>,
}

impl Linked {
    /// Escapes a text, and renders its code and links to the terms that are not linked yet.
    pub fn prose(&self, text: &str) -> Markup {
        code_apart(text, &|words| self.words(words))
    }

    fn words(&self, text: &str) -> Markup {
        let found = terms().filter(|term| !self.seen.borrow().contains(&term.id));
        let places = found.flat_map(|term| {
            let forms = term.forms.split(';');
            forms.filter_map(move |form| Some((place(text, form)?, form.len(), term.id)))
        });
        // The first term in the text; if two begin at the same place, the longer.
        let first = places.min_by_key(|(at, length, _)| (*at, usize::MAX - length));
        let Some((at, length, id)) = first else { return html! { (text) } };
        self.seen.borrow_mut().push(id);
        html! {
            (text[..at])
            a.term href={ "#term-" (id) } { (text[at..at + length]) }
            (self.words(&text[at + length..]))
        }
    }
}

/// Returns where a word first occurs as a whole word.
fn place(text: &str, word: &str) -> Option<usize> {
    let alone = |at: &usize| {
        let letter = |c: char| c.is_alphanumeric() || c == '_';
        let before = text[..*at].chars().next_back().is_some_and(letter);
        let after = text[at + word.len()..].chars().next().is_some_and(letter);
        !before && !after
    };
    text.match_indices(word).map(|(at, _)| at).find(alone)
}

pub(super) fn glossary() -> Markup {
    html! {
        section #glossary aria-labelledby="glossary-title" {
            h2 #glossary-title { "Glossary" }
            dl.terms {
                @for term in terms() {
                    div id={ "term-" (term.id) } { dt { (term.name) } dd { (term.meaning) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::distinct;

    #[test]
    fn code_is_marked_and_everything_escaped() {
        let shown = |text| prose(text).into_string();
        assert_eq!(shown("as `a<b>` & c"), "as <code>a&lt;b&gt;</code> &amp; c");
        assert_eq!(shown("a lone ` stays"), "a lone ` stays");
    }

    #[test]
    fn the_first_use_of_a_word_is_linked_and_no_part_of_another() {
        let linked = Linked::default();
        let shown = linked.prose("Always the TLB, and `TLB` & TLB.").into_string();
        assert_eq!(
            shown,
            "Always the <a class=\"term\" href=\"#term-tlb\">TLB</a>, and <code>TLB</code> &amp; \
             TLB."
        );
        let ways = linked.prose("In all ways a TLB sets 8 ways.").into_string();
        assert!(ways.starts_with("In all ways a TLB sets <a class=\"term\""), "{ways}");
    }

    #[test]
    fn every_term_has_an_anchor_of_its_own() {
        let ids = distinct(terms().map(|term| term.id));
        assert_eq!(ids.len(), include_str!("glossary.txt").lines().count());
    }
}
