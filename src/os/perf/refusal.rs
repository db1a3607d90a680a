//! Why the kernel does not count.

use std::io;

use crate::host::Refusal;

/// What an answer of `perf_event_open` means (its manual page, section ERRORS).
pub(super) fn explain(error: &io::Error, paranoid: Option<i64>) -> Refusal {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => Refusal::NoPmu,
        Some(libc::EACCES) => Refusal::Paranoid(paranoid),
        // User mode may be counted up to 2; distributions add 3 and 4, which answer EPERM too.
        Some(libc::EPERM) if paranoid.is_none_or(|value| value > 2) => Refusal::Paranoid(paranoid),
        Some(libc::EPERM | libc::ENOSYS) => Refusal::Sandbox,
        Some(libc::EINVAL) => Refusal::Event,
        Some(libc::EBUSY) => Refusal::Busy,
        _ => Refusal::Other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_has_its_meaning() {
        let meaning = |code, setting| explain(&io::Error::from_raw_os_error(code), setting);
        assert_eq!(meaning(libc::ENOENT, Some(2)), Refusal::NoPmu);
        assert_eq!(meaning(libc::ENODEV, Some(2)), Refusal::NoPmu);
        assert_eq!(meaning(libc::EOPNOTSUPP, Some(2)), Refusal::NoPmu);
        assert_eq!(meaning(libc::EACCES, Some(4)), Refusal::Paranoid(Some(4)));
        assert_eq!(meaning(libc::EACCES, None), Refusal::Paranoid(None));
        assert_eq!(meaning(libc::EPERM, Some(3)), Refusal::Paranoid(Some(3)));
        assert_eq!(meaning(libc::EPERM, Some(1)), Refusal::Sandbox);
        assert_eq!(meaning(libc::ENOSYS, Some(1)), Refusal::Sandbox);
        assert_eq!(meaning(libc::EINVAL, Some(1)), Refusal::Event);
        assert_eq!(meaning(libc::EBUSY, Some(1)), Refusal::Busy);
        let other = meaning(libc::EMFILE, Some(1));
        assert!(
            matches!(&other, Refusal::Other(text) if text.contains("24")),
            "{other}"
        );
    }

    #[test]
    fn a_refusal_names_the_setting_and_its_mend() {
        let refusal = Refusal::Paranoid(Some(4));
        assert_eq!(
            refusal.to_string(),
            "kernel.perf_event_paranoid=4 forbids it"
        );
        assert_eq!(refusal.mend(), "sudo sysctl kernel.perf_event_paranoid=1");
    }
}
