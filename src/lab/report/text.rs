//! Text of the report: sentences with code in backquotes; verdicts as a word, a mark and a colour, never as
//! a colour only; and the glossary at the end of the page, to which texts link.

use std::cell::RefCell;

use maud::{Markup, html};

use crate::experiment::Verdict;

/// The verdicts by interest: findings first, verdicts that need no attention last.
pub(super) const BY_INTEREST: [Verdict; 4] = [
    Verdict::DoesNotHold,
    Verdict::Inconclusive,
    Verdict::Untestable,
    Verdict::Holds,
];

/// Returns the class by which `style.css` colours a verdict.
pub(super) const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "fails",
        Verdict::Inconclusive => "open",
        Verdict::Untestable => "untestable",
    }
}

/// Returns the mark of a verdict.
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
    forms: &'static [&'static str],
    meaning: &'static str,
}

const fn term(
    id: &'static str,
    name: &'static str,
    forms: &'static [&'static str],
    meaning: &'static str,
) -> Term {
    Term {
        id,
        name,
        forms,
        meaning,
    }
}

const TERMS: [Term; 26] = [
    term(
        "npad",
        "NPAD",
        &["NPAD"],
        "Words of padding in a list element beside its pointer: NPAD=7 makes an element of 64 bytes, one line.",
    ),
    term(
        "follow",
        "Follow",
        &["Follow"],
        "A walk that only follows the pointers of a list.",
    ),
    term(
        "inc",
        "Inc",
        &["Inc"],
        "A walk that also increments a word of each element, so that lines are written.",
    ),
    term(
        "addnext",
        "Addnext0",
        &["Addnext0", "Addnextlast"],
        "A walk that adds a word of the next element to this one.",
    ),
    term(
        "working-set",
        "working set",
        &["working set", "working sets"],
        "The bytes that a program touches again and again. A cache level helps if it holds the \
         working set.",
    ),
    term(
        "line",
        "cache line",
        &["cache line", "cache lines"],
        "The unit in which caches hold memory: 64 bytes on x86-64.",
    ),
    term(
        "set",
        "set, way",
        &["ways", "way", "sets"],
        "A cache is divided into sets. A line may lie only in the set that its address selects, in one of its ways (places).",
    ),
    term(
        "l1d",
        "L1d, L2, last level",
        &["L1d", "last level"],
        "The caches, from the one nearest to the core to the one that cores share.",
    ),
    term(
        "tlb",
        "TLB",
        &["TLB", "TLBs"],
        "A cache of address translations, which saves reading the page tables.",
    ),
    term("dtlb", "dTLB", &["dTLB"], "The first-level TLB for data."),
    term(
        "stlb",
        "STLB",
        &["STLB"],
        "The second-level TLB, larger and slower than the first.",
    ),
    term(
        "huge-pages",
        "huge pages",
        &["huge pages", "2 MiB pages", "pages of 2 MiB"],
        "Pages of 2 MiB instead of 4 KiB: one TLB entry covers 512 times as many bytes.",
    ),
    term(
        "rfo",
        "RFO",
        &["RFO"],
        "Request for ownership: a core's request to the other caches before it writes a line.",
    ),
    term(
        "mesi",
        "MESI",
        &["MESI"],
        "The states of a line in a cache: modified, exclusive, shared, invalid.",
    ),
    term(
        "false-sharing",
        "false sharing",
        &["false sharing", "False sharing"],
        "Threads write different data on one line, and the line goes back and forth between their cores.",
    ),
    term(
        "fill-buffer",
        "fill buffer",
        &["fill buffer", "fill buffers"],
        "Keeps track of a line that is on its way to L1d. Their number limits the misses in flight.",
    ),
    term(
        "combining",
        "write-combining buffer",
        &["write-combining buffer", "write-combining buffers"],
        "Collects non-temporal stores until a line is full.",
    ),
    term(
        "non-temporal",
        "non-temporal store",
        &["non-temporal", "Non-temporal"],
        "A store that bypasses the caches on its way to memory.",
    ),
    term(
        "in-flight",
        "misses in flight",
        &["misses in flight", "in flight"],
        "Misses that a core waits for at the same time. More of them make random access faster.",
    ),
    term(
        "load-to-use",
        "load-to-use latency",
        &["load-to-use"],
        "Core cycles from a load to the first instruction that can use its value.",
    ),
    term(
        "store-buffer",
        "store buffer",
        &["store buffer", "store queue"],
        "Holds stores until L1d takes them.",
    ),
    term(
        "little",
        "Little's law",
        &["Little's law"],
        "Misses in flight equal latency times the rate of misses.",
    ),
    term(
        "prefetcher",
        "prefetcher",
        &["prefetchers", "prefetcher"],
        "Hardware that guesses the next addresses and loads them early.",
    ),
    term(
        "2q",
        "2P, 2Q, 3P",
        &["KMeans2P", "KMeans2Q", "KMeans3P"],
        "Variants of Sestoft's k-means program: 2Q looks like an improvement of 2P but suffers \
         from false sharing; 3P writes no shared data.",
    ),
    term(
        "smt",
        "hyper-thread",
        &["hyper-threads", "hyper-thread"],
        "One of two instruction streams that share a core and its caches (SMT).",
    ),
    term(
        "interval",
        "interval",
        &["interval"],
        "The range in which the value lies, estimated from the differences between passes. At least \
         nine in ten such ranges contain their value.",
    ),
];

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
        let found = TERMS
            .iter()
            .filter(|term| !self.seen.borrow().contains(&term.id));
        let places = found.flat_map(|term| {
            let forms = term.forms.iter();
            forms.filter_map(move |form| Some((place(text, form)?, form.len(), term.id)))
        });
        // The first term in the text; if two begin at the same place, the longer.
        let first = places.min_by_key(|(at, length, _)| (*at, usize::MAX - length));
        let Some((at, length, id)) = first else {
            return html! { (text) };
        };
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

/// Renders the glossary.
pub(super) fn glossary() -> Markup {
    html! {
        section #glossary aria-labelledby="glossary-title" {
            h2 #glossary-title { "Glossary" }
            dl.terms {
                @for term in &TERMS {
                    div id={ "term-" (term.id) } { dt { (term.name) } dd { (term.meaning) } }
                }
            }
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

    #[test]
    fn the_first_use_of_a_word_is_linked_and_no_part_of_another() {
        let linked = Linked::default();
        let shown = linked
            .prose("Always 8 ways, and `ways` & ways.")
            .into_string();
        assert_eq!(
            shown,
            "Always 8 <a class=\"term\" href=\"#term-set\">ways</a>, and <code>ways</code> &amp; ways."
        );
        let again = linked.prose("12 ways of L1d").into_string();
        assert!(again.starts_with("12 ways of <a class=\"term\""), "{again}");
    }

    #[test]
    fn every_term_has_an_anchor_of_its_own() {
        let mut ids: Vec<&str> = TERMS.iter().map(|term| term.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), TERMS.len());
    }
}
