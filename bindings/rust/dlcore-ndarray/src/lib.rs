// SPDX-License-Identifier: Apache-2.0
//! Arrays of the `ndarray` crate as tensors of dlcore, and back.
//!
//! ```
//! use dlcore_ndarray::{ToArray, ToTensor};
//! use ndarray::array;
//!
//! # fn main() -> dlcore::Result<()> {
//! let dl = dlcore::Context::open("cpu")?;
//! let x = array![[1.0f32, 2.0], [3.0, 4.0]];
//! let y = x.t().to_tensor(&dl)?.multiply(2)?; // whatever the strides
//! assert_eq!(y.to_array::<f32>()?, array![[2.0, 6.0], [4.0, 8.0]].into_dyn());
//! # Ok(())
//! # }
//! ```

use dlcore::{Context, Element, Error, Result, Tensor};
use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};

/// Arrays that become tensors.
pub trait ToTensor {
    /// A tensor with a copy of the elements.
    fn to_tensor(&self, context: &Context) -> Result<Tensor>;
}

impl<T: Element, S: Data<Elem = T>, D: Dimension> ToTensor for ArrayBase<S, D> {
    fn to_tensor(&self, context: &Context) -> Result<Tensor> {
        let shape: Vec<i64> = self.shape().iter().map(|size| *size as i64).collect();
        match self.as_slice_memory_order() {
            Some(data) => {
                let strides: Vec<i64> = self.strides().iter().map(|stride| *stride as i64).collect();
                // Where the first element is: axes that go back start at their end.
                let back = strides.iter().zip(&shape).filter(|(stride, size)| **stride < 0 && **size > 0);
                let offset = back.map(|(stride, size)| -stride * (size - 1)).sum();
                context.tensor_strided(data, shape, strides, offset)
            }
            // Parts of a larger array.
            None => context.tensor(self.iter().copied().collect::<Vec<T>>(), shape),
        }
    }
}

/// Tensors that become arrays.
pub trait ToArray {
    /// An array with a copy of the elements, in row-major order. `T` is the tensor's dtype.
    fn to_array<T: Element>(&self) -> Result<ArrayD<T>>;
}

impl ToArray for Tensor {
    fn to_array<T: Element>(&self) -> Result<ArrayD<T>> {
        let shape: Vec<usize> = self.shape().iter().map(|size| *size as usize).collect();
        ArrayD::from_shape_vec(IxDyn(&shape), self.to_vec()?)
            .map_err(|error| Error::new(dlcore::Code::Internal, error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{s, Array, Axis};

    #[test]
    fn every_layout_crosses() {
        let dl = Context::open("cpu").unwrap();
        let whole = Array::from_shape_fn((3, 4, 5), |(i, j, k)| (100 * i + 10 * j + k) as i32);
        let mut reversed = whole.clone();
        reversed.invert_axis(Axis(1));
        let layouts = [
            whole.view(),
            whole.view().reversed_axes(),
            reversed.view(),
            whole.slice(s![1.., ..;2, 1..4]),
            whole.slice(s![..;-1, .., ..;-2]),
            whole.slice(s![0..0, .., ..]),
        ];
        for view in layouts {
            assert_eq!(view.to_tensor(&dl).unwrap().to_array::<i32>().unwrap(), view.into_dyn());
        }
        let one = whole.slice(s![1, 2, 3]);
        assert_eq!(one.to_tensor(&dl).unwrap().item::<i32>().unwrap(), 123);
        assert!(whole.to_tensor(&dl).unwrap().to_array::<f32>().is_err());
    }
}
