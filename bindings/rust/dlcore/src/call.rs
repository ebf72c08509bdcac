// SPDX-License-Identifier: Apache-2.0
//! Calls of ops: what the generated methods are written in. Nothing here allocates while calls succeed.

use crate::context::Context;
use crate::convert::Weak;
use crate::key::Key;
use crate::text::borrowed;
use crate::{Error, Result, Tensor};
use dlcore_sys as sys;
use std::ptr::{self, NonNull};

/// A tensor, or a number that takes the dtype of the tensor it meets.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A number.
    Scalar(Weak),
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    #[inline]
    fn from(tensor: &'a Tensor) -> Self {
        Operand::Tensor(tensor)
    }
}

impl<T: Into<Weak>> From<T> for Operand<'_> {
    #[inline]
    fn from(value: T) -> Self {
        Operand::Scalar(value.into())
    }
}

const MOST_INPUTS: usize = sys::DLCORE_MAX_OP_INPUTS as usize;

/// A tensor that may be left out.
type Maybe<'a> = Option<&'a Tensor>;

#[inline]
fn raw(tensor: Maybe<'_>) -> *mut sys::dlcore_tensor {
    match tensor {
        Some(tensor) => tensor.raw(),
        // SAFETY: no arguments.
        None => unsafe { sys::dlcore_tensor_none() },
    }
}

#[inline]
fn agrees(key: Key, tensor: Maybe<'_>) -> bool {
    tensor.map_or(true, |tensor| tensor.key() == key)
}

/// The context when all operands are of it, else NULL: the call then does nothing, and `failed` finds out why.
#[inline]
fn context_if(key: Key, same: bool) -> *mut sys::dlcore_context {
    if same {
        key.raw()
    } else {
        ptr::null_mut()
    }
}

#[cold]
#[inline(never)]
fn failed(op: i32, key: Key, operands: &[Maybe<'_>]) -> Error {
    let operands = operands.iter().flatten();
    if let Some(error) = operands.clone().find_map(|tensor| tensor.key().failure()) {
        return error;
    }
    if operands.clone().any(|tensor| tensor.key() != key) {
        return Error::invalid(format!(
            "{}: operands belong to different contexts; use t.on(&context)",
            name(key.raw(), op)
        ));
    }
    Error::taken(key)
}

/// Name of an op; that of a custom one needs a context.
fn name(ctx: *mut sys::dlcore_context, op: i32) -> String {
    // SAFETY: the context is valid or NULL; the name lives as long as the engine.
    match unsafe { borrowed(sys::dlcore_op_name(ctx, op)) } {
        "" => format!("op {op}"),
        name => name.to_string(),
    }
}

#[inline]
fn result(raw: *mut sys::dlcore_tensor, key: Key, error: impl FnOnce() -> Error) -> Result<Tensor> {
    match NonNull::new(raw) {
        // SAFETY: a new reference, which is ours.
        Some(raw) => Ok(unsafe { Tensor::owned(raw, key) }),
        None => Err(error()),
    }
}

#[inline]
pub(crate) fn call0(op: i32, key: Key, words: &[i64]) -> Result<Tensor> {
    // SAFETY: the words go with their number.
    let raw = unsafe { sys::dlcore_op_call0(key.raw(), op, words.as_ptr(), words.len() as i64) };
    result(raw, key, || failed(op, key, &[]))
}

#[inline]
pub(crate) fn call1(op: i32, a: &Tensor, words: &[i64]) -> Result<Tensor> {
    let key = a.key();
    // SAFETY: handles are valid; the words go with their number.
    let raw = unsafe { sys::dlcore_op_call1(key.raw(), op, a.raw(), words.as_ptr(), words.len() as i64) };
    result(raw, key, || failed(op, key, &[Some(a)]))
}

#[inline]
pub(crate) fn call2(op: i32, a: &Tensor, b: Maybe<'_>, words: &[i64]) -> Result<Tensor> {
    let key = a.key();
    let ctx = context_if(key, agrees(key, b));
    // SAFETY: handles are valid; the words go with their number.
    let made = unsafe { sys::dlcore_op_call2(ctx, op, a.raw(), raw(b), words.as_ptr(), words.len() as i64) };
    result(made, key, || failed(op, key, &[Some(a), b]))
}

#[inline]
pub(crate) fn call3(op: i32, a: &Tensor, b: Maybe<'_>, c: Maybe<'_>, words: &[i64]) -> Result<Tensor> {
    let key = a.key();
    let ctx = context_if(key, agrees(key, b) && agrees(key, c));
    // SAFETY: handles are valid; the words go with their number.
    let made = unsafe { sys::dlcore_op_call3(ctx, op, a.raw(), raw(b), raw(c), words.as_ptr(), words.len() as i64) };
    result(made, key, || failed(op, key, &[Some(a), b, c]))
}

/// An op of two operands, of which one may be a number.
#[inline]
pub(crate) fn binary(op: i32, name: &str, a: Operand<'_>, b: Operand<'_>) -> Result<Tensor> {
    match (a, b) {
        (Operand::Tensor(a), Operand::Tensor(b)) => call2(op, a, Some(b), &[]),
        (Operand::Tensor(a), Operand::Scalar(b)) => with_scalar(op, a, b, 0),
        (Operand::Scalar(a), Operand::Tensor(b)) => with_scalar(op, b, a, 1),
        (Operand::Scalar(a), Operand::Scalar(b)) => Err(Error::invalid(format!(
            "{name}: two numbers and no tensor: operands are {a:?} and {b:?}, expected a tensor among them"
        ))),
    }
}

/// `side` 1: the number is the first operand.
#[inline]
fn with_scalar(op: i32, x: &Tensor, scalar: Weak, side: i32) -> Result<Tensor> {
    let (kind, word) = match scalar {
        Weak::I64(value) => (sys::DLCORE_SCALAR_I64, value),
        Weak::F64(value) => (sys::DLCORE_SCALAR_F64, value.to_bits() as i64),
        Weak::Bool(value) => (sys::DLCORE_SCALAR_BOOL, value.into()),
    };
    let key = x.key();
    // SAFETY: the handle is valid.
    let raw = unsafe { sys::dlcore_op_call_scalar(key.raw(), op, x.raw(), kind, word, side) };
    result(raw, key, || failed(op, key, &[Some(x)]))
}

/// Any number of inputs and results.
pub(crate) fn invoke<'a, const N: usize>(
    op: i32,
    key: Key,
    inputs: impl Iterator<Item = Maybe<'a>> + Clone,
    words: &[i64],
) -> Result<[Tensor; N]> {
    let mut outputs = [ptr::null_mut(); N];
    invoke_into(op, key, inputs, words, &mut outputs)?;
    // SAFETY: none is NULL, and each is a reference of ours.
    Ok(outputs.map(|output| unsafe { Tensor::owned(NonNull::new_unchecked(output), key) }))
}

/// Fills `outputs` with new references, none of them NULL.
fn invoke_into<'a>(
    op: i32,
    key: Key,
    inputs: impl Iterator<Item = Maybe<'a>> + Clone,
    words: &[i64],
    outputs: &mut [*mut sys::dlcore_tensor],
) -> Result<()> {
    let mut handles = [ptr::null_mut(); MOST_INPUTS];
    let mut count = 0;
    let mut same = true;
    for input in inputs.clone() {
        if count == MOST_INPUTS {
            return Err(Error::invalid(format!("{}: more than {MOST_INPUTS} inputs", name(key.raw(), op))));
        }
        handles[count] = raw(input);
        same = same && agrees(key, input);
        count += 1;
    }
    // SAFETY: arrays go with their lengths.
    let status = unsafe {
        sys::dlcore_op_invoke(
            context_if(key, same),
            op,
            handles.as_ptr(),
            count as i32,
            words.as_ptr(),
            words.len() as i64,
            outputs.as_mut_ptr(),
            outputs.len() as i32,
            0,
        )
    };
    if status != sys::DLCORE_OK || outputs.iter().any(|output| output.is_null()) {
        return Err(failed(op, key, &inputs.collect::<Vec<_>>()));
    }
    Ok(())
}

impl Context {
    /// Calls an op by its number, with its attributes packed into words (dlcore/op.h says how): custom ops, that is,
    /// since those of the catalogue are methods. `outputs` may be less than the op has.
    ///
    /// ```
    /// # use dlcore::{Context, Result};
    /// # fn main() -> Result<()> {
    /// let dl = Context::open("cpu")?;
    /// let softmax = dl.find_op("softmax")?;
    /// let x = dl.tensor([0.0f32, 0.0], [2])?;
    /// let y = dl.call(softmax, &[Some(&x)], &[-1], 1)?;
    /// assert_eq!(y[0].to_vec::<f32>()?, [0.5, 0.5]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn call(&self, op: i32, inputs: &[Option<&Tensor>], words: &[i64], outputs: usize) -> Result<Vec<Tensor>> {
        let mut handles = [ptr::null_mut(); sys::DLCORE_MAX_OP_OUTPUTS as usize];
        if outputs > handles.len() {
            return Err(Error::invalid(format!(
                "{}: too many results are asked for: outputs is {outputs}, expected 0 to {}",
                name(self.raw(), op),
                handles.len()
            )));
        }
        invoke_into(op, self.key(), inputs.iter().copied(), words, &mut handles[..outputs])?;
        let made = handles.iter().filter_map(|raw| NonNull::new(*raw));
        // SAFETY: each is a reference of ours.
        Ok(made.map(|raw| unsafe { Tensor::owned(raw, self.key()) }).collect())
    }
}

/// The context of a list of tensors.
pub(crate) fn key_of(what: &str, tensors: &[&Tensor]) -> Result<Key> {
    tensors
        .first()
        .map(|tensor| tensor.key())
        .ok_or_else(|| Error::invalid(format!("{what}: the list is empty, expected a tensor at least")))
}
