//! A function with a rare block, compiled by the installed gcc.

use crate::experiment::prelude::*;
use crate::experiment::shared::compiler::gcc;

/// How gcc compiles a function with a rare block.
struct Compiled {
    /// The level of optimisation.
    level: &'static str,
    /// Whether the source calls the condition of the block unlikely.
    hint: bool,
}

/// The ways, in the order of the series.
const COMPILED: [Compiled; 3] = [
    Compiled { level: "-O2", hint: true },
    Compiled { level: "-Os", hint: true },
    Compiled { level: "-O2", hint: false },
];

/// The function in C. Comments in the assembly mark its blocks.
const SOURCE: &str = "\
#ifdef HINT
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#else
#define unlikely(condition) (condition)
#endif
unsigned long function(unsigned long *words, int rare)
{
    unsigned long sum = words[0];
    __asm__ volatile(\"# often\" : \"+r\"(sum));
    if (unlikely(rare)) {
        sum = sum * 3 + words[1];
        __asm__ volatile(\"# rarely\" : \"+r\"(sum));
        words[2] = sum;
    }
    __asm__ volatile(\"# often again\" : \"+r\"(sum));
    return sum + words[3];
}
";

/// The mark of the rare block.
const RARE: &str = "# rarely";

/// Returns 1 if gcc, in this way, puts the rare block behind the function's return, and 0 if the block lies
/// before it.
pub(super) fn moved_by_gcc(way: u64) -> Testable<f64> {
    let compiled = &COMPILED[way as usize];
    let mut arguments = vec!["-x", "c", compiled.level, "-ffreestanding", "-fno-pic"];
    arguments.extend(["-fcf-protection=none", "-fno-stack-protector"]);
    arguments.push("-fno-asynchronous-unwind-tables");
    if compiled.hint {
        arguments.push("-DHINT");
    }
    arguments.extend(["-S", "-o", "-"]);
    let assembly = gcc(&arguments, SOURCE)?;
    is_behind(&String::from_utf8_lossy(&assembly))
}

/// Returns 1 if the rare block lies behind the first return of an assembly source.
fn is_behind(assembly: &str) -> Testable<f64> {
    let line = |is: fn(&str) -> bool| assembly.lines().map(str::trim).position(is);
    let rare = line(|line| line == RARE);
    let end = line(|line| line.starts_with("ret"));
    match rare.zip(end) {
        Some((rare, end)) => Ok(f64::from(u8::from(rare > end))),
        None => {
            Err(Untestable::because("the assembly of gcc has no return, or not the marked block"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::untested;

    #[test]
    fn the_installed_gcc_places_the_block_each_way() {
        if !untested::starts("gcc") {
            return;
        }
        for way in 0..COMPILED.len() as u64 {
            match moved_by_gcc(way) {
                Ok(behind) => assert!([0.0, 1.0].contains(&behind), "{way}"),
                Err(reason) => untested::machine(&reason.to_string()),
            }
        }
    }

    #[test]
    fn a_block_lies_before_or_behind_the_return() {
        let placed = |text: &str| is_behind(text).ok();
        let before = "f:\n\ttestl\n\t# rarely\n\t# often again\n\tret\n";
        let behind = "f:\n\ttestl\n\t# often again\n\tretq\n.L7:\n\t# rarely\n\tjmp\t.L2\n";
        assert_eq!(placed(before), Some(0.0));
        assert_eq!(placed(behind), Some(1.0));
        assert_eq!(placed("f:\n\t# rarely\n\tjmp\tg\n"), None);
        assert_eq!(placed("f:\n\tret\n"), None);
    }
}
