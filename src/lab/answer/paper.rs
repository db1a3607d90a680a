//! The documents with their claims by chapter and section, and the number of claims per verdict.

use crate::experiment::{Document, Origin, Verdict, find_claim};
use crate::lab::record::VerdictLine;

/// A document with its claims, or the claims that are ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Paper {
    /// The document; `None` for the claims that are ours.
    pub document: Option<Document>,
    /// Name in lists.
    pub name: &'static str,
    /// Title.
    pub title: &'static str,
    /// Year of publication, if known.
    pub year: Option<u16>,
    /// Chapters that have claims.
    pub chapters: Vec<Chapter>,
}

/// A chapter in a summary: one or several sections of the document.
#[derive(Clone, Debug, PartialEq)]
pub struct Chapter {
    /// Name, with the numbers of the sections.
    pub name: &'static str,
    /// Sections that have claims.
    pub parts: Vec<Part>,
}

/// A section of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Number; empty if the section has none.
    pub number: &'static str,
    /// Title.
    pub title: &'static str,
    /// Claims, in the order of the registry.
    pub claims: Vec<VerdictLine>,
}

/// The number of claims by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of claims measured or counted here, by verdict in the order of [`Verdict::ALL`].
    pub here: [usize; 4],
    /// The number of claims computed, simulated or reported, likewise by verdict.
    pub elsewhere: [usize; 4],
}

/// Returns the documents with their verdicts, followed by the claims that are ours.
pub fn papers(verdicts: &[VerdictLine]) -> Vec<Paper> {
    let documents = OUTLINES.iter().map(|outline| paper(outline, verdicts));
    let ours = verdicts.iter().filter(|line| document_of(line).is_none());
    let ours = Paper {
        document: None,
        name: "Ours",
        title: "What no document asks",
        year: None,
        chapters: vec![Chapter {
            name: "Our own questions",
            parts: vec![Part {
                number: "",
                title: "Our own questions",
                claims: ours.cloned().collect(),
            }],
        }],
    };
    let mut papers: Vec<Paper> = documents.chain([ours]).collect();
    for paper in &mut papers {
        for chapter in &mut paper.chapters {
            chapter.parts.retain(|part| !part.claims.is_empty());
        }
        paper.chapters.retain(|chapter| !chapter.parts.is_empty());
    }
    papers.retain(|paper| !paper.chapters.is_empty());
    papers
}

fn paper(outline: &Outline, verdicts: &[VerdictLine]) -> Paper {
    let mut chapters: Vec<Chapter> = Vec::new();
    for heading in outline.chapters {
        let part = |&(number, title): &(&'static str, &'static str)| Part {
            number,
            title,
            claims: Vec::new(),
        };
        chapters.push(Chapter {
            name: heading.name,
            parts: heading.sections.iter().map(part).collect(),
        });
    }
    for line in verdicts {
        let Some((document, section)) = document_of(line) else {
            continue;
        };
        if document == outline.document {
            // A test checks that every section of the registry has a place in the outlines.
            let (chapter, part) = outline.place_of(section).unwrap_or_default();
            chapters[chapter].parts[part].claims.push(line.clone());
        }
    }
    Paper {
        document: Some(outline.document),
        name: outline.document.name(),
        title: outline.title,
        year: outline.year,
        chapters,
    }
}

/// Returns the document of a verdict's claim, and the section. `None` if the claim is ours.
fn document_of(line: &VerdictLine) -> Option<(Document, &'static str)> {
    match find_claim(&line.id)?.origin {
        Origin::Document { document, section } => Some((document, section)),
        Origin::Ours { .. } => None,
    }
}

impl Paper {
    /// Returns the claims.
    pub fn claims(&self) -> impl Iterator<Item = &VerdictLine> {
        self.chapters.iter().flat_map(Chapter::claims)
    }

    /// Counts the claims by verdict.
    pub fn counts(&self) -> Counts {
        Counts::of(self.claims())
    }
}

impl Chapter {
    /// Returns the claims.
    pub fn claims(&self) -> impl Iterator<Item = &VerdictLine> {
        self.parts.iter().flat_map(|part| &part.claims)
    }

    /// Counts the claims by verdict.
    pub fn counts(&self) -> Counts {
        Counts::of(self.claims())
    }
}

impl Part {
    /// Counts the claims by verdict.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.claims)
    }
}

impl Counts {
    /// Counts these claims by verdict.
    pub fn of<'a>(claims: impl IntoIterator<Item = &'a VerdictLine>) -> Self {
        let mut counts = Counts::default();
        for claim in claims {
            let row = match claim.is_of_this_machine() {
                true => &mut counts.here,
                false => &mut counts.elsewhere,
            };
            row[place(claim.verdict)] += 1;
        }
        counts
    }

    /// Returns the number of claims with `verdict` among those measured or counted on this machine.
    pub fn here(&self, verdict: Verdict) -> usize {
        self.here[place(verdict)]
    }

    /// Returns the number of these claims that hold.
    pub fn holds(&self) -> usize {
        self.here(Verdict::Holds)
    }

    /// Returns the number of these claims that hold or do not hold.
    pub fn decided(&self) -> usize {
        self.holds() + self.here(Verdict::DoesNotHold)
    }

    /// Returns the number of claims measured or counted on this machine.
    pub fn measured(&self) -> usize {
        self.here.iter().sum()
    }

    /// Returns the number of claims computed, simulated or reported.
    pub fn beside(&self) -> usize {
        self.elsewhere.iter().sum()
    }
}

fn place(verdict: Verdict) -> usize {
    Verdict::ALL
        .iter()
        .position(|of| *of == verdict)
        .unwrap_or(0)
}

/// The sections of a document that claims come from.
pub(super) struct Outline {
    pub document: Document,
    pub title: &'static str,
    /// Year of publication, if known.
    pub year: Option<u16>,
    pub chapters: &'static [Heading],
}

/// A chapter: its name, and the numbers and titles of its sections. A section without a number is identified
/// by its title.
pub(super) struct Heading {
    pub name: &'static str,
    pub sections: &'static [(&'static str, &'static str)],
}

const fn heading(name: &'static str, sections: &'static [(&'static str, &'static str)]) -> Heading {
    Heading { name, sections }
}

/// All documents, in the order of a summary.
pub(super) const OUTLINES: [Outline; 4] = [
    Outline {
        document: Document::Drepper,
        title: "What every programmer should know about memory",
        year: Some(2007),
        chapters: &[
            heading(
                "3.1-3.2 Caches",
                &[
                    ("3", "CPU Caches"),
                    ("3.1", "CPU Caches in the Big Picture"),
                    ("3.2", "Cache Operation at High Level"),
                ],
            ),
            heading(
                "3.3.1-2 Associativity, walks, TLB",
                &[
                    ("3.3.1", "Associativity"),
                    ("3.3.2", "Measurements of Cache Effects"),
                ],
            ),
            heading(
                "3.3.3-4 Coherency, threads, SMT",
                &[
                    ("3.3.3", "Write Behavior"),
                    ("3.3.4", "Multi-Processor Support"),
                ],
            ),
            heading(
                "3.3.5, 3.4 Addresses, instructions",
                &[
                    ("3.3.5", "Other Details"),
                    ("3.4", "Instruction Cache"),
                    ("3.4.1", "Self Modifying Code"),
                ],
            ),
            heading(
                "3.5 Bandwidth, critical word, sharing",
                &[
                    ("3.5.1", "Cache and Memory Bandwidth"),
                    ("3.5.2", "Critical Word Load"),
                    ("3.5.3", "Cache Placement"),
                    ("3.5.4", "FSB Influence"),
                ],
            ),
            heading("5 Memory nodes", &[("5.4", "Remote Access Costs")]),
            heading("6.1 Bypassing the cache", &[("6.1", "Bypassing the Cache")]),
            heading(
                "6.2.1 L1d: layout, matrices",
                &[("6.2.1", "Optimizing Level 1 Data Cache Access")],
            ),
            heading(
                "6.2.2-4 L1i, L2, TLB",
                &[
                    ("6.2.2", "Optimizing Level 1 Instruction Cache Access"),
                    ("6.2.3", "Optimizing Level 2 and Higher Cache Access"),
                    ("6.2.4", "Optimizing TLB Usage"),
                ],
            ),
            heading(
                "6.3 Prefetching",
                &[
                    ("6.3.1", "Hardware Prefetching"),
                    ("6.3.2", "Software Prefetching"),
                    ("6.3.3", "Special Kind of Prefetch: Speculation"),
                    ("6.3.4", "Helper Threads"),
                    ("6.3.5", "Direct Cache Access"),
                ],
            ),
            heading(
                "6.4 Threads on one line",
                &[("6.4.1", "Concurrency Optimizations")],
            ),
            heading(
                "7 Tools, huge pages",
                &[
                    ("7.1", "Memory Operation Profiling"),
                    ("7.5", "Page Fault Optimization"),
                ],
            ),
        ],
    },
    Outline {
        document: Document::Sestoft,
        title: "Note on false sharing",
        year: None,
        chapters: &[heading(
            "False sharing",
            &[
                ("1", "The mystery"),
                ("2", "The cause, and padded clusters"),
                ("3", "Functional stream programming sidesteps the problem"),
                ("4.1", "More than cache read misses"),
                ("4.2", "Measuring cache coherence overhead"),
                (
                    "5",
                    "Improving a concurrent hashmap by avoiding false sharing",
                ),
                ("A.1", "Core measurement loop"),
                ("A.2", "How to populate the array of indexes"),
            ],
        )],
    },
    Outline {
        document: Document::Startin,
        title: "Observing memory level parallelism with JMH",
        year: Some(2018),
        chapters: &[heading(
            "Memory-level parallelism",
            &[
                ("", "Table of throughput and pending misses"),
                ("", "Definitions of the two counters"),
                ("", "Explanation by four chains"),
                ("", "Listings of perfasm"),
                ("", "Option perfnorm:events"),
            ],
        )],
    },
    Outline {
        document: Document::Tensor,
        title: "Java array layout and 60 % performance gain",
        year: Some(2026),
        chapters: &[heading(
            "Array layout",
            &[
                ("", "Error in our measurements"),
                ("", "TLB misses"),
                ("", "Cache misses: cache simulator"),
                ("", "The problem: Java's multidimensional array layout"),
                ("", "The 60% performance gain"),
                ("", "Concluding remarks"),
                ("", "Part 6 of the series"),
                ("", "Part 8 of the series"),
            ],
        )],
    },
];

impl Outline {
    /// Returns the indices of the chapter and the section that contain `section`, the section of a claim's
    /// origin.
    pub fn place_of(&self, section: &str) -> Option<(usize, usize)> {
        let of = |(number, title): (&str, &str)| match number {
            "" => section
                .to_lowercase()
                .starts_with(&title.to_lowercase())
                .then_some(title.len()),
            number => is_below(section, number).then_some(number.len()),
        };
        let mut best: Option<(usize, (usize, usize))> = None;
        for (chapter, heading) in self.chapters.iter().enumerate() {
            for (index, &section) in heading.sections.iter().enumerate() {
                let length = of(section);
                // The longest matching number is the most specific section.
                if length > best.map(|(length, _)| length) {
                    best = length.map(|length| (length, (chapter, index)));
                }
            }
        }
        best.map(|(_, place)| place)
    }
}

/// Returns whether `section` is the section of this number or lies within it: `3.3.2, Figure 3.10` lies
/// within `3.3`.
fn is_below(section: &str, number: &str) -> bool {
    let rest = section.strip_prefix(number);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([',', '.', ' ', ';']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Origin, all};

    #[test]
    fn every_claim_of_a_document_has_its_section() {
        for claim in all().into_iter().flat_map(|of| of.claims) {
            let Origin::Document { document, section } = claim.origin else {
                continue;
            };
            let mut outlines = OUTLINES.iter().filter(|of| of.document == document);
            let place = outlines.next().and_then(|of| of.place_of(section));
            assert!(place.is_some(), "{}: {section}", claim.id);
        }
    }

    #[test]
    fn the_nearest_number_counts() {
        let title = |section: &str| {
            let (chapter, index) = OUTLINES[0].place_of(section)?;
            Some(OUTLINES[0].chapters[chapter].sections[index].0)
        };
        assert_eq!(title("3.3.2, Figure 3.10"), Some("3.3.2"));
        assert_eq!(title("3.4.1"), Some("3.4.1"));
        assert_eq!(title("7.5.3, Figure 7.9; announced in 3.3.2"), Some("7.5"));
        assert_eq!(title("3"), Some("3"));
        assert_eq!(title("35"), None);
    }
}
