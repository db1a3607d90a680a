//! Kernels on pages with two addresses: their results, and the accesses that they report.
#![cfg(feature = "std")]

use crate::common::untested;
use linefill::cpu::Features;
use linefill::experiment::topics::tlb::aliases::{
    HandoverSetup, PatchSetup, Patched, SynonymSetup,
};
use linefill::experiment::{Context, Linux, Setup, Workload};
use linefill::kernel::Kernel;
use linefill::mem::Region;
use linefill::os::allowed;

/// Passes the kernel of `setup` to `then`, or reports why there is none.
fn with_kernel(setup: impl Setup, then: impl FnOnce(&mut dyn Kernel)) {
    let context = Context { features: Features::detect(), host: &Linux };
    let mut bytes = [0; 128];
    match setup.prepare(Region::new(&mut bytes).unwrap(), &context) {
        Ok(Workload::Steady { mut kernel, .. }) => then(kernel.as_mut()),
        Ok(other) => panic!("{other:?}"),
        Err(reason) => untested::machine(&reason.to_string()),
    }
}

#[test]
fn a_patched_function_returns_what_was_written() {
    with_kernel(PatchSetup { patched: Patched::Code }, |kernel| {
        assert_eq!(kernel.run(4), 1 + 2 + 3);
        kernel.trace(2, &mut |access| assert_eq!((access.offset, access.bytes), (0, 1)));
        assert_eq!(kernel.run(2), 6 + 7);
    });
}

#[test]
fn data_beside_the_code_changes_nothing() {
    for patched in [Patched::SameLine, Patched::SamePage, Patched::OtherPage] {
        with_kernel(PatchSetup { patched }, |kernel| {
            assert_eq!(kernel.run(300), 300 * 7);
            assert_eq!(kernel.run(0), 0);
        });
    }
}

#[test]
fn a_line_with_two_addresses_is_one_line() {
    for two in [false, true] {
        with_kernel(SynonymSetup { two }, |kernel| {
            assert_eq!(kernel.run(0), 0);
            assert_eq!(kernel.run(3), 1);
            let mut places = Vec::new();
            kernel.trace(3, &mut |access| places.push(access.offset));
            assert_eq!(places, [8, 0, 8]);
            assert_eq!(kernel.run(1), 1);
            assert_eq!(kernel.run(1001), 0);
        });
    }
}

/// Every number arrives, and nothing else is executed, whichever thread runs first. The two threads may share
/// a CPU here.
#[test]
fn numbers_come_from_another_thread_by_code_and_by_data() {
    let other = Some(allowed()[0]);
    for into_code in [true, false] {
        with_kernel(HandoverSetup { into_code, other }, |kernel| {
            assert_eq!(kernel.run(0), 0);
            assert_eq!(kernel.run(3), 3);
            let mut stores = 0;
            kernel.trace(2, &mut |access| {
                assert_eq!((access.offset, access.bytes), (0, 4));
                stores += 1;
            });
            assert_eq!((stores, kernel.work().stores), (2, 1));
            assert_eq!(kernel.run(50), 55);
        });
    }
}

#[test]
fn one_core_alone_is_a_reason() {
    let setup = HandoverSetup { into_code: true, other: None };
    let context = Context { features: Features::detect(), host: &Linux };
    let mut bytes = [0; 128];
    let refused = setup.prepare(Region::new(&mut bytes).unwrap(), &context);
    assert!(refused.unwrap_err().to_string().contains("needs two cores"));
}
