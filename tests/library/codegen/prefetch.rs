//! Walks with software prefetches and an adjustable amount of work between the steps.

use iced_x86::Mnemonic;

use super::kernel::{Kernel, text};
use super::{Stated, stated};

pub const STATED: &[Stated] = &[
    stated("linefill_prefetch_none", 1, 0, 8, 0),
    stated("linefill_prefetch_none_serial", 1, 0, 8, 0),
    stated("linefill_prefetch_nta", 2, 0, 16, 0),
    stated("linefill_prefetch_nta_serial", 2, 0, 16, 0),
    stated("linefill_prefetch_t0", 2, 0, 16, 0),
    stated("linefill_prefetch_t0_serial", 2, 0, 16, 0),
    stated("linefill_prefetch_t1", 2, 0, 16, 0),
    stated("linefill_prefetch_t1_serial", 2, 0, 16, 0),
    stated("linefill_prefetch_t2", 2, 0, 16, 0),
    stated("linefill_prefetch_t2_serial", 2, 0, 16, 0),
    stated("linefill_prefetch_w", 2, 0, 16, 0),
    stated("linefill_prefetch_w_serial", 2, 0, 16, 0),
    stated("linefill_translate_load", 1, 0, 8, 0),
    stated("linefill_translate_prefetch", 0, 0, 0, 0),
];

#[test]
fn one_access_a_page_is_a_load_or_a_prefetch() {
    let load = Kernel::named("linefill_translate_load").texts();
    let prefetch = Kernel::named("linefill_translate_prefetch").texts();
    assert_eq!(load.len(), prefetch.len());
    let pairs = load.into_iter().zip(prefetch).filter(|(one, other)| one != other);
    let differing: Vec<_> = pairs.collect();
    let expected = ("mov r9,[rdi+rax]".to_owned(), "prefetcht0 [rdi+rax]".to_owned());
    assert_eq!(differing, [expected]);
}

#[test]
fn a_prefetch_differs_from_the_plain_walk_by_its_address_and_itself() {
    let texts = |name: &str| -> Vec<_> {
        let body = Kernel::named(name);
        body.innermost().unwrap().iter().map(text).collect()
    };
    for pace in ["", "_serial"] {
        let plain = texts(&format!("linefill_prefetch_none{pace}"));
        for (hint, instruction) in [
            ("t0", "prefetcht0"),
            ("t1", "prefetcht1"),
            ("t2", "prefetcht2"),
            ("nta", "prefetchnta"),
            ("w", "prefetchw"),
        ] {
            let mut code = texts(&format!("linefill_prefetch_{hint}{pace}"));
            let added: Vec<_> = code.drain(..2).collect();
            assert_eq!(added, ["mov r10,[rax+rdx]", &format!("{instruction} [r10]")]);
            assert_eq!(code, plain);
        }
    }
}

#[test]
fn serial_and_overlapped_walks_differ_in_one_register() {
    for kernel in Kernel::all() {
        if !kernel.name.starts_with("linefill_prefetch_") || kernel.name.ends_with("_serial") {
            continue;
        }
        let serial = Kernel::named(&format!("{}_serial", kernel.name));
        let pairs = kernel.texts().into_iter().zip(serial.texts());
        let differing: Vec<_> = pairs.filter(|(one, other)| one != other).collect();
        assert_eq!(differing, [("add r11,r8".to_owned(), "add rax,r8".to_owned())]);
        assert_eq!(kernel.code.len(), serial.code.len());
    }
}

/// The jump goes to a place `rcx` four-byte multiplications before the end.
#[test]
fn the_dial_enters_a_run_of_four_byte_multiplications_before_its_end() {
    for kernel in Kernel::all() {
        if !kernel.name.starts_with("linefill_prefetch_") {
            continue;
        }
        let run: Vec<_> = kernel.code.iter().filter(|i| i.mnemonic() == Mnemonic::Imul).collect();
        assert_eq!(run.len(), linefill::kernel::MOST_WORK as usize);
        assert!(run.iter().all(|imul| text(imul) == "imul r8d,r8d"));
        for (index, imul) in run.iter().enumerate() {
            assert_eq!(imul.ip(), run[0].ip() + 4 * index as u64);
        }
        let lea = kernel.code[0];
        assert_eq!(lea.mnemonic(), Mnemonic::Lea);
        let end = run[0].ip() + 4 * run.len() as u64;
        assert_eq!(lea.ip_rel_memory_address(), end);
        assert_eq!(text(&kernel.code[1]), "shl rcx,2");
        assert!(kernel.texts().contains(&"jmp r9".to_owned()));
    }
}
