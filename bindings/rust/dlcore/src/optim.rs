// SPDX-License-Identifier: Apache-2.0
//! Updates of variables from their gradients, and learning rates that follow the number of steps.
//!
//! Every optimizer of the catalogue is a type that dereferences to [`Optimizer`]: `optim::Adam::new(&parameters, 1e-3)`.
//! Every schedule of it is one that dereferences to [`Schedule`](crate::Schedule): `optim::StepLR::new(&adam, 30, 0.1)`.

pub use crate::generated::optimizers::*;
pub use crate::generated::schedules::*;

use crate::context::Owner;
use crate::variable::Variable;
use crate::{Error, Result, Tensor};
use dlcore_sys as sys;
use std::fmt;
use std::ptr::{self, NonNull};

/// Updates variables from the gradients that [`Tensor::backward`] accumulated in them.
pub struct Optimizer {
    raw: NonNull<sys::dlcore_optimizer>,
    owner: Owner,
}

handle!(Optimizer, dlcore_optimizer, dlcore_optimizer_retain, dlcore_optimizer_release);

impl Optimizer {
    pub(crate) fn create(name: &str, parameters: &[Variable], optimizer: i32, words: &[i64]) -> Result<Optimizer> {
        let first = parameters.first().ok_or_else(|| {
            Error::invalid(format!(
                "{name}: there is nothing to train: parameters is [], expected a variable at least"
            ))
        })?;
        let owner = first.owner();
        // SAFETY: words go with their number; the result is ours.
        let made = unsafe {
            let raw = sys::dlcore_optimizer_create(
                owner.raw(),
                optimizer,
                ptr::null(),
                0,
                words.as_ptr(),
                words.len() as i64,
            );
            Optimizer::owned(owner, raw)?
        };
        made.add_group(parameters)?;
        Ok(made)
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Adds a group of variables, which has a learning rate of its own. The `add_group_with` of an optimizer gives it
    /// other attributes, too.
    pub fn add_group(&self, parameters: &[Variable]) -> Result<()> {
        self.add(parameters, &[])
    }

    /// `words` are its attributes, packed; those of the optimizer when there are none.
    pub(crate) fn add(&self, parameters: &[Variable], words: &[i64]) -> Result<()> {
        let handles: Vec<_> = parameters.iter().map(Variable::raw).collect();
        // SAFETY: arrays go with their lengths.
        self.owner.check(unsafe {
            sys::dlcore_optimizer_add_group(
                self.owner.raw(),
                self.raw(),
                handles.as_ptr(),
                handles.len() as i64,
                words.as_ptr(),
                words.len() as i64,
            )
        })
    }

    /// Applies the gradients of its variables, and clears them. It applies wholly or not at all.
    pub fn step(&self) -> Result<()> {
        // SAFETY: handles are valid.
        self.owner.check(unsafe { sys::dlcore_optimizer_step(self.owner.raw(), self.raw()) })
    }

    /// The same, but leaves the gradients.
    pub fn step_keep(&self) -> Result<()> {
        // SAFETY: handles are valid.
        self.owner.check(unsafe { sys::dlcore_optimizer_step_keep(self.owner.raw(), self.raw()) })
    }

    /// Forgets the gradients.
    pub fn zero_gradients(&self) -> Result<()> {
        // SAFETY: handles are valid.
        self.owner.check(unsafe { sys::dlcore_optimizer_zero_gradients(self.owner.raw(), self.raw()) })
    }

    /// Scales all gradients so that their common norm is at most `max_norm`, and returns what it was.
    pub fn clip_gradients(&self, max_norm: f64) -> Result<Tensor> {
        // SAFETY: handles are valid; the result is ours.
        unsafe {
            let raw = sys::dlcore_optimizer_clip_gradients(self.owner.raw(), self.raw(), max_norm);
            Tensor::made(raw, self.owner.key())
        }
    }

    /// Number of its groups.
    pub fn groups(&self) -> usize {
        // SAFETY: the handle is valid.
        usize::try_from(unsafe { sys::dlcore_optimizer_group_count(self.raw()) }).unwrap_or(0)
    }

    /// The learning rate of a group: an f64 variable of rank 0, to be assigned to.
    pub fn learning_rate(&self, group: usize) -> Result<Variable> {
        // SAFETY: handles are valid; the variable is borrowed.
        unsafe {
            let raw = sys::dlcore_optimizer_learning_rate(self.owner.raw(), self.raw(), group as i64);
            Variable::borrowed(&self.owner, raw)
        }
    }

    /// All of its state (learning rates, counts of steps, moments), in a fixed order.
    pub fn variables(&self) -> Result<Vec<Variable>> {
        // SAFETY: handles are valid; variables are borrowed.
        unsafe {
            (0..sys::dlcore_optimizer_variable_count(self.raw()))
                .map(|i| {
                    let raw = sys::dlcore_optimizer_variable(self.owner.raw(), self.raw(), i);
                    Variable::borrowed(&self.owner, raw)
                })
                .collect()
        }
    }
}

impl fmt::Debug for Optimizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Optimizer({} groups)", self.groups())
    }
}
