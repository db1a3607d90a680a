//! Checks of the memory, its page sizes, and the switches of the hardware prefetchers.

use super::{Check, Observed, Subject};
use crate::os::limits::machine_memory;
use crate::os::memory::{self, Size, Transparent};
use crate::os::prefetchers::{MsrError, Refused, look};
use crate::os::root::{Root, read};
use crate::os::sysfs::{Sysfs, list};

/// Enough for a working set far beyond any last-level cache, and enough for one beyond most of them.
const PLENTY: u64 = 2 << 30;
const LITTLE: u64 = 512 << 20;
/// The largest working set that is worth locking.
const WORTH_LOCKING: u64 = 1 << 30;

pub(super) fn available(root: &Root) -> Check {
    let subject = Subject {
        name: "memory",
        why: "Working sets beyond the last-level cache take up to 1 GiB; the lab refuses those \
              that are larger than the available memory.",
    };
    let mend = "stop programs that hold memory (look with: free -m), or raise the limit of the \
                container";
    match machine_memory(root) {
        Ok(memory) => {
            let found = format!("{} available of {}", gib(memory.available), gib(memory.total));
            match memory.available {
                PLENTY.. => subject.good(found),
                LITTLE.. => subject.warn(found, mend),
                _ => subject.bad(found, mend),
            }
        }
        Err(error) => subject.unknown(error, "mount procfs: sudo mount -t proc proc /proc"),
    }
}

pub(super) fn transparent(root: &Root) -> Check {
    let subject = Subject {
        name: "transparent huge pages",
        why: "Without 2 MiB pages, every large working set also measures the TLB, and the caches \
              cannot be measured alone.",
    };
    let mend = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
    match memory::transparent_pages(&root.sys) {
        Ok(Transparent::Madvise) => subject.good("on request (madvise)"),
        Ok(Transparent::Always) => {
            subject.good("always; the lab avoids them where it needs 4 KiB pages")
        }
        Ok(Transparent::Never) => subject.warn("never", mend),
        Err(error) => {
            subject.unknown(error, "reserve hugetlb pages: sudo sysctl vm.nr_hugepages=600")
        }
    }
}

pub(super) fn pool(root: &Root) -> Check {
    let subject = Subject {
        name: "hugetlb pool",
        why: "Transparent huge pages are a request that fragmented memory cannot grant; reserved \
              pages are certain.",
    };
    let mend = "sudo sysctl vm.nr_hugepages=600";
    match memory::huge_page_pool(&root.sys) {
        Ok(pool) => {
            let found = format!("{} of {} pages of 2 MiB free", pool.free, pool.total);
            if pool.free > 0 { subject.good(found) } else { subject.warn(found, mend) }
        }
        Err(error) => subject.unknown(error, mend),
    }
}

pub(super) fn locked(root: &Root, observed: &Observed) -> Check {
    let subject = Subject {
        name: "locked memory",
        why: "Pages that are not locked may be swapped out between samples.",
    };
    let found = match observed.locked_memory {
        None => return subject.good("unlimited"),
        Some(limit) if limit >= WORTH_LOCKING => return subject.good(Size(limit)),
        Some(limit) => format!("limited to {}", Size(limit)),
    };
    let mend = "ulimit -l unlimited (as root, or a memlock line in /etc/security/limits.conf)";
    match machine_memory(root) {
        Ok(memory) if memory.swap == 0 => subject.good(format!("{found}; there is no swap")),
        Ok(memory) => subject.warn(format!("{found}, with {} of swap", gib(memory.swap)), mend),
        Err(error) => subject.unknown(format!("{found}; {error}"), mend),
    }
}

pub(super) fn nodes(root: &Root) -> Check {
    let subject = Subject {
        name: "memory nodes",
        why: "Memory of another node is slower. With automatic balancing the kernel unmaps pages \
              to see who uses them, and moves them, in the middle of a measurement.",
    };
    let nodes = match Sysfs::at(&root.sys).nodes() {
        Ok(nodes) => nodes,
        Err(error) => return subject.unknown(error, "boot a kernel with CONFIG_NUMA"),
    };
    if let [only] = &nodes[..] {
        return subject.good(format!("1, node {}", only.id));
    }
    let each = nodes.iter().map(|node| {
        let cpus = match &node.cpus[..] {
            [] => "no CPUs".to_owned(),
            cpus => format!("CPUs {}", list::format(cpus)),
        };
        let memory = match node.memory {
            Some(0) => ", no memory".to_owned(),
            Some(bytes) => format!(", {}", gib(bytes)),
            None => String::new(),
        };
        format!("node {} ({cpus}{memory})", node.id)
    });
    let found = format!("{}: {}", nodes.len(), each.collect::<Vec<_>>().join(", "));
    match read(&root.proc.join("sys/kernel/numa_balancing")).as_deref() {
        // A kernel without the file does not balance.
        Ok("0") | Err(_) => subject.good(found),
        Ok(_) => subject.warn(
            format!("{found}; automatic balancing is on"),
            "sudo sysctl kernel.numa_balancing=0",
        ),
    }
}

/// Formats bytes in GiB with one decimal.
fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}

pub(super) fn prefetchers(root: &Root, cpu: usize, observed: &Observed) -> Check {
    let subject = Subject {
        name: "prefetchers",
        why: "The speed of sequential walks depends on the hardware prefetchers: with one \
              switched off, the times differ from those of other machines of the kind.",
    };
    let setting = match look(root, cpu, observed.switches) {
        Ok(setting) => setting,
        Err(Refused::Register(error)) => {
            let mend = mend(&error, cpu);
            return subject.unknown(error, mend);
        }
        Err(refused) => return subject.unknown(refused, "look in the firmware's settings"),
    };
    let (switches, value) = (setting.switches, setting.value);
    if switches.off(value).next().is_none() {
        return subject.good(setting);
    }
    let number = switches.register;
    let mend = format!("sudo wrmsr -p {cpu} {number:#x} {:#x}", value & !switches.mask());
    subject.warn(setting, mend)
}

/// Returns how to gain access to the register.
fn mend(error: &MsrError, cpu: usize) -> String {
    match error {
        MsrError::Missing(_) => "sudo modprobe msr, then run doctor as root; a kernel without \
                                 modules or a guest may have none"
            .to_owned(),
        MsrError::Denied(_) => {
            format!("run doctor as root, or read it yourself: sudo rdmsr -p {cpu} REGISTER")
        }
        MsrError::NotOpened { .. } => "for too many open files: ulimit -n 4096".to_owned(),
        MsrError::Refused { .. } => "look in the firmware's settings".to_owned(),
    }
}
