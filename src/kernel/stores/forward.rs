//! Store, then load what was stored: forwarding from the store queue, and its failures (Intel
//! Optimization Reference Manual, "Store Forwarding"; AMD Software Optimization Guide for family
//! 19h, section on the load-store unit).

// Calls assembly with places inside the region.
#![allow(unsafe_code)]

use crate::cpu::Features;
use crate::kernel::{Access, Kernel, Work};
use crate::mem::Region;

/// How a value goes through memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Passing {
    /// By one store and one load.
    One,
    /// By two stores, one right behind the other, and one load.
    Two,
    /// By one store and one load with the same operand, so that a renamer can tell that they meet.
    Renamed,
    /// By a store from a vector register and a load into a general one, and back by a `movq`.
    General,
}

/// Bytes stored and loaded, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trip {
    /// Bytes of a store.
    pub store: usize,
    /// Bytes of the load.
    pub load: usize,
    /// How the value goes.
    pub passing: Passing,
}

impl Trip {
    /// A store of `store` bytes and a load of `load` bytes.
    pub const fn new(store: usize, load: usize) -> Self {
        Trip {
            store,
            load,
            passing: Passing::One,
        }
    }

    /// The same, the value going another way.
    pub const fn by(self, passing: Passing) -> Self {
        Trip { passing, ..self }
    }

    /// Bytes that the stores write, one behind the other.
    pub const fn written(&self) -> usize {
        match self.passing {
            Passing::Two => self.store.saturating_mul(2),
            _ => self.store,
        }
    }

    /// Bytes of the widest access.
    const fn widest(&self) -> usize {
        if self.store > self.load {
            self.store
        } else {
            self.load
        }
    }
}

/// A trip, the symbol of its kernel, and the kernel.
struct Route {
    trip: Trip,
    name: &'static str,
    kernel: Trips,
}

macro_rules! routes {
    ($($passing:ident $store:literal $load:literal $name:ident,)*) => {
        [$(Route {
            trip: Trip::new($store, $load).by(Passing::$passing),
            name: stringify!($name),
            kernel: $name,
        }),*]
    };
}

/// Every trip that there is a kernel for.
static ROUTES: [Route; 37] = routes![
    One 1 1 linefill_forward1_1,
    One 1 2 linefill_forward1_2,
    One 1 4 linefill_forward1_4,
    One 1 8 linefill_forward1_8,
    One 2 1 linefill_forward2_1,
    One 2 2 linefill_forward2_2,
    One 2 4 linefill_forward2_4,
    One 2 8 linefill_forward2_8,
    One 4 1 linefill_forward4_1,
    One 4 2 linefill_forward4_2,
    One 4 4 linefill_forward4_4,
    One 4 8 linefill_forward4_8,
    One 8 1 linefill_forward8_1,
    One 8 2 linefill_forward8_2,
    One 8 4 linefill_forward8_4,
    One 8 8 linefill_forward8_8,
    One 8 16 linefill_forward8_16,
    One 8 32 linefill_forward8_32,
    One 8 64 linefill_forward8_64,
    One 16 8 linefill_forward16_8,
    One 16 16 linefill_forward16_16,
    One 16 32 linefill_forward16_32,
    One 16 64 linefill_forward16_64,
    One 32 8 linefill_forward32_8,
    One 32 16 linefill_forward32_16,
    One 32 32 linefill_forward32_32,
    One 32 64 linefill_forward32_64,
    One 64 8 linefill_forward64_8,
    One 64 16 linefill_forward64_16,
    One 64 32 linefill_forward64_32,
    One 64 64 linefill_forward64_64,
    Two 4 8 linefill_forward4_8_two,
    Two 8 16 linefill_forward8_16_two,
    Two 16 32 linefill_forward16_32_two,
    Two 32 64 linefill_forward32_64_two,
    Renamed 8 8 linefill_forward8_8_renamed,
    General 16 8 linefill_forward16_8_general,
];

impl Route {
    /// The kernel of `trip`, if there is one and `features` have what it needs.
    fn of(trip: Trip, features: Features) -> Result<&'static Route, ForwardError> {
        let route = ROUTES
            .iter()
            .find(|route| route.trip == trip)
            .ok_or(ForwardError::NoSuchTrip(trip))?;
        let able = match trip.widest() {
            64 => features.avx512().is_some(),
            32 => features.avx2().is_some(),
            _ => true,
        };
        if !able {
            return Err(ForwardError::TooWide(trip.widest()));
        }
        Ok(route)
    }
}

/// Why a value cannot be passed through memory in some way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForwardError {
    /// There is no kernel for it.
    NoSuchTrip(Trip),
    /// The CPU has no accesses of this many bytes.
    TooWide(usize),
    /// The accesses do not lie in the region.
    Outside {
        /// Byte offset of the store.
        store: usize,
        /// Bytes from there to the load.
        load: isize,
    },
}

messages! { ForwardError:
    ForwardError::NoSuchTrip(trip) => (
        "no kernel stores {} bytes and loads {} ({:?})", trip.store, trip.load, trip.passing
    );
    ForwardError::TooWide(bytes) => ("this CPU has no accesses of {bytes} bytes");
    ForwardError::Outside { store, load } => (
        "a store to byte {store} and a load {load} bytes from there do not lie in the region"
    );
}

/// A value that is stored and loaded again and again. An operation is a round trip.
#[derive(Debug)]
pub struct Forward<'m> {
    region: Region<'m>,
    trip: Trip,
    kernel: Trips,
    store: usize,
    load: isize,
    value: u64,
}

/// Bytes of the widest value.
const WIDEST: usize = 64;

/// The value at first: no two of its bytes are alike.
const FIRST: u64 = 0x0807_0605_0403_0201;

impl<'m> Forward<'m> {
    /// Stores to byte `store` of the region, and loads from `load` bytes behind it.
    ///
    /// # Errors
    /// If there is no such kernel, the CPU is too narrow for it, or an access does not lie in the
    /// region.
    pub fn new(
        region: Region<'m>,
        trip: Trip,
        store: usize,
        load: isize,
        features: Features,
    ) -> Result<Self, ForwardError> {
        let kernel = Route::of(trip, features)?.kernel;
        let fits =
            |at: usize, bytes: usize| at.checked_add(bytes).is_some_and(|end| end <= region.len());
        let from = store.checked_add_signed(load);
        let same = trip.passing != Passing::Renamed || load == 0;
        if !(fits(store, trip.written()) && from.is_some_and(|from| fits(from, trip.load)) && same)
        {
            return Err(ForwardError::Outside { store, load });
        }
        Ok(Forward {
            region,
            trip,
            kernel,
            store,
            load,
            value: FIRST,
        })
    }
}

impl Kernel for Forward<'_> {
    /// Returns the low 8 bytes of the value after the last trip. Every call adds its number of
    /// operations to it first, and repeats them over a value that is wider.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            let value = self.value.wrapping_add(operations);
            let second = self.trip.store as isize;
            let at = self.region.bytes_mut()[self.store..].as_mut_ptr();
            // SAFETY: `new` has seen to it that all accesses lie in the region, which is borrowed
            // mutably, that the second store is right behind the first, and that the CPU has the
            // instructions.
            self.value = unsafe { (self.kernel)(at, self.load, operations, value, second) };
        }
        self.value
    }

    fn work(&self) -> Work {
        let stores = self.trip.written() / self.trip.store;
        let load = Work::default().load(1, self.trip.load as u32);
        load.store(stores as u32, self.trip.store as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        if operations == 0 {
            return self.value;
        }
        let Trip { store, load, .. } = self.trip;
        let mut register = [0; WIDEST];
        for part in register.chunks_exact_mut(8) {
            part.copy_from_slice(&self.value.wrapping_add(operations).to_le_bytes());
        }
        let from = self.store.wrapping_add_signed(self.load);
        for _ in 0..operations {
            for place in (self.store..self.store + self.trip.written()).step_by(store) {
                sink(Access::store(place, store as u32));
                self.region.bytes_mut()[place..place + store].copy_from_slice(&register[..store]);
            }
            sink(Access::load(from, load as u32));
            register = [0; WIDEST];
            register[..load].copy_from_slice(&self.region.bytes()[from..from + load]);
        }
        let low = register.first_chunk().expect("8 bytes");
        self.value = u64::from_le_bytes(*low);
        self.value
    }
}

family! {
    /// The shape of all round trips, named by the bytes stored and the bytes loaded.
    ///
    /// Returns the low 8 bytes of the value after the last.
    ///
    /// # Safety
    /// With S and L the two numbers of the name: S bytes from `store` on are valid for writes, and L
    /// bytes (2 S where the name ends in `_two`) from `load` bytes behind it for reads; in the kernels
    /// of two stores, so are S bytes from `second` bytes behind it for writes; `trips` is not 0; the
    /// CPU has AVX2 if one of the numbers is 32, and AVX-512 if one is 64.
    pub type Trips = unsafe extern "sysv64" fn(
        store: *mut u8,
        load: isize,
        trips: u64,
        value: u64,
        second: isize,
    ) -> u64;

    linefill_forward1_1
    linefill_forward1_2
    linefill_forward1_4
    linefill_forward1_8
    linefill_forward2_1
    linefill_forward2_2
    linefill_forward2_4
    linefill_forward2_8
    linefill_forward4_1
    linefill_forward4_2
    linefill_forward4_4
    linefill_forward4_8
    linefill_forward8_1
    linefill_forward8_2
    linefill_forward8_4
    linefill_forward8_8
    linefill_forward8_16
    linefill_forward8_32
    linefill_forward8_64
    linefill_forward16_8
    linefill_forward16_16
    linefill_forward16_32
    linefill_forward16_64
    linefill_forward32_8
    linefill_forward32_16
    linefill_forward32_32
    linefill_forward32_64
    linefill_forward64_8
    linefill_forward64_16
    linefill_forward64_32
    linefill_forward64_64
    linefill_forward4_8_two
    linefill_forward8_16_two
    linefill_forward16_32_two
    linefill_forward32_64_two
    linefill_forward8_8_renamed
    linefill_forward16_8_general
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use super::ROUTES;
    use crate::cpu::Features;
    use crate::kernel::verify::Oracle;
    use crate::kernel::{Forward, Passing, Trip};

    impl Oracle<'_, '_> {
        pub(crate) fn forwards(&mut self, features: Features) {
            for route in &ROUTES {
                let trip = route.trip;
                let Trip { store, load, .. } = trip;
                let widest = store.max(load);
                if (widest == 64 && features.avx512().is_none())
                    || (widest == 32 && features.avx2().is_none())
                {
                    continue;
                }
                // The same place, one that shares a byte at either end, the upper part, none at all;
                // within a line, across two, and across two pages.
                let (store, load) = (store as isize, load as isize);
                let distances = [0, 1 - load, store - 1, store - load, 200];
                let apart: &[isize] = match trip.passing {
                    Passing::Renamed => &distances[..1],
                    _ => &distances,
                };
                let stores = [256, 256 + 63, 2 * 4096 - 1].into_iter();
                let cases = stores.flat_map(|store| apart.iter().map(move |&load| (store, load)));
                self.check(route.name, cases, |&(store, load), memory, then| {
                    then(&mut Forward::new(memory, trip, store, load, features).ok()?)
                });
            }
        }
    }
}
