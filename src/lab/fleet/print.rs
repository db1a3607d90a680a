//! Formats the summary of a fleet.

use serde_json::{Value, json};

use super::outlier::{Census, DISTANCE, LEAST, Otherwise, SCORE, Spread, Usual};
use super::{Fleet, Series};
use crate::lab::chart::{number, place};
use crate::lab::compare::{Gate, Outcome, checks, gates_json};
use crate::lab::format::{self, Check, Output, Sheet};
use crate::lab::size::counted;
use crate::lab::terminal::{FAINT, STRONG, Screen};
use crate::order;

pub(crate) struct Summary<'f> {
    fleet: &'f Fleet,
    usual: Vec<Usual>,
    /// The figures, each with the number of hosts that are outliers.
    figures: Vec<Figure<'f>>,
    /// The hosts that are outliers. Hosts with the most figures outside come first.
    outliers: Vec<Outlier<'f>>,
    gates: Vec<(Gate, Outcome)>,
}

/// The distribution of a figure over the hosts.
struct Figure<'f> {
    series: &'f Series,
    x: f64,
    spread: Spread,
    outside: usize,
}

/// A host that is an outlier, and the settings in which it differs from most hosts.
struct Outlier<'f> {
    host: &'f str,
    /// The series in which the host is an outlier.
    series: Vec<Outside<'f>>,
    otherwise: Vec<Otherwise>,
}

/// A series in which a host is an outlier.
struct Outside<'f> {
    series: &'f Series,
    points: usize,
    /// The point with the highest score: position, value, median and score.
    furthest: [f64; 4],
}

/// Maximum number of rows of a table on the terminal.
const SHOWN: usize = 20;

impl<'f> Summary<'f> {
    pub fn of(fleet: &'f Fleet, gates: Vec<(Gate, Outcome)>) -> Self {
        let mut figures = Vec::new();
        let mut found: Vec<Vec<Outside<'f>>> = fleet.hosts.iter().map(|_| Vec::new()).collect();
        for series in &fleet.series {
            for figure in &series.figures {
                let Some(spread) = Spread::of(figure) else { continue };
                let mut outside = 0;
                for value in &figure.values {
                    let Some(score) = spread.outside(value) else { continue };
                    outside += 1;
                    let place = [figure.x, value.mid.into(), spread.median(), score];
                    let of_host = &mut found[value.host as usize];
                    match of_host.last_mut() {
                        Some(last) if std::ptr::eq(last.series, series) => {
                            last.points += 1;
                            if last.furthest[3].abs() < score.abs() {
                                last.furthest = place;
                            }
                        }
                        _ => of_host.push(Outside { series, points: 1, furthest: place }),
                    }
                }
                figures.push(Figure { series, x: figure.x, spread, outside });
            }
        }
        let census = Census::of(fleet);
        let usual: Vec<Usual> = census.usual().collect();
        let hosts = fleet.hosts.iter().zip(found);
        let mut outliers: Vec<Outlier<'f>> = hosts
            .filter(|(_, series)| !series.is_empty())
            .map(|(host, series)| Outlier {
                host: &host.name,
                series,
                otherwise: census.otherwise(&usual, &host.settings),
            })
            .collect();
        order::by_key(&mut outliers, |of| std::cmp::Reverse(of.points()));
        Summary { fleet, usual, figures, outliers, gates }
    }

    /// Returns the figures in descending order of the number of outliers, then of the width of their
    /// distribution.
    fn ranked(&self) -> Vec<&Figure<'f>> {
        let mut ranked: Vec<&Figure<'f>> = self.figures.iter().collect();
        order::by(&mut ranked, |a, b| {
            let width = || b.spread.width().total_cmp(&a.spread.width());
            b.outside.cmp(&a.outside).then_with(width)
        });
        ranked
    }

    fn figure_sheet(&self, most: usize) -> Sheet {
        let headings =
            ["id", "series", "at", "unit", "n", "min", "p10", "median", "p90", "max", "outside"];
        let mut sheet = Sheet::new("Figures over the hosts", &headings);
        for figure in self.ranked().into_iter().take(most) {
            let Figure { series, x, spread, outside } = figure;
            let mut row = vec![series.experiment[0].clone(), series.label.clone()];
            row.extend([place(&series.axis, *x), series.unit.to_owned(), spread.n.to_string()]);
            row.extend(spread.places.map(number));
            row.push(outside.to_string());
            sheet.rows.push(row);
        }
        sheet
    }

    fn outlier_sheet(&self, most: usize) -> Sheet {
        let headings = ["record", "figures", "furthest", "set otherwise"];
        let mut sheet = Sheet::new("Hosts outside", &headings);
        for of in self.outliers.iter().take(most) {
            sheet.row([
                of.host,
                &of.points().to_string(),
                &of.furthest().map(in_words).unwrap_or_default(),
                &of.settings(),
            ]);
        }
        sheet
    }

    fn usual_sheet(&self) -> Sheet {
        let mut sheet = Sheet::new("What most hosts have", &["setting", "value", "hosts"]);
        for of in self.usual.iter().filter(|of| of.value.is_some()) {
            sheet.row([&of.name, of.value.as_deref().unwrap_or_default(), &of.hosts.to_string()]);
        }
        sheet
    }
}

impl Outlier<'_> {
    fn points(&self) -> usize {
        self.series.iter().map(|of| of.points).sum()
    }

    fn furthest(&self) -> Option<&Outside<'_>> {
        self.series.iter().max_by(|a, b| a.furthest[3].abs().total_cmp(&b.furthest[3].abs()))
    }

    fn settings(&self) -> String {
        if self.otherwise.is_empty() {
            return "nothing that the record tells".to_owned();
        }
        self.otherwise.iter().map(Otherwise::in_words).collect::<Vec<_>>().join("; ")
    }
}

/// Formats a value: `D15 NPAD=7 at 4 MiB: 52.0, median 40.1`.
fn in_words(of: &Outside<'_>) -> String {
    let [x, value, median, _] = of.furthest;
    format!(
        "{} {} at {}: {}, median {}",
        of.series.experiment[0],
        of.series.label,
        place(&of.series.axis, x),
        number(value),
        number(median)
    )
}

fn rule() -> String {
    format!(
        "Outside: modified z-score (median and MAD, Iglewicz and Hoaglin 1993) above {SCORE} for \
         the whole interval, and {:.0} % or more from the median of at least {LEAST} hosts.",
        100.0 * DISTANCE
    )
}

impl Output for Summary<'_> {
    fn name(&self) -> String {
        format!("linefill compare: {} records", self.fleet.hosts.len())
    }

    fn screen(&self, width: u16) -> Screen {
        let mut screen = Screen::default();
        let (hosts, figures) = (self.fleet.hosts.len(), self.figures.len());
        let text = format!(
            "{}, {}, {} outside",
            counted(hosts, "record"),
            counted(figures, "figure"),
            counted(self.outliers.len(), "host")
        );
        screen.paint(STRONG, &text).end().end();
        let sheets = [
            (self.usual_sheet(), 0),
            (self.figure_sheet(SHOWN), figures.saturating_sub(SHOWN)),
            (self.outlier_sheet(SHOWN), self.outliers.len().saturating_sub(SHOWN)),
        ];
        for (sheet, left) in sheets {
            screen.paint(STRONG, &sheet.title).end();
            match sheet.rows.is_empty() {
                true => screen.add("None."),
                false => screen.add(&sheet.text(width)),
            };
            screen.end();
            if left > 0 {
                let text = format!("and {left} more: --format csv, md or json has all");
                screen.paint(FAINT, &text).end();
            }
            screen.end();
        }
        screen.paint(FAINT, &rule());
        screen
    }

    fn json(&self) -> Value {
        let figure = |of: &Figure<'_>| {
            let [min, p10, median, p90, max] = of.spread.places;
            json!({
                "experiment": of.series.experiment[0], "series": of.series.label, "x": of.x,
                "unit": of.series.unit, "n": of.spread.n, "min": min, "p10": p10, "median": median,
                "p90": p90, "max": max, "outside": of.outside,
            })
        };
        let outside = |of: &Outside<'_>| {
            let [x, value, median, score] = of.furthest;
            json!({
                "experiment": of.series.experiment[0], "series": of.series.label,
                "points": of.points,
                "furthest": { "x": x, "value": value, "median": median, "score": score },
            })
        };
        let otherwise = |of: &Otherwise| {
            json!({
                "setting": of.name, "value": of.value, "usual": of.usual, "hosts": of.shared_by,
            })
        };
        let outlier = |of: &Outlier<'_>| {
            json!({
                "record": of.host,
                "figures": of.points(),
                "series": of.series.iter().map(outside).collect::<Vec<_>>(),
                "otherwise": of.otherwise.iter().map(otherwise).collect::<Vec<_>>(),
            })
        };
        let usual =
            |of: &Usual| json!({ "setting": of.name, "value": of.value, "hosts": of.hosts });
        let names: Vec<&str> = self.fleet.hosts.iter().map(|of| of.name.as_str()).collect();
        json!({
            "records": names,
            "rule": rule(),
            "usual": self.usual.iter().map(usual).collect::<Vec<_>>(),
            "figures": self.figures.iter().map(figure).collect::<Vec<_>>(),
            "outliers": self.outliers.iter().map(outlier).collect::<Vec<_>>(),
            "gates": gates_json(&self.gates),
        })
    }

    fn sheets(&self) -> Vec<Sheet> {
        vec![self.figure_sheet(usize::MAX), self.outlier_sheet(usize::MAX), self.usual_sheet()]
    }

    fn checks(&self) -> Vec<Check> {
        let outliers = self.outliers.iter().map(|of| Check {
            group: "outliers".to_owned(),
            name: of.host.to_owned(),
            outcome: format::Outcome::Warned,
            text: format!("{}; {}", of.furthest().map(in_words).unwrap_or_default(), of.settings()),
        });
        outliers.chain(checks(&self.gates)).collect()
    }
}
