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
    let mut papers = outlines();
    for line in verdicts {
        let origin = document_of(line);
        let document = origin.map(|(document, _)| document);
        if let Some(paper) = papers.iter_mut().find(|of| of.document == document) {
            // A test checks that every section of the registry has a place in the outlines.
            let place = origin.and_then(|(_, section)| paper.place_of(section));
            let (chapter, part) = place.unwrap_or_default();
            paper.chapters[chapter].parts[part].claims.push(line.clone());
        }
    }
    for paper in &mut papers {
        for chapter in &mut paper.chapters {
            chapter.parts.retain(|part| !part.claims.is_empty());
        }
        paper.chapters.retain(|chapter| !chapter.parts.is_empty());
    }
    papers.retain(|paper| !paper.chapters.is_empty());
    papers
}

/// Returns the documents with the sections that claims come from, and the claims that are ours. The lines of the
/// file are documents (`name|title|year`), chapters, and sections (`number|title`), by their indent. A section
/// without a number is identified by its title.
fn outlines() -> Vec<Paper> {
    let mut papers: Vec<Paper> = Vec::new();
    for line in include_str!("outlines.txt").lines() {
        let text = line.trim_start();
        let (first, rest) = text.split_once('|').unwrap_or((text, ""));
        match (line.len() - text.len(), papers.last_mut()) {
            (2, Some(paper)) => paper.chapters.push(Chapter { name: text, parts: Vec::new() }),
            (4, Some(paper)) => {
                if let Some(chapter) = paper.chapters.last_mut() {
                    chapter.parts.push(Part { number: first, title: rest, claims: Vec::new() });
                }
            }
            _ => {
                let (title, year) = rest.split_once('|').unwrap_or((rest, ""));
                papers.push(Paper {
                    document: Document::ALL.into_iter().find(|of| of.name() == first),
                    name: first,
                    title,
                    year: year.parse().ok(),
                    chapters: Vec::new(),
                });
            }
        }
    }
    papers
}

/// Returns the document of a verdict's claim, and the section. `None` if the claim is ours.
fn document_of(line: &VerdictLine) -> Option<(Document, &'static str)> {
    match find_claim(&line.id)?.origin {
        Origin::Document { document, section } => Some((document, section)),
        Origin::Ours { .. } => None,
    }
}

impl Paper {
    pub fn claims(&self) -> impl Iterator<Item = &VerdictLine> {
        self.chapters.iter().flat_map(Chapter::claims)
    }

    pub fn counts(&self) -> Counts {
        Counts::of(self.claims())
    }

    /// Returns the indices of the chapter and the section that contain `section`, the section of a claim's
    /// origin.
    fn place_of(&self, section: &str) -> Option<(usize, usize)> {
        let of = |part: &Part| match part.number {
            "" => section
                .to_lowercase()
                .starts_with(&part.title.to_lowercase())
                .then_some(part.title.len()),
            number => is_below(section, number).then_some(number.len()),
        };
        let places = self.chapters.iter().enumerate().flat_map(|(chapter, of_chapter)| {
            let parts = of_chapter.parts.iter().enumerate();
            parts.filter_map(move |(index, part)| Some((of(part)?, (chapter, index))))
        });
        // The longest matching number is the most specific section.
        let best = places.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.map(|(_, place)| place)
    }
}

impl Chapter {
    pub fn claims(&self) -> impl Iterator<Item = &VerdictLine> {
        self.parts.iter().flat_map(|part| &part.claims)
    }

    pub fn counts(&self) -> Counts {
        Counts::of(self.claims())
    }
}

impl Part {
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

    /// Formats how many of the decided claims hold: `12 of 15`, or `none` if none was decided.
    pub(in crate::lab) fn holding(&self, none: &str) -> String {
        match self.decided() {
            0 => none.to_owned(),
            decided => format!("{} of {decided}", self.holds()),
        }
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
    Verdict::ALL.iter().position(|of| *of == verdict).unwrap_or(0)
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
        let outlines = outlines();
        for claim in all().into_iter().flat_map(|of| of.claims) {
            let Origin::Document { document, section } = claim.origin else { continue };
            let mut papers = outlines.iter();
            let paper = papers.find(|of| of.document == Some(document));
            let place = paper.and_then(|of| of.place_of(section));
            assert!(place.is_some(), "{}: {section}", claim.id);
        }
    }

    #[test]
    fn the_nearest_number_counts() {
        let drepper = &outlines()[0];
        let title = |section: &str| {
            let (chapter, index) = drepper.place_of(section)?;
            Some(drepper.chapters[chapter].parts[index].number)
        };
        assert_eq!(title("3.3.2, Figure 3.10"), Some("3.3.2"));
        assert_eq!(title("3.4.1"), Some("3.4.1"));
        assert_eq!(title("7.5.3, Figure 7.9; announced in 3.3.2"), Some("7.5"));
        assert_eq!(title("3"), Some("3"));
        assert_eq!(title("35"), None);
    }
}
