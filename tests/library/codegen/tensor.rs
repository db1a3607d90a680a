//! Reads of a tensor.

use iced_x86::{FlowControl, Instruction, Mnemonic, Register};
use linefill::kernel::Get;

use super::kernel::{Kernel, text, traffic};
use super::{Stated, stated};

pub const STATED: &[Stated] = &[
    stated("linefill_tensor_array", 1, 0, 4, 0),
    stated("linefill_tensor_boxes", 7, 0, 40, 0),
    stated("linefill_tensor_boxes_unchecked", 4, 0, 28, 0),
    stated("linefill_tensor_divided", 1, 0, 4, 0),
    stated("linefill_tensor_masks", 1, 0, 4, 0),
    stated("linefill_tensor_primes", 1, 0, 4, 0),
    stated("linefill_tensor_strides", 1, 0, 4, 0),
    stated("linefill_tensor_vectors", 7, 0, 52, 0),
];

/// The kernel that calls functions for its elements.
pub const CALLING: &str = "linefill_tensor_called";

/// Every kernel, with its method of finding elements.
const GETS: [(&str, Get); 9] = [
    ("linefill_tensor_array", Get::Array),
    ("linefill_tensor_boxes", Get::Boxes),
    ("linefill_tensor_boxes_unchecked", Get::BoxesUnchecked),
    (CALLING, Get::Called),
    ("linefill_tensor_divided", Get::Divided),
    ("linefill_tensor_masks", Get::Masks),
    ("linefill_tensor_primes", Get::Primes),
    ("linefill_tensor_strides", Get::Strides),
    ("linefill_tensor_vectors", Get::Vectors),
];

/// The instructions that a read executes: the loop, and the functions that it calls.
fn of_a_read(kernel: &Kernel) -> Vec<Instruction> {
    let mut read = Vec::new();
    let mut pending = vec![kernel.innermost().unwrap().to_vec()];
    while let Some(stretch) = pending.pop() {
        for instruction in &stretch {
            if instruction.flow_control() != FlowControl::Call {
                continue;
            }
            let target = instruction.near_branch_target();
            let from = kernel.code.iter().position(|other| other.ip() == target);
            let callee = &kernel.code[from.expect("it calls itself alone")..];
            let end = callee.iter().position(|i| i.mnemonic() == Mnemonic::Ret);
            pending.push(callee[..=end.unwrap()].to_vec());
        }
        read.extend(stretch);
    }
    read
}

fn count(code: &[Instruction], mnemonic: Mnemonic) -> usize {
    code.iter().filter(|i| i.mnemonic() == mnemonic).count()
}

#[test]
fn a_read_executes_as_many_instructions_and_branches_as_are_told() {
    assert!(Get::ALL.iter().all(|get| GETS.iter().any(|row| row.1 == *get)));
    for (name, get) in GETS {
        let read = of_a_read(&Kernel::named(name));
        assert_eq!(read.len(), get.instructions() as usize, "{name}");
        let branches = read.iter().filter(|i| i.flow_control() != FlowControl::Next);
        assert_eq!(branches.count(), get.branches() as usize, "{name}");
    }
}

#[test]
fn only_dimensions_that_are_not_known_are_divided_by() {
    for (name, get) in GETS {
        let code = Kernel::named(name).code;
        let divisions = count(&code, Mnemonic::Div) + count(&code, Mnemonic::Idiv);
        let expected = if get == Get::Divided { 4 } else { 0 };
        assert_eq!(divisions, expected, "{name}");
    }
}

#[test]
fn strides_are_multiplied_by_unless_they_are_known() {
    // Multiplications of two registers compute strides. Multiplications by a constant compute remainders, and
    // two of the array's constant strides.
    let strides = |name: &str| {
        let body = Kernel::named(name).innermost().unwrap().to_vec();
        let registers = |i: &&Instruction| {
            i.mnemonic() == Mnemonic::Imul
                && i.op_count() == 2
                && i.op1_register() != Register::None
        };
        body.iter().filter(registers).count()
    };
    assert_eq!(strides("linefill_tensor_strides"), 3);
    assert_eq!(strides("linefill_tensor_masks"), 3);
    assert_eq!(strides("linefill_tensor_primes"), 3);
    assert_eq!(strides("linefill_tensor_array"), 0);
}

#[test]
fn masks_take_the_place_of_remainders_by_powers_of_two_alone() {
    let texts = |name: &str| -> Vec<String> {
        let kernel = Kernel::named(name);
        kernel.innermost().unwrap().iter().map(text).collect()
    };
    let remainders = texts("linefill_tensor_strides");
    let masks = texts("linefill_tensor_masks");
    let negated = remainders.iter().filter(|text| text.starts_with("neg")).count();
    assert_eq!(negated, 3);
    assert_eq!(remainders.len() - masks.len(), 2 * negated);
    for mask in ["and eax,3Fh", "and edx,0Fh", "and edx,1Fh"] {
        assert!(masks.iter().any(|text| text == mask), "{mask}: {masks:?}");
    }
}

#[test]
fn checks_differ_from_none_by_three_lengths_and_four_branches() {
    let body = |name: &str| Kernel::named(name).innermost().unwrap().to_vec();
    let checked = body("linefill_tensor_boxes");
    let unchecked = body("linefill_tensor_boxes_unchecked");
    let compares = count(&checked, Mnemonic::Cmp) - count(&unchecked, Mnemonic::Cmp);
    assert_eq!((compares, count(&checked, Mnemonic::Jae)), (4, 4));
    let lengths = traffic(&checked).loads - traffic(&unchecked).loads;
    assert_eq!(lengths, 3);
    assert!(traffic(&unchecked).loads >= 4 * traffic(&body("linefill_tensor_strides")).loads);
}

/// Two calls per read, to the kernel's own code. The calls use the stack only for return addresses.
#[test]
fn the_calling_kernel_uses_the_stack_for_return_addresses_alone() {
    let kernel = Kernel::named(CALLING);
    let read = of_a_read(&kernel);
    assert_eq!(count(&read, Mnemonic::Call), 2);
    assert_eq!(count(&read, Mnemonic::Ret), 2);
    let sum = traffic(&read);
    assert_eq!((sum.loads, sum.read), (1, 4));
    assert_eq!((sum.stores, sum.written), (2, 16));
    assert_eq!(traffic(&kernel.code), sum);
}
