//! The tensor series' access pattern in every cache of `tensor_cache_sim_vectors.csv`. An independent model
//! produced the counts.

use std::thread;

use linefill::sim::{Cache, Design, Geometry, Reference, Replacement};

const VECTORS: &str = include_str!("../../../reference/tensor_cache_sim_vectors.csv");

/// One row: a pattern, a cache, and the expected counts.
struct Row<'a> {
    pattern: &'a str,
    dims: [u64; 4],
    element: u64,
    design: Design,
    sets: u64,
    accesses: u64,
    misses: u64,
    hits: u64,
    cold: u64,
    evictions: u64,
}

impl<'a> Row<'a> {
    fn read(line: &'a str) -> Self {
        let (pattern, rest) = match line.strip_prefix('"') {
            Some(quoted) => quoted.split_once("\",").unwrap(),
            None => line.split_once(',').unwrap(),
        };
        let fields: Vec<&str> = rest.split(',').collect();
        let number = |index: usize| fields[index].parse::<u64>().unwrap();
        let mut dims = fields[0].trim_matches('"').split('x');
        let geometry = Geometry::new(number(3), number(4), number(5)).unwrap();
        let replacement = match fields[7] {
            "rr" => Replacement::RoundRobin,
            "lru" => Replacement::Lru,
            "plru" => Replacement::TreePlru,
            other => panic!("policy {other}"),
        };
        Row {
            pattern,
            dims: std::array::from_fn(|_| dims.next().unwrap().parse().unwrap()),
            element: number(1),
            accesses: number(2),
            sets: number(6),
            design: Design::lru(geometry).replacing(replacement),
            misses: number(8),
            hits: number(9),
            cold: number(10),
            evictions: number(11),
        }
    }

    /// The addresses of one round of the pattern, in order. A round ends when all four indices are 0 again.
    fn round(&self) -> Vec<u64> {
        let [_, d1, d2, d3] = self.dims;
        let length = self.dims.into_iter().fold(1, lcm).min(self.accesses);
        let at = |i: u64| self.dims.map(|dim| i % dim);
        let index = |[b, ch, r, c]: [u64; 4]| ((b * d1 + ch) * d2 + r) * d3 + c;
        match self.pattern {
            "nested_java_ptr4_hdr16_4loads" => Nested::new(self.dims, 4).round(length),
            "nested_java_ptr8_hdr16_4loads" => Nested::new(self.dims, 8).round(length),
            _ => (0..length).map(|i| index(at(i)) * self.element).collect(),
        }
    }

    /// Misses, hits, lines that missed at least once, evictions.
    fn counted(&self) -> [u64; 4] {
        let round = self.round();
        let mut cache = Cache::new(self.design);
        let line = self.design.geometry.line();
        let highest = round.iter().max().unwrap() / line;
        let mut seen = vec![false; highest as usize + 1];
        for &address in round.iter().cycle().take(self.accesses as usize) {
            if !cache.reference(Reference::load(address, self.element as u32)) {
                seen[(address / line) as usize] = true;
            }
        }
        let counters = cache.counters();
        [
            counters.reads.misses,
            counters.reads.hits,
            seen.into_iter().filter(|seen| *seen).count() as u64,
            counters.evictions,
        ]
    }
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    a / divisor * b
}

/// Java's arrays of arrays, each with a header of 16 bytes and its payload, aligned to 8 bytes. They are
/// allocated from address 0, depth first, each parent before its children.
struct Nested {
    dims: [u64; 4],
    reference: u64,
    /// The start of each array, by level and index.
    starts: [Vec<u64>; 4],
}

impl Nested {
    const HEADER: u64 = 16;
    const FLOAT: u64 = 4;

    fn new(dims: [u64; 4], reference: u64) -> Self {
        let mut nested = Nested { dims, reference, starts: Default::default() };
        let mut next = 0;
        nested.allocate(0, &mut next);
        nested
    }

    /// Bytes of an element of the arrays at a level.
    fn element(&self, level: usize) -> u64 {
        match level {
            3 => Self::FLOAT,
            _ => self.reference,
        }
    }

    fn allocate(&mut self, level: usize, next: &mut u64) {
        let length = self.dims[level];
        self.starts[level].push(*next);
        *next += (Self::HEADER + length * self.element(level)).next_multiple_of(8);
        if level < 3 {
            (0..length).for_each(|_| self.allocate(level + 1, next));
        }
    }

    /// The four loads of each of `reads` reads: three references and the float.
    fn round(&self, reads: u64) -> Vec<u64> {
        let mut addresses = Vec::new();
        for i in 0..reads {
            let mut array = 0;
            for (level, dim) in self.dims.into_iter().enumerate() {
                let element = self.element(level);
                let index = i % dim;
                let start = self.starts[level][array as usize];
                addresses.push(start + Self::HEADER + index * element);
                array = array * dim + index;
            }
        }
        addresses
    }
}

/// One row of `STEP` rows is tested: of every policy, and of flat and nested arrays. Release builds, which `.ci/run`
/// also tests, take all rows; without optimisation all rows would take most of a minute.
const STEP: usize = if cfg!(debug_assertions) { 18 } else { 1 };

#[test]
fn every_vector_is_met_exactly() {
    let header = |line: &&str| line.starts_with('#') || line.starts_with("pattern,");
    let lines: Vec<&str> = VECTORS.lines().filter(|line| !header(line)).collect();
    assert_eq!(lines.len(), 109);
    let lines: Vec<&str> = lines.into_iter().step_by(STEP).collect();
    let failed = |line: &&str| {
        let row = Row::read(line);
        assert_eq!(row.design.geometry.sets(), row.sets, "{line}");
        let counted = row.counted();
        let wanted = [row.misses, row.hits, row.cold, row.evictions];
        (counted != wanted).then(|| format!("{line}\n  {counted:?}"))
    };
    let (left, right) = lines.split_at(lines.len() / 2);
    let wrong: Vec<String> = thread::scope(|scope| {
        let left = scope.spawn(|| left.iter().filter_map(failed).collect::<Vec<_>>());
        let right = right.iter().filter_map(failed).collect::<Vec<_>>();
        [left.join().unwrap(), right].concat()
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
