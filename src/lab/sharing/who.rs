//! Which thread touches which field, as the command line says it.

use anyhow::{Context as _, Result, bail};

use super::{Field, Touch};

/// The most threads: their numbers are below this.
pub const MOST_THREADS: usize = 256;

/// Reads `0:hits,1:misses`: thread 0 touches `hits`, thread 1 `misses`.
///
/// # Errors
/// If a part is not `THREAD:FIELD`, the thread is no number below [`MOST_THREADS`], or there is no
/// such field: with what there is.
pub fn touches(text: &str, fields: &[Field], write: bool) -> Result<Vec<Touch>> {
    let one = |part: &str| {
        let (thread, field) = part.split_once(':').with_context(|| {
            format!(
                "`{part}` is not THREAD:FIELD, such as `0:{}`",
                example(fields)
            )
        })?;
        let thread: usize = thread
            .trim()
            .parse()
            .ok()
            .filter(|thread| *thread < MOST_THREADS)
            .with_context(|| {
                format!(
                    "`{part}`: `{thread}` is no thread; threads are numbers from 0 to {}",
                    MOST_THREADS - 1
                )
            })?;
        Ok(Touch {
            thread,
            field: find(field.trim(), fields).with_context(|| format!("`{part}`"))?,
            write,
        })
    };
    text.split(',').map(|part| one(part.trim())).collect()
}

fn example(fields: &[Field]) -> &str {
    fields.first().map_or("name", |field| &field.name)
}

fn find(name: &str, fields: &[Field]) -> Result<usize> {
    let by_name = fields.iter().position(|field| field.name == name);
    let Some(index) = by_name else {
        let names: Vec<String> = fields
            .iter()
            .map(|field| format!("`{}`", field.name))
            .collect();
        bail!(
            "`{name}` was not given as a field or an offset; {} were",
            names.join(", ")
        );
    };
    Ok(index)
}

#[cfg(test)]
mod tests {
    use super::super::planted::counters;
    use super::*;

    #[test]
    fn touches_are_read() {
        let fields = counters().fields;
        let found = touches("0:f0, 3 : f8,0:f8", &fields, true).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|touch| (touch.thread, touch.field, touch.write))
            .collect();
        assert_eq!(found, [(0, 0, true), (3, 1, true), (0, 1, true)]);
    }

    #[test]
    fn what_is_no_touch_is_named_with_what_would_be() {
        let fields = counters().fields;
        for (text, says) in [
            ("f0", "`f0` is not THREAD:FIELD, such as `0:f0`"),
            ("", "is not THREAD:FIELD"),
            ("0:f0,", "is not THREAD:FIELD"),
            (
                "a:f0",
                "`a` is no thread; threads are numbers from 0 to 255",
            ),
            ("-1:f0", "`-1` is no thread"),
            ("256:f0", "`256` is no thread"),
            (
                "0:f4",
                "`f4` was not given as a field or an offset; `f0`, `f8` were",
            ),
        ] {
            let error = touches(text, &fields, false).unwrap_err();
            let error = format!("{error:#}");
            assert!(error.contains(says), "{error}");
        }
    }
}
