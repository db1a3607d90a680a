//! Tests that the examples in the help of every command are accepted as they are written.

use clap::CommandFactory as _;
use glob::Pattern;

use super::Cli;
use crate::lab::compare::Gate;
use crate::lab::gate::RunGate;
use crate::lab::read::parse;
use crate::lab::selection::select;
use crate::recorded::machine_of;

/// Returns the help text of each command, and that of the program.
fn helps() -> Vec<String> {
    let mut program = Cli::command();
    let mut helps = vec![program.render_long_help().to_string()];
    let commands = program.get_subcommands_mut();
    helps.extend(commands.map(|command| command.render_long_help().to_string()));
    helps
}

/// Returns the example lines of a help text, with continued lines joined.
fn examples(help: &str) -> Vec<String> {
    let mut lines = help.lines();
    let mut examples = Vec::new();
    while let Some(line) = lines.next() {
        let line = line.strip_prefix("  ").unwrap_or_default();
        let line = line.trim_start().trim_start_matches("sudo ");
        // `linefill` in the text of a paragraph is in backticks, or at the start of a sentence without indent.
        if !line.starts_with("linefill ") {
            continue;
        }
        let mut example = line.to_owned();
        while let Some(begun) = example.strip_suffix('\\') {
            example = format!("{begun}{}", lines.next().unwrap().trim_start());
        }
        examples.push(example);
    }
    examples
}

/// Splits a command as a shell does, up to a pipe, a redirection or the explanation, which two spaces separate.
fn words(example: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quoted, mut before) = (false, 'x');
    for letter in example.chars() {
        match letter {
            '\'' => quoted = !quoted,
            '|' | '>' | '<' | '&' if !quoted => break,
            ' ' if !quoted && before == ' ' => break,
            ' ' if !quoted => words.push(String::new()),
            letter => words.last_mut().unwrap().push(letter),
        }
        before = letter;
    }
    assert!(!quoted, "{example}");
    words.retain(|word| !word.is_empty());
    words
}

/// Returns each example, and its command with the parsed arguments.
fn parsed() -> Vec<(String, String, clap::ArgMatches)> {
    let examples = helps().into_iter().flat_map(|help| examples(&help));
    let parsed = examples.map(|example| {
        let matches = Cli::command().try_get_matches_from(words(&example));
        let matches = matches.unwrap_or_else(|error| panic!("{example}\n{error}"));
        let (name, arguments) = matches.subcommand().unwrap();
        (example, name.to_owned(), arguments.clone())
    });
    parsed.collect()
}

/// Returns the values of an argument, if the command has this argument.
fn values(arguments: &clap::ArgMatches, name: &str) -> Vec<String> {
    let values = arguments.try_get_many::<String>(name).ok().flatten();
    values.unwrap_or_default().cloned().collect()
}

#[test]
fn every_example_is_accepted() {
    let parsed = parsed();
    // Nineteen help texts, most with three examples or more: this many lines must have been recognised.
    assert!(parsed.len() > 60, "{}", parsed.len());
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        assert!(parsed.iter().any(|(_, of, _)| of == name), "{name}");
    }
}

#[test]
fn examples_name_experiments_and_their_series() {
    let planted = include_bytes!("../../../tests/fixtures/record/planted.jsonl");
    let mut header = parse(planted).unwrap().record.header;
    // Two cores, so that experiments with several threads have cases.
    header.locations = vec![[0, 0, 0, 0, 0].into(), [1, 1, 1, 0, 0].into()];
    let machine = machine_of(&header, &[]);
    let mut series = 0;
    for (example, command, arguments) in parsed() {
        let mut ids = values(&arguments, "patterns");
        ids.extend(values(&arguments, "experiment"));
        if command == "show" {
            // This command takes ids of claims, too.
            let experiment = |id: &String| id.split('.').next().unwrap().to_owned();
            ids = ids.iter().map(experiment).collect();
        }
        let experiments = select(&ids).unwrap_or_else(|error| panic!("{example}: {error}"));
        for glob in values(&arguments, "series") {
            let glob = Pattern::new(&glob).unwrap();
            let cases = experiments.iter().flat_map(|of| (of.cases)(&machine));
            let matched = cases.filter(|case| glob.matches(&case.series)).count();
            assert!(matched > 0, "{example}");
            series += 1;
        }
    }
    assert!(series >= 4, "{series}");
}

#[test]
fn the_gates_of_examples_can_be_read() {
    let mut gates = 0;
    for (example, command, arguments) in parsed() {
        for gate in values(&arguments, "gates") {
            let result = match &*command {
                "compare" if gate.starts_with("parse/") => continue,
                "compare" => gate.parse::<Gate>().map(drop).map_err(|e| e.to_string()),
                _ => gate.parse::<RunGate>().map(drop).map_err(|e| e.to_string()),
            };
            assert_eq!(result, Ok(()), "{example}");
            gates += 1;
        }
    }
    assert!(gates >= 4, "{gates}");
}
