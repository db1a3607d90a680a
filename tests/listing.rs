//! Code made at run time, decoded: it executes what its listing says, and nothing else.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Register,
};
use linefill::pattern::{Filler, LOOP, Listing};

/// A listing's instructions, written to the address 0.
fn decoded(listing: &Listing) -> Vec<Instruction> {
    let mut bytes = vec![0xCC; listing.bytes() + 3];
    listing.write(&mut bytes);
    // What lies behind the function is left alone.
    assert_eq!(bytes[listing.bytes()..], [0xCC; 3]);
    let code = &bytes[..listing.bytes()];
    Decoder::new(64, code, DecoderOptions::NONE)
        .iter()
        .collect()
}

/// The instructions that one round executes, found by following the code from the body on.
fn round(code: &[Instruction]) -> Vec<Instruction> {
    let at = |ip| {
        *code
            .iter()
            .find(|instruction| instruction.ip() == ip)
            .unwrap()
    };
    let mut executed = Vec::new();
    let mut ip = 64;
    loop {
        let instruction = at(ip);
        executed.push(instruction);
        ip = match instruction.flow_control() {
            FlowControl::Next => instruction.next_ip(),
            FlowControl::UnconditionalBranch => instruction.near_branch_target(),
            FlowControl::ConditionalBranch => {
                assert_eq!(instruction.near_branch_target(), 64);
                return executed;
            }
            other => panic!("{instruction}: {other:?}"),
        };
    }
}

fn listings() -> Vec<Listing> {
    let straight = Filler::ALL
        .into_iter()
        .flat_map(|filler| [1, 2, 5, 1000].map(|count| Listing::Straight { filler, count }));
    let jumps = [(1, 2), (7, 16), (300, 64), (3, 129)];
    straight
        .chain(jumps.map(|(count, spacing)| Listing::Jumps { count, spacing }))
        .collect()
}

#[test]
fn a_round_executes_as_many_instructions_as_stated() {
    for listing in listings() {
        let executed = round(&decoded(&listing));
        assert_eq!(executed.len() as u64, listing.instructions(), "{listing:?}");
        let (Listing::Straight { count, .. } | Listing::Jumps { count, .. }) = listing;
        assert_eq!(executed.len() as u64, count as u64 + LOOP);
    }
}

#[test]
fn the_code_touches_no_memory_and_no_register_of_its_caller() {
    let free = [
        Register::RAX,
        Register::RDI,
        Register::R8,
        Register::R9,
        Register::R10,
        Register::R11,
    ];
    let mut factory = InstructionInfoFactory::new();
    for listing in listings() {
        for instruction in round(&decoded(&listing)) {
            let info = factory.info(&instruction);
            assert!(info.used_memory().is_empty(), "{instruction}");
            for used in info.used_registers() {
                let register = used.register().full_register();
                assert!(free.contains(&register), "{instruction}");
            }
        }
    }
}

#[test]
fn instructions_have_the_length_they_are_named_after() {
    for (filler, bytes) in [
        (Filler::Nop1, 1),
        (Filler::Nop8, 8),
        (Filler::Move3, 3),
        (Filler::Prefixed5, 5),
    ] {
        assert_eq!(filler.bytes(), bytes);
        let listing = Listing::straight(filler, 1000);
        assert_eq!(listing.body(), 1000 / bytes * bytes);
        for instruction in &round(&decoded(&listing))[..1000 / bytes] {
            assert_eq!(instruction.len(), bytes);
        }
    }
    assert_eq!(Listing::straight(Filler::Nop8, 1).body(), 8);
}

#[test]
fn jumps_stand_as_far_apart_as_stated() {
    let listing = Listing::Jumps {
        count: 5,
        spacing: 64,
    };
    let executed = round(&decoded(&listing));
    let places: Vec<u64> = executed[..5].iter().map(Instruction::ip).collect();
    assert_eq!(places, [64, 128, 192, 256, 320]);
}

#[test]
#[should_panic(expected = "a short jump reaches 2 to 129 bytes further")]
fn a_jump_that_would_be_long_is_refused() {
    let listing = Listing::Jumps {
        count: 1,
        spacing: 130,
    };
    listing.write(&mut vec![0; listing.bytes()]);
}

/// What the code returns when it really runs.
#[cfg(feature = "std")]
#[test]
fn executed_code_counts_its_rounds() {
    use linefill::cpu::Features;
    use linefill::experiment::setup::RoutineSetup;
    use linefill::experiment::{Context, Setup, Subject};
    use linefill::mem::Region;

    let context = Context {
        features: Features::detect(),
    };
    let mut bytes = [0_u8; 128];
    for listing in listings() {
        let setup = RoutineSetup { listing };
        let region = Region::new(&mut bytes).unwrap();
        let Ok(Subject::Steady { mut kernel, .. }) = setup.prepare(region, &context) else {
            panic!("{listing:?} was not made ready");
        };
        assert_eq!(kernel.run(0), 0);
        assert_eq!(kernel.run(1), 1);
        assert_eq!(kernel.run(1000), 1000);
        assert_eq!(kernel.work().instructions, listing.instructions());
        kernel.trace(5, &mut |access| panic!("{access:?}"));
    }
}
