// SPDX-License-Identifier: Apache-2.0
//! One case: its inputs made, its op called.

use crate::arguments::{Attrs, Input, Inputs};
use crate::comparison::Tolerance;
use crate::corpus::{Array, Family};
use crate::generated;
use crate::json::Json;
use crate::packed::Schemas;
use dlcore::{Context, Dtype, Error, Tensor, Weak};
use std::cell::Cell;

/// Why a case fails.
#[derive(Debug)]
pub enum Failure {
    Call(Error),
    Text(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Call(error)
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Failure {
        Failure::Text(text)
    }
}

pub type Outcome<T = ()> = Result<T, Failure>;

pub fn fail<T>(text: impl Into<String>) -> Outcome<T> {
    Err(Failure::Text(text.into()))
}

pub struct Case<'a> {
    pub family: &'a Family,
    pub json: &'a Json,
    pub op: &'a str,
    schemas: &'a Schemas,
    /// Whether a call had to go around the generated methods.
    pub packed: Cell<bool>,
}

impl<'a> Case<'a> {
    pub fn new(family: &'a Family, json: &'a Json, schemas: &'a Schemas) -> Case<'a> {
        Case { family, json, op: json.get("op").text().unwrap_or_default(), schemas, packed: Cell::new(false) }
    }

    pub fn has_flag(&self, flag: &str) -> bool {
        self.json.get("flags").list().iter().any(|item| item.text() == Some(flag))
    }

    pub fn tolerance(&self) -> Tolerance {
        Tolerance { signed_zero: self.has_flag("signed_zero"), ..Tolerance::from(self.json.get("tolerance")) }
    }

    pub fn outputs(&self) -> &[Json] {
        self.json.get("expect").get("outputs").list()
    }

    /// Positions of the inputs that have an expected gradient.
    pub fn differentiable(&self) -> Vec<usize> {
        let keys = self.json.get("gradients").get("inputs").list();
        (0..keys.len()).filter(|i| !keys[*i].is_null()).collect()
    }

    pub fn input(&self, index: usize) -> &Json {
        &self.json.get("inputs").list()[index]
    }

    pub fn inputs(&self, dl: &Context) -> Outcome<Inputs> {
        let records = self.json.get("inputs").list();
        Ok(Inputs(records.iter().map(|record| self.make(dl, record)).collect::<Outcome<_>>()?))
    }

    fn make(&self, dl: &Context, record: &Json) -> Outcome<Input> {
        if record.is_null() {
            return Ok(Input::Absent);
        }
        if record.get("weak").bool() == Some(true) {
            let value = record.get("value");
            let number = match record.get("kind").text() {
                Some("f64") => Weak::F64(value.real().ok_or_else(|| String::from("no number"))?),
                Some("i64") => Weak::I64(value.int().ok_or_else(|| String::from("no number"))?),
                _ => Weak::Bool(value.bool().unwrap_or(value.int() == Some(1))),
            };
            return Ok(Input::Weak(number, dl.weak(number)?));
        }
        let mut tensor = create(dl, self.family.array(record.get("tensor"))?)?;
        for step in record.get("view").list() {
            let op = step.list()[0].text().unwrap_or_default();
            let inputs = Inputs(vec![Input::Tensor(tensor)]);
            tensor = self.invoke(dl, op, &inputs, &step.list()[1])?.remove(0);
        }
        if !record.get("view").is_null() {
            require_view(&tensor, record)?;
        }
        Ok(Input::Tensor(tensor))
    }

    /// Calls the case's op.
    pub fn call(&self, dl: &Context, inputs: &Inputs, outputs: usize) -> Outcome<Vec<Tensor>> {
        if let Some(words) = self.json.get("words").ints() {
            self.packed.set(true);
            return Ok(dl.call(dl.find_op(self.op)?, &inputs.all(), &words, outputs)?);
        }
        self.invoke(dl, self.op, inputs, self.json.get("attrs"))
    }

    /// By the generated method, or packed where its types have no place for what the case gives.
    fn invoke(&self, dl: &Context, op: &str, inputs: &Inputs, attrs: &Json) -> Outcome<Vec<Tensor>> {
        if let Some(called) = generated::call(op, dl, inputs, &Attrs(attrs)) {
            return Ok(called?);
        }
        self.packed.set(true);
        self.call_packed(dl, op, inputs, attrs)
    }

    fn call_packed(&self, dl: &Context, op: &str, inputs: &Inputs, attrs: &Json) -> Outcome<Vec<Tensor>> {
        let words = self.schemas.pack(op, attrs)?;
        Ok(dl.call(dl.find_op(op)?, &inputs.all(), &words, self.outputs().len().max(1))?)
    }

    /// Outputs from number `from` on: those that methods keep to themselves.
    pub fn hidden_outputs(&self, dl: &Context, inputs: &Inputs, from: usize) -> Outcome<Vec<Tensor>> {
        if from >= self.outputs().len() {
            return Ok(Vec::new());
        }
        Ok(self.call_packed(dl, self.op, inputs, self.json.get("attrs"))?.split_off(from))
    }
}

pub fn create(dl: &Context, array: &Array) -> Outcome<Tensor> {
    Ok(dl.tensor_from_bytes(array.dtype, &array.shape, &array.bytes)?)
}

pub fn read(tensor: &Tensor) -> Outcome<Array> {
    let (dtype, shape) = (tensor.dtype(), tensor.shape().to_vec());
    let mut bytes = vec![0; tensor.count() * dtype.size()];
    tensor.read_bytes(dtype, &mut bytes)?;
    Ok(Array { dtype, shape, bytes })
}

pub fn dtype_of(record: &Json) -> Outcome<Dtype> {
    let name = record.get("dtype").text().unwrap_or_default();
    Dtype::by_name(name).ok_or_else(|| Failure::Text(format!("unknown dtype '{name}'")))
}

/// Views share storage: what a case calls strided must reach the op strided.
fn require_view(tensor: &Tensor, record: &Json) -> Outcome {
    let found = tensor.describe()?;
    let (shape, strides) = (record.get("shape").ints(), record.get("strides").ints().unwrap_or_default());
    let empty = found.shape.contains(&0);
    let same = Some(&found.shape) == shape.as_ref()
        && strides.len() == found.strides.len()
        && (0..strides.len()).all(|i| empty || found.shape[i] <= 1 || found.strides[i] == strides[i]);
    if same {
        return Ok(());
    }
    fail(format!("input: view has shape {:?} and strides {:?}", found.shape, found.strides))
}
