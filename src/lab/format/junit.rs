//! JUnit XML: a test suite a group, a test case a check.

use maud::{Markup, PreEscaped, html};

use super::{Check, Outcome, Output};
use crate::lab::plain;

/// The document.
pub(super) fn render(output: &dyn Output) -> String {
    let checks = output.checks();
    let suites = checks.chunk_by(|a, b| a.group == b.group);
    html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        testsuites name=(plain(&output.name())) tests=(checks.len())
            failures=(count(&checks, is_failure)) skipped=(count(&checks, is_skipped)) {
            @for suite in suites { (PreEscaped("\n")) (self::suite(suite)) }
            (PreEscaped("\n"))
        }
    }
    .into_string()
}

fn suite(checks: &[Check]) -> Markup {
    let name = checks.first().map_or("", |check| &check.group);
    html! {
        testsuite name=(plain(name)) tests=(checks.len()) errors="0"
            failures=(count(checks, is_failure)) skipped=(count(checks, is_skipped)) {
            @for check in checks {
                (PreEscaped("\n"))
                testcase classname=(plain(name)) name=(plain(&check.name)) { (result(check)) }
            }
            (PreEscaped("\n"))
        }
    }
}

fn result(check: &Check) -> Markup {
    let text = plain(&check.text);
    let first = text.lines().next().unwrap_or_default();
    html! {
        @match check.outcome {
            Outcome::Passed => { @if !text.is_empty() { system-out { (text) } } }
            Outcome::Warned => { system-out { "warning: " (text) } }
            Outcome::Skipped => { skipped message=(first) {} }
            Outcome::Refuted | Outcome::Failed => { failure message=(first) { (text) } }
        }
    }
}

fn is_failure(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Refuted | Outcome::Failed)
}

fn is_skipped(outcome: Outcome) -> bool {
    outcome == Outcome::Skipped
}

fn count(checks: &[Check], is: fn(Outcome) -> bool) -> usize {
    checks.iter().filter(|check| is(check.outcome)).count()
}

/// Characters that XML cannot hold, spelled out.
fn plain(text: &str) -> String {
    plain::lines(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::Planted;
    use super::*;

    #[test]
    fn every_outcome_has_its_element_and_nothing_is_markup() {
        let text = render(&Planted);
        assert!(text.starts_with("<?xml"), "{text}");
        assert!(
            text.contains("tests=\"5\" failures=\"2\" skipped=\"1\""),
            "{text}"
        );
        for (part, times) in [
            ("<testsuite ", 1),
            ("<testcase ", 5),
            ("<failure ", 2),
            ("<skipped ", 1),
            ("a &amp; b", 6),
            ("&quot;sure&quot;", 7),
        ] {
            assert_eq!(text.matches(part).count(), times, "{part}: {text}");
        }
        assert!(!text.contains("<not>"), "{text}");
    }
}
