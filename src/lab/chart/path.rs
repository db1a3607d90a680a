//! Pieces of SVG paths, short: coordinates have one decimal at most.

use std::fmt::Write;

/// How many shades and markers there are for the series of a chart.
pub(super) const STYLES: usize = 6;

/// A coordinate: `12`, `12.3`.
pub(super) fn px(value: f64) -> String {
    let tenths = (value * 10.0).round();
    match tenths % 10.0 == 0.0 {
        true => format!("{:.0}", tenths / 10.0 + 0.0),
        false => format!("{:.1}", tenths / 10.0),
    }
}

/// The data of a path. Every place in it is absolute, so that a script can move it; what is drawn around
/// a place is relative to it.
#[derive(Default)]
pub(super) struct Path(String);

impl Path {
    pub(super) fn move_to(&mut self, x: f64, y: f64) {
        let _ = write!(self.0, "M{} {}", px(x), px(y));
    }

    pub(super) fn line_to(&mut self, x: f64, y: f64) {
        let _ = write!(self.0, "L{} {}", px(x), px(y));
    }

    /// An upright line.
    pub(super) fn upright(&mut self, x: f64, from: f64, to: f64) {
        let _ = write!(self.0, "M{} {}V{}", px(x), px(from), px(to));
    }

    /// A level line.
    pub(super) fn level(&mut self, y: f64, from: f64, to: f64) {
        let _ = write!(self.0, "M{} {}H{}", px(from), px(y), px(to));
    }

    /// A marker of the series with this index.
    pub(super) fn marker(&mut self, x: f64, y: f64, index: usize) {
        self.move_to(x, y);
        self.0 += match index % STYLES {
            0 => "m0-3.5a3.5 3.5 0 1 0 .1 0z",
            1 => "m-3-3h6v6h-6z",
            2 => "m0-4.5l4.5 4.5-4.5 4.5-4.5-4.5z",
            3 => "m0-4l4 7h-8z",
            4 => "m0 4l4-7h-8z",
            _ => "m-1-4h2v3h3v2h-3v3h-2v-3h-3v-2h3z",
        };
    }

    /// What a model predicts: a stroke across the axis of the values.
    pub(super) fn stroke(&mut self, x: f64, y: f64, upright: bool) {
        self.move_to(x, y);
        self.0 += if upright { "m0-7v14" } else { "m-7 0h14" };
    }

    /// A rectangle.
    pub(super) fn cell(&mut self, x: f64, y: f64, width: f64, height: f64) {
        let _ = write!(
            self.0,
            "M{} {}h{}v{}h{}z",
            px(x),
            px(y),
            px(width),
            px(height),
            px(-width)
        );
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn data(&self) -> &str {
        &self.0
    }
}

/// About how wide a text is in the letters of a chart.
pub(super) fn width(text: &str) -> f64 {
    6.7 * text.chars().count() as f64
}

/// Broken into lines of `most` characters or so, at spaces.
pub(super) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("never empty");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + word.chars().count() < most {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        let texts = [12.0, 12.34, -0.04, 0.0, 99.96].map(px);
        assert_eq!(texts, ["12", "12.3", "0", "0", "100"]);
    }

    #[test]
    fn texts_break_at_spaces() {
        assert_eq!(
            wrapped("a store to one word", 8),
            ["a store", "to one", "word"]
        );
        assert_eq!(wrapped("", 8), [""]);
    }
}
