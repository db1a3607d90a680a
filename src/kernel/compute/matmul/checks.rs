//! Checks of the matrix multiplications, the paper's and the tiled ones.

use core::ops::Range;

use crate::cpu::Features;
use crate::kernel::compute::tile::tiles;
use crate::kernel::verify::Oracle;
use crate::kernel::verify::check::{Built, Case, WithKernel, WithReference};
use crate::kernel::{Matmul, MatmulWay, TileMatmul, TileWay};
use crate::mem::Region;
use crate::pattern::Product;

const SEED: u64 = 11;

struct MatmulCase {
    side: usize,
    way: MatmulWay,
}

impl MatmulCase {
    fn build<'m>(&self, memory: Region<'m>) -> Option<Matmul<'m>> {
        let product = Product::new(memory, self.side, SEED).ok()?;
        Matmul::new(product, self.way).ok()
    }
}

impl Case for MatmulCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut self.build(memory)?)
    }

    fn reference(&self, memory: Region<'_>, then: WithReference<'_>) -> Built {
        // The transposed copy keeps the contents that `new` wrote.
        let mut product = self.build(memory)?.into_product();
        reference(&mut product, self.way.block(), then)
    }
}

/// Matrices so small that an operation covers all of their rows.
struct TileCase {
    side: usize,
    way: TileWay,
}

impl Case for TileCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let product = Product::new(memory, self.side, SEED).ok()?;
        then(&mut TileMatmul::new(product, self.way).ok()?)
    }

    fn reference(&self, memory: Region<'_>, then: WithReference<'_>) -> Built {
        let mut product = Product::new(memory, self.side, SEED).ok()?;
        reference(&mut product, [self.side; 2], then)
    }

    fn scratch(&self) -> Range<usize> {
        Product::bytes(self.side)..self.way.bytes(self.side)
    }
}

/// Runs the reference implementation, block by block.
fn reference(product: &mut Product<'_>, block: [usize; 2], then: WithReference<'_>) -> Built {
    let mut done = 0;
    then(&mut |operations| {
        done = crate::kernel::compute::matmul::reference::matmul(product, block, done, operations);
        done
    })
}

impl Oracle<'_, '_> {
    pub(crate) fn matmuls(&mut self, features: Features) {
        let cases = |way| [8, 16].map(|side| MatmulCase { side, way });
        self.check_cases("linefill_matmul_copy", cases(MatmulWay::Transposed));
        self.check_cases("linefill_matmul_dot", cases(MatmulWay::Original));
        self.check_cases("linefill_matmul_submatrix", cases(MatmulWay::SubMatrix));
        self.check_cases("linefill_matmul_submatrix_sse2", cases(MatmulWay::Vectorised));
        // Smaller than a tile, and whole tiles with a row and a column beyond them.
        let avx2 = features.fma().map(|token| (TileWay::Avx2(token), [1, 13]));
        let avx512 = features.avx512().map(|token| (TileWay::Avx512(token), [1, 25]));
        for (way, sides) in avx2.into_iter().chain(avx512) {
            self.check_cases(tiles(way).name, sides.map(|side| TileCase { side, way }));
        }
    }
}
