// SPDX-License-Identifier: Apache-2.0
//! Programs as data: capture, text, passes, execution.
//!
//! ```
//! # use dlcore::{graph::Graph, Context, Dtype, Result};
//! # fn main() -> Result<()> {
//! let dl = Context::open("cpu")?;
//! let graph = Graph::capture(&dl, "affine", |capture| {
//!     let x = capture.input("x", Dtype::F32, "[B, 2]")?; // B: any size
//!     Ok(vec![(x * 2.0 + 1.0).check()?])
//! })?;
//! let same = Graph::parse(&dl, &graph.text()?)?;
//! let executable = same.apply("cse")?.compile()?;
//! let [y] = executable.run([&dl.tensor([1.0f32, 2.0], [1, 2])?])?;
//! assert_eq!(y.to_vec::<f32>()?, [3.0, 5.0]);
//! # Ok(())
//! # }
//! ```

use crate::context::{Context, Owner};
use crate::panics::caught;
use crate::text::{c_string, two_calls};
use crate::variable::{operand_of, Variable};
use crate::{Dtype, Error, Result, Tensor};
use dlcore_sys as sys;
use std::fmt;
use std::ptr::{self, NonNull};

/// A capture that is under way: calls on its context append to a graph instead of computing.
pub struct Capture<'a>(&'a Context);

impl Capture<'_> {
    /// The context that captures.
    pub fn context(&self) -> &Context {
        self.0
    }

    /// An input of the graph. The shape is text: `[64, 784]`, or with symbols `[B, 784]`; a symbol stands for one size
    /// everywhere in the graph.
    pub fn input(&self, name: &str, dtype: Dtype, shape: &str) -> Result<Tensor> {
        let (name, shape) = (c_string("name", name)?, c_string("shape", shape)?);
        // SAFETY: texts live during the call; the result is ours.
        unsafe {
            let raw = sys::dlcore_capture_input(self.0.raw(), name.as_ptr(), dtype.number(), shape.as_ptr());
            Tensor::made(raw, self.0.key())
        }
    }

    /// A tensor from outside as a constant of the graph. Tensors from outside are an error otherwise.
    pub fn constant(&self, tensor: &Tensor) -> Result<Tensor> {
        let ctx = operand_of(self.0.key(), tensor)?;
        // SAFETY: handles are valid; the result is ours.
        unsafe { Tensor::made(sys::dlcore_capture_constant(ctx, tensor.raw()), self.0.key()) }
    }
}

/// A program in SSA form.
pub struct Graph {
    raw: NonNull<sys::dlcore_graph>,
    owner: Owner,
}

handle!(Graph, dlcore_graph, dlcore_graph_retain, dlcore_graph_release);

impl Graph {
    /// What `program` calls on the context, as a graph that returns its results. Nothing is computed, and variables
    /// keep their values; an error, or a panic, ends the capture and is returned.
    pub fn capture(
        context: &Context,
        name: &str,
        program: impl FnOnce(&Capture<'_>) -> Result<Vec<Tensor>>,
    ) -> Result<Graph> {
        let name = c_string("name", name)?;
        // SAFETY: the name lives during the call.
        context.owner.check(unsafe { sys::dlcore_capture_begin(context.raw(), name.as_ptr()) })?;
        let done = caught(|| {
            let outputs = program(&Capture(context))?;
            let handles = outputs.iter().map(|output| {
                operand_of(context.key(), output)?;
                Ok(output.raw())
            });
            let handles = handles.collect::<Result<Vec<_>>>()?;
            // SAFETY: the array goes with its length; the result is ours.
            unsafe {
                let raw = sys::dlcore_capture_end(context.raw(), handles.as_ptr(), handles.len() as i64);
                Graph::owned(&context.owner, raw)
            }
        });
        if done.is_err() {
            // SAFETY: ends what may be open still.
            let status = unsafe { sys::dlcore_capture_abort(context.raw()) };
            if status != sys::DLCORE_OK {
                drop(Error::taken(context.key()));
            }
        }
        done
    }

    /// A graph from its text. An error names line and column.
    pub fn parse(context: &Context, text: &str) -> Result<Graph> {
        // SAFETY: the pointer goes with its length; the result is ours.
        unsafe {
            let raw = sys::dlcore_graph_parse(context.raw(), text.as_ptr().cast(), text.len() as i64);
            Graph::owned(&context.owner, raw)
        }
    }

    /// Its text, which parses to a graph that prints as the same text.
    pub fn text(&self) -> Result<String> {
        // SAFETY: the buffer has the size that is told.
        let text = two_calls(|buffer, size| unsafe {
            sys::dlcore_graph_to_text(self.owner.raw(), self.raw(), buffer, size)
        });
        text.ok_or_else(|| Error::taken(self.owner.key()))
    }

    /// Number of its nodes.
    pub fn nodes(&self) -> i64 {
        // SAFETY: the handle is valid.
        unsafe { sys::dlcore_graph_node_count(self.raw()) }
    }

    /// Checks every rule of the form.
    pub fn verify(&self) -> Result<()> {
        // SAFETY: handles are valid.
        self.owner.check(unsafe { sys::dlcore_graph_verify(self.owner.raw(), self.raw()) })
    }

    /// A new graph, after a pass: "dce", "cse". An error lists the passes there are.
    pub fn apply(&self, pass: &str) -> Result<Graph> {
        let pass = c_string("pass", pass)?;
        // SAFETY: handles are valid; the result is ours.
        unsafe { Graph::owned(&self.owner, sys::dlcore_graph_apply(self.owner.raw(), self.raw(), pass.as_ptr())) }
    }

    /// Makes it executable, bound to the variables that it was captured with.
    pub fn compile(&self) -> Result<Executable> {
        // SAFETY: handles are valid; the result is ours.
        unsafe {
            let raw = sys::dlcore_graph_compile(self.owner.raw(), self.raw(), ptr::null(), 0);
            Executable::owned(&self.owner, raw)
        }
    }

    /// Makes it executable, bound to other variables by their names: what was parsed has none of its own.
    pub fn compile_with(&self, variables: &[Variable]) -> Result<Executable> {
        let handles: Vec<_> = variables.iter().map(Variable::raw).collect();
        // SAFETY: the array goes with its length; the result is ours.
        unsafe {
            let raw = sys::dlcore_graph_compile(self.owner.raw(), self.raw(), handles.as_ptr(), handles.len() as i64);
            Executable::owned(&self.owner, raw)
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text().unwrap_or_else(|error| error.to_string()))
    }
}

/// A graph that can be run.
pub struct Executable {
    raw: NonNull<sys::dlcore_executable>,
    owner: Owner,
}

handle!(Executable, dlcore_executable, dlcore_executable_retain, dlcore_executable_release);

impl Executable {
    /// Runs it: reads its variables, computes, then updates its variables all together. The bits are those of the
    /// calls it was captured from. `let [loss] = step.run([&x, &y])?;`
    pub fn run<const I: usize, const O: usize>(&self, inputs: [&Tensor; I]) -> Result<[Tensor; O]> {
        let ctx = self.owner.raw();
        for input in inputs {
            operand_of(self.owner.key(), input)?;
        }
        let handles = inputs.map(Tensor::raw);
        let mut outputs = [ptr::null_mut(); O];
        // SAFETY: arrays go with their lengths.
        let status = unsafe {
            sys::dlcore_executable_run(ctx, self.raw(), handles.as_ptr(), I as i64, outputs.as_mut_ptr(), O as i64)
        };
        if status != sys::DLCORE_OK || outputs.iter().any(|output| output.is_null()) {
            return Err(Error::taken(self.owner.key()));
        }
        // SAFETY: none is NULL, and each is a reference of ours.
        Ok(outputs.map(|raw| unsafe { Tensor::owned(NonNull::new_unchecked(raw), self.owner.key()) }))
    }
}
