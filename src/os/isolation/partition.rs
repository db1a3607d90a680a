//! A CPU partition that the scheduler leaves alone (`cpuset.cpus.partition` of cgroup v2).

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::os::guardian::Undo;
use crate::os::root::{Root, read};

/// Where to make a partition, and how to undo it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    cpu: usize,
    /// The top folder of the hierarchy.
    top: PathBuf,
    /// The partition's folder.
    dir: PathBuf,
    /// The folder of the control group that this process is in.
    home: PathBuf,
    /// Whether the top group must first enable the cpuset controller for its children.
    hand_on: bool,
}

/// Returns the top folder of cgroup v2, mounted alone or beside version 1.
fn top(root: &Root) -> Option<PathBuf> {
    let dir = root.sys.join("fs/cgroup");
    let places = [dir.clone(), dir.join("unified")];
    places
        .into_iter()
        .find(|dir| dir.join("cgroup.controllers").is_file())
}

/// Returns whether a list of controllers names `cpuset`.
fn names_cpuset(file: &Path) -> bool {
    read(file).is_ok_and(|text| text.split_whitespace().any(|word| word == "cpuset"))
}

impl Plan {
    /// Plans a partition that holds `cpu` alone.
    ///
    /// # Errors
    /// What is missing, in words.
    pub(super) fn of(root: &Root, cpu: usize) -> Result<Self, String> {
        let top = top(root).ok_or("cgroup v2 is not mounted at /sys/fs/cgroup")?;
        if !names_cpuset(&top.join("cgroup.controllers")) {
            return Err(format!(
                "the controller cpuset is not in {}: version 1 may have it, which \
                 systemd.unified_cgroup_hierarchy=1 on the kernel's command line changes",
                top.join("cgroup.controllers").display()
            ));
        }
        let groups = read(&root.proc.join("self/cgroup")).map_err(|error| error.to_string())?;
        let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
        let own = own.ok_or("this process is in no group of cgroup v2")?;
        let control = top.join(CONTROL);
        let hand_on = !names_cpuset(&control);
        if hand_on {
            // What may not be written cannot be undone either, so it must not be planned.
            let open = fs::OpenOptions::new().write(true).open(&control);
            open.map_err(|error| refused(&control, &error))?;
        }
        Ok(Plan {
            cpu,
            dir: top.join(format!("linefill-{}", std::process::id())),
            home: top.join(own.trim_start_matches('/')),
            hand_on,
            top,
        })
    }

    /// Returns the steps that restore everything once this process has left the partition or ended.
    pub(super) fn undo(&self) -> io::Result<Vec<Undo>> {
        let mut undo = vec![
            Undo::write(&self.dir.join(KIND), 0, b"member")?,
            Undo::remove(&self.dir)?,
        ];
        if self.hand_on {
            undo.push(Undo::write(&self.top.join(CONTROL), 0, b"-cpuset")?);
        }
        Ok(undo)
    }

    /// Makes the partition and moves this process into it. If a step fails, [`undo`](Self::undo)
    /// must revert the steps before it.
    ///
    /// # Errors
    /// What the kernel refused, in words.
    pub(super) fn enter(self) -> Result<Partition, String> {
        if self.hand_on {
            write(&self.top.join(CONTROL), "+cpuset")?;
        }
        fs::create_dir(&self.dir).map_err(|error| refused(&self.dir, &error))?;
        write(&self.dir.join("cpuset.cpus"), &self.cpu.to_string())?;
        let kind = self.dir.join(KIND);
        write(&kind, "isolated")?;
        // The kernel accepts settings that it cannot apply, and reports the failure only here.
        let made = read(&kind).map_err(|error| error.to_string())?;
        if made != "isolated" {
            return Err(format!("the partition of CPU {} is {made}", self.cpu));
        }
        write(&self.dir.join(MEMBERS), &std::process::id().to_string())?;
        Ok(Partition {
            members: self.home.join(MEMBERS),
        })
    }
}

const CONTROL: &str = "cgroup.subtree_control";
const KIND: &str = "cpuset.cpus.partition";
const MEMBERS: &str = "cgroup.procs";

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| refused(file, &error))
}

fn refused(path: &Path, error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied => " (run as root)",
        _ => "",
    };
    format!("{}: {error}{advice}", path.display())
}

/// Keeps this process in the partition until dropped.
#[derive(Debug)]
pub(super) struct Partition {
    /// The `cgroup.procs` file of the group that this process came from.
    members: PathBuf,
}

impl Drop for Partition {
    /// Moves this process back to its group. The guardian restores the rest afterwards.
    fn drop(&mut self) {
        let _ = write(&self.members, &std::process::id().to_string());
    }
}
