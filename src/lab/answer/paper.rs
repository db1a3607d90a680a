//! The documents with their claims, chapter by chapter and section by section, and what they come to.

use super::outline::{OUTLINES, Outline};
use crate::experiment::{Document, Origin, Verdict, find_claim};
use crate::lab::record::VerdictLine;

/// A document, or what is ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Paper {
    /// The document; `None` for the claims that are ours.
    pub document: Option<Document>,
    /// Its name in lists.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The year in which it appeared, if that is known.
    pub year: Option<u16>,
    /// Its chapters that have claims.
    pub chapters: Vec<Chapter>,
}

/// A chapter, as a summary counts it: one section or a few.
#[derive(Clone, Debug, PartialEq)]
pub struct Chapter {
    /// Its name, with the numbers of its sections.
    pub name: &'static str,
    /// Its sections that have claims.
    pub parts: Vec<Part>,
}

/// A section of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its number; empty if it has none.
    pub number: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Its claims, in the order of the registry.
    pub claims: Vec<VerdictLine>,
}

/// How many claims came to which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of claims measured or counted here, by verdict in the order of [`Verdict::ALL`].
    pub here: [usize; 4],
    /// The number of claims computed, simulated or reported, likewise by verdict.
    pub elsewhere: [usize; 4],
}

/// The documents that these verdicts are on, and then what is ours.
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
            // A test holds every section of the registry against the outlines.
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

/// The document that a verdict's claim is of, and its section there.
fn document_of(line: &VerdictLine) -> Option<(Document, &'static str)> {
    match find_claim(&line.id)?.origin {
        Origin::Document { document, section } => Some((document, section)),
        Origin::Ours { .. } => None,
    }
}

impl Paper {
    /// Its claims.
    pub fn claims(&self) -> impl Iterator<Item = &VerdictLine> {
        self.chapters.iter().flat_map(Chapter::claims)
    }

    /// What they come to.
    pub fn counts(&self) -> Counts {
        Counts::of(self.claims())
    }
}

impl Chapter {
    /// Its claims.
    pub fn claims(&self) -> impl Iterator<Item = &VerdictLine> {
        self.parts.iter().flat_map(|part| &part.claims)
    }

    /// What they come to.
    pub fn counts(&self) -> Counts {
        Counts::of(self.claims())
    }
}

impl Part {
    /// What its claims come to.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.claims)
    }
}

impl Counts {
    /// What these claims come to.
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

    /// How many that were measured or counted here came to `verdict`.
    pub fn here(&self, verdict: Verdict) -> usize {
        self.here[place(verdict)]
    }

    /// How many of them hold.
    pub fn holds(&self) -> usize {
        self.here(Verdict::Holds)
    }

    /// How many of them hold or do not hold.
    pub fn decided(&self) -> usize {
        self.holds() + self.here(Verdict::DoesNotHold)
    }

    /// How many were measured or counted here.
    pub fn measured(&self) -> usize {
        self.here.iter().sum()
    }

    /// How many were computed, simulated or reported.
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
