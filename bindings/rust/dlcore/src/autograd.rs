// SPDX-License-Identifier: Apache-2.0
//! Derivatives of any order.
//!
//! Contexts record: [`Tensor::backward`] accumulates gradients in variables, for training; [`grad`] returns them.
//! [`value_and_grad`], [`jvp`], [`vjp`], [`hessian`] and [`vmap`] transform functions of tensors, and nest.
//!
//! ```
//! # use dlcore::{autograd, Context, Result};
//! # fn main() -> Result<()> {
//! let dl = Context::open("cpu")?;
//! let x = dl.tensor([0.5f64, 1.0], [2])?;
//! let (y, slope) = autograd::value_and_grad(|x| x.square()?.sum(), &x)?;
//! assert_eq!((y.item::<f64>()?, slope.to_vec::<f64>()?), (1.25, vec![1.0, 2.0]));
//! # Ok(())
//! # }
//! ```

pub use crate::levels::{Forward, Vectorised};

use crate::context::Context;
use crate::panics;
use crate::variable::operand_of;
use crate::{Error, Result, Tensor};
use dlcore_sys as sys;
use std::mem::{size_of, MaybeUninit};
use std::os::raw::c_void;
use std::ptr::{self, NonNull};

impl Tensor {
    /// Accumulates the derivative of this tensor, which has one element, in the gradient of every trainable variable
    /// that it depends on, and frees the history.
    pub fn backward(&self) -> Result<()> {
        // SAFETY: the handle is valid, the context valid or NULL.
        match unsafe { sys::dlcore_backward(self.key().raw(), self.raw()) } {
            sys::DLCORE_OK => Ok(()),
            _ => Err(Error::taken(self.key())),
        }
    }

    /// A leaf with the same values: gradients with respect to it can be asked for.
    pub fn watch(&self) -> Result<Tensor> {
        // SAFETY: the handle is valid, the context valid or NULL; the result is ours.
        unsafe { Tensor::made(sys::dlcore_autograd_watch(self.key().raw(), self.raw()), self.key()) }
    }
}

/// Options of [`grad_with`].
#[derive(Clone)]
#[must_use]
pub struct GradOptions<'a> {
    raw: sys::dlcore_grad_options,
    seeds: &'a [Option<&'a Tensor>],
}

impl<'a> GradOptions<'a> {
    /// The defaults.
    pub fn new() -> Self {
        let mut raw = MaybeUninit::zeroed();
        // SAFETY: the library fills in plain data of that size.
        unsafe {
            sys::dlcore_grad_options_init(raw.as_mut_ptr(), size_of::<sys::dlcore_grad_options>() as u64);
            GradOptions { raw: raw.assume_init(), seeds: &[] }
        }
    }

    /// What each output is weighted with; None, for outputs of one element, is 1.
    pub fn seeds(mut self, seeds: &'a [Option<&'a Tensor>]) -> Self {
        self.seeds = seeds;
        self
    }

    /// The gradients have history of their own: derivatives of higher order.
    pub fn create_graph(mut self, on: bool) -> Self {
        self.raw.create_graph = on.into();
        self
    }

    /// The history may be used again.
    pub fn retain_graph(mut self, on: bool) -> Self {
        self.raw.retain_graph = on.into();
        self
    }

    /// A tensor without influence gets None instead of being an error.
    pub fn allow_unused(mut self, on: bool) -> Self {
        self.raw.allow_unused = on.into();
        self
    }
}

impl Default for GradOptions<'_> {
    fn default() -> Self {
        Self::new()
    }
}

/// Gradients of the sum of `outputs`, of one element each, with respect to each of `wrt`.
pub fn grad(outputs: &[&Tensor], wrt: &[&Tensor]) -> Result<Vec<Tensor>> {
    Ok(grad_with(outputs, wrt, GradOptions::new())?.into_iter().flatten().collect())
}

/// The same with options.
pub fn grad_with(outputs: &[&Tensor], wrt: &[&Tensor], options: GradOptions<'_>) -> Result<Vec<Option<Tensor>>> {
    let key = crate::call::key_of("grad", outputs)?;
    let seeds = options.seeds;
    if !seeds.is_empty() && seeds.len() != outputs.len() {
        return Err(Error::invalid(format!(
            "grad: as many seeds as outputs are needed: there are {}, expected {}",
            seeds.len(),
            outputs.len()
        )));
    }
    for tensor in outputs.iter().chain(wrt).chain(seeds.iter().flatten()) {
        operand_of(key, tensor)?;
    }
    let raw = |tensors: &[&Tensor]| tensors.iter().map(|tensor| tensor.raw()).collect::<Vec<_>>();
    let (outputs, wrt) = (raw(outputs), raw(wrt));
    let seeds: Vec<_> = seeds.iter().map(|seed| seed.map_or(ptr::null_mut(), Tensor::raw)).collect();
    let seeds = if seeds.is_empty() { ptr::null() } else { seeds.as_ptr() };
    let mut gradients = vec![ptr::null_mut(); wrt.len()];
    // SAFETY: arrays go with their lengths; results are ours.
    unsafe {
        let status = sys::dlcore_autograd_grad(
            key.raw(),
            outputs.as_ptr(),
            outputs.len() as i64,
            wrt.as_ptr(),
            wrt.len() as i64,
            seeds,
            &options.raw,
            gradients.as_mut_ptr(),
        );
        if status != sys::DLCORE_OK {
            return Err(Error::taken(key));
        }
        Ok(gradients.into_iter().map(|raw| NonNull::new(raw).map(|raw| Tensor::owned(raw, key))).collect())
    }
}

/// A function's value, of one element, and its gradient.
pub fn value_and_grad(f: impl FnOnce(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<(Tensor, Tensor)> {
    let x = x.watch()?;
    let y = f(&x)?;
    let options = GradOptions::new().create_graph(true).allow_unused(true);
    let gradient = grad_with(&[&y], &[&x], options)?.remove(0);
    Ok((y, gradient.map_or_else(|| zeros(&x), Ok)?))
}

/// A function's value and how fast it changes when `x` moves along `direction`.
pub fn jvp(f: impl FnOnce(&Tensor) -> Result<Tensor>, x: &Tensor, direction: &Tensor) -> Result<(Tensor, Tensor)> {
    let level = Forward::open(x.key())?;
    let y = f(&level.lift(x, direction)?)?;
    Ok((level.primal(&y)?, level.tangent(&y)?))
}

/// A function's value, and the product of its Jacobian's transpose with any seed of the shape of that value.
pub fn vjp(
    f: impl FnOnce(&Tensor) -> Result<Tensor>,
    x: &Tensor,
) -> Result<(Tensor, impl Fn(&Tensor) -> Result<Tensor>)> {
    let x = x.watch()?;
    let y = f(&x)?;
    let value = y.clone();
    Ok((value, move |seed: &Tensor| {
        let seeds = [Some(seed)];
        let options = GradOptions::new().seeds(&seeds).retain_graph(true).allow_unused(true);
        grad_with(&[&y], &[&x], options)?.remove(0).map_or_else(|| zeros(&x), Ok)
    }))
}

/// The second derivatives of a function of one element: of the shape of `x` twice over.
pub fn hessian(f: impl FnOnce(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<Tensor> {
    let x = x.watch()?;
    let options = GradOptions::new().create_graph(true).allow_unused(true);
    let shape = x.shape();
    let twice = [&shape[..], &shape[..]].concat();
    let count = x.count();
    let slope = match grad_with(&[&f(&x)?], &[&x], options)?.remove(0) {
        Some(slope) if slope.describe()?.requires_grad => slope,
        _ => return constant(&x, &vec![0.0; count * count], &twice),
    };
    let mut rows = Vec::new();
    for row in 0..count {
        let mut direction = vec![0.0; count];
        direction[row] = 1.0;
        let direction = constant(&x, &direction, &shape)?;
        let seeds = [Some(&direction)];
        let options = GradOptions::new().seeds(&seeds).retain_graph(true).create_graph(true).allow_unused(true);
        let found = grad_with(&[&slope], &[&x], options)?.remove(0);
        rows.push(found.map_or_else(|| zeros(&x), Ok)?);
    }
    if rows.is_empty() {
        return constant(&x, &[], &twice);
    }
    Tensor::stack(&rows.iter().collect::<Vec<_>>(), 0)?.reshape(twice)
}

/// A function of one example, over all examples along `axis` of `x` at once; its results are stacked along axis 0.
pub fn vmap(f: impl FnOnce(&Tensor) -> Result<Tensor>, x: &Tensor, axis: i64) -> Result<Tensor> {
    let size = x.dim(i32::try_from(axis).unwrap_or(i32::MAX));
    let level = Vectorised::open(x.key(), size)?;
    let y = f(&level.lift(x, axis)?)?;
    level.lower(&y, 0)
}

/// Compares the derivatives of a function of f64 tensors, of order 1 (and 2), with differences. An error names input,
/// element and both values.
pub fn gradcheck<F>(f: F, inputs: &[&Tensor], order: i32) -> Result<()>
where
    F: Fn(&Context, &[Tensor]) -> Result<Tensor>,
{
    let key = crate::call::key_of("gradcheck", inputs)?;
    for input in inputs {
        operand_of(key, input)?;
    }
    let handles: Vec<_> = inputs.iter().map(|input| input.raw()).collect();
    // SAFETY: `f` lives during the call, which uses it only meanwhile.
    let status = unsafe {
        sys::dlcore_gradcheck(
            key.raw(),
            Some(checked::<F>),
            &f as *const F as *mut c_void,
            handles.as_ptr(),
            handles.len() as i64,
            order,
            0.0,
        )
    };
    if status == sys::DLCORE_OK {
        Ok(())
    } else {
        Err(Error::taken(key))
    }
}

/// The function under test, as the library calls it.
unsafe extern "C" fn checked<F>(
    user_data: *mut c_void,
    ctx: *mut sys::dlcore_context,
    inputs: *const *mut sys::dlcore_tensor,
    n_inputs: i64,
    output: *mut *mut sys::dlcore_tensor,
) -> sys::dlcore_status
where
    F: Fn(&Context, &[Tensor]) -> Result<Tensor>,
{
    let f = &*user_data.cast::<F>();
    panics::in_callback(ctx, |context| {
        let handles = std::slice::from_raw_parts(inputs, n_inputs as usize);
        let inputs: Vec<_> = handles.iter().filter_map(|raw| Tensor::retained(*raw, context.key())).collect();
        *output = f(context, &inputs)?.check()?.into_raw();
        Ok(())
    })
}

fn zeros(like: &Tensor) -> Result<Tensor> {
    constant(like, &vec![0.0; like.count()], &like.shape())
}

/// Numbers of the dtype that `like` has, on its context.
fn constant(like: &Tensor, data: &[f64], shape: &[i64]) -> Result<Tensor> {
    // SAFETY: pointers go with their lengths; the result is ours.
    let made = unsafe {
        let raw = sys::dlcore_tensor_f64(
            like.key().raw(),
            shape.as_ptr(),
            shape.len() as i32,
            data.as_ptr(),
            data.len() as i64,
        );
        Tensor::made(raw, like.key())?
    };
    made.astype(like.dtype())
}
