//! Maps of the misses per set, one per level, as text or as a page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Config, levels};
use crate::sim::SetCounters;

/// Number of cells in a row.
const ROW: usize = 64;

/// Maximum number of cells of a map. In a level with more sets, a cell covers several sets.
const CELLS: usize = 4096;

/// The shades, from no miss to the most misses.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

/// A cell of a map: neighbouring sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cell {
    first: usize,
    sets: usize,
    accesses: u64,
    misses: u64,
    /// The most misses of a set.
    most: u64,
}

impl Cell {
    fn title(&self) -> String {
        let sets = match self.sets {
            1 => format!("set {}", self.first),
            _ => format!("sets {} to {}", self.first, self.first + self.sets - 1),
        };
        format!("{sets}: {} misses of {}", self.misses, self.accesses)
    }
}

fn cells(heat: &[SetCounters]) -> Vec<Cell> {
    let together = heat.len().div_ceil(CELLS).max(1);
    heat.chunks(together)
        .enumerate()
        .map(|(index, sets)| Cell {
            first: index * together,
            sets: sets.len(),
            accesses: sets.iter().map(|set| set.accesses).sum(),
            misses: sets.iter().map(|set| set.misses).sum(),
            most: sets.iter().map(|set| set.misses).max().unwrap_or(0),
        })
        .collect()
}

/// Formats a map of misses per level, with 64 cells per row.
pub fn heat_text(configs: &[Config]) -> String {
    let mut text = String::new();
    for config in configs {
        for (name, cache) in levels(&config.hierarchy) {
            let cells = cells(cache.heat());
            let most = cells.iter().map(|cell| cell.misses).max().unwrap_or(0);
            let together = cells.first().map_or(1, |cell| cell.sets);
            text += &format!(
                "\n{name} of {}: misses per set, {} at most{}\n",
                config.text,
                cells.iter().map(|cell| cell.most).max().unwrap_or(0),
                if together == 1 { String::new() } else { format!(", {together} sets a cell") }
            );
            for row in cells.chunks(ROW) {
                text += &format!("{:>7} ", row[0].first);
                text.extend(row.iter().map(|cell| SHADES[shade(cell.misses, most)]));
                text.push('\n');
            }
        }
    }
    text
}

/// Returns the shade of a count: the first for 0, the others in equal steps up to `most`.
fn shade(count: u64, most: u64) -> usize {
    let steps = SHADES.len() as u64 - 1;
    (count * steps).div_ceil(most.max(1)) as usize
}

const STYLE: &str = "\
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
svg { width: 100%; background: color-mix(in srgb, currentColor 6%, transparent) }
pre { overflow-x: auto }";

/// Renders a page with the table and a map per level. The page loads nothing.
pub fn heat_page(title: &str, table: &str, configs: &[Config]) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "linefill simulate: " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                pre { (table) }
                @for config in configs {
                    h2 { (config.text) }
                    @for (name, cache) in levels(&config.hierarchy) {
                        h3 { (name) ": misses per set" }
                        (map(&cells(cache.heat())))
                    }
                }
            }
        }
    }
    .into_string()
}

/// Renders a map whose cells show their numbers as tooltips.
fn map(cells: &[Cell]) -> Markup {
    let most = cells.iter().map(|cell| cell.misses).max().unwrap_or(0);
    let rows = cells.len().div_ceil(ROW);
    let most_in_a_row = cells.len().min(ROW);
    html! {
        svg viewBox=(format!("0 0 {most_in_a_row} {rows}")) role="img"
            aria-label=(format!("misses per cell, {most} at most")) {
            @for (index, cell) in cells.iter().enumerate() {
                rect x=(index % ROW) y=(index / ROW) width="0.92" height="0.92"
                    fill="#c2410c" fill-opacity=(opacity(cell.misses, most)) {
                    title { (cell.title()) }
                }
            }
        }
    }
}

fn opacity(count: u64, most: u64) -> String {
    format!("{:.3}", count as f64 / most.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Hierarchy, HierarchyDesign, Reference};

    fn heated(text: &str) -> Vec<Config> {
        let design: HierarchyDesign = text.parse().unwrap();
        let mut hierarchy = Hierarchy::new(&design).unwrap().with_heat();
        // Three lines that share set 5, in a cycle.
        for round in 0..30 {
            hierarchy.reference(Reference::load(5 * 64 + ((round % 3) << 20), 8));
        }
        vec![Config { text: text.to_owned(), hierarchy }]
    }

    #[test]
    fn the_set_that_misses_is_the_one_that_is_dark() {
        let text = heat_text(&heated("L1d=8K/2"));
        assert!(text.contains("L1d of L1d=8K/2: misses per set, 30 at most"), "{text}");
        let row = text.lines().last().unwrap();
        let shades: Vec<char> = row.trim_start().chars().skip(2).collect();
        assert_eq!(shades.len(), 64);
        assert_eq!(shades.iter().filter(|&&shade| shade == '█').count(), 1);
        assert_eq!(shades[5], '█', "{row}");
    }

    #[test]
    fn many_sets_share_cells() {
        let text = heat_text(&heated("L1d=1M/1"));
        assert!(text.contains("misses per set, 30 at most, 4 sets a cell"), "{text}");
        assert_eq!(text.lines().count(), 2 + CELLS / ROW);
    }

    #[test]
    fn the_page_says_its_numbers_and_loads_nothing() {
        let page = heat_page("a <trace>", "table", &heated("L1d=8K/2"));
        assert!(page.contains("set 5: 30 misses of 30"));
        assert!(page.contains("a &lt;trace&gt;"));
        assert!(!page.contains("http"));
    }
}
