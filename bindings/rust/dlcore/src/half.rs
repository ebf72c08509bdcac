// SPDX-License-Identifier: Apache-2.0
//! The two half precisions, as their 16 bits.

macro_rules! half {
    ($(#[$doc:meta])* $name:ident, $mantissa:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(u16);

        impl $name {
            /// The number of these bits.
            pub const fn from_bits(bits: u16) -> Self {
                $name(bits)
            }

            /// Its bits.
            pub const fn to_bits(self) -> u16 {
                self.0
            }

            /// The nearest one, to even between two.
            pub fn from_f32(value: f32) -> Self {
                $name(encode(value, $mantissa))
            }

            /// The same number; no bit is lost.
            pub fn to_f32(self) -> f32 {
                decode(self.0, $mantissa)
            }
        }

        impl From<$name> for f32 {
            fn from(value: $name) -> f32 {
                value.to_f32()
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{:?}", self.to_f32())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.to_f32())
            }
        }
    };
}

half! {
    /// An IEEE 754 binary16: 5 bits of exponent, 10 of fraction. `==` compares bits.
    F16, 10
}

half! {
    /// A bfloat16: 8 bits of exponent, 7 of fraction. `==` compares bits.
    Bf16, 7
}

/// `mantissa` bits of fraction, the rest but the sign is exponent.
fn decode(bits: u16, mantissa: u32) -> f32 {
    let exponents = (1u32 << (15 - mantissa)) - 1;
    let bias = exponents >> 1;
    let exponent = u32::from(bits) >> mantissa & exponents;
    let fraction = u32::from(bits) & ((1 << mantissa) - 1);
    let sign = if bits >> 15 == 1 { -1f32 } else { 1f32 };
    if exponent == exponents {
        return if fraction == 0 { sign * f32::INFINITY } else { f32::NAN.copysign(sign) };
    }
    // In f64 every step is exact; exponents of bf16 below those of f32 are its subnormals.
    let (significand, power) =
        if exponent == 0 { (fraction, 1) } else { (fraction | 1 << mantissa, exponent as i32) };
    let value = f64::from(significand) * 2f64.powi(power - bias as i32 - mantissa as i32);
    sign * value as f32
}

fn encode(value: f32, mantissa: u32) -> u16 {
    let exponents = (1i32 << (15 - mantissa)) - 1;
    let bias = exponents >> 1;
    let sign = if value.is_sign_negative() { 1u16 << 15 } else { 0 };
    let infinity = (exponents as u16) << mantissa;
    if value.is_nan() {
        return sign | infinity | 1 << (mantissa - 1);
    }
    let size = f64::from(value.abs());
    if size.is_infinite() {
        return sign | infinity;
    }
    // The exponent field of the f64 is floor(log2), also of subnormals of f32.
    let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(1 - bias);
    let units = size / 2f64.powi(exponent - mantissa as i32);
    let whole = units.floor();
    let rest = units - whole;
    let odd = whole % 2.0 == 1.0;
    let rounded = if rest > 0.5 || rest == 0.5 && odd { whole + 1.0 } else { whole };
    // A carry out of the fraction goes into the exponent, up to infinity.
    let bits = f64::from(exponent - 1 + bias) * f64::from(1u32 << mantissa) + rounded;
    sign | if bits >= f64::from(infinity) { infinity } else { bits as u16 }
}
