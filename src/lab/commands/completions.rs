//! `linefill completions` and `linefill man`: made from the definition of the command line.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::CommandFactory as _;

use super::{Cli, Status, say};

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill completions bash > ~/.local/share/bash-completion/completions/linefill
  linefill completions zsh > ~/.zfunc/_linefill        with ~/.zfunc in $fpath
  linefill completions fish > ~/.config/fish/completions/linefill.fish")]
pub(super) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// A shell.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub(super) fn completions(args: &Completions) -> Result<Status> {
    let shell = match args.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "linefill", &mut script);
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
pub(super) struct Man {
    /// The command [default: the program as a whole].
    command: Option<String>,
    /// Write the pages of all commands into this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

pub(super) fn man(args: &Man) -> Result<Status> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    if let Some(out) = &args.out {
        let unwritten = || format!("cannot write manual pages to `{}`", out.display());
        std::fs::create_dir_all(out).with_context(unwritten)?;
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
