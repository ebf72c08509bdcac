// SPDX-License-Identifier: Apache-2.0
//! `+ - * / %` and unary `-` on tensors and numbers.
//!
//! An operator has no place for a [`Result`], so an error travels in its value: an operator that fails
//! gives a tensor that holds the error, operators on it hand it on, and the next call that returns a `Result` returns
//! it. [`Tensor::check`](crate::Tensor::check) asks for it at once. Nothing panics.
//!
//! ```
//! # use dlcore::{Context, Result};
//! # fn main() -> Result<()> {
//! let dl = Context::open("cpu")?;
//! let x = dl.tensor([1.0f32, 2.0], [2])?;
//! let y = 2.0 * &x + 1;
//! assert_eq!(y.to_vec::<f32>()?, [3.0, 5.0]);
//!
//! let wrong = &x + dl.tensor([1.0f32, 2.0, 3.0], [3])?; // shapes do not fit
//! let error = (wrong * 2.0).sum().unwrap_err();
//! assert_eq!(error.op(), "add");
//! # Ok(())
//! # }
//! ```
//!
//! Numbers take the dtype of the tensor they meet. They are `f64` and `i64` only, so that a literal has one type:
//! `x * 2`, `x * 0.5`, `x * f64::from(scale)`.

use crate::ops;
use crate::{Result, Tensor};
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

#[inline]
fn travelling(result: Result<Tensor>) -> Tensor {
    result.unwrap_or_else(Tensor::failed)
}

macro_rules! operator {
    ($name:ident, $method:ident, $op:path) => {
        operator!($name, $method, $op, &'a Tensor, &'b Tensor, |a| a, |b| b, 'a, 'b);
        operator!($name, $method, $op, Tensor, &'b Tensor, |a| &a, |b| b, 'b);
        operator!($name, $method, $op, &'a Tensor, Tensor, |a| a, |b| &b, 'a);
        operator!($name, $method, $op, Tensor, Tensor, |a| &a, |b| &b,);
        operator!($name, $method, $op; f64, i64);
    };
    ($name:ident, $method:ident, $op:path; $($number:ty),*) => {$(
        operator!($name, $method, $op, &'a Tensor, $number, |a| a, |b| b, 'a);
        operator!($name, $method, $op, Tensor, $number, |a| &a, |b| b,);
        operator!($name, $method, $op, $number, &'b Tensor, |a| a, |b| b, 'b);
        operator!($name, $method, $op, $number, Tensor, |a| a, |b| &b,);
    )*};
    ($name:ident, $method:ident, $op:path, $left:ty, $right:ty, |$a:ident| $one:expr, |$b:ident| $other:expr, $($life:lifetime),*) => {
        impl<$($life),*> $name<$right> for $left {
            type Output = Tensor;

            #[inline]
            fn $method(self, other: $right) -> Tensor {
                let ($a, $b) = (self, other);
                travelling($op($one, $other))
            }
        }
    };
}

operator!(Add, add, ops::add);
operator!(Sub, sub, ops::subtract);
operator!(Mul, mul, ops::multiply);
operator!(Div, div, ops::divide);
operator!(Rem, rem, ops::remainder);

impl Neg for &Tensor {
    type Output = Tensor;

    fn neg(self) -> Tensor {
        travelling(self.negative())
    }
}

impl Neg for Tensor {
    type Output = Tensor;

    fn neg(self) -> Tensor {
        -&self
    }
}
