//! `linefill time`: assembles, runs and times lines and functions; also tests what they may not do.
#![cfg(feature = "lab")]

use std::fs;

use crate::common::cli::{Folder, Ran, assert_has, words};
use crate::common::untested;

const KERNEL: &str = "\
    .intel_syntax noprefix
    .text
#define ONE 1
    .globl count
count:
    mov rax, [rip + counter]
    add rax, ONE
    mov [rip + counter], rax
    lea rdx, [rip + table]
    cmp rax, [rdx]          // more than it may count
    ja fail
    mov rcx, [rdx + 8]
    cmp rax, [rcx]          // the counter, by its address in a table
    jne fail
    ret
fail:
    ud2
    .globl past
past:
    nop
    mov rax, [rdi + rsi]
    ret
    .globl loops
loops:
    mov rax, [rdi]          // the list
    dec rdx
    jnz loops
    ret
    .section .data.rel.ro
table:
    .quad 0x100000000, counter
    .data
counter:
    .quad 0
";

fn time(folder: &Folder, args: &[&str]) -> Ran {
    folder.run(&[&["time"], args].concat())
}

/// A folder with `kernel.S`. `None` without a compiler.
fn with_kernel(name: &str) -> Option<Folder> {
    let folder = Folder::new(name);
    fs::write(folder.at("kernel.S"), KERNEL).unwrap();
    untested::starts("cc").then_some(folder)
}

/// The states in the rows of the JSON.
fn states(ran: &Ran) -> Vec<String> {
    let value = ran.json();
    let rows = value["times"].as_array().unwrap().iter();
    rows.map(|row| row["state"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn lines_are_timed_warm_and_cold() {
    if !untested::starts("cc") {
        return;
    }
    let folder = Folder::new("time-lines");
    let ran = time(&folder, &["--asm", "mov rax, [rax]", "--format", "json"]).ok();
    let cold = ["memory flushed", "memory and code flushed"];
    assert_eq!(states(&ran), [&["warm"], &cold[..]].concat());
    let text = time(&folder, &["--asm", "mov rax, [rax]", "--unroll", "8"]).ok().out;
    assert_has(&text, &["core cycles", "4 KiB of memory", "8 copies in the loop against 16"]);
}

#[test]
fn what_ctrl_c_cut_short_says_so() {
    if !untested::starts("cc") {
        return;
    }
    let folder = Folder::new("time-stopped");
    // The whole group gets the signal, as from a terminal: the code's process ends early, with what it has. It
    // begins later and takes longer on a busy machine: one of these pauses ends while it runs on any.
    for (form, mark) in [("table", "; stopped early"), ("json", "\"interrupted\": true")] {
        let args = ["time", "--asm", "nop", "--format", form];
        let after = |seconds| folder.stopped(seconds, &args);
        let mut all = (0..16).map(|step| after(0.7 * 1.3f64.powi(step)));
        let marked = |ran: &Ran| ran.status == Some(130) && ran.out.contains(mark);
        let ran = all.find(marked).expect(mark);
        assert!(!ran.out.contains("lost in the noise"), "{}", ran.out);
    }
}

#[test]
fn a_function_finds_its_data_and_its_memory() {
    let Some(folder) = with_kernel("time-function") else {
        return;
    };
    // The function executes `ud2` unless its data, its constants and the address in a table are right.
    let ran = time(&folder, &["kernel.S", "--symbol", "count", "--format", "json"]).ok();
    assert_eq!(states(&ran)[1], "a call of an empty function");
    let ran = time(&folder, &words("kernel.S --symbol loops --counts --format json"));
    assert_eq!(states(&ran.ok()).len(), 3);
    // An object file needs no assembler.
    let cc = std::process::Command::new("cc")
        .args(["-c", "kernel.S"])
        .current_dir(folder.at(""))
        .status();
    assert!(cc.unwrap().success());
    let mut alone = folder.linefill(&["time", "kernel.o", "--symbol", "count"]);
    Ran::of(alone.env("PATH", "/nonexistent").env_remove("CC")).ok();
    fs::write(
        folder.at("sum.c"),
        "static long all; long sum(long *at, long bytes) { \
         for (long i = 0; i < bytes / 8; i++) all += at[i]; return all; }",
    )
    .unwrap();
    time(&folder, &["sum.c", "--symbol", "sum", "--memory", "100"]).ok();
}

/// The walk along the list continues from run to run, and registers keep their values, including vector
/// registers.
#[test]
fn registers_last_and_the_list_leads_through_the_memory() {
    if !untested::starts("cc") {
        return;
    }
    let folder = Folder::new("time-registers");
    // Faults unless rbx has the value from the previous copy, and xmm3 the value from `--init`.
    let init = "mov ebx, 7; movq xmm3, rbx; mov r8d, 1";
    let asm = "mov rdi, [rdi]; add rbx, r8; movq rcx, xmm3; cmp rcx, 7; jne 3f; cmp rbx, 7; ja 4f
        3: ud2
        4:";
    time(&folder, &["--asm", asm, "--init", init, "--memory", "64KiB"]).ok();
    // Every address of the list is in the memory, and a lap visits all lines: the code counts the lines down
    // until it is back at the start, and faults if it is back too early.
    let init = "mov rbx, rsi; shr rbx, 6; mov r8, rbx; mov r9, rdi";
    let asm = "mov rdi, [rdi]; dec rbx; cmp rdi, r9; jne 1f; test rbx, rbx; jz 2f; ud2; 2: mov \
               rbx, r8; 1:";
    time(&folder, &["--asm", asm, "--init", init, "--memory", "8KiB"]).ok();
}

#[test]
fn faults_are_told() {
    let Some(folder) = with_kernel("time-faults") else {
        return;
    };
    for (asm, parts) in [
        ("ud2", &["SIGILL", "in --asm"][..]),
        ("mov rax, [rsi]", &["SIGSEGV", "accessed address 0x1000"]),
        ("mov rax, [rdi - 8]", &["SIGSEGV", "8 bytes before its memory of 4096"]),
        ("xor edx, edx; div rdx", &["SIGFPE", "divided by zero"]),
        ("mov eax, 231; mov edi, 5; syscall", &["ended its process, with status 5"]),
        ("mov eax, 60; xor edi, edi; syscall", &["the code ended its process"]),
        ("mov byte ptr [rip], 1", &["SIGSEGV"]),
    ] {
        time(&folder, &["--asm", asm]).refused(parts);
    }
    time(&folder, &["--asm", "nop", "--init", "ud2"]).refused(&["SIGILL", "in --init"]);
    time(&folder, &["kernel.S", "--symbol", "past"])
        .refused(&["SIGSEGV", "0 bytes behind its memory of 4096, at byte 1 of `past`"]);
    time(&folder, &["--asm", "jmp .", "--timeout", "1"]).refused(&["within 1 s", "--timeout"]);
}

#[test]
fn what_other_functions_call_does_not_matter() {
    let Some(folder) = with_kernel("time-others") else {
        return;
    };
    let source = "#include <stdio.h>
        static __attribute__((noinline)) long own(long *at) { return *at; }
        long good(long *at) { return own(at) + own(at + 1); }
        static __attribute__((noinline)) void inner(long n) { printf(\"%ld\", n); }
        long bad(long *at) { inner(*at); return 1; }
        void (*table[2])(long) = { inner, inner };
        long by_table(long *at) { table[*at & 1](*at); return 1; }
        void says(void) { fprintf(stderr, \"x\"); }";
    fs::write(folder.at("some.c"), source).unwrap();
    let run = |file: &str, symbol: &str| time(&folder, &[file, "--symbol", symbol]);
    run("some.c", "good").ok();
    for symbol in ["bad", "by_table"] {
        run("some.c", symbol).refused(&["some.c", "`printf` is not in the file"]);
    }
    // The assembler leaves no trace of a call inside a section.
    let source = ".globl f, g\nf: ret\ng: call h\nret\nh: call malloc@plt\nret\n";
    fs::write(folder.at("some.s"), source).unwrap();
    run("some.s", "f").ok();
    run("some.s", "h").refused(&["`malloc` is not in the file"]);
    run("some.s", "g").refused(&["SIGTRAP", "called a function that is not in the file"]);
}

#[test]
fn what_cannot_be_assembled_or_joined_is_named() {
    let Some(folder) = with_kernel("time-refused") else {
        return;
    };
    for (args, parts) in [
        (&["--asm", "nop\nmoov rax, 1"][..], &["--asm:2", "moov"][..]),
        (&["--asm", "nop", "--init", "moov"], &["--init:1", "moov"]),
        (&["--asm", "here: nop"], &["labels have to be numbers", "here"]),
        (&["--asm", "movq %rax, %rbx"], &["--syntax att"]),
        (&["--asm", ""], &["--asm", "no instruction"]),
        (&["--asm", " ;\n"], &["--asm", "no instruction"]),
        (&["--asm", "call malloc"], &["`malloc` is not in the file"]),
        (
            &["kernel.S", "--symbol", "nothing"],
            &["no function `nothing`", "count, fail, loops, past"],
        ),
        (&["kernel.S"], &["--symbol"]),
        (&[], &["--asm"]),
        (&["kernel.txt", "--symbol", "x"], &["kernel.txt", "No such file"]),
        (&["--asm", "nop", "--memory", "1000TiB"], &["available"]),
        (&["--asm", "nop", "--unroll", "0"], &["'0'", "1..=10000"]),
        (&["--asm", "nop", "-e", "bogus"], &["`bogus`"]),
        (&["--asm", "nop", "--timeout", "soon"], &["seconds (60s)"]),
    ] {
        time(&folder, args).refused(parts);
    }
    fs::write(folder.at("other.txt"), "nop").unwrap();
    time(&folder, &["other.txt", "--symbol", "x"]).refused(&["Name it .S"]);
    fs::write(folder.at("low.s"), ".globl f\nf: movl $f, %eax\nret\n").unwrap();
    time(&folder, &["low.s", "--symbol", "f"]).refused(&["32 bits, of `f`", "[rip + f]"]);
    let none = |args: &[&str]| {
        let mut command = folder.linefill(&[&["time"], args].concat());
        Ran::of(command.env("PATH", "/nonexistent").env_remove("CC"))
    };
    none(&["--asm", "nop"]).refused(&["cc, gcc, clang, as not found", "Debian: gcc"]);
    none(&["kernel.S", "--symbol", "count"]).refused(&["no assembler found"]);
}
