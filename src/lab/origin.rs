//! The record of a page: a mark at the end of a page says which record it was made from.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};
use hmac_sha256::Hash;

use super::record::Header;

/// Returns the mark of a page of the record with this header. It stays the same when the run is resumed.
pub(crate) fn mark(header: &Header) -> String {
    let Header {
        started,
        seed,
        tick_hz,
        cpu,
        ..
    } = header;
    // The rate distinguishes runs on a machine without a date. A fraction may change when it is read again.
    let text = format!("{started} {seed} {tick_hz:.0} {}", cpu.brand);
    let hash = Hash::hash(text.as_bytes());
    let digits: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("<!-- linefill record {digits} -->\n")
}

/// Checks that the file `page`, if there is one, is a page of this record.
///
/// # Errors
/// If it is not marked as one: writing the page would lose what the file holds.
pub(crate) fn is_free_for(page: &Path, record: &Path, header: &Header) -> Result<()> {
    if !page.is_file() {
        return Ok(());
    }
    // What cannot be read is refused too.
    let found = fs::read(page).unwrap_or_default();
    if !found.ends_with(mark(header).as_bytes()) {
        let [page, record] = [page, record].map(Path::display);
        bail!(
            "`{page}` is not marked as a page of `{record}`, and would be lost: --out FILE writes \
             another file, and --out {page} replaces this one"
        );
    }
    Ok(())
}
