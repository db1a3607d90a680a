//! Decodes code that is generated at run time: it must execute exactly what its listing says.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    Register, UsedMemory,
};
use linefill::pattern::{
    Behind, Between, Blocks, Callers, Filler, Indirect, LOOP, Listing, Nested, Window,
};

/// A listing's instructions, assembled for address 0.
fn decoded(listing: &Listing) -> Vec<Instruction> {
    let mut bytes = vec![0xCC; listing.bytes() + 3];
    listing.write(&mut bytes);
    // The bytes after the function must not change.
    assert_eq!(bytes[listing.bytes()..], [0xCC; 3]);
    let code = &bytes[..listing.bytes()];
    Decoder::new(64, code, DecoderOptions::NONE).iter().collect()
}

/// The instructions that one round executes, found by following the code from the start of the body.
fn round(code: &[Instruction]) -> Vec<Instruction> {
    let at = |ip| *code.iter().find(|instruction| instruction.ip() == ip).unwrap();
    let mut executed = Vec::new();
    let mut stack = Vec::new();
    let mut ip = 64;
    // The address that the last `lea` computed.
    let mut formed = 0;
    loop {
        let instruction = at(ip);
        executed.push(instruction);
        if instruction.mnemonic() == Mnemonic::Lea {
            formed = instruction.ip_rel_memory_address();
        }
        ip = match instruction.flow_control() {
            FlowControl::Next => instruction.next_ip(),
            FlowControl::UnconditionalBranch => instruction.near_branch_target(),
            FlowControl::IndirectBranch => formed,
            FlowControl::Call => {
                stack.push(instruction.next_ip());
                instruction.near_branch_target()
            }
            FlowControl::Return => stack.pop().unwrap(),
            // The code tests the number of rounds, which is not 0.
            FlowControl::ConditionalBranch => match instruction.mnemonic() {
                Mnemonic::Je => instruction.next_ip(),
                Mnemonic::Jne => instruction.near_branch_target(),
                _ => {
                    assert_eq!(instruction.near_branch_target(), 64);
                    return executed;
                }
            },
            other => panic!("{instruction}: {other:?}"),
        };
    }
}

fn indirect() -> impl Iterator<Item = Indirect> {
    [1, 2, 16, 256].into_iter().flat_map(|count| {
        [Behind::Undefined, Behind::Straight].map(|behind| Indirect { count, behind })
    })
}

fn listings() -> Vec<Listing> {
    let straight = Filler::ALL
        .into_iter()
        .flat_map(|filler| [1, 2, 5, 1000].map(|count| Listing::Straight { filler, count }));
    let jumps = [(1, 2), (7, 16), (300, 64), (3, 129)];
    straight
        .chain(jumps.map(|(count, spacing)| Listing::Jumps { count, spacing }))
        .chain(callers().map(Listing::Callers))
        .chain(blocks().map(Listing::Blocks))
        .chain(indirect().map(Listing::Indirect))
        .chain([1, 2, 40].map(|depth| Listing::Nested(Nested { depth })))
        .chain(windows().map(Listing::Window))
        .collect()
}

fn windows() -> impl Iterator<Item = Window> {
    let counts = [0, 1, 5, 300].into_iter();
    counts.flat_map(|count| Between::ALL.map(|between| Window { between, count }))
}

/// Pairs of programs: the candidate inlined, then called.
fn callers() -> impl Iterator<Item = Callers> {
    let sizes = [(1, 0, 1), (2, 8, 64), (7, 3, 5), (64, 8, 64), (40, 1, 2)];
    let programs =
        sizes.map(|(count, own, candidate)| Callers { count, own, candidate, inlined: true });
    programs.into_iter().flat_map(|program| {
        let called = Callers { inlined: false, ..program };
        [program, called]
    })
}

/// Pairs of programs: the cold code inside the hot code, then moved away.
fn blocks() -> impl Iterator<Item = Blocks> {
    let sizes = [(1, 1, 1), (5, 4, 12), (300, 0, 20)];
    let programs = sizes.map(|(count, hot, cold)| Blocks { count, hot, cold, moved: false });
    programs.into_iter().flat_map(|program| {
        let moved = Blocks { moved: true, ..program };
        [program, moved]
    })
}

#[test]
fn a_round_executes_as_many_instructions_as_stated() {
    for listing in listings() {
        let executed = round(&decoded(&listing));
        assert_eq!(executed.len() as u64, listing.instructions(), "{listing:?}");
        let body = match listing {
            Listing::Straight { count, .. } | Listing::Jumps { count, .. } => count,
            // A call and a return per function; without inlining also a call and a return per candidate.
            Listing::Callers(program) if program.inlined => {
                program.count * (program.own + program.candidate + 2)
            }
            Listing::Callers(program) => program.count * (program.own + program.candidate + 4),
            Listing::Blocks(program) => program.count * (program.hot + 2),
            Listing::Indirect(program) => 2 * program.count,
            Listing::Nested(program) => 2 * program.depth,
            // The start of the chain, its square roots, and the load that depends on it.
            Listing::Window(program) => {
                let waiting = if program.between == Between::Loads { 2 } else { 0 };
                3 + 24 + waiting + program.count
            }
        };
        assert_eq!(executed.len() as u64, body as u64 + LOOP);
    }
}

/// Table 6.3: f1 + f2 + 2 inlcand, or f1 + f2 + 1 inlcand, without the calls.
#[test]
fn inlining_takes_the_size_of_the_candidate_at_every_further_place() {
    const CALL: usize = 5;
    const RETURN: usize = 1;
    for (inlined, called) in callers().zip(callers().skip(1)).step_by(2) {
        let candidate = called.candidate * 8;
        assert_eq!(called.shared(), candidate + RETURN);
        let own = called.function() - CALL;
        assert_eq!(inlined.functions(), called.count * (own + candidate));
        let calls = called.count * CALL + RETURN;
        assert_eq!(called.functions(), called.count * own + candidate + calls);
        let (all, all_called) = (Listing::Callers(inlined), Listing::Callers(called));
        let (bytes, bytes_called) = (all.bytes(), all_called.bytes());
        assert_eq!(bytes + called.functions(), bytes_called + inlined.functions());
    }
}

/// Every function must be called once, and never directly after its neighbour if there are other functions.
#[test]
fn functions_are_called_in_another_order_than_they_lie_in() {
    for program in callers() {
        let executed = round(&decoded(&Listing::Callers(program)));
        let behind = 64 + program.count as u64 * 5;
        let called: Vec<u64> = executed
            .iter()
            .filter(|i| i.flow_control() == FlowControl::Call && i.ip() < behind)
            .map(Instruction::near_branch_target)
            .collect();
        let mut places = called.clone();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), program.count);
        if program.count > 3 {
            let size = program.function() as u64;
            assert!(called.windows(2).all(|pair| pair[1] != pair[0] + size));
        }
    }
}

/// Cold code must never be executed. If moved, it must follow the return, and the hot path must have no taken
/// branch except the loop's.
#[test]
fn cold_code_is_skipped_or_out_of_the_way() {
    for program in blocks() {
        let code = decoded(&Listing::Blocks(program));
        let executed = round(&code);
        let conditional = |i: &&Instruction| matches!(i.mnemonic(), Mnemonic::Je | Mnemonic::Jne);
        let branches: Vec<_> = executed.iter().filter(conditional).collect();
        assert_eq!(branches.len(), program.count);
        let ret = code.iter().find(|i| i.mnemonic() == Mnemonic::Ret).unwrap();
        for branch in branches {
            let taken = branch.mnemonic() == Mnemonic::Jne;
            assert_eq!(taken, !program.moved);
            let cold = if taken { branch.next_ip() } else { branch.near_branch_target() };
            assert_eq!(cold > ret.ip(), program.moved);
            let nops = code.iter().skip_while(|i| i.ip() != cold);
            let nops: Vec<_> = nops.take(program.cold + 1).collect();
            assert!(nops[..program.cold].iter().all(|i| i.len() == 8));
            let (after, hot) = (nops[program.cold], branch.next_ip());
            if program.moved {
                // A jump back to the hot path.
                assert_eq!(after.near_branch_target(), hot);
            } else {
                assert_eq!(after.ip(), branch.near_branch_target());
            }
        }
    }
}

/// Vector registers that a callee may change.
const ZMM: [Register; 3] = [Register::ZMM0, Register::ZMM1, Register::ZMM2];

/// A window may access only the word that it loads, and the red zone below the stack pointer, which signal
/// handlers do not overwrite.
#[test]
fn a_window_stays_within_the_red_zone() {
    for window in windows() {
        let executed = round(&decoded(&Listing::Window(window)));
        let on_stack = executed.iter().filter(|i| i.memory_base() == Register::RSP);
        let places: Vec<i64> = on_stack.map(|i| i.memory_displacement64() as i64).collect();
        let wanted = match window.between {
            Between::Loads => [vec![-8], vec![0; window.count]].concat(),
            Between::Stores => vec![-8; window.count],
            _ => Vec::new(),
        };
        assert_eq!(places, wanted, "{window:?}");
    }
}

/// The roots form one dependence chain, whose first root does not depend on earlier rounds.
#[test]
fn roots_are_one_chain_that_waits_for_nothing() {
    for window in windows() {
        let executed = round(&decoded(&Listing::Window(window)));
        let of_xmm0 = executed.iter().filter(|i| i.op0_register() == Register::XMM0);
        let names: Vec<Mnemonic> = of_xmm0.map(Instruction::mnemonic).collect();
        assert_eq!(names[..2], [Mnemonic::Pxor, Mnemonic::Cvtsi2sd]);
        assert_eq!(names[2..], [Mnemonic::Sqrtsd; 24]);
    }
}

/// A chain of them could take longer than the square roots, and hide the buffer that they fill.
#[test]
fn instructions_between_chains_do_not_wait_for_each_other() {
    let mut factory = InstructionInfoFactory::new();
    for window in windows() {
        let executed = round(&decoded(&Listing::Window(window)));
        let end = executed.len() - LOOP as usize;
        let (mut read, mut written) = (Vec::new(), Vec::new());
        for instruction in &executed[end - window.count..end] {
            for used in factory.info(instruction).used_registers() {
                let only_written = used.access() == OpAccess::Write;
                let of = if only_written { &mut written } else { &mut read };
                of.push(used.register().full_register());
            }
        }
        assert!(read.iter().all(|of| !written.contains(of)), "{window:?}");
        let uses = [Between::Operations, Between::Nops, Between::Stores];
        let writes = window.count > 0 && !uses.contains(&window.between);
        assert_eq!(!written.is_empty(), writes, "{window:?}");
    }
}

#[test]
fn the_code_touches_no_memory_and_no_register_of_its_caller() {
    let free =
        [Register::RAX, Register::RDI, Register::R8, Register::R9, Register::R10, Register::R11];
    let mut factory = InstructionInfoFactory::new();
    for listing in listings() {
        for instruction in round(&decoded(&listing)) {
            // A call and its return use the stack, and restore it.
            let flow = instruction.flow_control();
            if matches!(flow, FlowControl::Call | FlowControl::Return) {
                continue;
            }
            let info = factory.info(&instruction);
            // `lea` computes an address, but accesses no memory.
            let mut memory = info.used_memory().iter();
            let window = matches!(listing, Listing::Window(_));
            let on_stack = |used: &UsedMemory| window && used.base() == Register::RSP;
            assert!(
                memory.all(|used| used.access() == OpAccess::NoMemAccess || on_stack(used)),
                "{instruction}"
            );
            for used in info.used_registers() {
                let register = used.register().full_register();
                let vector = window && ZMM.contains(&register);
                let stack = register == Register::RSP && used.access() == OpAccess::Read;
                let allowed = free.contains(&register) || vector || (window && stack);
                assert!(allowed, "{instruction}");
            }
        }
    }
}

#[test]
fn instructions_have_the_length_they_are_named_after() {
    for (filler, bytes) in
        [(Filler::Nop1, 1), (Filler::Nop8, 8), (Filler::Move3, 3), (Filler::Prefixed5, 5)]
    {
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
    let listing = Listing::Jumps { count: 5, spacing: 64 };
    let executed = round(&decoded(&listing));
    let places: Vec<u64> = executed[..5].iter().map(Instruction::ip).collect();
    assert_eq!(places, [64, 128, 192, 256, 320]);
}

#[test]
fn indirect_jumps_come_to_every_line_once_and_to_no_neighbour() {
    for (behind, mnemonic) in
        [(Behind::Undefined, Mnemonic::Ud2), (Behind::Straight, Mnemonic::Nop)]
    {
        let code = decoded(&Listing::Indirect(Indirect { count: 256, behind }));
        let executed = round(&code);
        let jumps: Vec<_> =
            executed.iter().filter(|i| i.flow_control() == FlowControl::IndirectBranch).collect();
        let mut lines: Vec<u64> = jumps.iter().map(|jump| jump.ip() / 64).collect();
        assert!(lines.windows(2).all(|pair| pair[1] != pair[0] + 1));
        lines.sort_unstable();
        assert_eq!(lines, (1..=256).collect::<Vec<_>>());
        for jump in jumps {
            let next = code.iter().find(|i| i.ip() == jump.next_ip()).unwrap();
            assert_eq!(next.mnemonic(), mnemonic);
        }
    }
}

#[test]
#[should_panic(expected = "3 indirect jumps: not a power of two")]
fn indirect_jumps_that_would_miss_a_line_are_refused() {
    let listing = Listing::Indirect(Indirect { count: 3, behind: Behind::Undefined });
    listing.write(&mut vec![0; listing.bytes()]);
}

#[test]
#[should_panic(expected = "a short jump reaches 2 to 129 bytes further")]
fn a_jump_that_would_be_long_is_refused() {
    let listing = Listing::Jumps { count: 1, spacing: 130 };
    listing.write(&mut vec![0; listing.bytes()]);
}

/// The result when the code is really executed.
#[cfg(feature = "std")]
#[test]
fn executed_code_counts_its_rounds() {
    use linefill::cpu::Features;
    use linefill::experiment::topics::code::footprint::RoutineSetup;
    use linefill::experiment::{Context, Linux, Setup, Workload};
    use linefill::mem::Region;

    let context = Context { features: Features::detect(), host: &Linux };
    let mut bytes = [0_u8; 128];
    for listing in listings() {
        let setup = RoutineSetup { listing };
        let region = Region::new(&mut bytes).unwrap();
        let Ok(Workload::Steady { mut kernel, .. }) = setup.prepare(region, &context) else {
            panic!("{listing:?} was not made ready");
        };
        assert_eq!(kernel.run(0), 0);
        assert_eq!(kernel.run(1), 1);
        assert_eq!(kernel.run(1000), 1000);
        assert_eq!(kernel.work().instructions, listing.instructions());
        kernel.trace(5, &mut |access| panic!("{access:?}"));
    }
}
