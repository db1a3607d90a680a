//! Annotations of a GitHub workflow: lines that its runner reads from the output of a step.

use super::{Check, Outcome, Output};

/// A line a check that is not as it should be, or that the claim says, and one on the whole.
pub(super) fn render(output: &dyn Output) -> String {
    let checks = output.checks();
    let lines: String = checks.iter().filter_map(annotation).collect();
    let good = checks
        .iter()
        .filter(|check| check.outcome == Outcome::Passed);
    let all = format!(
        "{}: {} of {} passed",
        output.name(),
        good.count(),
        checks.len()
    );
    lines + &all
}

fn annotation(check: &Check) -> Option<String> {
    let level = match check.outcome {
        Outcome::Passed | Outcome::Skipped => return None,
        Outcome::Refuted => "notice",
        Outcome::Warned => "warning",
        Outcome::Failed => "error",
    };
    let title = property(&format!("{} {}", check.group, check.name));
    Some(format!("::{level} title={title}::{}\n", data(&check.text)))
}

/// The text of an annotation, in which lines end as GitHub reads them.
fn data(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D");
    text.replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::super::tests::Planted;
    use super::*;

    #[test]
    fn an_annotation_is_one_line() {
        let text = render(&Planted);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "::notice title=a & b refuted::100 %25 \"sure\",%0Aor <not>",
                "::warning title=a & b warned%3A it::100 %25 \"sure\",%0Aor <not>",
                "::error title=a & b failed::100 %25 \"sure\",%0Aor <not>",
                "linefill <planted>: 1 of 5 passed",
            ]
        );
    }
}
