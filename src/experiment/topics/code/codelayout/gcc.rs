//! A function with a rare block, compiled by the installed gcc.

use crate::experiment::prelude::*;
use crate::experiment::shared::compiler::gcc;

/// The ways in which gcc compiles a function with a rare block, in the order of the series: the level of
/// optimisation, and whether the source calls the condition of the block unlikely.
const COMPILED: [(&str, bool); 3] = [("-O2", true), ("-Os", true), ("-O2", false)];

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

const RARE: &str = "# rarely";

/// Returns 1 if gcc, in this way, puts the rare block behind the function's return, and 0 if the block lies
/// before it.
pub(super) fn moved_by_gcc(way: u64) -> Testable<f64> {
    let (level, hint) = COMPILED[way as usize];
    let mut arguments =
        vec!["-x", "c", level, "-ffreestanding", "-fno-pic", "-fcf-protection=none"];
    arguments.extend(["-fno-stack-protector", "-fno-asynchronous-unwind-tables"]);
    if hint {
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
    let behind = rare.zip(end).map(|(rare, end)| f64::from(rare > end));
    behind.ok_or_else(|| {
        Untestable::because("the assembly of gcc has no return, or not the marked block")
    })
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
