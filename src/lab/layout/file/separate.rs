//! Finds the debug information of a binary if it is in a separate file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use flate2::Crc;

use super::image::Image;

/// The places to search.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The debug file that the user named.
    pub named: Option<&'a Path>,
    /// The directory of separate debug files, such as `/usr/lib/debug`.
    pub tree: &'a Path,
}

impl Places<'_> {
    /// Returns the file with the debug information of `binary`: the file that the user named, `binary`
    /// itself, or a separate debug file found by build id, by debug link or by name.
    ///
    /// # Errors
    /// If there is no such file, or the named file belongs to another build.
    pub fn find(&self, binary: &Image) -> Result<Image> {
        if let Some(path) = self.named {
            let file = Image::open(path).context("--debug-file")?;
            if let (Some(wanted), Some(found)) = (binary.build_id(), file.build_id())
                && wanted != found
            {
                bail!(
                    "--debug-file {} is of another build: its build id is {}, that of {} is {}",
                    path.display(),
                    hex(&found),
                    binary.path.display(),
                    hex(&wanted)
                );
            }
            if !informed(&file) {
                bail!("--debug-file {}: {}", path.display(), advice());
            }
            return Ok(file);
        }
        if informed(binary) {
            return Ok(binary.clone());
        }
        let mut looked_at = Vec::new();
        for (path, sum) in self.candidates(binary) {
            if let Some(file) = fitting(binary, &path, sum) {
                return Ok(file);
            }
            looked_at.push(path.display().to_string());
        }
        let path = binary.path.display();
        match looked_at.is_empty() {
            true => bail!("{path}: {}", advice()),
            false => bail!(
                "{path}: {}. Nor is there a file of it at {}; --debug-file names one elsewhere",
                advice(),
                looked_at.join(", ")
            ),
        }
    }

    /// Returns the paths where debuggers look, each with the expected checksum if one is known.
    fn candidates(&self, binary: &Image) -> Vec<(PathBuf, Option<u32>)> {
        let mut paths = Vec::new();
        if let Some(id) = binary.build_id() {
            paths.extend(self.by_id(&id).map(|path| (path, None)));
        }
        // An installed binary may be a link into another directory.
        let real = fs::canonicalize(&binary.path).unwrap_or_else(|_| binary.path.clone());
        let dir = real.parent().unwrap_or(Path::new("/"));
        if let Some((name, sum)) = binary.debug_link() {
            let below = dir.strip_prefix("/").unwrap_or(dir);
            for dir in [dir, &dir.join(".debug"), &self.tree.join(below)] {
                paths.push((dir.join(&name), Some(sum)));
            }
        }
        let beside = added(&real, ".debug");
        if paths.iter().all(|(path, _)| *path != beside) {
            paths.push((beside, None));
        }
        paths
    }

    /// Returns the path of the debug file with this build id.
    fn by_id(&self, id: &[u8]) -> Option<PathBuf> {
        let (first, rest) = id.split_at_checked(1)?;
        let name = format!(".build-id/{}/{}.debug", hex(first), hex(rest));
        Some(self.tree.join(name))
    }

    /// Returns the file that holds the debug information that `file` shares with others; `None` if `file`
    /// shares none.
    ///
    /// # Errors
    /// If the shared file cannot be found. Without it, names of types would be missing.
    pub fn shared(&self, file: &Image) -> Result<Option<Image>> {
        let Some((name, id)) = file.shared_link() else { return Ok(None) };
        let dir = file.path.parent().unwrap_or(Path::new("."));
        let mut paths = vec![dir.join(&name)];
        paths.extend(self.by_id(&id));
        let files = paths.iter().filter_map(|path| Image::open(path).ok());
        let mut fitting = files.filter(|found| found.build_id().is_none_or(|own| own == id));
        match fitting.next() {
            Some(found) => Ok(Some(found)),
            None => bail!(
                "{} shares debug information with {}, which is missing",
                file.path.display(),
                name.display()
            ),
        }
    }
}

/// Returns the debug file at `path`, if it exists and belongs to `binary`.
fn fitting(binary: &Image, path: &Path, sum: Option<u32>) -> Option<Image> {
    let file = Image::open(path).ok().filter(informed)?;
    let fits = match (binary.build_id(), file.build_id(), sum) {
        (Some(wanted), Some(found), _) => wanted == found,
        (_, _, Some(sum)) => {
            let mut crc = Crc::new();
            crc.update(&file.map);
            crc.sum() == sum
        }
        // Without build ids and a checksum to compare, the path is the only evidence.
        _ => true,
    };
    fits.then_some(file)
}

/// Returns whether a file has debug information, or names split files that have it.
pub(super) fn informed(image: &Image) -> bool {
    [".debug_info", ".zdebug_info", ".debug_info.dwo"].iter().any(|name| image.has(name))
}

/// Returns the path with `ending` appended to the file name.
pub(super) fn added(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn advice() -> &'static str {
    "no debug information. Compile with it: -g for gcc and clang, `debug = true` in the Cargo \
     profile for Rust"
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
