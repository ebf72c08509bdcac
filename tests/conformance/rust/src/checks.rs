// SPDX-License-Identifier: Apache-2.0
//! What each case is checked for.

use crate::case::{create, dtype_of, fail, read, Case, Failure, Outcome};
use crate::comparison::{compare, Tolerance};
use crate::corpus::Numbers;
use crate::json::Json;
use dlcore::{Code, Context, Dtype, Tensor};

/// Another dtype whose elements have the same size, so that only the dtype can give the mistake away.
fn look_alike(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::Bool => Dtype::U8,
        Dtype::U8 => Dtype::I8,
        Dtype::I8 => Dtype::Bool,
        Dtype::I16 => Dtype::F16,
        Dtype::F16 => Dtype::Bf16,
        Dtype::Bf16 => Dtype::I16,
        Dtype::I32 => Dtype::F32,
        Dtype::F32 => Dtype::I32,
        Dtype::I64 => Dtype::F64,
        _ => Dtype::I64,
    }
}

pub fn error(dl: &Context, case: &Case<'_>) -> Outcome {
    let expect = case.json.get("expect");
    let code = expect.get("error").text().unwrap_or_default();
    let inputs = case.inputs(dl)?;
    match case.call(dl, &inputs, 1) {
        Err(Failure::Call(error)) => {
            if error.code().name() != code {
                return fail(format!("failed with {error:?}, expected {code}"));
            }
            for word in expect.get("contains").list() {
                let word = word.text().unwrap_or_default();
                if !error.message().contains(word) {
                    return fail(format!("message '{error}' lacks '{word}'"));
                }
            }
            Ok(())
        }
        Err(other) => Err(other),
        Ok(_) => fail(format!("succeeded, expected {code}")),
    }
}

pub fn outputs(dl: &Context, case: &Case<'_>) -> Outcome {
    let expected = case.outputs();
    let inputs = case.inputs(dl)?;
    let mut found = case.call(dl, &inputs, expected.len())?;
    found.extend(case.hidden_outputs(dl, &inputs, found.len())?);
    for (index, record) in expected.iter().enumerate() {
        let tensor = found.get(index).ok_or_else(|| format!("there is no output {index}"))?;
        output(case, record, tensor).or_else(|failure| match failure {
            Failure::Text(text) => fail(format!("output {index}: {text}")),
            other => Err(other),
        })?;
    }
    Ok(())
}

fn output(case: &Case<'_>, expected: &Json, tensor: &Tensor) -> Outcome {
    let found = tensor.describe()?;
    if found.dtype != dtype_of(expected)? {
        return fail(format!("dtype is {}", found.dtype.name()));
    }
    if Some(&found.shape) != expected.get("shape").ints().as_ref() {
        return fail(format!("shape is {:?}, expected {:?}", found.shape, expected.get("shape")));
    }
    if found.is_weak != expected.get("weak").bool().unwrap_or(false) {
        return fail(format!("weak is {}", found.is_weak));
    }
    let array = read(tensor)?;
    if let [low, high] = expected.get("within").list() {
        let (low, high) = (low.real().unwrap_or(f64::NAN), high.real().unwrap_or(f64::NAN));
        if let Some(value) = array.reals().into_iter().find(|value| !(*value >= low && *value < high)) {
            return fail(format!("an element is {value}, expected it in [{low}, {high})"));
        }
    }
    if !expected.get("tensor").is_null() {
        let wanted = case.family.array(expected.get("tensor"))?.numbers();
        compare(&array.numbers(), &wanted, array.dtype, &case.tolerance())?;
    }
    let mut bytes = array.bytes.clone();
    match tensor.read_bytes(look_alike(array.dtype), &mut bytes) {
        Err(error) if error.code() == Code::InvalidArgument => Ok(()),
        other => fail(format!("read as another dtype: {other:?}")),
    }
}

/// The same bits from strided and from contiguous inputs.
pub fn layout(dl: &Context, case: &Case<'_>) -> Outcome {
    let strided: Vec<_> = case
        .json
        .get("inputs")
        .list()
        .iter()
        .enumerate()
        .filter(|(_, record)| !record.get("view").is_null())
        .map(|(index, _)| index)
        .collect();
    if strided.is_empty() {
        return Ok(());
    }
    let inputs = case.inputs(dl)?;
    let plain = strided.iter().map(|i| create(dl, &read(inputs.one(*i))?)).collect::<Outcome<Vec<_>>>()?;
    let viewed = read(&case.call(dl, &inputs, 1)?[0])?;
    let plain = read(&case.call(dl, &inputs.replaced(&strided, &plain), 1)?[0])?;
    if viewed.bytes != plain.bytes {
        return fail("not the same bits as with contiguous inputs");
    }
    // The strides as the language gives them to the library itself.
    for index in strided {
        let record = case.input(index);
        let base = case.family.array(record.get("tensor"))?;
        let (shape, strides) = (record.get("shape").ints(), record.get("strides").ints());
        let (shape, strides) = (shape.unwrap_or_default(), strides.unwrap_or_default());
        let offset = record.get("offset").int().unwrap_or(0);
        if base.dtype == Dtype::F32 {
            let data: Vec<f32> = base.reals().iter().map(|value| *value as f32).collect();
            let copied = dl.tensor_strided(&data, &shape, &strides, offset)?;
            if read(&copied)?.bytes != read(inputs.one(index))?.bytes {
                return fail("a strided array does not cross as its view does");
            }
        }
    }
    Ok(())
}

/// Reads and compares the expected gradient of an input; None is zeros.
pub fn gradient(case: &Case<'_>, input: usize, gradient: Option<&Tensor>) -> Outcome {
    let record = case.input(input);
    let dtype = dtype_of(record)?;
    let wanted = case.family.array(&case.json.get("gradients").get("inputs").list()[input])?.reals();
    let got = match gradient {
        None => vec![0.0; wanted.len()],
        Some(gradient) => {
            let found = read(gradient)?;
            if found.dtype != dtype || Some(&found.shape) != record.get("shape").ints().as_ref() {
                return fail(format!("gradient of input {input} is {} {:?}", found.dtype.name(), found.shape));
            }
            found.reals()
        }
    };
    let tolerance = Tolerance::from(case.json.get("gradients").get("tolerance"));
    compare(&Numbers::Reals(got), &Numbers::Reals(wanted), dtype, &tolerance)
        .or_else(|text| fail(format!("gradient of input {input}: {text}")))
}
