//! Identifies the CPU.

use raw_cpuid::{CpuId, CpuIdReader, CpuIdReaderNative, CpuIdResult};

use super::cores::{self, Core, EventTable, Fact, Ports, PrefetchSwitches, Translations};
use super::list::Text;

/// The vendor of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Vendor {
    /// "GenuineIntel".
    Intel,
    /// "AuthenticAMD".
    Amd,
    /// "HygonGenuine": Zen cores under licence.
    Hygon,
    /// Any other vendor, such as Zhaoxin.
    Other,
}

impl Vendor {
    /// Returns the vendor with this name.
    pub fn named(name: &str) -> Self {
        [Vendor::Intel, Vendor::Amd, Vendor::Hygon]
            .into_iter()
            .find(|vendor| vendor.name() == name)
            .unwrap_or(Vendor::Other)
    }

    /// Returns the vendor's name.
    pub const fn name(self) -> &'static str {
        match self {
            Vendor::Intel => "Intel",
            Vendor::Amd => "AMD",
            Vendor::Hygon => "Hygon",
            Vendor::Other => "other",
        }
    }
}

/// The kind of core in a hybrid CPU: leaf 1Ah, bits 31 to 24 of EAX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CoreType {
    /// A performance core ("Core", 40h).
    Performance,
    /// An efficient core ("Atom", 20h).
    Efficient,
}

/// The widest vector instructions that CPUID lists, whether or not the operating system saves their
/// registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Vectors {
    /// No wider than SSE's 128 bits.
    Sse,
    /// AVX.
    Avx,
    /// AVX2.
    Avx2,
    /// AVX-512 F.
    Avx512,
    /// AMX, whose registers are tiles of up to 16 rows of 64 bytes.
    Amx,
}

/// Vendor, model and name of a CPU, from leaves 0, 1, 7, 1Ah, 8000_0002h to 8000_0004h, and 8000_0021h.
///
/// In a hybrid CPU this describes the core that executed CPUID: pin the thread first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Vendor.
    pub vendor: Vendor,
    /// Family, including the extended family.
    pub family: u8,
    /// Model, with the extended model in its upper four bits.
    pub model: u8,
    /// Stepping.
    pub stepping: u8,
    /// Marketing name, such as "AMD EPYC 9R14". Virtual machines may shorten it or leave it empty.
    pub brand: Text<48>,
    /// The hypervisor's signature, such as "KVMKVMKVM"; `None` on bare metal.
    pub hypervisor: Option<Text<12>>,
    /// Performance or efficient core; `None` if leaf 1Ah does not report it.
    pub core_type: Option<CoreType>,
    /// The number of the core's design among those of its kind: leaf 1Ah, bits 23 to 0 of EAX. Of efficient
    /// cores, 2 is Crestmont and 3 is Skymont (Linux, `arch/x86/include/asm/intel-family.h`). `None` if leaf
    /// 1Ah does not report the kind.
    pub native_model: Option<u32>,
    /// The widest vectors that CPUID lists.
    pub vectors: Vectors,
    /// Whether CPUID announces AMD's register PrefetchControl (C000_0108h): leaf 8000_0021h, bit 13 of EAX.
    pub prefetch_control: bool,
}

impl Identity {
    /// Identifies the CPU that executes the call.
    pub fn detect() -> Identity {
        Identity::read(CpuIdReaderNative)
    }

    /// Returns the identity that a CPUID reader reports.
    pub fn read<R: CpuIdReader>(reader: R) -> Identity {
        let cpu = CpuId::with_cpuid_reader(reader.clone());
        let vendor = match cpu.get_vendor_info() {
            Some(info) if info.as_str() == "GenuineIntel" => Vendor::Intel,
            Some(info) if info.as_str() == "AuthenticAMD" => Vendor::Amd,
            Some(info) if info.as_str() == "HygonGenuine" => Vendor::Hygon,
            _ => Vendor::Other,
        };
        let basic = cpu.get_feature_info();
        let (family, model, stepping) = basic.as_ref().map_or((0, 0, 0), |info| {
            // raw-cpuid adds the two families without an overflow check, and a hypervisor can report any
            // values.
            let sum = info.base_family_id().checked_add(info.extended_family_id());
            let family = sum.map_or(u8::MAX, |_| info.family_id());
            (family, info.model_id(), info.stepping_id())
        });
        let brand = cpu.get_processor_brand_string();
        let brand = brand.as_ref().map_or("", |brand| brand.as_str());
        let guest = basic.as_ref().is_some_and(|info| info.has_hypervisor());
        let avx = basic.is_some_and(|info| info.has_avx());
        let vectors = match cpu.get_extended_feature_info() {
            Some(more) if more.has_amx_tile() => Vectors::Amx,
            Some(more) if more.has_avx512f() => Vectors::Avx512,
            Some(more) if more.has_avx2() => Vectors::Avx2,
            _ if avx => Vectors::Avx,
            _ => Vectors::Sse,
        };
        let core_type = core_type(&reader);
        let more = cpu.get_extended_feature_identification_2();
        Identity {
            vendor,
            family,
            model,
            stepping,
            brand: Text::new(brand.as_bytes()),
            hypervisor: guest.then(|| signature(reader.cpuid1(0x4000_0000))),
            core_type: core_type.map(|(kind, _)| kind),
            native_model: core_type.map(|(_, native_model)| native_model),
            vectors,
            prefetch_control: more.is_some_and(|more| more.has_prefetch_ctl_msr()),
        }
    }

    /// Returns the hypervisor's usual name, or its signature if it is not among the known ones; `None`
    /// on bare metal.
    pub fn hypervisor_name(&self) -> Option<&str> {
        // Signatures: Linux, arch/x86/include/asm and drivers/hv; the vendors' documents.
        Some(match self.hypervisor.as_deref()? {
            "" => "unnamed hypervisor",
            "KVMKVMKVM" | "Linux KVM Hv" => "KVM",
            "Microsoft Hv" => "Hyper-V",
            "VMwareVMware" => "VMware",
            "XenVMMXenVMM" => "Xen",
            "TCGTCGTCGTCG" => "QEMU TCG",
            "bhyve bhyve" | "BHyVE BHyVE" => "bhyve",
            "ACRNACRNACRN" => "ACRN",
            "VBoxVBoxVBox" => "VirtualBox",
            other => other,
        })
    }

    /// Returns the product generation, such as "Sapphire Rapids" or "Zen 4"; "unknown" for a CPU that
    /// the table of cores does not contain, and for a virtual CPU that lists wider vectors than the
    /// generation has.
    pub fn microarch(&self) -> &'static str {
        cores::generation(self).unwrap_or("unknown")
    }

    /// Returns the core design, which in a hybrid CPU differs from core to core. `None` if unknown.
    pub fn core(&self) -> Option<&'static Core> {
        let (core, _) = cores::row(self)?;
        Some(core)
    }

    /// Returns the published L1d load-to-use latency of this core, in core cycles, for a dependent
    /// integer load by `[register]`. `None` if unknown.
    pub fn load_to_use(&self) -> Option<u32> {
        self.core()?.load_to_use.value()
    }

    /// Returns the bytes per cycle that this core's load and store ports move. `None` if unknown.
    pub fn ports(&self) -> Option<Ports> {
        self.core()?.ports.value()
    }

    /// Returns the published entries of this core's TLBs. `None` if the core is unknown.
    pub fn translations(&self) -> Option<Translations> {
        cores::row(self).map(|(core, product)| core.translations_in(product))
    }

    /// Returns the register that disables this core's prefetchers, for code in ring 0, where an access to a
    /// register that does not exist ends the program. (Linux's `msr` device returns an error.)
    ///
    /// # Errors
    /// The reason, if no register is known or CPUID does not announce it: of the Zen 3 cores, Milan has
    /// PrefetchControl and Vermeer does not announce it.
    pub fn prefetchers(&self) -> Result<PrefetchSwitches, &'static str> {
        let core = self.core().ok_or("the table of cores does not contain it")?;
        match core.prefetchers {
            Fact::Unknown { reason } => Err(reason),
            Fact::Known { value, .. } if value.is_prefetch_control() && !self.prefetch_control => {
                Err("CPUID leaf 8000_0021h does not announce the register PrefetchControl")
            }
            Fact::Known { value, .. } => Ok(value),
        }
    }

    /// Returns the table of the events that this core's PMU counts. `None` if the core has none.
    pub(crate) fn events(&self) -> Option<&'static EventTable> {
        let (_, product) = cores::row(self)?;
        product.events.value()
    }
}

/// Returns the twelve characters of a hypervisor's leaf 4000_0000h.
fn signature(leaf: CpuIdResult) -> Text<12> {
    let mut bytes = [0; 12];
    for (place, register) in bytes.chunks_exact_mut(4).zip([leaf.ebx, leaf.ecx, leaf.edx]) {
        place.copy_from_slice(&register.to_le_bytes());
    }
    Text::new(&bytes)
}

/// Returns the kind of core and its native model by leaf 1Ah, which a CPU that is not hybrid lacks or leaves
/// empty.
fn core_type<R: CpuIdReader>(reader: &R) -> Option<(CoreType, u32)> {
    if reader.cpuid1(0).eax < 0x1a {
        return None;
    }
    let leaf = reader.cpuid1(0x1a).eax;
    let kind = match leaf >> 24 {
        0x40 => CoreType::Performance,
        0x20 => CoreType::Efficient,
        _ => return None,
    };
    Some((kind, leaf & 0xff_ffff))
}
