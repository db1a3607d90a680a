//! A machine by its real name.

use crate::lab::record::Header;
use crate::lab::size::show;
use crate::recorded::core_of;

/// A machine as people call it: `AMD EPYC (Zen 5), 2 vCPUs of a KVM guest, 23.5 GiB, 3.9 GHz`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineName {
    /// The brand without its marks, or vendor, family and model of a CPU without one.
    pub brand: String,
    /// The core design, if it is known and the brand does not name it.
    pub core: Option<String>,
    /// CPUs that threads may have, and how many cores these are; `None` where a record does not say.
    pub cpus: Option<(usize, usize)>,
    /// The hypervisor, if there is one.
    pub hypervisor: Option<String>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// The rate of the core clock in GHz.
    pub gigahertz: Option<f64>,
}

/// The name of the machine that a header describes.
pub fn machine_name(header: &Header) -> MachineName {
    let cpu = &header.cpu;
    let brand = match cpu.brand.trim() {
        "" => format!(
            "{} family {:X}h model {:X}h",
            cpu.vendor, cpu.family, cpu.model
        ),
        brand => without_marks(brand),
    };
    let known = core_of(cpu).map(|core| core.name.to_owned());
    let core = known.or_else(|| cpu.microarchitecture.clone());
    let mut cores: Vec<usize> = header.seats.iter().map(|seat| seat.core).collect();
    cores.sort_unstable();
    cores.dedup();
    MachineName {
        core: core.filter(|core| !brand.contains(core.as_str())),
        brand,
        cpus: (!header.seats.is_empty()).then_some((header.seats.len(), cores.len())),
        hypervisor: header.hypervisor.clone(),
        memory: header.memory,
        gigahertz: header
            .core_per_tick
            .map(|ratio| header.tick_hz * ratio / 1e9),
    }
}

/// The brand without what says nothing: marks of trade, `CPU`, a nominal clock rate, a number of cores.
fn without_marks(brand: &str) -> String {
    let brand = brand.replace("(R)", "").replace("(TM)", "");
    let brand = brand.split(" @ ").next().unwrap_or_default();
    let says = |word: &&str| *word != "CPU" && *word != "Processor" && !word.ends_with("-Core");
    let words: Vec<&str> = brand.split_whitespace().filter(says).collect();
    words.join(" ")
}

impl MachineName {
    /// The CPU: brand and core.
    pub fn cpu(&self) -> String {
        match &self.core {
            Some(core) => format!("{} ({core})", self.brand),
            None => self.brand.clone(),
        }
    }

    /// The name in a table: `Zen 5, 2 vCPUs, KVM`.
    pub fn short(&self) -> String {
        let kind = if self.hypervisor.is_some() {
            "vCPU"
        } else {
            "CPU"
        };
        let cpus = self.cpus.map(|(cpus, _)| counted(cpus, kind));
        let name = Some(self.core.as_ref().unwrap_or(&self.brand).clone());
        let parts = [name, cpus, self.hypervisor.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// What there is of it: CPUs, memory, clock.
    pub fn extent(&self) -> Vec<String> {
        let cpus = self.cpus.map(|(cpus, cores)| match &self.hypervisor {
            Some(_) => counted(cpus, "vCPU"),
            None if cpus == cores => counted(cores, "core"),
            None => format!("{}, {}", counted(cores, "core"), counted(cpus, "CPU")),
        });
        let guest = self.hypervisor.as_ref().map(|name| format!("{name} guest"));
        let place = match (cpus, guest) {
            (Some(cpus), Some(guest)) => Some(format!("{cpus} of a {guest}")),
            (Some(one), None) | (None, Some(one)) => Some(one),
            (None, None) => None,
        };
        let memory = self.memory.map(|bytes| show(bytes as f64));
        let clock = self.gigahertz.map(|rate| format!("{rate:.1} GHz"));
        [place, memory, clock].into_iter().flatten().collect()
    }
}

impl core::fmt::Display for MachineName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.cpu())?;
        self.extent()
            .iter()
            .try_for_each(|part| write!(f, ", {part}"))
    }
}

fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brand_loses_its_marks() {
        let brands = [
            "Intel(R) Xeon(R) Platinum 8581C CPU @ 2.10GHz",
            "AMD EPYC 9654 96-Core Processor",
        ]
        .map(without_marks);
        assert_eq!(brands, ["Intel Xeon Platinum 8581C", "AMD EPYC 9654"]);
    }

    #[test]
    fn a_machine_is_named_by_what_is_known_of_it() {
        let guest = MachineName {
            brand: "AMD EPYC".to_owned(),
            core: Some("Zen 5".to_owned()),
            cpus: Some((2, 2)),
            hypervisor: Some("KVM".to_owned()),
            memory: Some(25_276_510_208),
            gigahertz: Some(3.89),
        };
        let text = "AMD EPYC (Zen 5), 2 vCPUs of a KVM guest, 23.5 GiB, 3.9 GHz";
        assert_eq!(guest.to_string(), text);
        assert_eq!(guest.short(), "Zen 5, 2 vCPUs, KVM");
        let host = MachineName {
            cpus: Some((32, 16)),
            hypervisor: None,
            core: None,
            memory: None,
            ..guest
        };
        assert_eq!(host.to_string(), "AMD EPYC, 16 cores, 32 CPUs, 3.9 GHz");
    }
}
