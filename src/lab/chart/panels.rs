//! Curves in one chart, or in small ones beside each other where there are more than a few.

use maud::{Markup, html};

use super::{Drawing, FEW, legend, lines};

/// So many small charts stand open; the others unfold.
const OPEN: usize = 4;

/// Draws the curves with their legends.
pub(super) fn draw(drawing: &Drawing<'_>) -> Markup {
    let labels = drawing.labels();
    if labels.len() <= FEW + 1 {
        return html! {
            div.chart {
                (lines::draw(drawing, drawing, false))
                (legend::labels(drawing))
                (legend::owners(drawing))
            }
        };
    }
    let parts: Vec<Markup> = groups(&labels)
        .iter()
        .map(|labels| {
            let of_part = drawing
                .series
                .iter()
                .filter(|series| labels.contains(&series.label));
            let part = drawing.with(of_part.cloned().collect());
            html! { div.panel { (lines::draw(drawing, &part, true)) (legend::labels(&part)) } }
        })
        .collect();
    let (open, folded) = parts.split_at(parts.len().min(OPEN));
    html! {
        div.chart {
            div.panels { @for part in open { (part) } }
            @if !folded.is_empty() {
                details.more {
                    summary { (folded.len()) @if folded.len() == 1 { " more chart" } @else { " more charts" } }
                    div.panels { @for part in folded { (part) } }
                }
            }
            (legend::owners(drawing))
        }
    }
}

/// The labels in groups of a few: by a part that those of a group share (`NPAD=7, random` shares `random`
/// with others), or else in their order.
fn groups<'a>(labels: &[&'a str]) -> Vec<Vec<&'a str>> {
    let parts = |label: &'a str| label.split([',', ':']).map(str::trim).collect::<Vec<_>>();
    let most = labels.iter().map(|label| parts(label).len()).max();
    let by_part = (0..most.unwrap_or(0)).map(|part| {
        let mut groups: Vec<(Option<&str>, Vec<&str>)> = Vec::new();
        for &label in labels {
            let key = parts(label).get(part).copied();
            match groups.iter_mut().find(|(of, _)| *of == key) {
                Some((_, group)) => group.push(label),
                None => groups.push((key, vec![label])),
            }
        }
        let groups = groups.into_iter().map(|(_, group)| group);
        // Curves that share their panel's key with no other curve stand together.
        let (mut groups, alone): (Vec<_>, Vec<_>) = groups.partition(|group| group.len() > 1);
        let alone: Vec<&str> = alone.into_iter().flatten().collect();
        groups.extend(in_order(&alone));
        (alone.len(), groups)
    });
    let good = |(alone, groups): &(usize, Vec<Vec<&str>>)| {
        let few = groups.iter().all(|group| group.len() <= FEW + 1);
        few && groups.len() > 1 && 2 * alone < labels.len()
    };
    let best = by_part.filter(good).min_by_key(|(_, groups)| groups.len());
    best.map_or_else(|| in_order(labels), |(_, groups)| groups)
}

/// Groups of about the same size.
fn in_order<'a>(labels: &[&'a str]) -> Vec<Vec<&'a str>> {
    let count = labels.len().div_ceil(FEW).max(1);
    let size = labels.len().div_ceil(count).max(1);
    labels.chunks(size).map(<[&str]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_share_a_part_stand_together() {
        let labels = ["1 KiB, read", "1 KiB, write", "4 KiB, read", "4 KiB, write"];
        let by_size: [&[&str]; 2] = [&labels[..2], &labels[2..]];
        assert_eq!(groups(&labels), by_size);
        let one_alone = [
            "read, 1", "read, 2", "write, 1", "write, 2", "write, 4", "rep",
        ];
        let parts: [&[&str]; 3] = [&one_alone[..2], &one_alone[2..5], &one_alone[5..]];
        assert_eq!(groups(&one_alone), parts);
        let plain = ["a", "b", "c", "d", "e", "f", "g"];
        let sizes: Vec<usize> = groups(&plain).iter().map(Vec::len).collect();
        assert_eq!(sizes, [4, 3]);
    }
}
