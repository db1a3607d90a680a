//! A name that is no event.

use core::fmt;

use super::{events, find, letters};
use crate::cpu::Text;
use crate::pmu::Microarch;

/// A name that the table of a core does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownEvent {
    /// The name, as far as it is no longer than any event's.
    pub name: Text<72>,
    /// The core.
    pub microarch: Microarch,
    /// The event of this core whose name begins most like it.
    pub nearest: Option<&'static str>,
}

/// Letters that names must share to be near: less is chance.
const SHARED: usize = 4;

impl UnknownEvent {
    pub(super) fn new(name: &str, microarch: Microarch) -> Self {
        let shared = |other: &str| {
            let pairs = letters(name).zip(letters(other));
            pairs.take_while(|(one, other)| one == other).count()
        };
        let nearest = events(microarch).max_by_key(|event| shared(event.name));
        UnknownEvent {
            name: Text::new(name.as_bytes()),
            microarch,
            nearest: nearest
                .map(|event| event.name)
                .filter(|nearest| shared(nearest) >= SHARED),
        }
    }

    /// The cores that do count an event of this name.
    pub fn elsewhere(&self) -> impl Iterator<Item = Microarch> {
        let known = |core: &Microarch| find(&self.name, *core).is_some();
        Microarch::all().filter(known)
    }
}

impl fmt::Display for UnknownEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, core) = (&*self.name, self.microarch.name());
        write!(f, "{core} has no event \"{name}\" in the tables")?;
        if let Some(nearest) = self.nearest {
            write!(f, "; the nearest is {nearest}")?;
        }
        for (number, core) in self.elsewhere().enumerate() {
            let before = if number == 0 { "; counted on " } else { ", " };
            write!(f, "{before}{}", core.name())?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownEvent {}
