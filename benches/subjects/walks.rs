//! Walks: the cost of a step in each level, by order, by kind of step, and by pages.

use crate::common::cases::Bench;

pub fn main(bench: &mut Bench) {
    let ranges = bench.machine.ranges.clone();
    let near = ranges.l1.hi;
    let far = bench.machine.in_memory() as f64;

    // A chain in a register, then a random walk in every level.
    let levels = bench.cases("D7");
    let register = bench.time(&levels, "register", 0.0);
    let l1 = bench.time(&levels, "L1d", near);
    let l2 = bench.time(&levels, "L2", ranges.l2.hi);
    let last = bench.time(&levels, "last level", ranges.llc.hi);
    let memory = bench.time(&levels, "memory", far);
    bench.ratio("L1d over register", &l1, &register);
    bench.ratio("L2 over L1d", &l2, &l1);
    bench.ratio("last level over L2", &last, &l2);
    bench.ratio("memory over last level", &memory, &last);

    let orders = bench.cases("D19");
    let sequential = bench.time(&orders, "sequential", near);
    bench.time(&orders, "random", near);
    let streamed = bench.time(&orders, "sequential", far);
    let random = bench.time(&orders, "random", far);
    bench.ratio("sequential, memory over L1d", &streamed, &sequential);
    bench.ratio("in memory, random over sequential", &random, &streamed);

    let kinds = bench.cases("D17");
    let follow = bench.time(&kinds, "Follow", far);
    let inc = bench.time(&kinds, "Inc", far);
    let add = bench.time(&kinds, "Addnext0", far);
    bench.ratio("in memory, Inc over Follow", &inc, &follow);
    bench.ratio("in memory, Addnext0 over Follow", &add, &follow);

    // 256 pages: more than the entries of the L1 dTLB of any CPU.
    let pages = bench.cases("D16");
    let x = 256.0 * 64.0;
    let lines = bench.time(&pages, "one per line", x);
    let same = bench.time(&pages, "one per page, same offset", x);
    let rotating = bench.time(&pages, "one per page, rotating offset", x);
    bench.ratio("256 pages over 256 lines, rotating offset", &rotating, &lines);
    bench.ratio("256 pages, same over rotating offset", &same, &rotating);

    // The effect of the addressing mode and of the destination register.
    let loads = bench.cases("X2");
    let simple = bench.time(&loads, "mov rax,[rax]", near);
    let scaled = bench.time(&loads, "mov rax,[rdx+rax*8+64]", near);
    let signed = bench.time(&loads, "movsxd rax,[rdx+rax]", near);
    let vector = bench.time(&loads, "movq xmm0,[rax]; movq rax,xmm0", near);
    bench.ratio("scaled index over base alone", &scaled, &simple);
    bench.ratio("sign extension over base alone", &signed, &simple);
    bench.ratio("through a vector register and back", &vector, &simple);

    let jumps = bench.cases("B12");
    bench.time(&jumps, "k = a[k]", near);
    bench.time(&jumps, "k = a[k]", far);
}
