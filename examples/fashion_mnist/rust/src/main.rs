// SPDX-License-Identifier: Apache-2.0
//! Trains a small classifier on Fashion-MNIST, saves it, loads it back and reports its accuracy.

mod options;

use dlcore::{data, nn, optim, Checkpoint, Code, Context, Engine, Loader, Module, Progress, Result, Tensor};
use options::{c_hex, Options};
use std::io::Write;
use std::process::ExitCode;

fn classifier(dl: &Context) -> Result<nn::Sequential> {
    let layers = (
        nn::Linear::new(dl, 784, 256)?,
        nn::ReLU::new(dl)?,
        nn::Linear::new(dl, 256, 128)?,
        nn::ReLU::new(dl)?,
        nn::Linear::new(dl, 128, 10)?,
    );
    nn::Sequential::new(dl, layers)
}

/// Ten fixed random patterns with noise on top, in place of a data set that is not installed.
fn generated(dl: &Context, n: i64, seed: u64) -> Result<(Tensor, Tensor)> {
    dl.set_seed(7)?;
    let patterns = dl.random_uniform([10, 784])?;
    dl.set_seed(seed)?;
    let noise = dl.random_uniform([n, 784])?;
    let labels = dl.random_integers([n], 0, 10)?;
    Ok((labels.one_hot(10)?.matmul(&patterns)? * 0.5 + noise * 0.5, labels))
}

fn open(dl: &Context, part: &str) -> Result<Loader> {
    let batched = |source: data::Source<'_>| match part {
        "train" => source.shuffle().batch(64),
        _ => source.batch(1000),
    };
    match batched(data::fashion_mnist(dl, part)) {
        Err(error) if error.code() == Code::NotFound => {
            println!("Fashion-MNIST ({part}) is not installed (package dataset-fashion-mnist): using generated data instead");
            let (n, seed) = if part == "train" { (6000, 11) } else { (1000, 12) };
            let (samples, labels) = generated(dl, n, seed)?;
            batched(data::from_tensors(dl, &samples, &labels))
        }
        opened => opened,
    }
}

fn accuracy(dl: &Context, model: &Module, test: &Loader) -> Result<f64> {
    let _inference = dl.inference();
    let mut right = 0;
    for batch in test {
        let (x, y) = batch?;
        right += model.call(&x)?.argmax(1)?.equal(&y)?.sum()?.item::<i64>()?;
    }
    Ok(right as f64 / test.samples() as f64)
}

fn run(options: &Options) -> Result<()> {
    let engine = Engine::options().threads(options.threads).open()?;
    let dl = engine.context("cpu", options.seed)?;
    dl.set_data_directory(options.data.as_deref())?;
    let train = open(&dl, "train")?;
    let test = open(&dl, "test")?;
    let model = classifier(&dl)?;
    let copy = classifier(&dl)?;
    let adam = optim::Adam::new(&model.parameters(), 1e-3)?;

    let checkpoint = Checkpoint::new(&dl)?;
    checkpoint.add_module("model", &model)?.add_optimizer("adam", &adam)?.add_loader("train", &train)?;
    if let Some(path) = &options.resume {
        checkpoint.load(path)?;
    }
    let mut losses = options.losses.as_ref().map(std::fs::File::create).transpose()?;
    let mut steps = 0;
    'training: for epoch in train.epoch()..options.epochs {
        let bar = Progress::new(format!("epoch {}/{}", epoch + 1, options.epochs));
        for batch in bar.over(&train) {
            let (x, y) = batch?;
            let loss = model.call(&x)?.cross_entropy(&y)?;
            loss.backward()?;
            adam.step()?; // uses the gradients and clears them
            let last: f32 = loss.item()?;
            bar.note(format_args!("loss {last:.4}"));
            if let Some(file) = &mut losses {
                writeln!(file, "{}", c_hex(last))?;
            }
            steps += 1;
            if steps == options.limit {
                break 'training;
            }
        }
    }
    if let Some(path) = &options.checkpoint {
        checkpoint.save(path)?;
    }

    model.save(&options.save)?;
    copy.load(&options.save)?;
    println!("accuracy {:.4}", accuracy(&dl, &copy, &test)?);
    Ok(())
}

fn main() -> ExitCode {
    match Options::parse().map(|options| run(&options)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        Err(status) => ExitCode::from(status),
    }
}
