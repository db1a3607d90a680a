//! The design of a cache: its size, ways and line, the split of an address, and its policies.

use super::policy::Replacement;

/// Size, ways and line of a cache. The sets follow from them: size = line x ways x sets (Drepper 3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    sets: u64,
    ways: u32,
    line_bits: u32,
}

/// The most lines that can be simulated: 2 GiB of 64-byte lines, more than any last level has. A line
/// takes at least 8 bytes of memory.
pub const MOST_LINES: u64 = 1 << 25;

/// Why a geometry is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GeometryError {
    /// The line is not a power of two from 8 bytes to 1 GiB.
    Line(u64),
    /// There are no ways, or more than 65,535.
    Ways(u64),
    /// The size is zero, or not a multiple of line x ways.
    Size {
        /// The size in bytes.
        size: u64,
        /// The number that the size must be a multiple of.
        multiple: u64,
    },
    /// There are more lines than can be simulated: [`MOST_LINES`].
    Large(u64),
}

messages! { GeometryError:
    GeometryError::Line(line) => (
        "a line of {line} bytes: it must be a power of two from 8 to 4096 bytes (a page of a TLB: \
         to 1 GiB)"
    );
    GeometryError::Ways(ways) => ("{ways} ways: there must be 1 to 65535 of them");
    GeometryError::Size { size, multiple } => (
        "a size of {size} bytes: it must be a multiple of ways x line, {multiple} bytes"
    );
    GeometryError::Large(lines) => ("{lines} lines: at most {MOST_LINES} can be simulated");
}

/// The parts of an address. O offset bits select a byte of the line (2^O bytes), S bits select the set,
/// and the other bits are the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The tag, which distinguishes the lines of a set.
    pub tag: u64,
    /// The set.
    pub set: u64,
    /// The byte within the line.
    pub offset: u64,
}

impl Geometry {
    /// Returns the geometry of a cache of `size` bytes with `ways` lines of `line` bytes per set. The
    /// number of sets need not be a power of two.
    ///
    /// # Errors
    /// If the geometry is not valid.
    pub const fn new(size: u64, ways: u64, line: u64) -> Result<Self, GeometryError> {
        if !line.is_power_of_two() || line < 8 || line > 1 << 30 {
            return Err(GeometryError::Line(line));
        }
        if ways == 0 || ways > u16::MAX as u64 {
            return Err(GeometryError::Ways(ways));
        }
        let multiple = ways * line;
        if size == 0 || !size.is_multiple_of(multiple) {
            return Err(GeometryError::Size { size, multiple });
        }
        if size / line > MOST_LINES {
            return Err(GeometryError::Large(size / line));
        }
        Ok(Geometry { sets: size / multiple, ways: ways as u32, line_bits: line.trailing_zeros() })
    }

    /// Returns the geometry of a cache of `size` bytes with a single set: every line may be in any way
    /// (Figure 3.5).
    ///
    /// # Errors
    /// If the geometry is not valid.
    pub const fn fully_associative(size: u64, line: u64) -> Result<Self, GeometryError> {
        if line == 0 {
            return Err(GeometryError::Line(line));
        }
        Geometry::new(size, size / line, line)
    }

    /// Returns the capacity in bytes.
    pub const fn size(&self) -> u64 {
        self.lines() << self.line_bits
    }

    /// Returns the capacity in lines.
    pub const fn lines(&self) -> u64 {
        self.sets * self.ways as u64
    }

    /// Returns the lines per set, which is also the number of tags that a lookup compares.
    pub const fn ways(&self) -> u32 {
        self.ways
    }

    /// Returns the line size in bytes.
    pub const fn line(&self) -> u64 {
        1 << self.line_bits
    }

    /// Returns the number of sets.
    pub const fn sets(&self) -> u64 {
        self.sets
    }

    /// Returns O: the address bits that select a byte of the line.
    pub const fn offset_bits(&self) -> u32 {
        self.line_bits
    }

    /// Returns S: the address bits that select the set, if the number of sets is a power of two.
    pub const fn set_bits(&self) -> Option<u32> {
        if self.sets.is_power_of_two() { Some(self.sets.trailing_zeros()) } else { None }
    }

    /// Returns the number of the line that holds an address.
    #[inline]
    pub const fn line_of(&self, address: u64) -> u64 {
        address >> self.line_bits
    }

    /// Returns the set of a line: its number modulo the number of sets.
    #[inline]
    pub const fn set_of(&self, line: u64) -> u64 {
        if self.sets.is_power_of_two() { line & (self.sets - 1) } else { line % self.sets }
    }

    /// Returns tag, set and offset of an address, which is `(tag * sets + set) * line + offset`.
    pub const fn split(&self, address: u64) -> Split {
        let line = self.line_of(address);
        Split { tag: line / self.sets, set: self.set_of(line), offset: address & (self.line() - 1) }
    }
}

/// What a store does if its line is in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WriteHit {
    /// Changes the line, which is written back when it is evicted.
    #[default]
    Back,
    /// Changes the line and also writes to the next level.
    Through,
}

/// What a store does if its line is not in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WriteMiss {
    /// Brings the line in first (write-allocate).
    #[default]
    Allocate,
    /// Goes to the next level without bringing the line in.
    Around,
}

/// The design of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Design {
    /// Size, ways and line.
    pub geometry: Geometry,
    /// Replacement policy.
    pub replacement: Replacement,
    /// What a store does if its line is in the cache.
    pub write_hit: WriteHit,
    /// What a store does if its line is not in the cache.
    pub write_miss: WriteMiss,
}

impl Design {
    /// Returns an LRU, write-back, write-allocate cache, which most documents mean by a cache.
    pub const fn lru(geometry: Geometry) -> Self {
        Design {
            geometry,
            replacement: Replacement::Lru,
            write_hit: WriteHit::Back,
            write_miss: WriteMiss::Allocate,
        }
    }

    /// Returns the design with another replacement policy.
    pub const fn replacing(self, replacement: Replacement) -> Self {
        Design { replacement, ..self }
    }

    /// Returns the design with another write policy.
    pub const fn writing(self, write_hit: WriteHit, write_miss: WriteMiss) -> Self {
        Design { write_hit, write_miss, ..self }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn the_documents_own_numbers() {
        // Drepper 3.3.1: 4 MiB of 64-byte lines.
        let direct = Geometry::new(4 << 20, 1, 64).unwrap();
        assert_eq!(direct.lines(), 65_536);
        assert_eq!((direct.offset_bits(), direct.set_bits()), (6, Some(16)));
        let eight = Geometry::new(4 << 20, 8, 64).unwrap();
        assert_eq!((eight.sets(), eight.set_bits()), (8192, Some(13)));
        let full = Geometry::fully_associative(4096, 64).unwrap();
        assert_eq!((full.sets(), full.ways()), (1, 64));
    }

    #[test]
    fn sets_need_not_be_a_power_of_two() {
        let llc = Geometry::new(266_240 << 10, 20, 64).unwrap();
        assert_eq!((llc.sets(), llc.set_bits()), (212_992, None));
        assert_eq!(llc.size(), 266_240 << 10);
    }

    #[test]
    fn what_is_no_cache_is_named() {
        let no = |size, ways, line| Geometry::new(size, ways, line).unwrap_err();
        assert_eq!(no(32768, 8, 48), GeometryError::Line(48));
        assert_eq!(no(32768, 8, 4), GeometryError::Line(4));
        assert_eq!(no(32768, 0, 64), GeometryError::Ways(0));
        assert_eq!(no(32768, 70_000, 64), GeometryError::Ways(70_000));
        let multiple = 512;
        let size = 33_000;
        assert_eq!(no(size, 8, 64), GeometryError::Size { size, multiple });
        assert_eq!(no(0, 8, 64), GeometryError::Size { size: 0, multiple });
        assert!(Geometry::fully_associative(4096, 0).is_err());
        assert!(Geometry::fully_associative(1 << 30, 64).is_err());
        for error in [no(32768, 8, 48), no(size, 8, 64), no(1 << 50, 1, 64)] {
            assert!(error.to_string().contains("must") || error.to_string().contains("most"));
        }
    }

    #[test]
    fn an_address_is_its_three_parts() {
        for geometry in [
            Geometry::new(32 << 10, 8, 64).unwrap(),
            Geometry::new(48 << 10, 12, 64).unwrap(),
            Geometry::new(266_240 << 10, 20, 64).unwrap(),
        ] {
            for address in [0, 63, 64, 4095, 0x7FFF_FFFF_F123, u64::MAX] {
                let Split { tag, set, offset } = geometry.split(address);
                assert!(set < geometry.sets() && offset < geometry.line());
                let back = (tag * geometry.sets() + set) * geometry.line() + offset;
                assert_eq!(back, address);
            }
        }
    }
}
