//! Functions of `f64` that the standard library has and the core library lacks, from libm. Rounding may
//! differ from the standard library's in the last bit.

/// The standard library's methods of these names.
pub(crate) trait Float {
    fn sqrt(self) -> Self;
    fn hypot(self, other: Self) -> Self;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    fn ln_1p(self) -> Self;
    fn log2(self) -> Self;
    fn log10(self) -> Self;
    fn powf(self, exponent: Self) -> Self;
    fn powi(self, exponent: i32) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn round(self) -> Self;
    fn fract(self) -> Self;
}

macro_rules! by_libm {
    ($($method:ident($($other:ident)?) = $function:ident;)+) => {
        $(#[inline]
        fn $method(self $(, $other: Self)?) -> Self {
            libm::$function(self $(, $other)?)
        })+
    };
}

impl Float for f64 {
    by_libm! {
        sqrt() = sqrt;
        hypot(other) = hypot;
        exp() = exp;
        ln() = log;
        ln_1p() = log1p;
        log2() = log2;
        log10() = log10;
        powf(exponent) = pow;
        floor() = floor;
        ceil() = ceil;
        round() = round;
    }

    #[inline]
    fn powi(self, exponent: i32) -> Self {
        libm::pow(self, exponent.into())
    }

    #[inline]
    fn fract(self) -> Self {
        self - libm::trunc(self)
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::Float;

    /// Each function agrees with the standard library's to a few units in the last place.
    #[test]
    fn functions_are_those_of_the_standard_library() {
        type Function = fn(f64) -> f64;
        let pairs: [(Function, Function); 13] = [
            (Float::sqrt, f64::sqrt),
            (|x| Float::hypot(x, 3.0), |x| f64::hypot(x, 3.0)),
            (Float::exp, f64::exp),
            (Float::ln, f64::ln),
            (Float::ln_1p, f64::ln_1p),
            (Float::log2, f64::log2),
            (Float::log10, f64::log10),
            (|x| Float::powf(x, 1.7), |x| f64::powf(x, 1.7)),
            (|x| Float::powi(x, -3), |x| f64::powi(x, -3)),
            (Float::floor, f64::floor),
            (Float::ceil, f64::ceil),
            (Float::round, f64::round),
            (Float::fract, f64::fract),
        ];
        for (index, (ours, theirs)) in pairs.into_iter().enumerate() {
            for x in [1e-3, 0.5, 1.0, 1.5, 2.5, 17.25, 300.7] {
                let (ours, theirs) = (ours(x), theirs(x));
                let near = (ours - theirs).abs() <= 1e-14 * theirs.abs();
                assert!(near, "function {index} of {x}: {ours}, and not {theirs}");
            }
        }
    }
}
