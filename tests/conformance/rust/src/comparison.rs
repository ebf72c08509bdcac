// SPDX-License-Identifier: Apache-2.0
//! When a result counts as right.

use crate::corpus::Numbers;
use crate::json::Json;
use dlcore::{Bf16, Dtype, F16};

#[derive(Clone, Copy, Default)]
pub struct Tolerance {
    pub relative: f64,
    pub absolute: f64,
    pub ulp: f64,
    /// 0 and -0 differ.
    pub signed_zero: bool,
}

impl Tolerance {
    pub fn from(json: &Json) -> Tolerance {
        let number = |name| json.get(name).real().unwrap_or(0.0);
        Tolerance { relative: number("rtol"), absolute: number("atol"), ulp: number("ulp"), signed_zero: false }
    }
}

/// Distance to the next number of the dtype.
fn spacing(value: f64, dtype: Dtype) -> f64 {
    let (fraction_bits, least) = match dtype {
        Dtype::F16 => (10, -14),
        Dtype::Bf16 => (7, -126),
        Dtype::F32 => (23, -126),
        _ => (52, -1022),
    };
    let exponent = ((value.abs().to_bits() >> 52) as i32 - 1023).max(least);
    2f64.powi(exponent) * 2f64.powi(-fraction_bits)
}

fn rounded(value: f64, dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F64 => value,
        Dtype::F32 => f64::from(value as f32),
        _ if value == 0.0 || !value.is_finite() => value,
        _ => {
            // From f64 in one step: over f32 it would be rounded twice.
            let units = value / spacing(value, dtype);
            let (whole, rest) = (units.floor(), units - units.floor());
            let up = rest > 0.5 || rest == 0.5 && whole % 2.0 != 0.0;
            let near = (whole + f64::from(u8::from(up))) * spacing(value, dtype);
            let largest =
                if dtype == Dtype::F16 { F16::from_bits(0x7bff).to_f32() } else { Bf16::from_bits(0x7f7f).to_f32() };
            if near.abs() > f64::from(largest) {
                f64::INFINITY.copysign(value)
            } else {
                near.copysign(value)
            }
        }
    }
}

fn agree(got: f64, expected: f64, dtype: Dtype, tolerance: &Tolerance) -> bool {
    if got.is_nan() || expected.is_nan() {
        return got.is_nan() && expected.is_nan();
    }
    let near = rounded(expected, dtype);
    if tolerance.signed_zero && near == 0.0 && got.is_sign_negative() != near.is_sign_negative() {
        return false;
    }
    if got == near {
        return true;
    }
    if !got.is_finite() || !expected.is_finite() {
        return false;
    }
    let ulp = if tolerance.ulp > 0.0 { tolerance.ulp * spacing(expected, dtype) } else { 0.0 };
    (got - expected).abs() <= tolerance.absolute + tolerance.relative * expected.abs() + ulp
}

/// What differs: the first few elements, and how many.
pub fn compare(got: &Numbers, expected: &Numbers, dtype: Dtype, tolerance: &Tolerance) -> Result<(), String> {
    match (got, expected) {
        (Numbers::Integers(got), Numbers::Integers(expected)) => differences(got, expected, |a, b| a == b),
        (Numbers::Reals(got), Numbers::Reals(expected)) => {
            differences(got, expected, |a, b| agree(*a, *b, dtype, tolerance))
        }
        _ => Err("integers and reals".into()),
    }
}

fn differences<T: std::fmt::Debug>(got: &[T], expected: &[T], same: impl Fn(&T, &T) -> bool) -> Result<(), String> {
    if got.len() != expected.len() {
        return Err(format!("has {} elements, expected {}", got.len(), expected.len()));
    }
    let wrong: Vec<_> = (0..got.len()).filter(|i| !same(&got[*i], &expected[*i])).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let shown: Vec<_> =
        wrong.iter().take(4).map(|i| format!("element {i} is {:?}, expected {:?}", got[*i], expected[*i])).collect();
    Err(format!("{} of {} elements differ: {}", wrong.len(), got.len(), shown.join("; ")))
}
