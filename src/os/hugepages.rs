//! What the kernel offers beyond base pages: transparent huge pages and the hugetlb pool.

use std::path::Path;

use super::root::{Unreadable, read, read_number};

/// When the kernel backs anonymous memory with transparent huge pages.
#[doc(alias = "THP")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transparent {
    /// Wherever it can.
    Always,
    /// Where a program asks by `madvise`.
    Madvise,
    /// Nowhere.
    Never,
}

/// The setting in `kernel/mm/transparent_hugepage/enabled` of the tree `sys`.
///
/// # Errors
/// [`Unreadable`] when there is no such file (a kernel built without transparent huge pages) or
/// it marks none of the three words.
pub fn transparent(sys: &Path) -> Result<Transparent, Unreadable> {
    let path = sys.join("kernel/mm/transparent_hugepage/enabled");
    let text = read(&path)?;
    let marked = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match marked {
        Some("always") => Ok(Transparent::Always),
        Some("madvise") => Ok(Transparent::Madvise),
        Some("never") => Ok(Transparent::Never),
        _ => Err(Unreadable::malformed(
            &path,
            &text,
            "always, madvise or never, one marked [so]",
        )),
    }
}

/// The pool of 2 MiB hugetlb pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// Pages in the pool.
    pub total: u64,
    /// Pages that nobody uses, less those promised to a mapping already.
    pub free: u64,
}

/// The pool in `kernel/mm/hugepages/hugepages-2048kB` of the tree `sys`.
///
/// # Errors
/// [`Unreadable`] when one of its files is missing (a kernel built without hugetlb) or malformed.
pub fn pool(sys: &Path) -> Result<Pool, Unreadable> {
    let dir = sys.join("kernel/mm/hugepages/hugepages-2048kB");
    let number = |name: &str| read_number(&dir.join(name));
    let free = number("free_hugepages")?.saturating_sub(number("resv_hugepages")?);
    Ok(Pool {
        total: number("nr_hugepages")?,
        free,
    })
}
