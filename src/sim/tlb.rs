//! The translation of addresses: a dTLB and an STLB, which are caches of pages.

use super::cache::Cache;
use super::counters::Outcomes;
use super::design::Design;
use super::geometry::{Geometry, GeometryError};
use super::reference::{Op, Reference};

/// What the TLBs of data are to be: both are LRU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TlbDesign {
    first: Geometry,
    second: Option<Geometry>,
}

impl TlbDesign {
    /// A dTLB of `entries` with `ways`, for pages of `page` bytes.
    ///
    /// # Errors
    /// If there is no such cache of pages.
    pub fn new(entries: u64, ways: u64, page: u64) -> Result<Self, GeometryError> {
        Ok(TlbDesign {
            first: Geometry::new(entries.saturating_mul(page), ways, page)?,
            second: None,
        })
    }

    /// The same with an STLB behind it.
    ///
    /// # Errors
    /// If there is no such cache of pages.
    pub fn behind(self, entries: u64, ways: u64) -> Result<Self, GeometryError> {
        let page = self.first.line();
        Ok(TlbDesign {
            second: Some(Geometry::new(entries.saturating_mul(page), ways, page)?),
            ..self
        })
    }

    /// The dTLB and the STLB as caches of pages.
    pub(super) const fn levels(&self) -> (Geometry, Option<Geometry>) {
        (self.first, self.second)
    }

    /// Bytes of a page.
    pub const fn page(&self) -> u64 {
        self.first.line()
    }
}

/// The TLBs of data.
#[derive(Clone, Debug)]
pub struct Tlb {
    first: Cache,
    second: Option<Cache>,
}

impl Tlb {
    /// Empty TLBs.
    pub fn new(design: TlbDesign) -> Self {
        let cache = |geometry| Cache::new(Design::lru(geometry));
        Tlb {
            first: cache(design.first),
            second: design.second.map(cache),
        }
    }

    /// Translates the pages of a reference.
    #[inline]
    pub fn reference(&mut self, reference: Reference) {
        let load = Reference {
            op: Op::Load,
            ..reference
        };
        if !self.first.reference(load)
            && let Some(second) = &mut self.second
        {
            second.reference(load);
        }
    }

    /// Begins to count anew. The pages stay.
    pub fn forget_counts(&mut self) {
        self.first.forget_counts();
        if let Some(second) = &mut self.second {
            second.forget_counts();
        }
    }

    /// References whose pages the dTLB had, and had not.
    pub fn first(&self) -> Outcomes {
        self.first.counters().reads
    }

    /// Those of the rest whose pages the STLB had, and had not; nothing without one.
    pub fn second(&self) -> Outcomes {
        let counters = self.second.as_ref().map(Cache::counters);
        counters.map_or_else(Outcomes::default, |counters| counters.reads)
    }

    /// Page walks: what neither had.
    pub fn walks(&self) -> u64 {
        match &self.second {
            Some(second) => second.counters().reads.misses,
            None => self.first().misses,
        }
    }
}
