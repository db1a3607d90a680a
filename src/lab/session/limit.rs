//! How large a working set may be.

use anyhow::{Result, bail};

use super::Request;
use crate::lab::size::show;

const MIB: u64 = 1 << 20;

/// The smallest limit accepted: with less, no walk leaves L1d.
const LEAST: u64 = 64 << 10;

/// The largest working set without a wish: twice that of the paper's figures.
const MOST: u64 = 1 << 30;

/// The largest working set in bytes: as asked for, or what leaves the rest of the machine alone.
/// `address_space` is RLIMIT_AS.
pub(super) fn largest(
    request: &Request,
    available: u64,
    address_space: Option<u64>,
) -> Result<u64> {
    let Some(asked) = request.memory else {
        // A case's memory is mapped in both sizes of pages, and the program needs some too.
        let quarter = available.min(address_space.unwrap_or(u64::MAX)) / 4;
        return Ok((MOST.min(quarter) / MIB * MIB).max(MIB));
    };
    let shown = show(asked as f64);
    if asked < LEAST {
        bail!(
            "--memory {shown} is below {}, the smallest useful limit",
            show(LEAST as f64)
        );
    }
    if asked > available {
        bail!(
            "--memory {shown} is more than the {} this machine has available",
            show(available as f64)
        );
    }
    match address_space {
        Some(limit) if asked > limit => bail!(
            "--memory {shown} is more than the address space this process may have: {} \
             (RLIMIT_AS, `ulimit -v`)",
            show(limit as f64)
        ),
        _ => Ok(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::session::Profile;

    fn with(memory: Option<u64>, profile: Profile) -> Request {
        Request {
            memory,
            profile,
            ..Request::default()
        }
    }

    #[test]
    fn without_a_wish_the_machine_keeps_three_quarters() {
        let quick = with(None, Profile::Quick);
        assert_eq!(largest(&quick, 64 << 30, None).unwrap(), 1 << 30);
        assert_eq!(largest(&quick, 2 << 30, None).unwrap(), 512 << 20);
        let limited = largest(&quick, 64 << 30, Some(512 << 20));
        assert_eq!(limited.unwrap(), 128 << 20);
        let full = with(None, Profile::Full);
        assert_eq!(largest(&full, 64 << 30, None).unwrap(), 1 << 30);
    }

    #[test]
    fn a_wish_beyond_the_machine_is_refused_with_both_values() {
        let asked = with(Some(8 << 30), Profile::Quick);
        let error = largest(&asked, 4 << 30, None).unwrap_err().to_string();
        assert!(
            error.contains("8 GiB") && error.contains("4 GiB"),
            "{error}"
        );
        let error = largest(&asked, 16 << 30, Some(512 << 20)).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("512 MiB") && error.contains("RLIMIT_AS"),
            "{error}"
        );
        assert!(largest(&with(Some(1), Profile::Quick), 1 << 30, None).is_err());
        assert_eq!(largest(&asked, 16 << 30, None).unwrap(), 8 << 30);
    }
}
