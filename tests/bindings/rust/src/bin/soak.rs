// SPDX-License-Identifier: Apache-2.0
//! Calls in a loop, a tenth of them failing: live handles and resident memory stay flat.
//!
//!     soak [CALLS]    (50000)

use dlcore::{data, nn, optim, Context, Engine, Result, Tensor};
use dlcore_tests::live;
use std::process::ExitCode;

/// Bytes of memory that the process has at the moment.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).map_or(0, |pages| pages * 4096)
}

fn good(dl: &Context, x: &Tensor, model: &nn::Linear) -> Result<()> {
    let y = model.call(&(x * 2 + 1))?.softmax(-1)?;
    Tensor::concat(&[&y, &y], 0)?.sum_with(dlcore::ops::SumOptions::new().axes([0]))?.to_vec::<f32>()?;
    dl.tensor([1f32; 8], [2, 4])?.view::<f32>()?;
    Ok(())
}

fn bad(dl: &Context, x: &Tensor, turn: usize) -> bool {
    match turn % 4 {
        0 => x.matmul(x).is_err(),
        1 => (x + dl.full([3], 1.0).unwrap()).sum().is_err(),
        2 => dl.tensor([1f32], [2]).is_err() && dl.find_op("nothing").is_err(),
        _ => data::open(dl, "nothing:there").batch(1).is_err(),
    }
}

fn training(dl: &Context, model: &nn::Linear) -> Result<()> {
    let adam = optim::Adam::new(&model.parameters(), 1e-3)?;
    let (x, y) = (dl.random_normal([8, 4])?, dl.random_integers([8], 0, 2)?);
    for batch in &data::from_tensors(dl, &x, &y).shuffle().batch(4)? {
        let (x, y) = batch?;
        model.call(&x)?.cross_entropy(&y)?.backward()?;
        adam.step()?;
    }
    Ok(())
}

fn turns(engine: &Engine, dl: &Context, calls: usize) -> Result<usize> {
    let x = dl.random_normal([2, 4])?;
    let model = nn::Linear::new(dl, 4, 2)?;
    let mut wrong = 0;
    for turn in 0..calls / 10 {
        good(dl, &x, &model)?; // nine calls that work
        wrong += usize::from(!bad(dl, &x, turn));
        if turn % 100 == 0 {
            training(dl, &model)?;
            engine.context("cpu", 1)?.scalar(1f32)?.relu()?;
        }
    }
    Ok(wrong)
}

fn soak(calls: usize) -> Result<Vec<(&'static str, bool)>> {
    let engine = Engine::options().threads(2).open()?;
    let dl = engine.context("cpu", 1)?;
    let mut wrong = turns(&engine, &dl, calls / 2)?; // warm
    let (handles, memory) = (live(&engine), resident());
    wrong += turns(&engine, &dl, calls)?;
    let grown = resident() as f64 / memory as f64 - 1.0;
    let held = live(&engine);
    println!("{calls} calls: handles {handles:?} and {held:?}; memory {memory} bytes, {:+.2} %", 100.0 * grown);
    Ok(vec![
        ("failing calls fail", wrong == 0),
        ("handles are flat", handles == held),
        ("memory is flat", grown < 0.05),
    ])
}

fn main() -> ExitCode {
    let calls = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(50_000);
    let checks = match soak(calls) {
        Ok(checks) => checks,
        Err(error) => {
            eprintln!("{error:?}");
            return ExitCode::FAILURE;
        }
    };
    let failed: Vec<_> = checks.iter().filter(|(_, holds)| !holds).collect();
    failed.iter().for_each(|(name, _)| println!("FAILED {name}"));
    println!("{} passed, {} failed", checks.len() - failed.len(), failed.len());
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
