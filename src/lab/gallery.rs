//! Machines side by side as a static site: a first page with a table of machines by sections of the papers,
//! a page per machine, and a page per pair of machines.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::answer::{Counts, Finding, Paper, number_text};
use super::compare::{Side, differences, render as render_comparison};
use super::fleet::SIDE_BY_SIDE;
use super::format::{Check, Output, Sheet};
use super::record::{MACHINE, VerdictLine};
use super::report::{ReportView, render as render_report};
use super::show::check;
use super::terminal::Screen;
use super::whole::{create_folder, write_whole};
use crate::experiment::{Shown, find_claim};
use crate::lab::report::first::{patterns, stack};
use crate::lab::report::page::{page, table};
use crate::order::{self, grouped, unique};
use crate::stats::Interval;

/// Records side by side.
#[derive(Debug)]
pub(crate) struct Gallery {
    pub sides: Vec<Side>,
    /// The folder that the site was written to, if any.
    pub out: Option<String>,
}

/// A section of a paper, or a whole paper, with the counts of verdicts of each record.
struct Column {
    name: String,
    /// Whether the column is a whole paper.
    whole: bool,
    counts: Vec<Counts>,
}

/// A quantity, with the value of its document and of each record.
struct Quantity {
    claim: String,
    subject: &'static str,
    source: String,
    then: String,
    now: Vec<Option<String>>,
}

impl Gallery {
    /// Writes the site into a folder, creating it if necessary.
    pub fn write(&mut self, out: &Path) -> Result<()> {
        let unwritten = || format!("cannot write the gallery to `{}`", out.display());
        create_folder(out).with_context(unwritten)?;
        let put = |name: &str, page: String| {
            write_whole(&out.join(name), page.as_bytes()).with_context(unwritten)
        };
        put("index.html", render(self))?;
        for side in &self.sides {
            put(&file_of(side), render_report(&report_of(side)))?;
        }
        for (index, side) in self.paired().iter().enumerate() {
            for first in &self.sides[..index] {
                let pair = [first.clone(), side.clone()];
                put(&pair_of(first, side), render_comparison(&pair, &[differences(first, side)]))?;
            }
        }
        self.out = Some(out.display().to_string());
        Ok(())
    }

    /// Returns the records whose pairs have pages. Empty if there are too many records.
    fn paired(&self) -> &[Side] {
        if self.sides.len() <= SIDE_BY_SIDE { &self.sides } else { &[] }
    }

    /// Returns a column per paper and per chapter of it. The chapters follow their paper.
    fn columns(&self) -> Vec<Column> {
        let parts = |paper: &Paper| {
            let chapters = paper.chapters.iter().map(|chapter| Some(chapter.name));
            let several = paper.chapters.len() > 1;
            let chapters = chapters.filter(|_| several);
            let name = paper.name;
            [None].into_iter().chain(chapters).map(move |part| (name, part)).collect::<Vec<_>>()
        };
        // A paper's chapters stay together, in the order in which they first occur.
        let papers = self.sides.iter().flat_map(|side| &side.view.summary.papers);
        let papers = grouped(papers.flat_map(parts)).into_iter();
        let names = papers
            .flat_map(|(paper, parts)| unique(parts).into_iter().map(move |part| (paper, part)));
        let column = |(paper, chapter): (&str, Option<&str>)| Column {
            name: chapter.unwrap_or(paper).to_owned(),
            whole: chapter.is_none(),
            counts: self.sides.iter().map(|side| counts(side, paper, chapter)).collect(),
        };
        names.map(column).collect()
    }

    /// Returns the quantities that changed most on any of the machines, with the value on each machine.
    fn quantities(&self) -> Vec<Quantity> {
        let ranked =
            self.sides.iter().flat_map(|side| side.view.summary.findings.iter().enumerate());
        let by_claim = grouped(ranked.map(|(rank, of)| (&of.claim, (rank, of)))).into_iter();
        let mut found: Vec<(usize, &Finding)> = by_claim.map(|(_, same)| same[0]).collect();
        order::by_key(&mut found, |(rank, _)| *rank);
        let quantity = |(_, of): (usize, &Finding)| Quantity {
            claim: of.claim.clone(),
            subject: of.takeaway.subject,
            source: of.source(),
            then: of.then_text(),
            now: self.sides.iter().map(|side| now(side, &of.claim)).collect(),
        };
        found.into_iter().map(quantity).collect()
    }
}

/// Returns the counts of verdicts of a record on a paper or on a chapter of it.
fn counts(side: &Side, paper: &str, chapter: Option<&str>) -> Counts {
    let mut papers = side.view.summary.papers.iter();
    let Some(paper) = papers.find(|of| of.name == paper) else { return Counts::default() };
    let Some(name) = chapter else { return paper.counts() };
    paper.chapters.iter().find(|of| of.name == name).map(|of| of.counts()).unwrap_or_default()
}

/// Returns the number of a claim in a record, if the claim was decided there.
fn now(side: &Side, claim: &str) -> Option<String> {
    let shown = find_claim(claim)?.takeaway?.shown;
    let mut lines = side.view.claims().map(|(_, line)| line);
    let line = lines.find(|line: &&VerdictLine| line.id == claim)?;
    let decided = line.verdict.is_decided();
    let [lo, hi] = line.now.filter(|_| decided)?;
    Some(number_text(shown, Interval::new(lo, hi), Shown::text))
}

/// Returns the report of a record without the ladder, which is a section of comparisons only.
fn report_of(side: &Side) -> ReportView {
    let mut view = side.view.clone();
    view.sections.retain(|section| section.id != MACHINE);
    view
}

/// Turns a name into a part of a file name.
fn slug(name: &str) -> String {
    let letter = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter.to_ascii_lowercase(),
        false => '-',
    };
    let text: String = name.chars().map(letter).collect();
    let parts: Vec<&str> = text.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

fn file_of(side: &Side) -> String {
    format!("{}.html", slug(&side.name))
}

fn pair_of(first: &Side, other: &Side) -> String {
    format!("{}--{}.html", slug(&first.name), slug(&other.name))
}

/// Creates a gallery of records.
///
/// # Errors
/// If a name yields no file name, or two records would have the same page.
pub(crate) fn gallery(sides: Vec<Side>) -> Result<Gallery> {
    for (index, side) in sides.iter().enumerate() {
        let file = file_of(side);
        if file == ".html" || file == "index.html" {
            bail!("`{}` is not a valid name for a page; give another by --label", side.name);
        }
        if let Some(other) = sides[..index].iter().find(|other| file_of(other) == file) {
            bail!(
                "`{}` and `{}` have one page, {file}; --label tells them apart",
                other.name,
                side.name
            );
        }
    }
    Ok(Gallery { sides, out: None })
}

impl Output for Gallery {
    fn name(&self) -> String {
        "linefill gallery".to_owned()
    }

    fn screen(&self, width: u16) -> Screen {
        let mut screen = Screen::default();
        for sheet in self.sheets() {
            screen.add(&sheet.title).end().add(&sheet.text(width)).add("\n\n");
        }
        if let Some(out) = &self.out {
            screen.add(&format!("gallery: {out}/index.html"));
        }
        screen
    }

    fn json(&self) -> Value {
        let columns = self.columns();
        let quantities = self.quantities();
        let machine = |(index, side): (usize, &Side)| {
            let section = |column: &Column| {
                let counts = &column.counts[index];
                json!({ "name": column.name, "holds": counts.holds(), "decided": counts.decided() })
            };
            let quantity = |of: &Quantity| {
                json!({
                    "claim": of.claim, "subject": of.subject, "source": of.source, "then": of.then,
                    "now": of.now[index],
                })
            };
            json!({
                "name": side.name,
                "machine": side.view.summary.machine.to_string(),
                "date": side.view.date,
                "page": file_of(side),
                "sections": columns.iter().map(section).collect::<Vec<_>>(),
                "changed": quantities.iter().map(quantity).collect::<Vec<_>>(),
            })
        };
        json!({ "machines": self.sides.iter().enumerate().map(machine).collect::<Vec<_>>() })
    }

    fn sheets(&self) -> Vec<Sheet> {
        let names: Vec<&str> = self.sides.iter().map(|side| side.name.as_str()).collect();
        let headings = |first: &[&'static str]| {
            first.iter().copied().chain(names.iter().copied()).collect::<Vec<&str>>()
        };
        let mut holding = Sheet::new("How much still holds", &headings(&["section"]));
        for column in self.columns() {
            let cells = column.counts.iter().map(|of| of.holding("-"));
            holding.rows.push([column.name.clone()].into_iter().chain(cells).collect());
        }
        let mut changed = Sheet::new("What changed most", &headings(&["", "then"]));
        for of in self.quantities() {
            let cells = of.now.iter().map(|now| now.clone().unwrap_or_else(|| "-".to_owned()));
            let first = [of.subject.to_owned(), of.then.clone()];
            changed.rows.push(first.into_iter().chain(cells).collect());
        }
        vec![holding, changed]
    }

    fn checks(&self) -> Vec<Check> {
        let sides = self.sides.iter();
        sides
            .flat_map(|side| {
                side.view.claims().map(|(_, line)| Check {
                    group: format!("{}, {}", side.name, line.experiment),
                    ..check(line)
                })
            })
            .collect()
    }
}

/// Renders the first page as one self-contained HTML file with links to the other pages.
fn render(gallery: &Gallery) -> String {
    let body = html! {
        (patterns())
        div.frame {
            main {
                header.masthead {
                    p.eyebrow { "linefill gallery" }
                    h1 { "The classic claims about memory, machine by machine" }
                    p.sub {
                        "Each machine has a report; any two can be laid over each other."
                    }
                }
                (machines(gallery))
                (changed(gallery))
                (pairs(gallery))
            }
        }
    };
    page("linefill: machines side by side", ["#holding", "Skip to the table"], &body)
}

/// Renders the list of machines, and a table of how many claims hold by section and machine.
fn machines(gallery: &Gallery) -> Markup {
    let link = |side: &Side| html! { a href=(file_of(side)) { (side.name) } };
    let headings = [html! { "section" }].into_iter().chain(gallery.sides.iter().map(link));
    let rows = html! {
        @for column in &gallery.columns() {
            tr {
                th scope="row" {
                    @if !column.whole { "\u{2003}" } (column.name)
                }
                @for counts in &column.counts {
                    td { (stack(*counts)) (counts.holding("-")) }
                }
            }
        }
    };
    html! {
        section #machines aria-labelledby="machines-title" {
            h2 #machines-title { "The machines" }
            ul {
                @for side in &gallery.sides {
                    li {
                        a href=(file_of(side)) { (side.name) }
                        ": " (side.view.summary.machine) ", " (side.view.date)
                    }
                }
            }
        }
        section #holding aria-labelledby="holding-title" {
            h2 #holding-title { "How much still holds" }
            p.lead { "How many of the claims that the machine measured and decided hold there." }
            (table("Sections by machines", headings, rows))
        }
    }
}

/// Renders a row per quantity, with the value of its document and of each machine.
fn changed(gallery: &Gallery) -> Markup {
    let names = gallery.sides.iter().map(|side| side.name.as_str());
    let headings = ["quantity", "then"].into_iter().chain(names);
    let rows = html! {
        @for of in gallery.quantities() {
            @let experiment = of.claim.split('.').next().unwrap_or_default();
            tr {
                th scope="row" { (of.subject) br; small { (of.source) } }
                td { (of.then) }
                @for (side, now) in gallery.sides.iter().zip(&of.now) {
                    td {
                        @match now {
                            Some(now) => a href={ (file_of(side)) "#" (experiment) } { (now) },
                            None => span.none { "–" },
                        }
                    }
                }
            }
        }
    };
    html! {
        section #changed aria-labelledby="changed-title" {
            h2 #changed-title { "What changed most" }
            (table("Then, and now on each machine", headings, rows))
        }
    }
}

/// Renders a link per pair of machines.
fn pairs(gallery: &Gallery) -> Markup {
    html! {
        @if gallery.paired().len() > 1 {
            section #pairs aria-labelledby="pairs-title" {
                h2 #pairs-title { "Two machines in one chart" }
                ul {
                    @for (index, side) in gallery.paired().iter().enumerate() {
                        @for first in &gallery.sides[..index] {
                            li {
                                a href=(pair_of(first, side)) {
                                    (side.name) " beside " (first.name)
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Verdict;
    use crate::lab::report::view::Section;

    #[test]
    fn a_page_is_named_after_its_record() {
        assert_eq!(slug("Zen 5, 2 vCPUs, KVM"), "zen-5-2-vcpus-kvm");
        assert_eq!(slug("../a <b>"), "a-b");
        assert_eq!(slug("\u{e4}"), "");
    }

    #[test]
    fn a_number_is_worded_as_in_the_report_of_its_machine() {
        let text = |id: &str, interval: [f64; 2]| {
            let line = VerdictLine {
                id: id.to_owned(),
                now: Some(interval),
                ..VerdictLine::bare("", Verdict::Holds)
            };
            let mut view = ReportView::default();
            view.sections.push(Section { claims: vec![line], ..Section::default() });
            let side = Side { name: String::new(), view, outdated: 0, cut_off: None };
            now(&side, id)
        };
        assert_eq!(text("D19.1", [3.5, 3.7]).as_deref(), Some("3.6x"));
        assert_eq!(text("D19.1", [1.56, 8.19]).as_deref(), Some("1.56x to 8.2x"));
        assert_eq!(text("E7.1", [0.75, 1.29]).as_deref(), Some("at most 25 %"));
    }
}
