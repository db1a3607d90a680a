//! Lines of code with the assembly around them that times them, made into an object file by the assembler of
//! the machine.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::{env, fs};

use anyhow::{Context as _, Result, bail};

/// The first bytes of an ELF file.
const ELF: &[u8] = b"\x7fELF";

/// The compilers that are tried, and the assembler.
const TOOLS: [&str; 4] = ["cc", "gcc", "clang", "as"];

/// Options for a file that a compiler reads: code that finds its data relative to itself, without tables
/// for unwinding.
const OPTIONS: [&str; 4] = ["-c", "-O2", "-fPIE", "-fno-asynchronous-unwind-tables"];

/// Assembles text.
///
/// # Errors
/// What the assembler says, or that there is none.
pub fn text(text: &str) -> Result<Vec<u8>> {
    assemble(
        &|tool: &OsString| {
            let mut command = Command::new(tool);
            match is_bare(tool) {
                true => command.args(["--64", "-"]),
                false => command.args(["-c", "-x", "assembler", "-"]),
            };
            Some(command)
        },
        text.as_bytes(),
    )
}

/// Makes an object file of `path`: as it is if it is one, else by the compiler, which knows by the
/// ending what it holds.
///
/// # Errors
/// That it cannot be read, or as [`text`].
pub fn file(path: &Path) -> Result<Vec<u8>> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.starts_with(ELF) {
        return Ok(bytes);
    }
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending {
        Some("S" | "s" | "c") => {}
        _ => bail!(
            "{}: what is in it? Name it .S or .s (assembly), .c, or give an object file",
            path.display()
        ),
    }
    let plain = ending == Some("s");
    assemble(
        &|tool: &OsString| {
            let mut command = Command::new(tool);
            match is_bare(tool) {
                true if plain => command.arg("--64"),
                // It knows neither C nor the preprocessor.
                true => return None,
                false => command.args(OPTIONS),
            };
            command.arg(path);
            Some(command)
        },
        &[],
    )
}

/// Whether this is the assembler itself.
fn is_bare(tool: &OsString) -> bool {
    Path::new(tool).file_name().is_some_and(|name| name == "as")
}

/// Runs the first tool that there is and that can do it, with `input` on its standard input.
fn assemble(command: &dyn Fn(&OsString) -> Option<Command>, input: &[u8]) -> Result<Vec<u8>> {
    let said = env::var_os("CC").filter(|tool| !tool.is_empty());
    let tools: Vec<OsString> = match said {
        Some(tool) => vec![tool],
        None => TOOLS.map(OsString::from).into(),
    };
    let out = Output::new();
    let mut passed = false;
    for tool in &tools {
        let Some(mut command) = command(tool) else {
            passed = true;
            continue;
        };
        command.arg("-o").arg(&out.0);
        let told = match run(&mut command, input) {
            Ok(told) => told,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => bail!("{} cannot be run: {error}", tool.display()),
        };
        if !told.status.success() {
            let message = String::from_utf8_lossy(&told.stderr);
            bail!(
                "{} refuses the code:\n{}",
                tool.display(),
                message.trim_end()
            );
        }
        return fs::read(&out.0).with_context(|| format!("{} left no object file", tool.display()));
    }
    let names: Vec<String> = tools
        .iter()
        .map(|tool| tool.display().to_string())
        .collect();
    bail!(
        "there is no assembler here for that: {} not found{}. Install gcc or clang (Debian: gcc), name \
         another by CC, or give an object file that was made elsewhere",
        names.join(", "),
        if passed {
            ", or without a preprocessor (as)"
        } else {
            ""
        }
    )
}

fn run(command: &mut Command, input: &[u8]) -> io::Result<process::Output> {
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = streams.stderr(Stdio::piped()).spawn()?;
    // A tool that stops reading has said why.
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input);
    }
    child.wait_with_output()
}

/// The file that the tool writes, which is removed in the end.
struct Output(PathBuf);

impl Output {
    fn new() -> Self {
        let name = format!("linefill-time-{}.o", process::id());
        Output(env::temp_dir().join(name))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

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
