// SPDX-License-Identifier: Apache-2.0
//! Inputs and attributes of a case, as arguments of the generated methods.

use crate::json::Json;
use dlcore::{Dtype, Operand, Tensor, Weak};
use std::str::FromStr;

pub enum Input {
    Absent,
    Tensor(Tensor),
    /// A number beside tensors, and the same as a tensor.
    Weak(Weak, Tensor),
}

pub enum Need {
    One,
    Maybe,
    /// The tensors of a list: all that is left.
    Rest,
}

pub struct Inputs(pub Vec<Input>);

impl Inputs {
    /// Whether a method with these parameters takes the inputs.
    pub fn fit(&self, needs: &[Need]) -> bool {
        let variadic = matches!(needs.last(), Some(Need::Rest));
        if self.0.len() > needs.len() && !variadic {
            return false;
        }
        (0..needs.len().max(self.0.len())).all(|index| {
            let given = !matches!(self.0.get(index), None | Some(Input::Absent));
            match needs.get(index).unwrap_or(&Need::Rest) {
                Need::One => given,
                Need::Maybe => true,
                Need::Rest => given || index >= self.0.len(),
            }
        })
    }

    pub fn maybe(&self, index: usize) -> Option<&Tensor> {
        match self.0.get(index)? {
            Input::Absent => None,
            Input::Tensor(tensor) | Input::Weak(_, tensor) => Some(tensor),
        }
    }

    pub fn one(&self, index: usize) -> &Tensor {
        self.maybe(index).expect("inputs that fit")
    }

    pub fn rest(&self, index: usize) -> Vec<&Tensor> {
        (index..self.0.len()).filter_map(|index| self.maybe(index)).collect()
    }

    /// A number as a number, unless there is no tensor beside it.
    pub fn operand(&self, index: usize) -> Operand<'_> {
        match &self.0[index] {
            Input::Weak(number, _) if self.0.iter().any(|input| matches!(input, Input::Tensor(_))) => {
                Operand::Scalar(*number)
            }
            _ => Operand::Tensor(self.one(index)),
        }
    }

    pub fn all(&self) -> Vec<Option<&Tensor>> {
        (0..self.0.len()).map(|index| self.maybe(index)).collect()
    }

    /// The same with other tensors at some positions.
    pub fn replaced(&self, positions: &[usize], tensors: &[Tensor]) -> Inputs {
        let mut inputs: Vec<_> = self.0.iter().map(Input::copy).collect();
        for (position, tensor) in positions.iter().zip(tensors) {
            inputs[*position] = Input::Tensor(tensor.clone());
        }
        Inputs(inputs)
    }

    /// The same on another context.
    pub fn on(&self, context: &dlcore::Context) -> Inputs {
        Inputs(
            self.0
                .iter()
                .map(|input| match input {
                    Input::Absent => Input::Absent,
                    Input::Tensor(tensor) => Input::Tensor(tensor.on(context)),
                    Input::Weak(number, tensor) => Input::Weak(*number, tensor.on(context)),
                })
                .collect(),
        )
    }
}

impl Input {
    fn copy(&self) -> Input {
        match self {
            Input::Absent => Input::Absent,
            Input::Tensor(tensor) => Input::Tensor(tensor.clone()),
            Input::Weak(number, tensor) => Input::Weak(*number, tensor.clone()),
        }
    }
}

/// Attributes by name.
pub struct Attrs<'a>(pub &'a Json);

impl Attrs<'_> {
    /// Whether parameters and options of these names and types take the attributes; true: one is required. A choice's
    /// type lists its texts.
    pub fn fit(&self, known: &[(&str, &str, bool)]) -> bool {
        if known.iter().any(|(name, _, required)| *required && self.0.get(name).is_null()) {
            return false;
        }
        let given = match self.0 {
            Json::Object(members) => members,
            _ => return true,
        };
        given.iter().all(|(name, value)| {
            known.iter().find(|(known, ..)| known == name).map_or(false, |(_, kind, _)| match *kind {
                "int" => value.int().is_some(),
                "float" => value.real().is_some(),
                "bool" => value.bool().is_some(),
                "dtype" => value.text().and_then(Dtype::by_name).is_some(),
                "string" => value.text().is_some(),
                // As many as options have room for.
                "ints" | "dims" => value.ints().map_or(false, |values| values.len() <= 16),
                choices => value.text().map_or(false, |text| choices.split('|').any(|choice| choice == text)),
            })
        })
    }

    pub fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| !self.0.get(name).is_null())
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        self.0.get(name).int()
    }

    pub fn float(&self, name: &str) -> Option<f64> {
        self.0.get(name).real()
    }

    pub fn bool(&self, name: &str) -> Option<bool> {
        self.0.get(name).bool()
    }

    pub fn dtype(&self, name: &str) -> Option<Dtype> {
        self.0.get(name).text().and_then(Dtype::by_name)
    }

    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.0.get(name).ints()
    }

    pub fn dims(&self, name: &str) -> Option<Vec<i64>> {
        self.ints(name)
    }

    pub fn choice<T: FromStr>(&self, name: &str) -> Option<T> {
        self.0.get(name).text()?.parse().ok()
    }
}
