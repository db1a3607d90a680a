//! Tests of code that faults, loops, stops or writes too much.

#![allow(unsafe_code)]

use super::*;
use crate::os::{Code, Pages};

const PATIENCE: Duration = Duration::from_secs(20);

fn tried(work: impl FnOnce(&'static Marks) -> Vec<u8>) -> Ending {
    trial(PATIENCE, &AtomicBool::new(false), work).unwrap()
}

/// Runs machine code whose fault is to be reported.
fn of(bytes: &'static [u8], argument: u64) -> Ending {
    tried(move |marks| {
        let code = Code::new(bytes.len(), Pages::Base, |at| at.copy_from_slice(bytes)).unwrap();
        marks.code(code.bytes());
        marks.memory(0x1000, 64);
        // SAFETY: the code runs in a child process, which it may damage.
        unsafe { code.call(0, argument) }.to_le_bytes().into()
    })
}

#[test]
fn what_the_work_gives_comes_back() {
    let long = vec![7; 1 << 20];
    let sent = long.clone();
    assert_eq!(tried(|_| sent), Ending::Done(long));
    // lea rax, [rdi + 1]; ret
    let one_more = of(&[0x48, 0x8D, 0x47, 0x01, 0xC3], 41);
    assert_eq!(one_more, Ending::Done(42_u64.to_le_bytes().into()));
    assert!(tried(|_| vec![7; MOST + 1]) == Ending::TooLong);
}

#[test]
fn a_fault_is_told_by_signal_address_and_instruction() {
    // nop; mov rax, [rdi]; ret
    let Ending::Fault(fault) = of(&[0x90, 0x48, 0x8B, 0x07, 0xC3], 0x1050) else {
        panic!("nobody may read there");
    };
    assert_eq!((fault.signal, fault.offset), (libc::SIGSEGV, Some(1)));
    assert_eq!((fault.address, fault.memory), (Some(0x1050), Some((0x50, 64))));
    let Ending::Fault(fault) = of(&[0x0F, 0x0B], 0) else {
        panic!("ud2 is no instruction");
    };
    assert_eq!((fault.signal, fault.offset, fault.address), (libc::SIGILL, Some(0), None));
    let Ending::Fault(fault) = of(&[0x48, 0x8B, 0x07, 0xC3], 1 << 62) else {
        panic!("that is no canonical address");
    };
    assert_eq!((fault.signal, fault.address), (libc::SIGSEGV, None));
    // mov rsp, rdi; push rax: rsp does not point to a stack.
    let Ending::Fault(fault) = of(&[0x48, 0x89, 0xFC, 0x50], 0x1000) else {
        panic!("there is no stack");
    };
    assert_eq!((fault.address, fault.memory), (Some(0xFF8), Some((-8, 64))));
}

#[test]
fn other_ends_are_told_apart() {
    // SAFETY: ends the child.
    assert_eq!(tried(|_| unsafe { libc::_exit(9) }), Ending::Left(9));
    let killed = tried(|_| {
        // SAFETY: the call takes a number, and kills only the child.
        unsafe { libc::raise(libc::SIGKILL) };
        Vec::new()
    });
    assert_eq!(killed, Ending::Killed(libc::SIGKILL));
    let endless = |patience, stop: bool| {
        let stop = AtomicBool::new(stop);
        // jmp .
        trial(patience, &stop, |_| {
            let code = Code::new(2, Pages::Base, |at| at.copy_from_slice(&[0xEB, 0xFE]));
            // SAFETY: the code never returns, and is killed.
            unsafe { code.unwrap().call(0, 0) }.to_le_bytes().into()
        })
        .unwrap()
    };
    assert_eq!(endless(Duration::from_millis(200), false), Ending::Late);
    assert_eq!(endless(PATIENCE, true), Ending::Stopped);
}

#[test]
fn code_that_closes_its_output_and_goes_on_is_given_up() {
    let silent = |patience, stop: bool| {
        let stop = AtomicBool::new(stop);
        trial(patience, &stop, |_| {
            let began = Instant::now();
            for descriptor in 0..1024 {
                // SAFETY: the child has no other use for its descriptors.
                unsafe { libc::close(descriptor) };
            }
            while began.elapsed() < PATIENCE {
                std::hint::spin_loop();
            }
            Vec::new()
        })
        .unwrap()
    };
    assert_eq!(silent(Duration::from_millis(200), false), Ending::Late);
    assert_eq!(silent(PATIENCE / 2, true), Ending::Stopped);
}
