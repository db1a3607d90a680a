//! Assembles the user's lines, with assembly around them that times them, into an object file. Uses the
//! assembler of the machine.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::{env, fs};

use anyhow::{Context as _, Result, bail};

const ELF: &[u8] = b"\x7fELF";

/// The compilers, then the assembler, in the order in which they are tried.
const TOOLS: [&str; 4] = ["cc", "gcc", "clang", "as"];

/// Compiler options for a file: position-independent code, without tables for unwinding. Each function has a
/// section of its own, so that the object file tells which functions it calls.
const OPTIONS: [&str; 5] =
    ["-c", "-O2", "-fPIE", "-fno-asynchronous-unwind-tables", "-ffunction-sections"];

/// Assembles text into an object file.
///
/// # Errors
/// If there is no assembler, or the assembler refuses the text. The error contains its message.
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

/// Returns `path` as an object file: unchanged if it is an ELF file, else compiled or assembled according to
/// its extension.
///
/// # Errors
/// If the file cannot be read, its extension is unknown, or as for [`text`].
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
                // The assembler knows neither C nor the preprocessor.
                true => return None,
                false => command.args(OPTIONS),
            };
            command.arg(path);
            Some(command)
        },
        &[],
    )
}

/// Returns whether a tool is the assembler itself.
fn is_bare(tool: &OsString) -> bool {
    Path::new(tool).file_name().is_some_and(|name| name == "as")
}

/// Runs the first tool that is installed and can do the work, with `input` on its standard input.
fn assemble(command: &dyn Fn(&OsString) -> Option<Command>, input: &[u8]) -> Result<Vec<u8>> {
    let said = env::var_os("CC").filter(|tool| !tool.is_empty());
    let tools = said.map_or_else(|| TOOLS.map(OsString::from).to_vec(), |tool| vec![tool]);
    let out = Output::new()?;
    let mut passed = false;
    for tool in &tools {
        let Some(mut command) = command(tool) else {
            passed = true;
            continue;
        };
        command.arg("-o").arg(out.file());
        let told = match run(&mut command, input) {
            Ok(told) => told,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => bail!("{} cannot be run: {error}", tool.display()),
        };
        if !told.status.success() {
            let message = String::from_utf8_lossy(&told.stderr);
            bail!("{} refuses the code:\n{}", tool.display(), message.trim_end());
        }
        return fs::read(out.file())
            .with_context(|| format!("{} left no object file", tool.display()));
    }
    let names: Vec<String> = tools.iter().map(|tool| tool.display().to_string()).collect();
    bail!(
        "no assembler found: {} not found{}. Install gcc or clang (Debian: gcc), \
         name another by CC, or give an object file that was made elsewhere",
        names.join(", "),
        if passed { ", or without a preprocessor (as)" } else { "" }
    )
}

fn run(command: &mut Command, input: &[u8]) -> io::Result<process::Output> {
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = streams.stderr(Stdio::piped()).spawn()?;
    // Errors are ignored: a tool that stops reading reports why.
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input);
    }
    child.wait_with_output()
}

/// A temporary folder for the file that a tool writes, removed on drop. Only this user can write to the
/// folder: the folder for temporary files belongs to all users, one of whom could plant a link there.
struct Output(PathBuf);

impl Output {
    fn new() -> Result<Self> {
        const TRIES: u32 = 100;
        for n in 0..TRIES {
            let folder = env::temp_dir().join(format!("linefill-time-{}-{n}", process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Output(folder)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot make {}", folder.display()));
                }
            }
        }
        bail!("cannot make a temporary folder in {}", env::temp_dir().display())
    }

    fn file(&self) -> PathBuf {
        self.0.join("code.o")
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The function of a driver that sets the registers and runs the code of `--init` once.
///
/// Each function of a driver takes the memory in `rdi`, its size in `rsi`, and the number of iterations of
/// its loop in `rdx`.
pub const INIT: &str = "linefill_init";
/// A loop over as many copies as requested.
pub const SHORT: &str = "linefill_short";
/// A loop over twice as many copies.
pub const LONG: &str = "linefill_long";
/// A loop over one copy.
pub const ONE: &str = "linefill_one";
/// An empty loop.
pub const NONE: &str = "linefill_none";

/// The general registers that the code may use: all but the stack pointer and the loop counter.
const REGISTERS: [&str; 14] = [
    "rax", "rbx", "rcx", "rdx", "rdi", "rsi", "rbp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
];

/// The components that `xsave` saves: x87, SSE, AVX and AVX-512, but not AMX or protection keys.
const STATE: u32 = 0xE7;

/// The syntax of assembly code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Syntax {
    /// `mov rax, [rdi + 8]`.
    #[default]
    Intel,
    /// `movq 8(%rdi), %rax`.
    Att,
}

#[derive(Clone, Debug)]
pub struct Lines {
    /// The code that is repeated.
    pub asm: String,
    /// The code that is run once before.
    pub init: String,
    pub syntax: Syntax,
    /// Number of copies in the shorter loop.
    pub unroll: u32,
}

impl Lines {
    /// Returns whether registers are written as in AT&T syntax. In Intel syntax the assembler accepts such
    /// registers too, and would read the operands in the wrong order.
    pub fn has_percent_registers(&self) -> bool {
        [&self.asm, &self.init].into_iter().any(|code| {
            let pairs = code.bytes().zip(code.bytes().skip(1));
            pairs.into_iter().any(|(one, next)| one == b'%' && next.is_ascii_alphabetic())
        })
    }

    /// Returns `init` and `times` copies of `asm`, marked with the options that they come from, so that the
    /// assembler's messages name the option and the line in it.
    pub fn named(&self, times: usize) -> String {
        let asm = format!("# 1 \"--asm\"\n{}\n", self.asm).repeat(times);
        let syntax = self.directive();
        format!(".text\n{syntax}\n# 1 \"--init\"\n{}\n{asm}", self.init)
    }

    /// Returns the assembly of the driver. With `extended`, vector registers wider than SSE's are saved too.
    pub fn driver(&self, extended: bool) -> String {
        let mut text = ".intel_syntax noprefix\n.text\n".to_owned();
        let (keep, get) = if extended { ("xsave", "xrstor") } else { ("fxsave", "fxrstor") };
        let state = |instruction: &str| {
            format!("mov eax, {STATE}\nxor edx, edx\n{instruction} [rip + .Lstate]\n")
        };
        let registers = |line: &dyn Fn(usize, &str) -> String| -> String {
            REGISTERS.iter().enumerate().map(|(place, name)| line(8 * place, name)).collect()
        };
        let load = registers(&|at, name| format!("mov {name}, [rip + .Lregisters + {at}]\n"));
        let store = registers(&|at, name| format!("mov [rip + .Lregisters + {at}], {name}\n"));
        let pushed = ["rbx", "rbp", "r12", "r13", "r14", "r15"];
        let push: String = pushed.map(|name| format!("push {name}\n")).concat();
        let mut popped = pushed;
        popped.reverse();
        let pop: String = popped.map(|name| format!("pop {name}\n")).concat();
        // After the return address, six registers and these eight bytes, the stack is aligned to 16 bytes.
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
        let copies = [(SHORT, self.unroll), (LONG, 2 * self.unroll), (ONE, 1), (NONE, 0)];
        for (name, copies) in copies {
            let asm = self.quoted(&self.asm);
            text += &format!(
                "{}{enter}mov r15, rdx\n{}{load}.p2align 6\n.Lloop_{name}:\n.rept \
                 {copies}\n{asm}.endr\n\
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

    /// Returns lines in the user's syntax, switched back to the driver's syntax at the end.
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
