//! Decodes the optimised inner loops of k-means on vectors. Builds without optimisation have nothing to
//! check.
#![cfg(not(debug_assertions))]

use super::in_place::Code;
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register};
use linefill::kernel::add_to_nearest;

/// The innermost loop of the function that `add_to_nearest` calls for vectors in registers of this size.
fn innermost(is_such: fn(Register) -> bool) -> Vec<Instruction> {
    let entry = Code::of(add_to_nearest as *const () as usize);
    let calls = entry.instructions.values();
    let calls = calls.filter(|call| call.flow_control() == FlowControl::Call);
    let loops = calls.flat_map(|call| {
        let code = Code::of(call.near_branch_target() as usize).instructions;
        let backward = code.values().filter(|branch| {
            branch.flow_control() == FlowControl::ConditionalBranch
                && branch.near_branch_target() <= branch.ip()
        });
        let body = |branch: &Instruction| {
            let body = code.range(branch.near_branch_target()..=branch.ip());
            body.map(|(_, instruction)| *instruction).collect::<Vec<_>>()
        };
        backward.map(body).collect::<Vec<_>>()
    });
    let such = |body: &Vec<Instruction>| {
        let compares = |i: &&Instruction| i.mnemonic() == Mnemonic::Vcmppd;
        let compare = body.iter().find(compares);
        compare.is_some_and(|compare| is_such(compare.op_register(1)))
    };
    let found = loops.filter(such).min_by_key(Vec::len);
    found.expect("a loop that compares such vectors")
}

fn count(body: &[Instruction], mnemonic: Mnemonic) -> usize {
    let of_it = body.iter().filter(|i| i.mnemonic() == mnemonic);
    of_it.count()
}

/// Checks the number of instructions per mean, and that nothing is fused. Points and their results must stay
/// in registers: the loop reads only the mean from memory, and writes nothing.
fn a_mean_costs(body: &[Instruction], vectors: usize) {
    assert_eq!(count(body, Mnemonic::Vsubpd), 2 * vectors);
    assert_eq!(count(body, Mnemonic::Vmulpd), 2 * vectors);
    assert_eq!(count(body, Mnemonic::Vaddpd), vectors);
    assert_eq!(count(body, Mnemonic::Vcmppd), vectors);
    let mut info = InstructionInfoFactory::new();
    let mut accesses = Vec::new();
    for instruction in body {
        let used = info.info(instruction).used_memory().to_vec();
        accesses.extend(used.into_iter().filter(|used| used.access() != OpAccess::NoMemAccess));
        let name = format!("{:?}", instruction.mnemonic());
        assert!(!name.starts_with("Vf") && name != "Call", "{name}");
    }
    let means = accesses.iter().filter(|used| used.base() != Register::RSP);
    assert_eq!(means.count(), 2, "{accesses:?}");
    assert_eq!(accesses.len(), 2, "something is spilled: {accesses:?}");
    let reads = accesses.iter().all(|used| used.access() == OpAccess::Read);
    assert!(reads, "{accesses:?}");
}

#[test]
fn a_mean_costs_eight_instructions_a_vector_of_eight_points() {
    let body = innermost(Register::is_zmm);
    a_mean_costs(&body, 4);
    let choices = body.iter().filter(|i| i.op_mask() != Register::None);
    let masked = choices.filter(|i| i.mnemonic() != Mnemonic::Vcmppd).count();
    assert_eq!(masked, 2 * 4, "two choices a vector");
}

#[test]
fn a_mean_costs_eight_instructions_a_vector_of_four_points() {
    let body = innermost(Register::is_ymm);
    a_mean_costs(&body, 2);
    assert_eq!(count(&body, Mnemonic::Vblendvpd), 2 * 2);
}
