//! Code that is generated at run time: it runs, it can be patched through its second address, and no address
//! is writable and executable at the same time.
#![cfg(feature = "std")]
// The tests call code that they wrote.
#![allow(unsafe_code)]

use std::fs;
use std::process::Stdio;
use std::sync::atomic::Ordering;

use crate::common::child;
use crate::common::untested;
use linefill::host::Alias as _;
use linefill::os::code::{Alias, Code, View};
use linefill::os::{Memory, Pages};

/// `mov eax, value; ret`.
fn returning(value: u8) -> [u8; 6] {
    [0xB8, value, 0, 0, 0, 0xC3]
}

/// The permissions of the mapping that holds `address`: `r-xp`.
fn permissions(address: usize) -> String {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let found = maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let bound = |text| usize::from_str_radix(text, 16).unwrap();
        (bound(from)..bound(to)).contains(&address).then(|| rest[..4].to_owned())
    });
    found.expect("the address is mapped")
}

#[test]
fn code_is_written_first_and_executable_ever_after() {
    for pages in [Pages::Base, Pages::Huge] {
        if pages == Pages::Huge && Memory::new(1, pages).is_err() {
            untested::machine("no huge pages");
            continue;
        }
        let code = Code::new(16, pages, |bytes| {
            bytes[..6].copy_from_slice(&returning(7));
            bytes[8..14].copy_from_slice(&returning(9));
        })
        .unwrap();
        assert_eq!(permissions(code.bytes().as_ptr().addr()), "r-xp");
        // SAFETY: at both offsets is a function that returns a constant.
        let returned = unsafe { [code.call(0, 0), code.call(8, 0)] };
        assert_eq!(returned, [7, 9]);
    }
}

#[test]
fn a_patch_through_the_first_view_is_executed_in_the_second() {
    let mut alias = Alias::new(100, View::Code).unwrap();
    assert_eq!(alias.word(0).load(Ordering::Relaxed), 0, "fresh pages");
    assert_eq!(alias.word(4).load(Ordering::Relaxed), 0, "fresh pages");
    assert_eq!(alias.len(), 4096);
    assert_eq!(permissions(alias.first().addr()), "rw-s");
    assert_eq!(permissions(alias.second().addr()), "r-xs");
    for value in [1, 2, 3] {
        alias.write(64, &returning(value));
        // SAFETY: a function that returns a constant was just written there.
        assert_eq!(unsafe { alias.function(64)(0) }, u64::from(value));
    }
}

#[test]
fn data_has_two_addresses() {
    let mut alias = Alias::new(8192, View::Data).unwrap();
    assert_ne!(alias.first(), alias.second());
    alias.write(4096, &[5]);
    // SAFETY: both views are 8192 readable and writable bytes.
    let seen = unsafe {
        alias.second().write(6);
        [alias.second().add(4096).read(), alias.first().read()]
    };
    assert_eq!(seen, [5, 6]);
}

#[test]
#[should_panic(expected = "2 bytes at 4095 do not fit into 4096")]
fn a_patch_that_does_not_fit_is_refused() {
    Alias::new(1, View::Code).unwrap().write(4095, &[0, 0]);
}

#[test]
#[should_panic(expected = "no code at 0")]
fn data_is_not_called() {
    let alias = Alias::new(1, View::Data).unwrap();
    alias.function(0);
}

#[test]
fn a_word_of_the_first_view_is_seen_in_the_second() {
    let mut alias = Alias::new(1, View::Code).unwrap();
    alias.write(3, &returning(0));
    alias.word(4).store(0x0102_0304, std::sync::atomic::Ordering::Release);
    // SAFETY: a function that returns a constant starts at 3, and its number at 4.
    assert_eq!(unsafe { alias.function(3)(0) }, 0x0102_0304);
}

#[test]
#[should_panic(expected = "no aligned word of 4 bytes at 2")]
fn a_word_across_two_places_is_refused() {
    Alias::new(1, View::Code).unwrap().word(2);
}

/// The environment variable of the process that will be killed.
const VICTIM: &str = "LINEFILL_TEST_MAKES_CODE";

/// Not a test: repeatedly makes code of both kinds until the process is killed.
#[test]
#[ignore = "the process that the next test kills"]
fn makes_code_until_it_is_killed() {
    while std::env::var_os(VICTIM).is_some() {
        let code = Code::new(4096, Pages::Base, |bytes| {
            bytes[..6].copy_from_slice(&returning(7));
        });
        // SAFETY: the code is a function that returns a constant.
        assert_eq!(unsafe { code.unwrap().call(0, 0) }, 7);
        let mut alias = Alias::new(4096, View::Code).unwrap();
        for value in 0..50 {
            alias.write(64, &returning(value));
            // SAFETY: as above.
            assert_eq!(unsafe { alias.function(64)(0) }, u64::from(value));
        }
    }
}

/// A process that makes, executes and patches code may be killed at any time. It must have no page that is
/// writable and executable, and its pages must have no file name, so that nothing remains.
#[test]
fn a_process_killed_while_code_is_live_leaves_nothing_writable_and_executable() {
    let mut seen = [false; 2];
    for _ in 0..3 {
        let mut victim = child::exact(module_path!(), "makes_code_until_it_is_killed")
            .env(VICTIM, "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let path = format!("/proc/{}/maps", victim.id());
        // Looks at the process until both views of patched code were seen, and at least 200 times.
        let mut looks = 0;
        let mut alive = [false; 2];
        while looks < 200 || (alive != [true; 2] && looks < 1_000_000) {
            looks += 1;
            let maps = fs::read_to_string(&path).unwrap();
            for line in maps.lines() {
                let permissions = line.split(' ').nth(1).unwrap();
                assert!(!(permissions.contains('w') && permissions.contains('x')), "{line}");
                if line.contains("memfd:linefill") {
                    assert!(line.ends_with("(deleted)"), "{line}");
                    alive[0] |= permissions == "rw-s";
                    alive[1] |= permissions == "r-xs";
                }
            }
        }
        seen = alive;
        victim.kill().unwrap();
        let status = victim.wait().unwrap();
        assert_eq!(status.code(), None, "it ended by itself: {status}");
    }
    assert_eq!(seen, [true; 2], "no code was live while it was looked at");
}
