//! The commands of `linefill`. This module also implements `linefill completions` and `linefill man`, which
//! need the definition of the command line.

mod compare;
#[cfg(test)]
mod examples;
mod layout;
mod list;
mod machine;
mod records;
mod report;
mod run;
mod scene;
mod sharing;
mod simulate;
mod time;
mod watch;

use std::borrow::Cow;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

use super::plain;
use super::record::Header;
use super::session::{Request, Session, mask, root};
use super::terminal::{finished, say, tell};
use super::whole::create_folder;
use crate::os::{Pages, interrupt, limits};

/// Re-measures the classic claims about memory on your machine.
///
/// Papers and articles on memory make claims with numbers: Drepper's "What Every Programmer Should
/// Know About Memory" (2007) and others. linefill checks each claim, most of them by measuring on this
/// machine, and answers whether it still holds, with the numbers, the source's curve, and what a modern
/// CPU does differently.
#[derive(Debug, Parser)]
#[command(
    name = "linefill",
    version,
    after_help = "\
Start with:
  linefill doctor     what distorts a measurement on this machine
  linefill tour       ten experiments in twenty seconds, each explained
  linefill run        about three minutes; then open linefill-out/report.html
  linefill show D14   all about one experiment

The exit status is 0 if all went well; 1 if a gate (--fail-if) failed, or `doctor` found something \
BAD; 2 if something could not be done (the message says what); 130 if Ctrl-C, `kill` or the end of \
the terminal stopped a measurement: what it had measured is kept. Commands that measure nothing \
end by the signal. NO_COLOR switches colours off."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Watch(watch::Args),
    Tour(list::TourArgs),
    List(list::ListArgs),
    Doctor(machine::DoctorArgs),
    Machine(machine::MachineArgs),
    Report(report::ReportArgs),
    Show(records::ShowArgs),
    Compare(compare::Args),
    Gallery(records::GalleryArgs),
    Export(records::ExportArgs),
    Simulate(simulate::Args),
    Counters(machine::CountersArgs),
    Layout(layout::Args),
    Sharing(sharing::Args),
    Time(time::Args),
    Completions(Completions),
    Man(Man),
}

/// The way a command ended, if it met no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Done,
    /// Ctrl-C or another signal stopped the command cleanly.
    Interrupted,
    /// A gate or a check failed.
    Failed,
}

impl Status {
    /// Returns `Interrupted` if a signal stopped the command, else `Done`.
    fn unless_stopped(stopped: bool) -> Self {
        if stopped { Status::Interrupted } else { Status::Done }
    }

    /// Returns `Done` if all gates and checks passed, else `Failed`.
    fn if_passed(passed: bool) -> Self {
        if passed { Status::Done } else { Status::Failed }
    }
}

/// Stack size, in bytes, of the thread that runs the program if the main thread has less. It is the default
/// of Linux.
const STACK: u64 = 8 << 20;

/// Runs the program and returns its exit status.
pub fn main() -> ExitCode {
    // `ulimit -s` may leave less stack than the program needs. If no thread can be started, the main thread's
    // own stack may suffice.
    if limits::stack().is_some_and(|stack| stack < STACK) {
        let thread = thread::Builder::new().stack_size(STACK as usize);
        if let Ok(program) = thread.name("main".to_owned()).spawn(program) {
            // The panic has printed its message already.
            return program.join().unwrap_or(ExitCode::from(PANICKED));
        }
    }
    program()
}

/// The exit status of a Rust program that panicked.
const PANICKED: u8 = 101;

/// Runs the program. The stack must be large enough: this function is not inlined, so that the frame of
/// `main` stays small.
#[inline(never)]
fn program() -> ExitCode {
    // If it is refused, the signal kills the process, as before.
    let _ = interrupt::survive_file_limit();
    let result = match Cli::try_parse() {
        Ok(cli) => execute(cli.command),
        // A mistake on the command line, which clap explains on the standard error. If an argument contains
        // control characters, the text is printed without colours and with these characters spelled out.
        Err(mistake) if mistake.use_stderr() => {
            let words = std::env::args_os();
            let mut words = words.map(|word| word.to_string_lossy().into_owned());
            if words.any(|word| matches!(plain::word(&word), Cow::Owned(_))) {
                tell(mistake.render().to_string().trim_end());
                return ExitCode::from(2);
            }
            mistake.exit()
        }
        // `--help` or `--version`.
        Err(asked) => finished(asked.print()).map(|()| Status::Done),
    };
    match result {
        Ok(Status::Done) => ExitCode::SUCCESS,
        Ok(Status::Failed) => ExitCode::FAILURE,
        Ok(Status::Interrupted) => ExitCode::from(130),
        Err(error) => {
            tell(format_args!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

fn execute(command: Command) -> Result<Status> {
    match command {
        Command::Run(args) => run::run(args),
        Command::Watch(args) => watch::run(&args),
        Command::Tour(args) => list::tour(&args),
        Command::List(args) => list::list(&args),
        Command::Doctor(args) => machine::doctor(&args),
        Command::Machine(args) => machine::machine(&args),
        Command::Report(args) => report::report(&args),
        Command::Show(args) => records::show(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Gallery(args) => records::gallery(&args),
        Command::Export(args) => records::export(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Counters(args) => machine::counters(&args),
        Command::Layout(args) => layout::run(&args),
        Command::Sharing(args) => sharing::run(&args),
        Command::Time(args) => time::run(&args),
        Command::Completions(args) => completions(&args),
        Command::Man(args) => man(&args),
    }
}

fn cpu_number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "a CPU is a whole number from 0, as `lscpu -e` lists them".to_owned())
}

fn node_number(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "a NUMA node is a whole number from 0, as `numactl -H` lists them".to_owned())
}

/// A page size on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PageSize {
    /// 4 KiB, as in the papers: TLB misses are part of the cost.
    #[value(name = "4k")]
    Base,
    /// 2 MiB: the cost of the caches, with few TLB misses.
    #[value(name = "2m")]
    Huge,
    /// 1 GiB, which must have been reserved (hugetlb).
    #[value(name = "1g")]
    Giant,
}

impl From<PageSize> for Pages {
    fn from(size: PageSize) -> Self {
        match size {
            PageSize::Base => Pages::Base,
            PageSize::Huge => Pages::Huge,
            PageSize::Giant => Pages::Giant,
        }
    }
}

/// The longest time that the command line accepts, in seconds: a day.
const LONGEST: u64 = 24 * 60 * 60;

/// Parses a time such as `60s`, `60`, `10m` or `12h`.
fn duration(text: &str) -> Result<Duration, String> {
    let units = [('s', 1), ('m', 60), ('h', 60 * 60)];
    let with_unit = |(letter, seconds)| Some((text.strip_suffix(letter)?, seconds));
    let (number, unit) = units.into_iter().find_map(with_unit).unwrap_or((text, 1));
    let seconds = number.parse::<u64>().ok();
    let seconds = seconds.and_then(|number| number.checked_mul(unit));
    let seconds = seconds.filter(|seconds| (1..=LONGEST).contains(seconds));
    let wrong = || {
        "a time is a whole number of seconds (60s), minutes (10m) or hours (12h), from 1s to a day"
            .to_owned()
    };
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

/// Parses the gates of `--fail-if`.
fn gates<Gate: FromStr<Err: Error + Send + Sync + 'static>>(texts: &[String]) -> Result<Vec<Gate>> {
    texts.iter().map(|text| text.parse()).collect::<Result<_, _>>().context("--fail-if")
}

/// Opens a session for a measurement outside a run, on `cpu` or the least disturbed CPU, with memory of
/// `node` or of any node. Also returns the flag that Ctrl-C sets. Warns about conditions that distort the
/// measurement.
fn session_on(cpu: Option<usize>, node: Option<usize>) -> Result<(Session, &'static AtomicBool)> {
    let stop = interrupt::install().context("Ctrl-C cannot be caught")?;
    let request = Request { cpu, node, seed: 1, masked: mask(), ..Request::default() };
    let session = Session::open(&request, &root())?;
    warn(&session.header);
    Ok((session, stop))
}

/// Warns about conditions that distort the measurement.
fn warn(header: &Header) {
    for note in &header.notes {
        tell(format_args!("warning: {note}"));
    }
}

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill completions bash > ~/.local/share/bash-completion/completions/linefill
  linefill completions zsh > ~/.zfunc/_linefill        with ~/.zfunc in $fpath
  linefill completions fish > ~/.config/fish/completions/linefill.fish")]
struct Completions {
    /// The shell.
    #[arg(value_parser = PossibleValuesParser::new(["bash", "zsh", "fish"])
          .try_map(|name| name.parse::<Shell>()))]
    shell: Shell,
}

fn completions(args: &Completions) -> Result<Status> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "linefill", &mut script);
    say(&String::from_utf8(script)?)?;
    Ok(Status::Done)
}

/// Print a manual page.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill man | man -l -                  read it
  linefill man run                         the page of a command
  linefill man --out ~/.local/share/man/man1      install all of them")]
struct Man {
    /// The command [default: the program as a whole].
    command: Option<String>,
    /// Write the pages of all commands into this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

fn man(args: &Man) -> Result<Status> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    if let Some(out) = &args.out {
        let unwritten = || format!("cannot write manual pages to `{}`", out.display());
        create_folder(out).with_context(unwritten)?;
        clap_mangen::generate_to(program, out).with_context(unwritten)?;
        return Ok(Status::Done);
    }
    let page = match &args.command {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command.clone(),
            None => {
                let names: Vec<&str> = program.get_subcommands().map(|c| c.get_name()).collect();
                bail!("no command `{name}`: {}", names.join(", "));
            }
        },
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    say(&String::from_utf8(text)?)?;
    Ok(Status::Done)
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;
    use std::time::Duration;

    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }

    /// Otherwise clap takes `-1` for an option, and advises to write `-- -1`.
    #[test]
    fn a_negative_number_is_refused_as_a_value_of_its_option() {
        let mut numbers = 0;
        for command in super::Cli::command().get_subcommands() {
            for option in command.get_opts() {
                let of = option.get_value_parser().type_id();
                let known = [
                    TypeId::of::<u16>(),
                    TypeId::of::<u32>(),
                    TypeId::of::<u64>(),
                    TypeId::of::<usize>(),
                    TypeId::of::<f64>(),
                    TypeId::of::<Duration>(),
                ];
                if known.iter().all(|number| of != *number) {
                    continue;
                }
                numbers += 1;
                let accepts = option.is_allow_hyphen_values_set()
                    || option.is_allow_negative_numbers_set()
                    || option.is_require_equals_set();
                assert!(accepts, "{} {option}", command.get_name());
            }
        }
        assert!(numbers > 20, "{numbers}");
    }

    #[test]
    fn times_have_units_and_end_with_a_day() {
        let seconds = |text| super::duration(text).map(|time| time.as_secs()).ok();
        let times = ["60", "60s", "10m", "12h", "24h", "1440m"].map(seconds);
        assert_eq!(times, [60, 60, 600, 43_200, 86_400, 86_400].map(Some));
        let wrong = ["", "s", "h", "0h", "25h", "1d", "1.5h", "10 m", "-1h", "1hs"];
        assert_eq!(wrong.map(seconds), [None; 10]);
    }

    #[test]
    fn every_command_teaches_with_an_example() {
        for command in super::Cli::command().get_subcommands_mut() {
            let help = command.render_long_help().to_string();
            let example = format!("linefill {}", command.get_name());
            assert!(help.contains(&example), "{help}");
        }
    }
}
