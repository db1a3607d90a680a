//! Which caches the cores of a processor have to themselves: the arrangements of Drepper 3.5.3.

use super::Sysfs;
use crate::host::Arrangement;
use crate::os::root::Unreadable;

impl Sysfs {
    /// How the cores that are online share their caches. CPUs of whose cores the kernel tells
    /// nothing count as cores.
    ///
    /// # Errors
    /// [`Unreadable`] when the kernel does not describe the caches of a CPU that is online.
    pub fn arrangement(&self) -> Result<Arrangement, Unreadable> {
        let online = self.online()?;
        for cpu in &online {
            self.caches(*cpu)?;
        }
        // The list of CPUs is never empty.
        Ok(Arrangement::of(&self.seats(&online)).unwrap_or(Arrangement::OneCore))
    }
}
