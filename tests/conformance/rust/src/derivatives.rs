// SPDX-License-Identifier: Apache-2.0
//! Reverse mode, forward mode, gradcheck and vmap against what the corpus expects.

use crate::arguments::Inputs;
use crate::case::{create, dtype_of, fail, read, Case, Failure, Outcome};
use crate::checks::gradient;
use crate::comparison::{compare, Tolerance};
use crate::corpus::Array;
use dlcore::autograd::{self, Forward, GradOptions, Vectorised};
use dlcore::{Context, Error, Tensor};

fn seed(case: &Case<'_>) -> Outcome<Array> {
    let stored = case.family.array(case.json.get("gradients").get("seed"))?;
    let output = &case.outputs()[0];
    Ok(Array::from_reals(&stored.reals(), &output.get("shape").ints().unwrap_or_default(), dtype_of(output)?))
}

pub fn gradients(dl: &Context, case: &Case<'_>) -> Outcome {
    let positions = case.differentiable();
    let inputs = case.inputs(dl)?;
    let leaves = positions.iter().map(|i| Ok(inputs.one(*i).watch()?)).collect::<Outcome<Vec<_>>>()?;
    let output = case.call(dl, &inputs.replaced(&positions, &leaves), 1)?.remove(0);
    let mut found = vec![None; leaves.len()];
    // A result without history is a constant: its gradients are zeros.
    if output.describe()?.requires_grad {
        let seed = create(dl, &seed(case)?)?;
        let seeds = [Some(&seed)];
        let options = GradOptions::new().seeds(&seeds).allow_unused(true);
        found = autograd::grad_with(&[&output], &leaves.iter().collect::<Vec<_>>(), options)?;
    }
    positions.iter().zip(&found).try_for_each(|(position, found)| gradient(case, *position, found.as_ref()))
}

/// A direction without pattern that a mistake could hide behind.
fn direction(count: usize, input: usize) -> Vec<f64> {
    (0..count).map(|i| (((i * 7 + input * 3 + 3) % 11) as f64 - 5.0) / 8.0).collect()
}

pub fn forward(dl: &Context, case: &Case<'_>) -> Outcome {
    let positions = case.differentiable();
    let inputs = case.inputs(dl)?;
    let (mut expected, mut size) = (0.0, 0.0);
    let mut lifted = Vec::new();
    let level = Forward::new(dl)?;
    for position in &positions {
        let wanted = case.family.array(&case.json.get("gradients").get("inputs").list()[*position])?.reals();
        let tangent = direction(wanted.len(), *position);
        for (a, b) in wanted.iter().zip(&tangent) {
            expected += a * b;
            size += (a * b).abs();
        }
        let record = case.input(*position);
        let shape = record.get("shape").ints().unwrap_or_default();
        let tangent = create(dl, &Array::from_reals(&tangent, &shape, dtype_of(record)?))?;
        lifted.push(level.lift(inputs.one(*position), &tangent)?);
    }
    if !f64::is_finite(size) {
        return Ok(());
    }
    let output = case.call(dl, &inputs.replaced(&positions, &lifted), 1)?.remove(0);
    let value = read(&level.primal(&output)?)?;
    let wanted = case.family.array(case.outputs()[0].get("tensor"))?;
    compare(&value.numbers(), &wanted.numbers(), value.dtype, &case.tolerance())?;
    let rates = read(&level.tangent(&output)?)?;
    let weights = seed(case)?;
    if rates.shape != weights.shape || rates.dtype != weights.dtype {
        return fail(format!("the tangent has shape {:?}, expected {:?}", rates.shape, weights.shape));
    }
    let products: Vec<f64> = weights.reals().iter().zip(rates.reals()).map(|(a, b)| a * b).collect();
    let got: f64 = products.iter().sum();
    size += products.iter().map(|product| product.abs()).sum::<f64>();
    let tolerance = Tolerance::from(case.json.get("gradients").get("tolerance"));
    if (got - expected).abs() <= (tolerance.relative + 1e-10) * size + tolerance.absolute {
        return Ok(());
    }
    fail(format!("forward mode: <seed, J t> is {got}, expected {expected}"))
}

pub fn gradcheck(dl: &Context, case: &Case<'_>) -> Outcome {
    let positions = case.differentiable();
    let inputs = case.inputs(dl)?;
    let points: Vec<_> = positions.iter().map(|i| inputs.one(*i)).collect();
    let function = |dl: &Context, moved: &[Tensor]| {
        let inputs = inputs.on(dl).replaced(&positions, moved);
        case.call(dl, &inputs, 1).map(|mut outputs| outputs.remove(0)).map_err(|failure| match failure {
            Failure::Call(error) => error,
            Failure::Text(text) => Error::new(dlcore::Code::Internal, text),
        })
    };
    Ok(autograd::gradcheck(function, &points, 2)?)
}

const EXAMPLES: usize = 3;

/// Example `k` of an input: its elements moved on by k places, so that every example is within the domain.
fn example(array: &Array, k: usize) -> Array {
    let size = array.dtype.size();
    let mut moved = array.clone();
    let count = array.bytes.len() / size;
    if count > 0 {
        moved.bytes.rotate_left(k % count * size);
    }
    moved
}

fn joined(arrays: Vec<Array>) -> Array {
    let mut all = Array { bytes: Vec::new(), ..arrays[0].clone() };
    all.shape.insert(0, arrays.len() as i64);
    arrays.iter().for_each(|array| all.bytes.extend(&array.bytes));
    all
}

pub fn vmap(dl: &Context, case: &Case<'_>) -> Outcome {
    let inputs = case.inputs(dl)?;
    let tensors: Vec<_> = (0..inputs.0.len()).filter(|i| !case.input(*i).get("tensor").is_null()).collect();
    against_loop(dl, case, &inputs, &tensors)?;
    if tensors.len() > 1 {
        against_loop(dl, case, &inputs, &tensors[..1])?;
    }
    Ok(())
}

fn against_loop(dl: &Context, case: &Case<'_>, inputs: &Inputs, mapped: &[usize]) -> Outcome {
    let arrays = mapped.iter().map(|i| read(inputs.one(*i))).collect::<Outcome<Vec<_>>>()?;
    let mut results = Vec::new();
    for k in 0..EXAMPLES {
        let one = arrays.iter().map(|array| create(dl, &example(array, k))).collect::<Outcome<Vec<_>>>()?;
        results.push(read(&case.call(dl, &inputs.replaced(mapped, &one), 1)?[0])?);
    }
    let expected = joined(results);
    let level = Vectorised::new(dl, EXAMPLES as i64)?;
    let all = arrays
        .iter()
        .map(|array| {
            let examples = joined((0..EXAMPLES).map(|k| example(array, k)).collect());
            Ok(level.lift(&create(dl, &examples)?, 0)?)
        })
        .collect::<Outcome<Vec<_>>>()?;
    let result = case.call(dl, &inputs.replaced(mapped, &all), 1)?.remove(0);
    let got = read(&level.lower(&result, 0)?)?;
    if got.dtype != expected.dtype || got.shape != expected.shape {
        return fail(format!("vmap: shape is {:?}, expected {:?}", got.shape, expected.shape));
    }
    Ok(compare(&got.numbers(), &expected.numbers(), got.dtype, &case.tolerance())?)
}
