// SPDX-License-Identifier: Apache-2.0
//! Functions that are captured once for each kind of input, and then run as graphs.

use crate::context::{Context, Owner};
use crate::graph::{Executable, Graph};
use crate::log::Level;
use crate::variable::operand_of;
use crate::{Code, Dtype, Result, Tensor};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What decides whether an executable serves a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Signature {
    inputs: Vec<(Dtype, Vec<i64>)>,
    recording: bool,
    training: bool,
}

#[derive(Clone)]
enum Way {
    Graph(Arc<Executable>, i64),
    /// And why.
    Eager(String),
}

/// A function that is captured as a graph once for each signature of its inputs (dtypes, shapes, modes), and runs as it.
/// [`Context::compile`] makes one.
///
/// The bits are those of the function itself. What cannot be captured runs eagerly; the reason is logged, and
/// [`Compiled::explain`] tells it. Derivatives are taken inside the function: its results have no history.
pub struct Compiled<F> {
    name: String,
    function: F,
    owner: Owner,
    ways: Mutex<HashMap<Signature, Way>>,
}

impl Context {
    /// Compiles a function of tensors: models, gradients and optimizer steps alike.
    ///
    /// ```
    /// # use dlcore::{nn, optim, Context, Result, Tensor};
    /// # fn main() -> Result<()> {
    /// let dl = Context::open("cpu")?;
    /// let model = nn::Linear::new(&dl, 4, 2)?;
    /// let sgd = optim::SGD::new(&model.parameters(), 0.1)?;
    /// let step = dl.compile("step", |[x, y]: [&Tensor; 2]| {
    ///     let loss = model.call(x)?.cross_entropy(y)?;
    ///     loss.backward()?;
    ///     sgd.step()?;
    ///     Ok([loss])
    /// });
    /// let x = dl.tensor([0.5f32; 8], [2, 4])?;
    /// let y = dl.tensor([0i64, 1], [2])?;
    /// let [loss] = step.call([&x, &y])?;
    /// assert!(loss.item::<f32>()? > 0.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn compile<const I: usize, const O: usize, F>(&self, name: &str, function: F) -> Compiled<F>
    where
        F: Fn([&Tensor; I]) -> Result<[Tensor; O]>,
    {
        Compiled { name: name.into(), function, owner: self.owner.clone(), ways: Mutex::default() }
    }
}

impl<F> Compiled<F> {
    /// Calls it. The function itself runs when a signature is new, and may be called twice then: once to be captured,
    /// and once more when it cannot be.
    pub fn call<const I: usize, const O: usize>(&self, inputs: [&Tensor; I]) -> Result<[Tensor; O]>
    where
        F: Fn([&Tensor; I]) -> Result<[Tensor; O]>,
    {
        let context = Context::from_owner(self.owner.clone());
        let mut signature = Signature {
            inputs: Vec::with_capacity(I),
            recording: context.is_recording(),
            training: context.is_training(),
        };
        for input in inputs {
            operand_of(self.owner.key(), input)?;
            let what = input.describe()?;
            // A symbolic value is part of a capture around this one; history would end at a graph.
            if what.is_symbolic || what.is_weak || what.requires_grad {
                return (self.function)(inputs);
            }
            signature.inputs.push((what.dtype, what.shape));
        }
        let known = self.ways().get(&signature).cloned();
        let way = match known {
            Some(way) => way,
            None => self.prepare(&context, &signature)?,
        };
        match way {
            Way::Graph(executable, _) => executable.run(inputs),
            Way::Eager(_) => (self.function)(inputs),
        }
    }

    /// Captures the function for a signature, or notes why that cannot be.
    fn prepare<const I: usize, const O: usize>(&self, context: &Context, signature: &Signature) -> Result<Way>
    where
        F: Fn([&Tensor; I]) -> Result<[Tensor; O]>,
    {
        let graph = Graph::capture(context, &self.name, |capture| {
            let mut inputs = Vec::with_capacity(I);
            for (index, (dtype, shape)) in signature.inputs.iter().enumerate() {
                inputs.push(capture.input(&format!("x{index}"), *dtype, &format!("{shape:?}"))?);
            }
            let mut inputs = inputs.iter();
            let inputs = [(); I].map(|()| inputs.next().expect("one for each of the signature"));
            Ok((self.function)(inputs)?.into())
        });
        let way = match graph.and_then(|graph| Ok((graph.compile()?, graph.nodes()))) {
            Ok((executable, nodes)) => Way::Graph(Arc::new(executable), nodes),
            Err(error) if matches!(error.code(), Code::Cancelled | Code::DeadlineExceeded) => return Err(error),
            Err(error) => {
                let reason = error.message().to_string();
                context.engine().log(Level::Warning, "compile", &format!("{} runs eagerly: {reason}", self.name));
                Way::Eager(reason)
            }
        };
        self.ways().insert(signature.clone(), way.clone());
        Ok(way)
    }

    fn ways(&self) -> MutexGuard<'_, HashMap<Signature, Way>> {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether every kind of call so far runs as a graph.
    pub fn is_captured(&self) -> bool {
        self.ways().values().all(|way| matches!(way, Way::Graph(..)))
    }

    /// What it has been called with, and how each kind of call runs; one a line.
    pub fn explain(&self) -> String {
        let mut lines: Vec<_> = self
            .ways()
            .iter()
            .map(|(signature, way)| {
                let mut line = format!("{}(", self.name);
                for (index, (dtype, shape)) in signature.inputs.iter().enumerate() {
                    let _ = write!(line, "{}{} {shape:?}", if index == 0 { "" } else { ", " }, dtype.name());
                }
                let on = |mode: bool, name: &str| if mode { format!(", {name}") } else { String::new() };
                let _ =
                    write!(line, "){}{}", on(signature.recording, "recording"), on(signature.training, "training"));
                match way {
                    Way::Graph(_, nodes) => line + &format!(": a graph of {nodes} nodes"),
                    Way::Eager(reason) => line + &format!(": eagerly, because {reason}"),
                }
            })
            .collect();
        lines.sort();
        lines.join("\n")
    }
}
