//! What the kernel offers beyond base pages: transparent huge pages and the hugetlb pool.

use std::path::Path;

use super::root::read;

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
/// A sentence, when the file cannot be read (a kernel built without transparent huge pages) or
/// marks none of the three words.
pub fn transparent(sys: &Path) -> Result<Transparent, String> {
    let path = sys.join("kernel/mm/transparent_hugepage/enabled");
    let text = read(&path)?;
    let marked = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match marked {
        Some("always") => Ok(Transparent::Always),
        Some("madvise") => Ok(Transparent::Madvise),
        Some("never") => Ok(Transparent::Never),
        _ => Err(format!("{}: no setting marked in {text:?}", path.display())),
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
/// A sentence, when a file of it cannot be read (a kernel built without hugetlb) or is no number.
pub fn pool(sys: &Path) -> Result<Pool, String> {
    let dir = sys.join("kernel/mm/hugepages/hugepages-2048kB");
    let number = |name: &str| {
        let path = dir.join(name);
        let text = read(&path)?;
        text.parse::<u64>()
            .map_err(|_| format!("{}: {text:?} is no number", path.display()))
    };
    let free = number("free_hugepages")?.saturating_sub(number("resv_hugepages")?);
    Ok(Pool {
        total: number("nr_hugepages")?,
        free,
    })
}
