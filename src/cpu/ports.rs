//! What the load and store ports of each core move between registers and L1d a core cycle.
//!
//! These are limits of the hardware, by the width of one access; no program can be faster. "OM" is
//! the Intel 64 and IA-32 Architectures Optimization Reference Manual, in whose chapter on each
//! microarchitecture the section on the cache and memory subsystem says how many accesses of which
//! width L1d serves a cycle. "SOG" is AMD's Software Optimization Guide of the family, section
//! "Load-Store Unit". Where a width takes several internal accesses, they are counted.

/// The most bytes a core cycle that loads, and that stores, move from and to L1d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// By loads of 16, 32 and 64 bytes.
    pub loads: [u32; 3],
    /// By stores of 16, 32 and 64 bytes.
    pub stores: [u32; 3],
}

impl Ports {
    /// Bytes a core cycle by loads of `width` bytes; `None` for a width other than 16, 32 and 64.
    pub fn read(&self, width: usize) -> Option<u32> {
        at(&self.loads, width)
    }

    /// Bytes a core cycle by stores of `width` bytes, likewise.
    pub fn write(&self, width: usize) -> Option<u32> {
        at(&self.stores, width)
    }
}

fn at(bytes: &[u32; 3], width: usize) -> Option<u32> {
    let index = [16, 32, 64].iter().position(|&known| known == width)?;
    Some(bytes[index])
}

const fn ports(loads: [u32; 3], stores: [u32; 3]) -> Option<Ports> {
    Some(Ports { loads, stores })
}

/// OM, Core and Nehalem: one 128-bit load and one 128-bit store a cycle.
pub(super) const CORE_2: Option<Ports> = ports([16, 16, 16], [16, 16, 16]);
/// OM, Sandy Bridge: two 128-bit loads and one 128-bit store a cycle; a 256-bit access takes two
/// cycles of its port.
pub(super) const SANDY_BRIDGE: Option<Ports> = ports([32, 32, 32], [16, 16, 16]);
/// OM, Haswell: two 256-bit loads and one 256-bit store a cycle.
pub(super) const HASWELL: Option<Ports> = ports([32, 64, 64], [16, 32, 32]);
/// OM, Skylake: two 256-bit loads and one 256-bit store a cycle, of 512 bits each where the core
/// has AVX-512.
pub(super) const SKYLAKE: Option<Ports> = ports([32, 64, 128], [16, 32, 64]);
/// OM, Ice Lake client: two 512-bit loads a cycle; two stores of up to 256 bits a cycle, if both
/// go to one line, or one of 512 bits.
pub(super) const SUNNY_COVE: Option<Ports> = ports([32, 64, 128], [32, 64, 64]);
/// OM, Golden Cove: three loads of up to 256 bits a cycle or two of 512; two stores of up to 256
/// bits or one of 512.
pub(super) const GOLDEN_COVE: Option<Ports> = ports([48, 96, 128], [32, 64, 64]);
/// OM, Silvermont: one memory operation a cycle, of 128 bits.
pub(super) const SILVERMONT: Option<Ports> = ports([16, 16, 16], [16, 16, 16]);
/// OM, Goldmont and Goldmont Plus: one 128-bit load and one 128-bit store a cycle.
pub(super) const GOLDMONT: Option<Ports> = ports([16, 16, 16], [16, 16, 16]);
/// OM, Gracemont and Crestmont: two 128-bit loads and two 128-bit stores a cycle, 256-bit accesses
/// in halves.
pub(super) const GRACEMONT: Option<Ports> = ports([32, 32, 32], [32, 32, 32]);
/// OM, Knights Landing: two 512-bit loads and one 512-bit store a cycle.
pub(super) const KNIGHTS: Option<Ports> = ports([32, 64, 128], [16, 32, 64]);

/// SOG 25112 (K8): two 64-bit accesses a cycle.
pub(super) const K8: Option<Ports> = ports([16, 16, 16], [16, 16, 16]);
/// SOG 40546 (family 10h): two 128-bit loads or two 64-bit stores a cycle.
pub(super) const K10: Option<Ports> = ports([32, 32, 32], [16, 16, 16]);
/// SOG 47414 (family 15h): two 128-bit loads or one 128-bit store a cycle.
pub(super) const BULLDOZER: Option<Ports> = ports([32, 32, 32], [16, 16, 16]);
/// SOG 47534 (family 14h): one 64-bit load and one 64-bit store a cycle.
pub(super) const BOBCAT: Option<Ports> = ports([8, 8, 8], [8, 8, 8]);
/// SOG 52128 (family 16h): one 128-bit load and one 128-bit store a cycle.
pub(super) const JAGUAR: Option<Ports> = ports([16, 16, 16], [16, 16, 16]);
/// SOG 55723 (family 17h): two 128-bit loads and one 128-bit store a cycle, 256-bit accesses in
/// halves.
pub(super) const ZEN_1: Option<Ports> = ports([32, 32, 32], [16, 16, 16]);
/// SOG 56305 (family 17h, models 30h and up), 56665 (family 19h) and 57647 (Zen 4): two loads and
/// one store of up to 256 bits a cycle, 512-bit accesses in halves. The third load and the second
/// store of Zen 3 and 4 are for general registers.
pub(super) const ZEN_2: Option<Ports> = ports([32, 64, 64], [16, 32, 32]);
/// SOG 58455 (Zen 5): two loads of up to 512 bits a cycle; two stores of up to 256 bits or one of
/// 512.
pub(super) const ZEN_5: Option<Ports> = ports([32, 64, 128], [32, 64, 64]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wider_access_never_moves_less() {
        for ports in [
            CORE_2,
            SANDY_BRIDGE,
            HASWELL,
            SKYLAKE,
            SUNNY_COVE,
            GOLDEN_COVE,
            SILVERMONT,
            GOLDMONT,
            GRACEMONT,
            KNIGHTS,
            K8,
            K10,
            BULLDOZER,
            BOBCAT,
            JAGUAR,
            ZEN_1,
            ZEN_2,
            ZEN_5,
        ] {
            let Ports { loads, stores } = ports.unwrap();
            assert!(loads.is_sorted() && stores.is_sorted());
            assert!(loads.iter().zip(stores).all(|(load, store)| *load >= store));
        }
    }

    #[test]
    fn only_vectors_have_a_limit() {
        let zen = ZEN_2.unwrap();
        assert_eq!((zen.read(16), zen.read(64)), (Some(32), Some(64)));
        assert_eq!((zen.write(16), zen.write(64)), (Some(16), Some(32)));
        assert_eq!((zen.read(8), zen.write(128)), (None, None));
    }
}
