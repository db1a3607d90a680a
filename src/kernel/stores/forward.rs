//! A store, then a load of the stored value: forwarding from the store queue, and its failures (Intel
//! Optimization Reference Manual, "Store Forwarding"; AMD Software Optimization Guide for family
//! 19h, section on the load-store unit).

// Calls assembly with addresses inside the region.
#![allow(unsafe_code)]

use crate::cpu::Features;
use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Kernel, Work};
use crate::mem::Region;

/// How a value is passed through memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Passing {
    /// With one store and one load.
    One,
    /// With two adjacent stores and one load.
    Two,
    /// With one store and one load that have the same address operand, so that a renamer can see that the
    /// addresses are equal.
    Renamed,
    /// With a store from a vector register and a load into a general register, and a `movq` back.
    General,
}

/// The sizes of a round trip's accesses, and how it passes the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trip {
    /// Bytes per store.
    pub store: usize,
    /// Bytes of the load.
    pub load: usize,
    /// How the value is passed.
    pub passing: Passing,
}

impl Trip {
    /// Creates a trip with one store of `store` bytes and one load of `load` bytes.
    pub const fn new(store: usize, load: usize) -> Self {
        Trip { store, load, passing: Passing::One }
    }

    /// Returns the same trip with another passing.
    pub const fn by(self, passing: Passing) -> Self {
        Trip { passing, ..self }
    }

    /// Bytes that the stores write in total, side by side.
    pub const fn written(&self) -> usize {
        match self.passing {
            Passing::Two => self.store.saturating_mul(2),
            _ => self.store,
        }
    }

    /// Bytes of the widest access.
    const fn widest(&self) -> usize {
        if self.store > self.load { self.store } else { self.load }
    }
}

/// A trip, the symbol of its kernel, and the kernel.
struct Route {
    trip: Trip,
    name: &'static str,
    kernel: Trips,
}

/// Defines the kernels and the table of them.
macro_rules! routes {
    ($($passing:ident $store:literal $load:literal $name:ident,)*) => {
        /// All trips that have a kernel.
        static ROUTES: [Route; 37] = [$(Route {
            trip: Trip::new($store, $load).by(Passing::$passing),
            name: stringify!($name),
            kernel: $name,
        }),*];

        family! {
            /// The function type of all round trips. The numbers in a name are the bytes stored and the bytes
            /// loaded.
            ///
            /// Returns the low 8 bytes of the value after the last trip.
            ///
            /// # Safety
            /// Let S and L be the two numbers in the name. S bytes from `store` on are valid for writes, and L
            /// bytes from `load` bytes after `store` are valid for reads. In the kernels with two stores (`_two`),
            /// S bytes from `second` bytes after `store` are valid for writes. `trips` is not 0. The CPU has AVX2
            /// if one of the numbers is 32, and AVX-512 if one is 64.
            pub type Trips = unsafe extern "sysv64" fn(
                store: *mut u8,
                load: isize,
                trips: u64,
                value: u64,
                second: isize,
            ) -> u64;

            $($name)*
        }
    };
}

routes! {
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
}

impl Route {
    /// Returns the kernel of `trip`, if it exists and `features` support it.
    fn of(trip: Trip, features: Features) -> Result<&'static Route, ForwardError> {
        let route =
            ROUTES.iter().find(|route| route.trip == trip).ok_or(ForwardError::NoSuchTrip(trip))?;
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

/// Why a value cannot be passed through memory with some [`Trip`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForwardError {
    /// No kernel makes this trip.
    NoSuchTrip(Trip),
    /// The CPU lacks accesses of this many bytes.
    TooWide(usize),
    /// An access does not lie in the region, or a trip of [`Passing::Renamed`] has a load at another
    /// address than the store.
    Outside {
        /// Byte offset of the store.
        store: usize,
        /// Distance in bytes from the store to the load.
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

/// Stores and loads a value repeatedly. An operation is a round trip.
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

/// The initial value, in which all bytes differ.
const FIRST: u64 = 0x0807_0605_0403_0201;

impl<'m> Forward<'m> {
    /// Stores to byte `store` of the region and loads `load` bytes after it.
    ///
    /// # Errors
    /// If there is no such kernel, the CPU lacks its instructions, an access does not lie in the region,
    /// or `load` is not 0 for [`Passing::Renamed`].
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
        Ok(Forward { region, trip, kernel, store, load, value: FIRST })
    }
}

impl Kernel for Forward<'_> {
    /// Returns the low 8 bytes of the value after the last trip. A call with operations first adds their
    /// number to these 8 bytes, and repeats the sum over a wider value.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            let value = self.value.wrapping_add(operations);
            let second = self.trip.store as isize;
            let at = self.region.bytes_mut()[self.store..].as_mut_ptr();
            // SAFETY: `new` has checked that all accesses lie in the region, which is borrowed
            // mutably, and that the CPU has the instructions; the second store is adjacent to the
            // first.
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

impl Oracle<'_, '_> {
    pub(crate) fn forwards(&mut self, features: Features) {
        for route in &ROUTES {
            let trip = route.trip;
            if Route::of(trip, features).is_err() {
                continue;
            }
            // Load distances: the same address, one shared byte at either end, the upper part, no
            // shared byte. Stores: within a line, across two lines, across two pages.
            let (store, load) = (trip.store as isize, trip.load as isize);
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
