//! The caches of a CPU: `cpuN/cache/indexM`.

use std::path::Path;

use super::{list, read_list};
use crate::cpu::CacheKind;
use crate::os::root::{Unreadable, read, read_number};

/// One cache as a CPU sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// Level, 1 nearest to the core.
    pub level: u32,
    /// What it holds.
    pub kind: CacheKind,
    /// Bytes.
    pub size: u64,
    /// Lines in a set; `None` where the kernel does not tell.
    pub ways: Option<u64>,
    /// Sets; `None` where the kernel does not tell.
    pub sets: Option<u64>,
    /// Bytes of a line; `None` where the kernel does not tell.
    pub line: Option<u64>,
    /// The CPUs that share it, in rising order; at least one.
    pub shared_by: Vec<usize>,
}

impl Cache {
    /// Bytes of this cache for each of the CPUs that share it: the size over the number of bits
    /// in `shared_cpu_map` (Drepper, "What Every Programmer Should Know About Memory", 6.2.3).
    pub fn share(&self) -> u64 {
        self.size / self.shared_by.len() as u64
    }

    /// Whether loads and stores go through it.
    pub fn holds_data(&self) -> bool {
        self.kind != CacheKind::Instruction
    }
}

/// Every `index*` in the folder `dir`, by number.
pub(super) fn all(dir: &Path) -> Result<Vec<Cache>, Unreadable> {
    let mut caches = Vec::new();
    // The kernel numbers them without gaps.
    while let index = dir.join(format!("index{}", caches.len()))
        && index.is_dir()
    {
        caches.push(one(&index)?);
    }
    if caches.is_empty() {
        return Err(Unreadable {
            path: dir.to_owned(),
            problem: "no cache is described".into(),
        });
    }
    Ok(caches)
}

fn one(dir: &Path) -> Result<Cache, Unreadable> {
    // Zero stands for "unknown" in these three, and older kernels leave the files out.
    let geometry = |name: &str| {
        read_number(&dir.join(name))
            .ok()
            .filter(|number| *number > 0)
    };
    Ok(Cache {
        level: level(&dir.join("level"))?,
        kind: kind(&dir.join("type"))?,
        size: size(&dir.join("size"))?,
        ways: geometry("ways_of_associativity"),
        sets: geometry("number_of_sets"),
        line: geometry("coherency_line_size"),
        shared_by: shared_by(dir)?,
    })
}

fn level(path: &Path) -> Result<u32, Unreadable> {
    match read_number(path)? {
        level @ 1..=8 => Ok(level as u32),
        other => Err(Unreadable::malformed(
            path,
            &other.to_string(),
            "a level from 1 to 8",
        )),
    }
}

fn kind(path: &Path) -> Result<CacheKind, Unreadable> {
    let text = read(path)?;
    match text.as_str() {
        "Data" => Ok(CacheKind::Data),
        "Instruction" => Ok(CacheKind::Instruction),
        "Unified" => Ok(CacheKind::Unified),
        _ => Err(Unreadable::malformed(
            path,
            &text,
            "Data, Instruction or Unified",
        )),
    }
}

/// A size such as `32K`.
fn size(path: &Path) -> Result<u64, Unreadable> {
    let text = read(path)?;
    let kib = text
        .strip_suffix('K')
        .and_then(|digits| digits.parse::<u64>().ok());
    kib.and_then(|kib| kib.checked_mul(1024))
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| Unreadable::malformed(path, &text, "a size in KiB such as 32K"))
}

/// The CPUs of `shared_cpu_list`, or of `shared_cpu_map` where a kernel before 2.6.26 has no list.
fn shared_by(dir: &Path) -> Result<Vec<usize>, Unreadable> {
    let from_list = read_list(&dir.join("shared_cpu_list"));
    let path = dir.join("shared_cpu_map");
    if from_list.is_ok() || !path.exists() {
        return from_list;
    }
    let text = read(&path)?;
    list::parse_mask(&text)
        .filter(|cpus| !cpus.is_empty())
        .ok_or_else(|| Unreadable::malformed(&path, &text, "a mask of CPUs"))
}
