// SPDX-License-Identifier: Apache-2.0
//! All code that guide-rust.md quotes: a program that runs and checks itself.

use dlcore::custom::{CustomModule, CustomOp};
use dlcore::graph::Graph;
use dlcore::ops::SumOptions;
use dlcore::{
    autograd, data, nn, optim, Archive, Checkpoint, Code, Context, Dtype, Engine, Loader, Module, Progress,
};
use dlcore::{Result, Tensor};
use std::path::Path;
use std::thread;
use std::time::Duration;

fn open() -> Result<(Engine, Context)> {
    let engine = Engine::options()
        .threads(2) // 0: as many as this process may use
        .memory_limit(1 << 30) // bytes of tensors on each device
        .open()?;
    let dl = engine.context("cpu", 42)?;
    Ok((engine, dl))
}

fn errors(dl: &Context) -> Result<()> {
    let a = dl.full([2, 3], 1.0)?;
    let error = a.matmul(&a).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    println!("{} in op '{}': {error}", error.code().name(), error.op());
    Ok(())
}

fn operators(dl: &Context) -> Result<()> {
    let x = dl.tensor([1.0f32, 2.0], [2])?;
    let y = 2 * &x + 1; // no `?`: an error travels in the value
    assert_eq!(y.to_vec::<f32>()?, [3.0, 5.0]);

    let wrong = &x + dl.full([3], 1.0)?;
    assert_eq!((wrong * 2).sum().unwrap_err().op(), "add"); // the next call tells
    Ok(())
}

fn tensors(dl: &Context) -> Result<()> {
    let x = dl.tensor([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])?;
    let t = x.permute_dims([1, 0])?; // shares the elements
    assert_eq!(t.shape(), [3, 2]);
    assert_eq!(t.to_vec::<f32>()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(x.view::<f32>()?[4], 5.0); // a slice, without a copy
    assert_eq!(x.sum()?.item::<f32>()?, 21.0);

    let columns = dl.tensor_strided(&[1i64, 2, 3, 4], [2, 2], [1, 2], 0)?; // data of any layout
    assert_eq!(columns.to_vec::<i64>()?, [1, 3, 2, 4]);
    println!("{t}");
    Ok(())
}

fn ops(dl: &Context) -> Result<()> {
    let x = dl.tensor([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])?;
    let rows = x.sum_with(SumOptions::new().axes([-1]).keepdims(true))?;
    let share = &x / &rows;
    assert_eq!(share.to_vec::<f32>()?[0], 1.0 / 6.0);
    assert_eq!(x.maximum(2.5)?.min()?.item::<f32>()?, 2.5); // numbers beside tensors
    assert_eq!(Tensor::concat(&[&x, &x], 0)?.shape(), [4, 3]);
    assert_eq!(dl.arange(0.0, 3.0, 1.0)?.dtype(), Dtype::I64);
    Ok(())
}

fn derivatives(dl: &Context) -> Result<()> {
    let f = |x: &Tensor| (x.sin()? * x).sum();
    let x = dl.tensor([0.5f64], [1])?;
    let (_, slope) = autograd::value_and_grad(f, &x)?; // sin x + x cos x
    let curvature = autograd::hessian(f, &x)?; // 2 cos x - x sin x
    assert!((slope.item::<f64>()? - 0.918216).abs() < 1e-6);
    assert!((curvature.item::<f64>()? - 1.515452).abs() < 1e-6);

    // A forward derivative for each of many inputs at once: transforms nest.
    let points = dl.tensor([0.0f64, 0.5, 1.0], [3])?;
    let one = dl.scalar(1.0f64)?;
    let slopes = autograd::vmap(|x| Ok(autograd::jvp(|x| x.tanh(), x, &one)?.1), &points, 0)?;
    assert_eq!(slopes.to_vec::<f64>()?[0], 1.0);
    Ok(())
}

/// Points in the plane, and on which side of the circle of radius 1 they lie.
fn circle(dl: &Context, n: i64) -> Result<(Tensor, Tensor)> {
    let points = dl.random_normal([n, 2])?;
    let radius = points.square()?.sum_with(SumOptions::new().axes([1]))?;
    let labels = radius.less(1)?.astype(Dtype::I64)?;
    Ok((points, labels))
}

fn classifier(dl: &Context) -> Result<nn::Sequential> {
    let layers = (
        nn::Linear::new(dl, 2, 32)?,
        nn::Tanh::new(dl)?,
        nn::Dropout::new(dl, 0.1)?,
        nn::Linear::with(dl, 32, 2, nn::LinearOptions::new().init(nn::LinearInit::XavierUniform))?,
    );
    nn::Sequential::new(dl, layers)
}

fn train(dl: &Context, model: &Module, train: &Loader, epochs: i64) -> Result<()> {
    let adam = optim::Adam::with(&model.parameters(), 1e-2, optim::AdamOptions::new().beta1(0.8))?;
    for epoch in 0..epochs {
        if epoch == epochs / 2 {
            adam.learning_rate(0)?.assign(&dl.scalar(1e-3f64)?)?;
        }
        let bar = Progress::new(format!("epoch {epoch}"));
        for batch in bar.over(train) {
            let (x, y) = batch?;
            let loss = model.call(&x)?.cross_entropy(&y)?;
            loss.backward()?;
            adam.clip_gradients(1.0)?;
            adam.step()?; // uses the gradients and clears them
            bar.note(format_args!("loss {:.4}", loss.item::<f32>()?));
        }
    }
    Ok(())
}

fn annealing(model: &Module, train: &Loader) -> Result<()> {
    let sgd = optim::SGD::new(&model.parameters(), 1e-2)?;
    let cosine = optim::CosineAnnealingLR::new(&sgd, train.batches())?; // 0 at the end of the epoch
    for batch in train {
        let (x, y) = batch?;
        model.call(&x)?.cross_entropy(&y)?.backward()?;
        sgd.step()?;
        cosine.step()?;
    }
    assert_eq!(cosine.count()?, train.batches());
    assert!(sgd.learning_rate(0)?.value()?.item::<f64>()? < 1e-12);
    Ok(())
}

fn accuracy(dl: &Context, model: &Module, test: &Loader) -> Result<f64> {
    let _inference = dl.inference(); // until the end of this function
    let mut right = 0;
    for batch in test {
        let (x, y) = batch?;
        right += model.call(&x)?.argmax(1)?.equal(&y)?.sum()?.item::<i64>()?;
    }
    Ok(right as f64 / test.samples() as f64)
}

fn saving(dl: &Context, model: &Module, path: &Path) -> Result<()> {
    model.save(path)?;
    let copy = classifier(dl)?;
    copy.load(path)?;

    let mut bytes = Vec::new(); // any std::io::Write, and Read
    model.save_to(&mut bytes)?;
    copy.load_bytes(&bytes)?;

    let archive = Archive::open(dl, path)?; // any tensor of any safetensors file
    assert_eq!(archive.tensor("0.weight")?.shape(), [32, 2]);
    Ok(())
}

fn checkpoints(dl: &Context, points: &Tensor, labels: &Tensor, path: &Path) -> Result<()> {
    let run = |save: bool| -> Result<f32> {
        let model = classifier(dl)?;
        let adam = optim::Adam::new(&model.parameters(), 1e-2)?;
        let train = data::from_tensors(dl, points, labels).shuffle().prefetch(2).batch(50)?;
        let checkpoint = Checkpoint::new(dl)?; // the generator of the context belongs to it, too
        checkpoint.add_module("model", &model)?.add_optimizer("adam", &adam)?.add_loader("train", &train)?;
        let epoch = || -> Result<f32> {
            let mut last = 0.0;
            for batch in &train {
                let (x, y) = batch?;
                let loss = model.call(&x)?.cross_entropy(&y)?;
                loss.backward()?;
                adam.step()?;
                last = loss.item()?;
            }
            Ok(last)
        };
        if save {
            epoch()?;
            checkpoint.save(path)?;
        } else {
            checkpoint.load(path)?; // as another process would
        }
        epoch()
    };
    assert_eq!(run(true)?.to_bits(), run(false)?.to_bits()); // every bit of it
    Ok(())
}

fn snapshots(engine: &Engine, model: &Module) -> Result<()> {
    let frozen = model.snapshot()?; // training may go on beside it
    let answers = thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let dl = engine.inference_context("cpu")?; // each thread has its own
                    dl.set_deadline(Some(Duration::from_secs(10)))?;
                    frozen.call(&dl.tensor([0.5f32, 0.5], [1, 2])?)?.to_vec::<f32>()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect::<Result<Vec<_>>>()
    })?;
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    Ok(())
}

fn compiling(dl: &Context, model: &Module, points: &Tensor, labels: &Tensor) -> Result<()> {
    let sgd = optim::SGD::new(&model.parameters(), 1e-2)?;
    let step = dl.compile("step", |[x, y]: [&Tensor; 2]| {
        let loss = model.call(x)?.cross_entropy(y)?;
        loss.backward()?;
        sgd.step()?;
        Ok([loss])
    });
    let [loss] = step.call([points, labels])?;
    println!("{loss}\n{}", step.explain());

    let graph = Graph::capture(dl, "affine", |capture| {
        let x = capture.input("x", Dtype::F32, "[B, 2]")?; // B: any size
        Ok(vec![(x * 2 + 1).check()?])
    })?;
    println!("{}", graph.apply("cse")?.text()?);
    let [y] = graph.compile()?.run([points])?;
    assert_eq!(y.shape(), points.shape());
    Ok(())
}

fn custom(dl: &Context) -> Result<()> {
    let cube = CustomOp::new("cube", 1, 1)
        .infer(|_, call| call.set_output_like(0, &call.input(0)?))
        .forward(|_, call| {
            let x = call.input(0)?;
            call.set_output(0, &(&x * &x * &x))
        })
        .backward(|_, call| {
            let x = call.input(0)?;
            let gradient = call.gradient(0)?.expect("one, for the only output");
            call.set_input_gradient(0, &(gradient * 3 * &x * &x)) // in ops: it has derivatives itself
        })
        .register(dl)?;
    let x = dl.tensor([0.3f64, -0.7, 1.1], [3])?;
    autograd::gradcheck(|dl, x| dl.call(cube, &[Some(&x[0])], &[], 1)?.remove(0).sum(), &[&x], 2)?;

    let residual = CustomModule::new("Residual")
        .child("inner", nn::Linear::new(dl, 2, 2)?)
        .forward(dl, |this, x| (this.child(0)?.call(x)? + x).check())?;
    let model = nn::Sequential::new(dl, (residual, nn::Linear::new(dl, 2, 1)?))?;
    assert_eq!(model.variables()?[0].0, "0.inner.weight");
    Ok(())
}

pub fn main() -> Result<()> {
    let (engine, dl) = open()?;
    errors(&dl)?;
    operators(&dl)?;
    tensors(&dl)?;
    ops(&dl)?;
    derivatives(&dl)?;
    custom(&dl)?;

    let (points, labels) = circle(&dl, 500)?;
    let loader = data::from_tensors(&dl, &points, &labels).shuffle().batch(50)?;
    let model = classifier(&dl)?;
    train(&dl, &model, &loader, 20)?;
    assert!(accuracy(&dl, &model, &loader)? > 0.9);
    annealing(&model, &loader)?;
    snapshots(&engine, &model)?;
    compiling(&dl, &model, &points, &labels)?;

    let folder = std::env::temp_dir();
    let path = folder.join(format!("dlcore-guide-{}.safetensors", std::process::id()));
    saving(&dl, &model, &path)?;
    checkpoints(&dl, &points, &labels, &path)?;
    std::fs::remove_file(path)?;
    Ok(())
}
