//! Matrix multiplications: timed, checked against the plain loops, and traced into a cache.

use crate::experiment::machine::predict::window;
use crate::experiment::prelude::*;
use crate::kernel::{Access, Kernel, Kind, Matmul, MatmulWay, TileMatmul, TileWay};
use crate::model::addition_in_sums;
use crate::pattern::{Product, Rng};
use crate::sim::{Cache, Design, Geometry, Reference};

/// The seed of the elements, which have no effect on times.
const SEED: u64 = 1;

/// A way to multiply matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Multiply {
    Paper(MatmulWay),
    /// In tiles, by AVX2 and FMA.
    Avx2,
    /// In tiles, by AVX-512.
    Avx512,
}

impl Multiply {
    /// Returns the bytes of matrices of `side` rows and columns, and of the copies that the way
    /// needs.
    fn bytes(self, side: usize) -> usize {
        match self {
            Multiply::Paper(way) => way.bytes(side),
            // The size of the tiles is not known here. Packing adds less than 24 rows and columns
            // to a matrix.
            Multiply::Avx2 | Multiply::Avx512 => 5 * Product::matrix_bytes(side + 24),
        }
    }

    fn tiles(self, context: &Context) -> Testable<TileWay> {
        let (way, needs) = match self {
            Multiply::Avx512 => (context.features.avx512().map(TileWay::Avx512), "AVX-512"),
            _ => (context.features.fma().map(TileWay::Avx2), "AVX2 and FMA"),
        };
        way.ok_or_else(|| {
            Untestable(format!("this way to multiply needs {needs}, which this CPU lacks",))
        })
    }
}

static SUMS: Model = Model {
    name: "dependent additions of a sum",
    basis: Basis::Published,
    bar: 0.25,
    leaves_out: "the loops around the sum, and misses of a column whose lines share sets",
};

/// Operations of the inner loop of `asm/compute/matmul.S`: a load, a product with memory, a sum, two steps,
/// and a decrement with its jump.
const OPERATIONS: f64 = 6.0;

/// Set-up that multiplies square matrices. An operation computes a part of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatmulSetup {
    /// Number of rows and columns.
    pub side: usize,
    pub way: Multiply,
}

impl Setup for MatmulSetup {
    fn bytes(&self) -> usize {
        self.way.bytes(self.side)
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let product = Product::new(region, self.side, SEED)?;
        let (kernel, pass): (Box<dyn Kernel>, u64) = match self.way {
            Multiply::Paper(way) => {
                let matmul = Matmul::new(product, way)?;
                let pass = matmul.pass();
                (Box::new(matmul), pass)
            }
            tiled => {
                let matmul = TileMatmul::new(product, tiled.tiles(context)?)?;
                let pass = matmul.pass();
                (Box::new(matmul), pass)
            }
        };
        // A few rows read all of `mul2`. The whole product would take a second or more.
        let rows = 16 * pass / self.side as u64;
        Ok(Workload::Steady { kernel, period: rows.clamp(1, pass), beside: None })
    }

    /// Predicts the latency of additions: a multiply-add waits for the previous addition to its
    /// sum, but not for additions to other sums.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let Multiply::Paper(MatmulWay::Original | MatmulWay::Transposed) = self.way else {
            return None;
        };
        // An operation is a line of the result.
        let multiply_adds = self.side * (LINE / size_of::<f64>());
        let ahead = window(parameters)? / OPERATIONS;
        let addition = parameters.float_addition()?;
        let each = addition_in_sums(addition, self.side as f64, ahead);
        Some(SUMS.forecast(each * multiply_adds as f64))
    }
}

/// Set-up that multiplies square matrices of random elements in a way and by the plain loops. It
/// reports the largest difference of an element, relative to the sum of the magnitudes of its
/// products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DifferenceSetup {
    pub side: usize,
    pub way: Multiply,
}

impl DifferenceSetup {
    /// Returns two factors whose elements are changed by `change`, and the product not yet
    /// computed.
    fn product<'m>(&self, region: Region<'m>, change: fn(f64) -> f64) -> Testable<Product<'m>> {
        let mut product = Product::new(region, self.side, SEED)?;
        let mut rng = Rng::new(SEED);
        for factor in product.factors_mut() {
            // Elements use every bit of a double, so that sums are rounded. Sums of `Product::new`
            // are exact.
            factor.fill_with(|| (rng.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0);
            factor.iter_mut().for_each(|element| *element = change(*element));
        }
        Ok(product)
    }

    fn plain(&self, region: Region<'_>, change: fn(f64) -> f64) -> Testable<Vec<f64>> {
        let mut product = self.product(region, change)?;
        crate::kernel::reference::matmul(&mut product, [self.side; 2], 0, 1);
        Ok(product.matrices()[2].to_vec())
    }
}

impl Setup for DifferenceSetup {
    fn bytes(&self) -> usize {
        self.way.bytes(self.side)
    }

    fn is_count(&self) -> bool {
        true
    }

    fn prepare<'m>(&self, mut region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let wanted = self.plain(region.reborrow(), |element| element)?;
        let magnitudes = self.plain(region.reborrow(), f64::abs)?;
        let product = self.product(region, |element| element)?;
        let product = match self.way {
            Multiply::Paper(way) => {
                let mut matmul = Matmul::new(product, way)?;
                matmul.run(matmul.pass());
                matmul.into_product()
            }
            tiled => {
                let mut matmul = TileMatmul::new(product, tiled.tiles(context)?)?;
                matmul.run(matmul.pass());
                matmul.into_product()
            }
        };
        let found = product.matrices()[2].iter();
        let differences = found
            .zip(&wanted)
            .zip(&magnitudes)
            .map(|((found, wanted), magnitude)| (found - wanted).abs() / magnitude);
        Ok(Workload::Count(differences.fold(0.0, f64::max)))
    }
}

/// The source of the simulated accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Traced {
    /// The accesses of a kernel.
    Kernel(MatmulWay),
    /// The original loops with this many iterations of the middle loop (columns of `mul2`) done
    /// together inside the inner loop.
    Together(usize),
}

/// Set-up that counts accesses to `mul2` that miss in a simulated L1d, per multiply-add.
///
/// The cache has 4 KiB, 8 ways, lines of 64 bytes and LRU replacement. The matrices have 120 rows:
/// a column's lines are 1.9 times the cache, as the paper's 1000 lines are 1.9 times 32 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MissSetup {
    pub traced: Traced,
}

impl MissSetup {
    /// Number of rows and columns.
    const SIDE: usize = 120;
}

/// Reports the accesses of the original loops, with `columns` iterations of the middle loop at a
/// time.
fn together(columns: usize, sink: &mut dyn FnMut(Access)) {
    let side = MissSetup::SIDE;
    let place = |matrix: usize, row: usize, column: usize| {
        matrix * Product::matrix_bytes(side) + (row * side + column) * 8
    };
    for i in 0..side {
        for j in (0..side).step_by(columns) {
            for k in 0..side {
                sink(Access::load(place(0, i, k), 8));
                for column in j..j + columns {
                    sink(Access::load(place(1, k, column), 8));
                }
            }
            for column in j..j + columns {
                sink(Access::store(place(2, i, column), 8));
            }
        }
    }
}

impl Setup for MissSetup {
    fn bytes(&self) -> usize {
        match self.traced {
            Traced::Kernel(way) => way.bytes(Self::SIDE),
            Traced::Together(_) => 0,
        }
    }

    fn is_count(&self) -> bool {
        true
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let mut cache = Cache::new(Design::lru(Geometry::new(4096, 8, 64)?));
        let matrix = Product::matrix_bytes(Self::SIDE);
        let mul2 = matrix..2 * matrix;
        let mut misses = 0_u64;
        let mut count = |access: Access| {
            let hit = cache.reference(Reference::of(access, 0));
            let counts = access.kind == Kind::Load && mul2.contains(&access.offset);
            misses += u64::from(counts && !hit);
        };
        match self.traced {
            Traced::Kernel(way) => {
                let product = Product::new(region, Self::SIDE, SEED)?;
                let mut matmul = Matmul::new(product, way)?;
                matmul.trace(matmul.pass(), &mut count);
            }
            Traced::Together(columns) => together(columns, &mut count),
        }
        let multiply_adds = (Self::SIDE * Self::SIDE * Self::SIDE) as f64;
        Ok(Workload::Count(misses as f64 / multiply_adds))
    }
}
