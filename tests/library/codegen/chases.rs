//! Chases by addressing mode.

use iced_x86::{Instruction, Register};
use linefill::kernel::Mode;

use super::kernel::{Kernel, text, traffic};
use super::{Stated, stated};

pub const STATED: &[Stated] = &[
    stated("linefill_chase_base", 1, 0, 8, 0),
    stated("linefill_chase_disp8", 1, 0, 8, 0),
    stated("linefill_chase_disp32", 1, 0, 8, 0),
    stated("linefill_chase_index", 1, 0, 8, 0),
    stated("linefill_chase_scaled", 1, 0, 8, 0),
    stated("linefill_chase_load32", 1, 0, 4, 0),
    stated("linefill_chase_movsxd", 1, 0, 4, 0),
    stated("linefill_chase_movzx16", 1, 0, 2, 0),
    stated("linefill_chase_movsx16", 1, 0, 2, 0),
    stated("linefill_chase_xmm8", 1, 0, 8, 0),
    stated("linefill_chase_xmm16", 1, 0, 16, 0),
    stated("linefill_chase_ymm32", 1, 0, 32, 0),
    stated("linefill_chase_zmm64", 1, 0, 64, 0),
];

/// The kernel of a mode. The name of its symbol ends in the mode's name.
fn kernel(mode: Mode) -> Kernel {
    Kernel::named(&format!("linefill_chase_{mode:?}").to_lowercase())
}

/// The printed instructions of a mode are the instructions that run. The loop contains only these and the
/// count.
#[test]
fn a_mode_is_the_instructions_that_it_is_called_by() {
    for mode in Mode::ALL {
        let kernel = kernel(mode);
        let body: Vec<String> = kernel.innermost().unwrap().iter().map(text).collect();
        let (load, count) = body.split_at(body.len() - 2);
        assert_eq!(count[0], "dec rsi");
        let plain = |text: &str| {
            let text = text.replace(" ptr", "").replace("1000h", "4096");
            text.replace("40h", "64").replace("qword ", "")
        };
        let load: Vec<String> = load.iter().map(|text| plain(text)).collect();
        assert_eq!(load.join("; "), mode.text());
    }
}

/// A load takes its address from the register that the previous load wrote.
#[test]
fn every_load_waits_for_the_one_before() {
    for mode in Mode::ALL {
        let kernel = kernel(mode);
        let body = kernel.innermost().unwrap();
        let loads = |instruction: &&Instruction| traffic([*instruction]).loads > 0;
        let load = body.iter().find(loads).unwrap();
        let parts = [load.memory_base(), load.memory_index()];
        assert!(parts.contains(&Register::RAX), "{mode:?}: {load}");
        // The last instruction before the count and the branch writes the register.
        let last = &body[body.len() - 3];
        assert_eq!(last.op0_register().full_register(), Register::RAX);
    }
}
