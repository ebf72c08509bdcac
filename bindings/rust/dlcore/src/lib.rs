// SPDX-License-Identifier: Apache-2.0
#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

#[macro_use]
mod handle;

mod allocator;
mod archive;
pub mod autograd;
mod call;
mod checkpoint;
mod compile;
mod context;
mod convert;
pub mod custom;
pub mod data;
pub mod dlpack;
mod element;
mod engine;
mod error;
#[rustfmt::skip]
mod generated;
pub mod graph;
mod half;
mod key;
mod levels;
pub mod log;
pub mod nn;
pub mod operators;
pub mod optim;
mod panics;
mod progress;
mod schedule;
mod streams;
mod tensor;
mod text;
mod variable;
mod words;

pub use archive::Archive;
pub use call::Operand;
pub use checkpoint::Checkpoint;
pub use compile::Compiled;
pub use context::{CancelHandle, Context, ModeGuard};
pub use convert::Weak;
pub use data::Loader;
pub use element::Element;
pub use engine::{build_info, catalogue, version, Engine, EngineOptions, InstructionSet, Statistics};
pub use error::{Error, Result};
pub use generated::codes::{Code, Dtype};
pub use generated::ops;
pub use half::{Bf16, F16};
pub use nn::Module;
pub use optim::Optimizer;
pub use progress::{Counted, Progress};
pub use schedule::Schedule;
pub use tensor::{Description, Shape, Tensor};
pub use variable::Variable;
