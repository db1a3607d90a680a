//! Kernels written with intrinsics against the same kernels in assembly, alternately on the same memory.

use std::hint::black_box;

use crate::common::driver::{Driver, is_test, ticks};
use linefill::cpu::{Features, Hint};
use linefill::kernel::{
    Ahead, Dependence, FillLines, FillWay, FlushLines, FlushWay, Form, Kernel, LoadLines, LoadWay,
    PrefetchWalk, Reach, Rewrite, RewriteWay, Step, Store, Sweep, Temporal, Translate, Vector,
    Walk, Width,
};
use linefill::mem::{LINE, PAGE, Region};
use linefill::pattern::{Layout, Matrix, Order, Ring};
use linefill::stats::quantile;

/// Pairs of samples per case.
const PAIRS: usize = 31;

/// Nanoseconds per sample: long compared with the clock, and short enough that most are undisturbed.
const SAMPLE: f64 = 200_000.0;

/// A size that fits into the L1d of every CPU, and a size larger than most caches; still larger sizes would
/// take too long.
const SIZES: [(usize, &str); 2] = [(16 << 10, "16 KiB"), (64 << 20, "64 MiB")];

pub fn main(driver: &mut Driver) {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let mut bench = Bench {
        driver,
        test: is_test(),
        wanted: arguments.into_iter().find(|text| !text.starts_with('-')),
        features: Features::detect(),
    };
    bench.driver.say(&format!(
        "{:44} {:>10} {:>10}   ratio (quartiles)",
        "ticks per operation", "assembly", "intrinsics"
    ));
    for (bytes, size) in SIZES {
        let mut memory = vec![1_u8; bytes + LINE];
        bench.walks(&mut memory, size);
        bench.prefetches(&mut memory, size);
        bench.stores(&mut memory, size);
        bench.loads(&mut memory, size);
        bench.fills(&mut memory, size);
        bench.flushes(&mut memory, size);
    }
    let mut memory = vec![1_u8; 64 * PAGE + LINE];
    bench.rewrites(&mut memory);
    bench.translations(&mut memory);
}

struct Bench<'d> {
    driver: &'d mut Driver,
    /// Whether to run each case once, untimed.
    test: bool,
    /// The text that the names of cases must contain.
    wanted: Option<String>,
    features: Features,
}

/// The whole lines of `memory`, without the extra line that it has for alignment.
fn region(memory: &mut [u8]) -> Region<'_> {
    let bytes = memory.len() - LINE;
    let skip = memory.as_ptr().align_offset(LINE);
    Region::new(&mut memory[skip..][..bytes]).expect("whole lines")
}

/// A ring of lines in random order over all of `memory`.
fn ring(memory: &mut [u8]) -> Ring<'_> {
    let region = region(memory);
    let count = region.len() / LINE;
    let layout = Layout::npad(LINE / 8 - 1);
    Ring::new(region, layout, count, Order::Random { seed: 1 }).expect("it fits")
}

impl Bench<'_> {
    fn walks(&mut self, memory: &mut [u8], size: &str) {
        for step in [Step::Follow, Step::Inc, Step::Addnext0] {
            let walk = Walk::new(ring(memory), step).expect("padding");
            self.compare(&format!("walk, {step:?}, {size}"), walk, Walk::by);
        }
    }

    fn prefetches(&mut self, memory: &mut [u8], size: &str) {
        for (hint, work, pace) in [
            (None, 0, Dependence::Independent),
            (Some(Hint::T0), 0, Dependence::Independent),
            (Some(Hint::T0), 5, Dependence::Serial),
            (Some(Hint::T0), 53, Dependence::Independent),
            (Some(Hint::T0), 53, Dependence::Serial),
            (Some(Hint::Nta), 53, Dependence::Serial),
        ] {
            let ahead = hint.map(|hint| Ahead { hint, elements: 8 });
            let walk = PrefetchWalk::new(ring(memory), ahead, work, pace).expect("padding");
            let hint = hint.map_or("no prefetch", Hint::name);
            let name = format!("{hint}, {work} imul, {pace:?}, {size}");
            self.compare(&name, walk, PrefetchWalk::by);
        }
    }

    fn stores(&mut self, memory: &mut [u8], size: &str) {
        for bytes in Width::BYTES {
            let Some(width) = Width::of(bytes, self.features) else {
                self.skipped(&format!("stores of {bytes}"));
                continue;
            };
            for temporal in [Temporal::Cached, Temporal::NonTemporal] {
                let region = region(memory);
                let rows = region.len() / PAGE;
                let matrix = Matrix::new(region, rows, PAGE).expect("it fits");
                let store = Store::new(matrix, Sweep::Row, width, temporal).expect("whole rows");
                let name = format!("store, {temporal:?}, {bytes} B, {size}");
                self.compare(&name, store, by(Store::by));
            }
        }
    }

    fn loads(&mut self, memory: &mut [u8], size: &str) {
        for bytes in Vector::BYTES {
            let found = Vector::of(bytes, self.features).zip(self.features.sse41());
            let Some((vector, sse41)) = found else {
                self.skipped(&format!("loads of {bytes}"));
                continue;
            };
            for (text, way) in [
                ("Cached", LoadWay::Cached(vector)),
                ("NonTemporal", LoadWay::NonTemporal(sse41, vector)),
            ] {
                let load = LoadLines::new(region(memory), way);
                let name = format!("load a line, {text}, {bytes} B, {size}");
                self.compare(&name, load, by(LoadLines::by));
            }
        }
    }

    fn fills(&mut self, memory: &mut [u8], size: &str) {
        for (text, way) in [
            ("Cached", FillWay::Cached),
            ("NonTemporal", FillWay::NonTemporal),
            ("one quarter", FillWay::Part { quarters: 1 }),
            ("8 in turn", FillWay::Interleaved { lines: 8 }),
        ] {
            let fill = FillLines::new(region(memory), way).expect("allowed values");
            let name = format!("fill a line, {text}, {size}");
            self.compare(&name, fill, by(FillLines::by));
        }
    }

    fn flushes(&mut self, memory: &mut [u8], size: &str) {
        for (name, way) in [
            ("clflush", Some(FlushWay::Ordered)),
            ("clflushopt", self.features.clflushopt().map(FlushWay::Unordered)),
            ("clwb", self.features.clwb().map(FlushWay::Back)),
        ] {
            let Some(way) = way else {
                self.skipped(name);
                continue;
            };
            let flush = FlushLines::new(region(memory), way);
            self.compare(&format!("{name}, absent lines, {size}"), flush, FlushLines::by);
        }
    }

    fn rewrites(&mut self, memory: &mut [u8]) {
        for (name, way) in [
            ("store", Some(RewriteWay::Back)),
            ("clwb", self.features.clwb().map(RewriteWay::Through)),
            ("movnti", Some(RewriteWay::NonTemporal)),
        ] {
            let Some(way) = way else {
                self.skipped(name);
                continue;
            };
            let rewrite = Rewrite::new(region(memory), way);
            self.compare(&format!("rewrite a word, {name}"), rewrite, Rewrite::by);
        }
    }

    fn translations(&mut self, memory: &mut [u8]) {
        for reach in [Reach::Prefetch, Reach::Load] {
            let translate = Translate::new(region(memory), reach, 64).expect("64 pages");
            let name = format!("one per page, {reach:?}, 64 pages");
            self.compare(&name, translate, Translate::by);
        }
    }

    fn skipped(&self, what: &str) {
        self.driver.say(&format!("{what}: skipped: not on this CPU"));
    }

    /// Times `kernel` in both forms in turn, and prints both times and their ratio.
    fn compare<K: Kernel>(&mut self, name: &str, mut kernel: K, by: impl Fn(K, Form) -> K) {
        let left_out = |wanted: &String| !format!("forms/{name}").contains(wanted.as_str());
        if self.wanted.as_ref().is_some_and(left_out) {
            return;
        }
        if self.test {
            for form in Form::ALL {
                kernel = by(kernel, form);
                black_box(kernel.run(100));
            }
            self.driver.say(&format!("{name}: ran in both forms"));
            return;
        }
        // Finds the number of operations that lasts for a sample; this also touches the memory.
        let mut operations = 64;
        let enough = self.driver.rate().ticks(SAMPLE);
        while ticks(&mut kernel, operations) < enough && operations < 1 << 40 {
            operations *= 2;
        }
        let mut samples = [const { Vec::new() }; 2];
        for pair in 0..PAIRS {
            // The form that goes first alternates from pair to pair.
            for turn in [pair % 2, (pair + 1) % 2] {
                kernel = by(kernel, Form::ALL[turn]);
                // Warm-up: removes what the other form left in predictors and buffers.
                black_box(kernel.run(operations / 8));
                let ticks = ticks(&mut kernel, operations);
                samples[turn].push(ticks as f64 / operations as f64);
            }
        }
        let pairs = samples[1].iter().zip(&samples[0]);
        let mut ratios: Vec<_> =
            pairs.map(|(intrinsics, assembly)| intrinsics / assembly).collect();
        let [assembly, intrinsics] = samples.map(|mut samples| at(&mut samples, 0.5));
        let [low, middle, high] = [0.25, 0.5, 0.75].map(|share| at(&mut ratios, share));
        self.driver.say(&format!(
            "{name:44} {assembly:10.2} {intrinsics:10.2}   {middle:.3} ({low:.3} to {high:.3})"
        ));
    }
}

/// A change of form that cannot fail here, because all cases have both forms.
fn by<K, E: std::fmt::Debug>(change: impl Fn(K, Form) -> Result<K, E>) -> impl Fn(K, Form) -> K {
    move |kernel, form| change(kernel, form).expect("a hard-float target")
}

/// The quantile of `values` at `share`.
fn at(values: &mut [f64], share: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    quantile(values, share).expect("there are samples")
}
