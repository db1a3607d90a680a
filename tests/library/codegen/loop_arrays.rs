//! A loop over an array, compiled by the installed gcc, makes the accesses of its model.
#![cfg(feature = "std")]

use linefill::cpu::Features;
use linefill::experiment::topics::prefetch::loop_arrays::{Compiled, SumSetup};
use linefill::experiment::{Context, Linux, Setup, Workload};
use linefill::mem::{LINE, Region};

use crate::common::untested;

/// The sum of some lines, from compiled code and from its model: line by line, and around the end.
#[test]
fn the_compiled_sum_is_that_of_its_model() {
    if !untested::starts("gcc") {
        return;
    }
    let context = Context { features: Features::detect(), host: &Linux };
    for compiled in [Compiled::Plain, Compiled::Prefetching, Compiled::LeftOut] {
        let setup = SumSetup { bytes: 40 * LINE, compiled };
        let mut bytes = [vec![0; 42 * LINE], vec![0; 42 * LINE]];
        let kernels = bytes.each_mut().map(|bytes| {
            let prepared = setup.prepare(Region::new(bytes).unwrap(), &context);
            match prepared {
                Ok(Workload::Steady { kernel, .. }) => Some(kernel),
                Ok(other) => panic!("{other:?}"),
                Err(reason) => {
                    untested::machine(&reason.to_string());
                    None
                }
            }
        });
        let [Some(mut sum), Some(mut model)] = kernels else {
            return;
        };
        for lines in [0, 1, 7, 40, 100] {
            let mut loads = 0;
            let expected = model.trace(lines, &mut |access| {
                assert!(access.offset + access.bytes as usize <= setup.bytes);
                loads += 1;
            });
            assert_eq!(loads, lines * LINE as u64 / 4);
            assert_eq!(sum.run(lines), expected, "{lines} lines, {compiled:?}");
        }
    }
}
