//! The assembly around lines of code that are to be timed.

/// The functions of a driver, each of which takes the memory in `rdi`, its size in `rsi`, and how often
/// its loop is to run in `rdx`.
///
/// Sets the registers and runs the code of `--init` once.
pub const INIT: &str = "linefill_init";
/// A loop of as many copies as asked for.
pub const SHORT: &str = "linefill_short";
/// A loop of twice as many.
pub const LONG: &str = "linefill_long";
/// A loop of one copy.
pub const ONE: &str = "linefill_one";
/// A loop of nothing.
pub const NONE: &str = "linefill_none";

/// The general registers that belong to the code: all but the stack pointer and the loop counter.
const REGISTERS: [&str; 14] = [
    "rax", "rbx", "rcx", "rdx", "rdi", "rsi", "rbp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
];

/// What `xsave` keeps: x87, SSE, AVX and AVX-512, and neither AMX nor protection keys.
const STATE: u32 = 0xE7;

/// How lines of code are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Syntax {
    /// `mov rax, [rdi + 8]`.
    #[default]
    Intel,
    /// `movq 8(%rdi), %rax`.
    Att,
}

/// Lines of code to be timed.
#[derive(Clone, Debug)]
pub struct Lines {
    /// What is repeated.
    pub asm: String,
    /// What is run once, before.
    pub init: String,
    /// The syntax of both.
    pub syntax: Syntax,
    /// Copies in the shorter loop.
    pub unroll: u32,
}

impl Lines {
    /// Whether registers are written as in AT&T syntax. The assembler takes that in Intel syntax, too,
    /// and would read the operands in the wrong order.
    pub fn has_percent_registers(&self) -> bool {
        [&self.asm, &self.init].into_iter().any(|code| {
            let pairs = code.bytes().zip(code.bytes().skip(1));
            pairs
                .into_iter()
                .any(|(one, next)| one == b'%' && next.is_ascii_alphabetic())
        })
    }

    /// The user's lines, those to be repeated `times` times, named by the option that they come from: the
    /// assembler's messages name the option and the line in it.
    pub fn named(&self, times: usize) -> String {
        let asm = format!("# 1 \"--asm\"\n{}\n", self.asm).repeat(times);
        let syntax = self.directive();
        format!(".text\n{syntax}\n# 1 \"--init\"\n{}\n{asm}", self.init)
    }

    /// The whole driver. With `extended`, vector registers wider than SSE's are kept.
    pub fn driver(&self, extended: bool) -> String {
        let mut text = ".intel_syntax noprefix\n.text\n".to_owned();
        let (keep, get) = match extended {
            true => ("xsave", "xrstor"),
            false => ("fxsave", "fxrstor"),
        };
        let state = |instruction: &str| {
            format!("mov eax, {STATE}\nxor edx, edx\n{instruction} [rip + .Lstate]\n")
        };
        let registers = |line: &dyn Fn(usize, &str) -> String| -> String {
            let each = REGISTERS.iter().enumerate();
            each.map(|(place, name)| line(8 * place, name)).collect()
        };
        let load = registers(&|at, name| format!("mov {name}, [rip + .Lregisters + {at}]\n"));
        let store = registers(&|at, name| format!("mov [rip + .Lregisters + {at}], {name}\n"));
        let pushed = ["rbx", "rbp", "r12", "r13", "r14", "r15"];
        let push: String = pushed.map(|name| format!("push {name}\n")).concat();
        let mut popped = pushed;
        popped.reverse();
        let pop: String = popped.map(|name| format!("pop {name}\n")).concat();
        // The stack is aligned to 16 behind the return address, six registers and these eight bytes.
        let enter = format!(
            "{push}sub rsp, 8\nstmxcsr [rsp]\nfnstcw [rsp + 4]\nmov [rip + .Lstack], rsp\n"
        );
        let wide = if extended { "vzeroupper\n" } else { "" };
        let leave = format!(
            "{store}mov rsp, [rip + .Lstack]\n{}{wide}emms\ncld\nldmxcsr [rsp]\nfldcw [rsp + 4]\n\
             add rsp, 8\n{pop}ret\n",
            state(keep)
        );
        let init = self.quoted(&self.init);
        let all_at_memory: String = REGISTERS
            .iter()
            .filter(|name| !matches!(**name, "rdi" | "rsi"))
            .map(|name| format!("mov {name}, rdi\n"))
            .collect();
        text += &format!("{}{enter}{all_at_memory}{init}{leave}", start(INIT));
        let copies = [
            (SHORT, self.unroll),
            (LONG, 2 * self.unroll),
            (ONE, 1),
            (NONE, 0),
        ];
        for (name, copies) in copies {
            let asm = self.quoted(&self.asm);
            text += &format!(
                "{}{enter}mov r15, rdx\n{}{load}.p2align 6\n.Lloop_{name}:\n.rept {copies}\n{asm}.endr\n\
                 dec r15\njnz .Lloop_{name}\n{leave}",
                start(name),
                state(get)
            );
        }
        let bytes = 8 * REGISTERS.len();
        text += &format!(
            ".bss\n.p2align 6\n.Lstate: .skip 4096\n.Lregisters: .skip {bytes}\n.Lstack: .skip 8\n\
             .section .note.GNU-stack,\"\",@progbits\n"
        );
        text
    }

    /// Lines in their own syntax, within the driver's.
    fn quoted(&self, lines: &str) -> String {
        match self.syntax {
            Syntax::Intel => format!("{lines}\n"),
            Syntax::Att => format!("{}\n{lines}\n.intel_syntax noprefix\n", self.directive()),
        }
    }

    fn directive(&self) -> &'static str {
        match self.syntax {
            Syntax::Intel => ".intel_syntax noprefix",
            Syntax::Att => ".att_syntax prefix",
        }
    }
}

fn start(name: &str) -> String {
    format!(".globl {name}\n.p2align 6\n{name}:\n")
}
