//! Memory on this machine: the tests check structure, but no speed.
#![cfg(feature = "std")]

use std::os::unix::process::ExitStatusExt;
use std::process::Output;

use crate::common::child;
use crate::common::untested;
use linefill::os::{Granted, Memory, MemoryError, Pages};

const SIGSEGV: i32 = 11;

#[test]
fn base_pages_are_zeroed_aligned_and_writable_to_the_last_byte() {
    for bytes in [1, 4095, 4096, 4097, 1 << 20, 5_000_000] {
        let mut memory = Memory::new(bytes, Pages::Base).unwrap();
        assert_eq!(memory.len(), bytes);
        assert_eq!(memory.mapped(), bytes.next_multiple_of(4096));
        assert_eq!(memory.as_slice().as_ptr().addr() % 4096, 0);
        assert!(memory.as_slice().iter().all(|byte| *byte == 0));
        memory.as_mut_slice().fill(0xA5);
        assert_eq!(memory.as_slice()[bytes - 1], 0xA5);
        assert_eq!(*memory.granted(), Granted::Base, "{bytes} bytes");
    }
}

#[test]
fn a_region_covers_the_bytes_with_whole_lines() {
    for (bytes, lines) in [(1, 1), (64, 1), (4096, 64), (4097, 65), (10_000, 157)] {
        let mut memory = Memory::new(bytes, Pages::Base).unwrap();
        let start = memory.as_slice().as_ptr().addr();
        let mut region = memory.region();
        assert_eq!(region.len(), lines * 64);
        assert_eq!(region.address(), start);
        region.bytes_mut().fill(3);
        assert!(memory.as_slice().iter().all(|byte| *byte == 3));
    }
}

#[test]
fn huge_pages_are_given_or_refused_with_a_reason() {
    match Memory::new(3 << 20, Pages::Huge) {
        Ok(mut memory) => {
            assert_eq!(memory.len(), 3 << 20);
            assert_eq!(memory.mapped(), 4 << 20);
            assert_eq!(memory.as_slice().as_ptr().addr() % (2 << 20), 0);
            memory.as_mut_slice().fill(1);
            match memory.granted() {
                Granted::Huge { .. } | Granted::Unknown(_) => {}
                Granted::Mixed { huge_bytes } => assert_eq!(*huge_bytes, 2 << 20),
                other => panic!("{other} must have been an error"),
            }
        }
        Err(error) => {
            untested::machine(&format!("huge pages: {error}"));
            assert!(matches!(error, MemoryError::NoHugePages(_)), "{error}");
        }
    }
}

#[test]
fn giant_pages_are_given_or_refused_with_a_reason() {
    match Memory::new(1 << 20, Pages::Giant) {
        Ok(memory) => {
            assert_eq!(memory.mapped(), 1 << 30);
            assert_eq!(memory.as_slice().as_ptr().addr() % (1 << 30), 0);
            assert!(
                matches!(memory.granted(), Granted::Giant | Granted::Unknown(_)),
                "{}",
                memory.granted()
            );
        }
        Err(error) => {
            untested::machine(&format!("giant pages: {error}"));
            assert!(error.to_string().contains("1 GiB"), "{error}");
        }
    }
}

#[test]
fn a_reservation_takes_memory_for_what_is_touched_alone() {
    let bytes = 1 << 36;
    let Ok(mut memory) = Memory::reserve(bytes) else {
        // The cause is RLIMIT_AS, or a kernel that accounts for reserved memory.
        return untested::machine("no reservation of 64 GiB");
    };
    assert_eq!((memory.len(), memory.mapped()), (bytes, bytes));
    let before = minor_faults();
    for gigabyte in 0..64 {
        let byte = &mut memory.as_mut_slice()[gigabyte << 30];
        assert_eq!(*byte, 0);
        *byte = 1;
    }
    let faults = minor_faults() - before;
    assert!(faults >= 64, "{faults} faults");
    assert!(matches!(Memory::reserve(0), Err(MemoryError::Empty)));
    assert!(matches!(Memory::reserve(usize::MAX - 4096), Err(MemoryError::Refused { .. })));
}

#[test]
fn pages_given_back_are_zero_and_fault_again() {
    let pages = 1000;
    let mut memory = Memory::new(pages * 4096, Pages::Base).unwrap();
    memory.as_mut_slice().fill(7);
    memory.give_back().unwrap();
    let before = minor_faults();
    assert!(memory.as_slice().iter().all(|byte| *byte == 0));
    let faults = minor_faults() - before;
    assert!(faults >= pages as u64, "{faults} faults");
}

#[test]
fn pages_populated_by_one_call_fault_no_more() {
    let pages = 1000;
    let mut memory = Memory::new(pages * 4096, Pages::Base).unwrap();
    memory.give_back().unwrap();
    if let Err(error) = memory.populate() {
        // Linux before 5.14 does not support this.
        assert_eq!(error.raw_os_error(), Some(22), "{error}");
        return untested::machine("pages are populated from Linux 5.14 on");
    }
    let before = minor_faults();
    memory.as_mut_slice().fill(7);
    let faults = minor_faults() - before;
    assert!(faults < pages as u64 / 2, "{faults} faults");
}

#[test]
fn mapped_and_populated_in_one_call() {
    let memory = linefill::os::Populated::map(10 << 20).unwrap();
    assert_eq!(memory.address() % 4096, 0);
    assert!(linefill::os::Populated::map(usize::MAX / 2).is_err());
}

#[test]
fn populated_memory_causes_no_more_faults() {
    let bytes = 16 << 20;
    let mut memory = Memory::new(bytes, Pages::Base).unwrap();
    let before = minor_faults();
    for byte in memory.as_mut_slice().iter_mut().step_by(4096) {
        *byte = 1;
    }
    let faults = minor_faults() - before;
    assert!(faults < 64, "{faults} faults over 4096 populated pages");
}

/// Field 10 of the thread's `stat`: the number of minor faults so far.
fn minor_faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    after_name.split_whitespace().nth(7).unwrap().parse().unwrap()
}

#[test]
fn nothing_and_too_much_are_refused_before_mapping() {
    assert_eq!(Memory::new(0, Pages::Base).unwrap_err(), MemoryError::Empty);
    for pages in [Pages::Base, Pages::Huge] {
        for bytes in [usize::MAX, 1 << 46] {
            let error = Memory::new(bytes, pages).unwrap_err();
            let MemoryError::TooLarge { requested, available } = error else {
                panic!("{error}");
            };
            assert_eq!(requested, bytes);
            assert!(available > 0 && available < 1 << 46);
        }
    }
}

/// The memory that is available does not include the pool, and says nothing of it.
#[test]
fn giant_pages_are_refused_by_their_pool_alone() {
    let error = Memory::new(1 << 46, Pages::Giant).unwrap_err();
    let MemoryError::NoGiantPages(why) = error else {
        panic!("{error}");
    };
    assert!(why.starts_with("hugetlb pool: "), "{why}");
}

/// In a separate process, because another thread could map memory at the same address.
#[test]
fn memory_moves_between_threads_and_is_given_back() {
    let output = rerun("child_moves_memory_between_threads", "");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "needs a process of its own; its parent test runs it"]
fn child_moves_memory_between_threads() {
    let lines = || std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut memory = Memory::new(1 << 20, Pages::Base).unwrap();
    let start = format!("{:x}-", memory.as_slice().as_ptr().addr());
    assert!(lines().lines().any(|line| line.starts_with(&start)));
    std::thread::spawn(move || memory.as_mut_slice()[0] = 1).join().unwrap();
    assert!(!lines().lines().any(|line| line.starts_with(&start)));
}

#[test]
fn locking_works_or_names_the_limit() {
    let memory = Memory::new(1 << 16, Pages::Base).unwrap();
    if let Err(refused) = memory.lock() {
        assert_eq!(refused.bytes, 1 << 16);
        assert!(refused.to_string().contains("RLIMIT_MEMLOCK"), "{refused}");
    }
}

#[test]
fn a_write_behind_the_end_is_a_segfault() {
    let output = rerun("child_writes_behind_the_end", "");
    assert_eq!(output.status.signal(), Some(SIGSEGV), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("last byte written"), "{output:?}");
}

#[test]
fn a_write_before_the_start_is_a_segfault() {
    let output = rerun("child_writes_before_the_start", "");
    assert_eq!(output.status.signal(), Some(SIGSEGV), "{output:?}");
}

#[test]
fn a_limit_on_address_space_is_named() {
    let output = rerun("child_asks_for_a_gibibyte", "ulimit -v 524288; ");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("address space is limited to 512 MiB (RLIMIT_AS"), "{text}");
    assert!(text.contains("1 GiB of memory refused by mmap"), "{text}");
}

#[test]
fn a_limit_on_locked_memory_is_named() {
    let output = rerun("child_locks_a_mebibyte", "ulimit -l 64; ");
    let text = String::from_utf8_lossy(&output.stdout);
    // A privileged process may lock more than the limit.
    assert!(
        text.contains("the limit is 64 KiB (RLIMIT_MEMLOCK") || text.contains("locked it"),
        "{text}"
    );
    assert!(output.status.success(), "{output:?}");
}

/// Runs one of the ignored tests below in a separate process, after `setup` in its shell.
fn rerun(test: &str, setup: &str) -> Output {
    child::after(&format!("ulimit -c 0; {setup}"), module_path!(), test).output().unwrap()
}

#[test]
#[ignore = "dies; its parent test runs it"]
fn child_writes_behind_the_end() {
    let mut memory = Memory::new(10_000, Pages::Base).unwrap();
    let mapped = memory.mapped();
    let start = memory.as_mut_slice().as_mut_ptr();
    // SAFETY: the last mapped byte belongs to this memory.
    unsafe { start.add(mapped - 1).write_volatile(1) };
    println!("last byte written");
    // SAFETY: this is unsound on purpose: the guard page must end this process here.
    unsafe { start.wrapping_add(mapped).write_volatile(1) };
}

#[test]
#[ignore = "dies; its parent test runs it"]
fn child_writes_before_the_start() {
    let mut memory = Memory::new(10_000, Pages::Base).unwrap();
    let start = memory.as_mut_slice().as_mut_ptr();
    // SAFETY: this is unsound on purpose: the guard page must end this process here.
    unsafe { start.wrapping_sub(1).write_volatile(1) };
}

#[test]
#[ignore = "needs a limit; its parent test runs it"]
fn child_asks_for_a_gibibyte() {
    println!("{}", Memory::new(1 << 30, Pages::Base).unwrap_err());
}

#[test]
#[ignore = "needs a limit; its parent test runs it"]
fn child_locks_a_mebibyte() {
    match Memory::new(1 << 20, Pages::Base).unwrap().lock() {
        Ok(()) => println!("locked it"),
        Err(refused) => println!("{refused}"),
    }
}
