//! The supply of large pages (transparent huge pages and the hugetlb pool), the pages that a mapping was
//! granted, read from `/proc/self/smaps`, and memory that `mmap` itself populates.

// Declares that a mapping may be sent to and shared between threads.
#![allow(unsafe_code)]

use std::io;
use std::ops::Range;
use std::path::Path;

use super::mapping::{BASE_PAGE, GIANT_PAGE, Mapped};
use crate::host::{Granted, Via};
use crate::os::limits::meminfo_bytes;
use crate::os::root::{Unreadable, read, read_number};

/// Returns the pages behind `area`, according to the file `smaps`.
pub(super) fn of(area: Range<usize>, smaps: &Path) -> Granted {
    match read(smaps) {
        Ok(text) => parse(&text, area),
        Err(error) => Granted::Unknown(error.to_string()),
    }
}

fn parse(smaps: &str, area: Range<usize>) -> Granted {
    let mut seen = 0;
    let mut pooled = 0;
    let mut giant = 0;
    let mut transparent = 0;
    for (range, fields) in entries(smaps) {
        let overlap = range.end.min(area.end).saturating_sub(range.start.max(area.start));
        if overlap == 0 {
            continue;
        }
        seen += overlap;
        let bytes = |name| meminfo_bytes(fields, name).unwrap_or(0) as usize;
        match bytes("KernelPageSize") {
            GIANT_PAGE => giant += overlap,
            size if size > BASE_PAGE => pooled += overlap,
            _ => transparent += bytes("AnonHugePages").min(overlap),
        }
    }
    let len = area.len();
    if seen < len {
        return Granted::Unknown(format!("smaps describes {seen} of the {len} bytes"));
    }
    if giant == len {
        return Granted::Giant;
    }
    match (pooled, transparent) {
        (0, 0) => Granted::Base,
        (pooled, _) if pooled == len => Granted::Huge { via: Via::HugeTlb },
        (_, transparent) if transparent == len => Granted::Huge { via: Via::Transparent },
        (pooled, transparent) => Granted::Mixed { huge_bytes: pooled + transparent },
    }
}

/// Returns the mappings of the file: the address range, and the text of the fields below its header line.
fn entries(smaps: &str) -> Vec<(Range<usize>, &str)> {
    let mut entries: Vec<(Range<usize>, &str)> = Vec::new();
    let mut body = 0;
    let mut at = 0;
    for line in smaps.split_inclusive('\n') {
        let next = at + line.len();
        if let Some(range) = header(line) {
            entries.push((range, ""));
            body = next;
        } else if let Some(last) = entries.last_mut() {
            last.1 = &smaps[body..next];
        }
        at = next;
    }
    entries
}

/// Parses a header line, which starts with `start-end` in hexadecimal. A field line starts with `Name:`.
fn header(line: &str) -> Option<Range<usize>> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
}

/// When the kernel backs anonymous memory with transparent huge pages.
#[doc(alias = "THP")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transparent {
    /// Wherever possible.
    Always,
    /// Only where a program asks by `madvise`.
    Madvise,
    /// Never.
    Never,
}

/// Reads the setting in `kernel/mm/transparent_hugepage/enabled` of the tree `sys`.
///
/// # Errors
/// [`Unreadable`] if there is no such file (a kernel built without transparent huge pages), or it marks
/// none of the three words.
pub fn transparent_pages(sys: &Path) -> Result<Transparent, Unreadable> {
    let path = sys.join("kernel/mm/transparent_hugepage/enabled");
    let text = read(&path)?;
    let marked = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match marked {
        Some("always") => Ok(Transparent::Always),
        Some("madvise") => Ok(Transparent::Madvise),
        Some("never") => Ok(Transparent::Never),
        _ => Err(Unreadable::malformed(&path, &text, "always, madvise or never, one marked [so]")),
    }
}

/// The pool of 2 MiB hugetlb pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// Pages in the pool.
    pub total: u64,
    /// Free pages, less those already reserved for a mapping.
    pub free: u64,
}

/// Reads the pool in `kernel/mm/hugepages/hugepages-2048kB` of the tree `sys`.
///
/// # Errors
/// [`Unreadable`] if one of its files is missing (a kernel built without hugetlb) or malformed.
pub fn huge_page_pool(sys: &Path) -> Result<Pool, Unreadable> {
    let dir = sys.join("kernel/mm/hugepages/hugepages-2048kB");
    let number = |name: &str| read_number(&dir.join(name));
    let free = number("free_hugepages")?.saturating_sub(number("resv_hugepages")?);
    Ok(Pool { total: number("nr_hugepages")?, free })
}

/// `mmap(MAP_POPULATE)`: anonymous memory whose pages are all present when the call returns.
///
/// It exists to be timed, has no guard pages, and does not report the pages it was granted. If transparent
/// huge pages are always on, it may consist of 2 MiB pages.
#[doc(alias = "MAP_POPULATE")]
#[derive(Debug)]
pub struct Populated(Mapped);

// SAFETY: it owns its address range, like a boxed slice of bytes.
unsafe impl Send for Populated {}
// SAFETY: a shared reference only gives the address.
unsafe impl Sync for Populated {}

impl Populated {
    /// Maps `bytes` bytes. The kernel rounds them up to whole pages.
    ///
    /// # Errors
    /// The kernel's error. The kernel reports no error if it could not populate all pages.
    pub fn map(bytes: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_POPULATE;
        Mapped::new(bytes, access, flags, None).map(Populated)
    }

    /// Returns the address of the first byte.
    pub fn address(&self) -> usize {
        self.0.start().addr().get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(start: usize, end: usize, page_kib: usize, huge_kib: usize) -> String {
        format!(
            "{start:x}-{end:x} rw-p 00000000 00:00 0 \nSize: {} kB\nKernelPageSize: {page_kib} kB\n\
             MMUPageSize: {page_kib} kB\nAnonHugePages: {huge_kib} kB\nTHPeligible: 1\n\
             VmFlags: rd wr mr mw me ac hg \n",
            (end - start) >> 10
        )
    }

    const M: usize = 1 << 20;

    #[test]
    fn every_outcome() {
        let area = 0x7f00_0000_0000..0x7f00_0000_0000 + 8 * M;
        let around = entry(0x1000, 0x2000, 4, 0);
        let text = |page, huge| around.clone() + &entry(area.start, area.end, page, huge) + &around;
        assert_eq!(parse(&text(4, 0), area.clone()), Granted::Base);
        assert_eq!(parse(&text(4, 8192), area.clone()), Granted::Huge { via: Via::Transparent });
        assert_eq!(parse(&text(2048, 0), area.clone()), Granted::Huge { via: Via::HugeTlb });
        assert_eq!(parse(&text(4, 4096), area.clone()), Granted::Mixed { huge_bytes: 4 * M });
        assert_eq!(parse(&text(1 << 20, 0), area.clone()), Granted::Giant);
        assert!(matches!(parse(&around, area.clone()), Granted::Unknown(_)));
        assert!(matches!(parse("", area), Granted::Unknown(_)));
    }

    #[test]
    fn a_mapping_split_in_two_is_summed() {
        let area = 16 * M..24 * M;
        let text = entry(16 * M, 20 * M, 4, 4096) + &entry(20 * M, 24 * M, 4, 4096);
        assert_eq!(parse(&text, area.clone()), Granted::Huge { via: Via::Transparent });
        let text = entry(16 * M, 20 * M, 4, 4096) + &entry(20 * M, 24 * M, 4, 2048);
        assert_eq!(parse(&text, area), Granted::Mixed { huge_bytes: 6 * M });
    }

    #[test]
    fn a_missing_file_is_unknown() {
        let granted = of(0..4096, Path::new("/nonexistent/smaps"));
        assert!(matches!(granted, Granted::Unknown(reason) if reason.contains("/nonexistent")));
    }
}
