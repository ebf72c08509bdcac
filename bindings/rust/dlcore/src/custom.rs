// SPDX-License-Identifier: Apache-2.0
//! Ops and modules of the program's own.
//!
//! ```
//! # use dlcore::{autograd, custom::CustomOp, Context, Result};
//! # fn main() -> Result<()> {
//! let dl = Context::open("cpu")?;
//! let cube = CustomOp::new("cube", 1, 1)
//!     .infer(|_, call| call.set_output_like(0, &call.input(0)?))
//!     .forward(|_, call| {
//!         let x = call.input(0)?;
//!         call.set_output(0, &(&x * &x * &x))
//!     })
//!     .backward(|_, call| {
//!         let x = call.input(0)?;
//!         call.set_input_gradient(0, &(call.gradient(0)?.unwrap() * 3.0 * &x * &x))
//!     })
//!     .register(&dl)?;
//! let x = dl.tensor([2.0f64], [1])?.watch()?;
//! let y = dl.call(cube, &[Some(&x)], &[], 1)?.remove(0);
//! assert_eq!(autograd::grad(&[&y.sum()?], &[&x])?[0].item::<f64>()?, 12.0);
//! # Ok(())
//! # }
//! ```
//!
//! An error, or a panic, in a callback becomes the error of the call that needed it, with its text. Any language of the
//! process can use the op: [`Context::find_op`] finds it by name.

use crate::context::Context;
use crate::key::Key;
use crate::nn::Module;
use crate::panics::in_callback;
use crate::text::c_string;
use crate::variable::{operand_of, Variable};
use crate::{Dtype, Error, Result, Tensor};
use dlcore_sys as sys;
use std::os::raw::c_void;
use std::ptr;
use std::ptr::NonNull;

type Callback = Box<dyn Fn(&Context, &OpCall) -> Result<()> + Send + Sync>;

/// An op of the program's own, to be registered on an engine.
///
/// Callbacks get a context for their own calls, and the call that they serve. They may run on any thread that calls the
/// op.
#[must_use]
pub struct CustomOp {
    name: String,
    inputs: i32,
    outputs: i32,
    attrs: i32,
    callbacks: Callbacks,
}

#[derive(Default)]
struct Callbacks {
    infer: Option<Callback>,
    forward: Option<Callback>,
    backward: Option<Callback>,
}

impl CustomOp {
    /// An op of that many inputs and outputs.
    pub fn new(name: impl Into<String>, inputs: i32, outputs: i32) -> CustomOp {
        CustomOp { name: name.into(), inputs, outputs, attrs: 0, callbacks: Callbacks::default() }
    }

    /// It has so many attributes, all of them integers.
    pub fn attrs(mut self, attrs: i32) -> CustomOp {
        self.attrs = attrs;
        self
    }

    /// Sets dtype and shape of each output. It must not look at elements, and runs while capturing, too.
    pub fn infer(mut self, f: impl Fn(&Context, &OpCall) -> Result<()> + Send + Sync + 'static) -> CustomOp {
        self.callbacks.infer = Some(Box::new(f));
        self
    }

    /// Computes the outputs.
    pub fn forward(mut self, f: impl Fn(&Context, &OpCall) -> Result<()> + Send + Sync + 'static) -> CustomOp {
        self.callbacks.forward = Some(Box::new(f));
        self
    }

    /// Computes the gradients of the inputs. Written in ops, it is differentiable itself. Without it, the op is not.
    pub fn backward(mut self, f: impl Fn(&Context, &OpCall) -> Result<()> + Send + Sync + 'static) -> CustomOp {
        self.callbacks.backward = Some(Box::new(f));
        self
    }

    /// Registers it on the context's engine, for as long as that lives; the answer is its number, for
    /// [`Context::call`].
    pub fn register(self, context: &Context) -> Result<i32> {
        if self.callbacks.infer.is_none() || self.callbacks.forward.is_none() {
            return Err(Error::invalid(format!("{}: infer and forward are needed", self.name)));
        }
        let name = c_string("op", &self.name)?;
        let backward: sys::dlcore_op_callback = self.callbacks.backward.as_ref().map(|_| run_backward as _);
        let callbacks = Box::into_raw(Box::new(self.callbacks)).cast();
        let mut op = 0;
        // SAFETY: the library owns the callbacks from here on, and gives them back to `destroy` exactly once.
        context.owner.check(unsafe {
            sys::dlcore_op_register(
                context.raw(),
                name.as_ptr(),
                self.inputs,
                self.outputs,
                self.attrs,
                Some(run_infer),
                Some(run_forward),
                backward,
                callbacks,
                Some(destroy::<Callbacks>),
                &mut op,
            )
        })?;
        Ok(op)
    }
}

unsafe extern "C" fn destroy<T>(user_data: *mut c_void) {
    drop(Box::from_raw(user_data.cast::<T>()));
}

macro_rules! trampoline {
    ($name:ident, $callback:ident) => {
        unsafe extern "C" fn $name(
            user_data: *mut c_void,
            child: *mut sys::dlcore_context,
            call: *mut sys::dlcore_op_call,
        ) -> sys::dlcore_status {
            let callbacks = &*user_data.cast::<Callbacks>();
            in_callback(child, |context| match (&callbacks.$callback, NonNull::new(call)) {
                (Some(f), Some(raw)) => f(context, &OpCall { raw, key: context.key() }),
                _ => Err(Error::invalid(concat!(stringify!($callback), " is missing"))),
            })
        }
    };
}

trampoline!(run_infer, infer);
trampoline!(run_forward, forward);
trampoline!(run_backward, backward);

/// The call that a callback serves.
pub struct OpCall {
    raw: NonNull<sys::dlcore_op_call>,
    key: Key,
}

impl OpCall {
    /// # Safety
    /// `raw` is NULL or a borrowed tensor of the call.
    unsafe fn given(&self, raw: *mut sys::dlcore_tensor, what: &str, index: i32) -> Result<Tensor> {
        Tensor::retained(raw, self.key).ok_or_else(|| Error::invalid(format!("the op has no {what} {index}")))
    }

    fn done(&self, status: sys::dlcore_status) -> Result<()> {
        if status == sys::DLCORE_OK {
            Ok(())
        } else {
            Err(Error::taken(self.key))
        }
    }

    /// Number of inputs.
    pub fn inputs(&self) -> i32 {
        // SAFETY: the call lives while the callback runs.
        unsafe { sys::dlcore_op_call_input_count(self.raw.as_ptr()) }
    }

    /// An input; while inferring, only its dtype and shape may be looked at.
    pub fn input(&self, index: i32) -> Result<Tensor> {
        // SAFETY: the call lives while the callback runs.
        unsafe { self.given(sys::dlcore_op_call_input(self.raw.as_ptr(), index), "input", index) }
    }

    /// An output, in backward.
    pub fn output(&self, index: i32) -> Result<Tensor> {
        // SAFETY: the call lives while the callback runs.
        unsafe { self.given(sys::dlcore_op_call_output(self.raw.as_ptr(), index), "output", index) }
    }

    /// The gradient that came to an output, if one did.
    pub fn gradient(&self, index: i32) -> Result<Option<Tensor>> {
        // SAFETY: the call lives while the callback runs.
        Ok(unsafe { Tensor::retained(sys::dlcore_op_call_gradient(self.raw.as_ptr(), index), self.key) })
    }

    /// Whether the gradient of an input is asked for.
    pub fn needs_gradient(&self, index: i32) -> bool {
        // SAFETY: the call lives while the callback runs.
        unsafe { sys::dlcore_op_call_needs_gradient(self.raw.as_ptr(), index) == 1 }
    }

    /// An attribute.
    pub fn attr(&self, index: i32) -> i64 {
        // SAFETY: the call lives while the callback runs.
        unsafe { sys::dlcore_op_call_attr(self.raw.as_ptr(), index) }
    }

    /// Dtype and shape of an output, in infer.
    pub fn set_output_type(&self, index: i32, dtype: Dtype, shape: impl AsRef<[i64]>) -> Result<()> {
        let shape = shape.as_ref();
        // SAFETY: the call lives while the callback runs; the array goes with its length.
        self.done(unsafe {
            sys::dlcore_op_call_set_output_type(
                self.raw.as_ptr(),
                index,
                dtype.number(),
                shape.as_ptr(),
                shape.len() as i32,
            )
        })
    }

    /// The output takes dtype and shape of another tensor, in infer.
    pub fn set_output_like(&self, index: i32, like: &Tensor) -> Result<()> {
        operand_of(self.key, like)?;
        // SAFETY: the call lives while the callback runs.
        self.done(unsafe { sys::dlcore_op_call_set_output_like(self.raw.as_ptr(), index, like.raw()) })
    }

    /// An output, in forward.
    pub fn set_output(&self, index: i32, value: &Tensor) -> Result<()> {
        operand_of(self.key, value)?;
        // SAFETY: the call lives while the callback runs.
        self.done(unsafe { sys::dlcore_op_call_set_output(self.raw.as_ptr(), index, value.raw()) })
    }

    /// The gradient of an input, in backward.
    pub fn set_input_gradient(&self, index: i32, value: &Tensor) -> Result<()> {
        operand_of(self.key, value)?;
        // SAFETY: the call lives while the callback runs.
        self.done(unsafe { sys::dlcore_op_call_set_input_gradient(self.raw.as_ptr(), index, value.raw()) })
    }
}

type Forward = Box<dyn Fn(&Module, &Tensor) -> Result<Tensor> + Send + Sync>;

/// A module of the program's own: children, variables, and a function.
///
/// ```
/// # use dlcore::{custom::CustomModule, nn, Context, Result};
/// # fn main() -> Result<()> {
/// let dl = Context::open("cpu")?;
/// let residual = CustomModule::new("Residual")
///     .child("inner", nn::Linear::new(&dl, 4, 4)?)
///     .forward(&dl, |this, x| (this.child(0)?.call(x)? + x).check())?;
/// assert_eq!(residual.variables()?[0].0, "inner.weight");
/// let y = residual.snapshot()?.call(&dl.tensor([1.0f32; 4], [1, 4])?)?;
/// assert_eq!(y.shape(), [1, 4]);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct CustomModule {
    kind: String,
    names: Vec<String>,
    children: Vec<Module>,
    variables: Vec<Variable>,
}

impl CustomModule {
    /// One that calls itself `kind`.
    pub fn new(kind: impl Into<String>) -> CustomModule {
        CustomModule { kind: kind.into(), names: Vec::new(), children: Vec::new(), variables: Vec::new() }
    }

    /// A module that it uses; its variables are found below `name`.
    pub fn child(mut self, name: impl Into<String>, module: impl Into<Module>) -> CustomModule {
        self.names.push(name.into());
        self.children.push(module.into());
        self
    }

    /// A variable of its own.
    pub fn variable(mut self, variable: &Variable) -> CustomModule {
        self.variables.push(variable.clone());
        self
    }

    /// Makes it of a function of the module that is called, itself or a snapshot of it, which is to be asked for its
    /// children and variables, and of the input. It is like any other module then: saved, put into others, shared
    /// between threads.
    pub fn forward(
        self,
        context: &Context,
        f: impl Fn(&Module, &Tensor) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Result<Module> {
        context.engine().collect();
        let (kind, names) = (c_string("kind", &self.kind)?, c_string("names", &self.names.join(","))?);
        let children: Vec<_> = self.children.iter().map(Module::raw).collect();
        let variables: Vec<_> = self.variables.iter().map(Variable::raw).collect();
        let names = if children.is_empty() { ptr::null() } else { names.as_ptr() };
        let forward: Box<Forward> = Box::new(Box::new(f));
        // SAFETY: arrays go with their lengths. The library owns the function from here on, and gives it back to
        // `destroy` exactly once.
        unsafe {
            let raw = sys::dlcore_module_define(
                context.raw(),
                kind.as_ptr(),
                children.as_ptr(),
                children.len() as i64,
                names,
                variables.as_ptr(),
                variables.len() as i64,
                Some(run_module),
                Box::into_raw(forward).cast(),
                Some(destroy::<Forward>),
            );
            Module::owned(&context.owner, raw)
        }
    }
}

unsafe extern "C" fn run_module(
    user_data: *mut c_void,
    child: *mut sys::dlcore_context,
    module: *mut sys::dlcore_module,
    call: *mut sys::dlcore_op_call,
) -> sys::dlcore_status {
    let forward = &*user_data.cast::<Forward>();
    in_callback(child, |context| {
        let raw = NonNull::new(call).ok_or_else(|| Error::invalid("the call is NULL"))?;
        let call = OpCall { raw, key: context.key() };
        let module = Module::borrowed(&context.owner, module)?;
        call.set_output(0, &forward(&module, &call.input(0)?)?)
    })
}
