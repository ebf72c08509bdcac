// SPDX-License-Identifier: Apache-2.0
//! Learning rates that follow the number of steps.

use crate::context::Owner;
use crate::optim::Optimizer;
use crate::text::borrowed;
use crate::variable::Variable;
use crate::Result;
use dlcore_sys as sys;
use std::fmt;
use std::ptr::NonNull;

/// Sets the learning rates of an optimizer: a formula of the number of its own steps, and of the rate that each group had
/// when the schedule was made.
///
/// Making one sets the rates of count 0, and each step those of the next count, which overwrites what a program has
/// assigned to a learning rate in between. It keeps the optimizer alive. Those of the catalogue are in
/// [`optim`](crate::optim).
///
/// ```
/// # use dlcore::{nn, optim, Context, Result};
/// # fn main() -> Result<()> {
/// let dl = Context::open("cpu")?;
/// let model = nn::Linear::new(&dl, 2, 1)?;
/// let sgd = optim::SGD::new(&model.parameters(), 0.5)?;
/// let halved = optim::StepLR::new(&sgd, 2, 0.5)?;
/// for _ in 0..3 {
///     model.call(&dl.full([1, 2], 1.0)?)?.sum()?.backward()?;
///     sgd.step()?;
///     halved.step()?;
/// }
/// assert_eq!(sgd.learning_rate(0)?.value()?.item::<f64>()?, 0.25);
/// # Ok(())
/// # }
/// ```
pub struct Schedule {
    raw: NonNull<sys::dlcore_schedule>,
    owner: Owner,
}

handle!(Schedule, dlcore_schedule, dlcore_schedule_retain, dlcore_schedule_release);

impl Schedule {
    pub(crate) fn create(optimizer: &Optimizer, schedule: i32, words: &[i64]) -> Result<Schedule> {
        let owner = optimizer.owner();
        // SAFETY: words go with their number; the result is ours.
        unsafe {
            let raw = sys::dlcore_schedule_create(
                owner.raw(),
                schedule,
                optimizer.raw(),
                words.as_ptr(),
                words.len() as i64,
            );
            Schedule::owned(owner, raw)
        }
    }

    /// Adds 1 to the count and sets the rates of all groups to those of the new count, wholly or not at all.
    pub fn step(&self) -> Result<()> {
        // SAFETY: handles are valid.
        self.owner.check(unsafe { sys::dlcore_schedule_step(self.owner.raw(), self.raw()) })
    }

    /// Its name in the catalogue: "CosineAnnealingLR".
    pub fn kind(&self) -> &str {
        // SAFETY: the name lives as long as the schedule.
        unsafe { borrowed(sys::dlcore_schedule_kind(self.raw())) }
    }

    /// Steps taken.
    pub fn count(&self) -> Result<i64> {
        self.count_variable()?.value()?.item()
    }

    /// What holds the count: an i64 variable of rank 0. The next step goes on from what is assigned to it.
    pub fn count_variable(&self) -> Result<Variable> {
        // SAFETY: handles are valid; the variable is borrowed.
        unsafe {
            let raw = sys::dlcore_schedule_count(self.owner.raw(), self.raw());
            Variable::borrowed(&self.owner, raw)
        }
    }

    /// The base rate of a group: an f64 variable of rank 0. Assigning it changes the rates from the next step on.
    pub fn base_rate(&self, group: usize) -> Result<Variable> {
        // SAFETY: handles are valid; the variable is borrowed.
        unsafe {
            let raw = sys::dlcore_schedule_base_rate(self.owner.raw(), self.raw(), group as i64);
            Variable::borrowed(&self.owner, raw)
        }
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule({:?})", self.kind())
    }
}
