// SPDX-License-Identifier: Apache-2.0
//! One engine, one model: workers answer requests from a snapshot while another thread trains and publishes new ones.
//! With --check, every answer has to be, bit for bit, that of the model after some whole step.

mod options;

use dlcore::{nn, optim, Code, Context, Engine, Error, Module, Result};
use options::Options;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::RwLock;
use std::thread;

const IMAGES: usize = 8;

type Scores = Vec<f32>;

/// What answers at the moment: a model that never changes, and after how many steps it was taken.
#[derive(Clone)]
struct Published {
    steps: usize,
    model: Module,
}

fn classifier(dl: &Context) -> Result<nn::Sequential> {
    nn::Sequential::new(dl, (nn::Linear::new(dl, 784, 256)?, nn::ReLU::new(dl)?, nn::Linear::new(dl, 256, 10)?))
}

/// A request, as it would come from a client: an image in a plain array.
fn image(request: usize) -> [f32; 784] {
    let mut pixels = [0.0; 784];
    for (i, pixel) in pixels.iter_mut().enumerate() {
        *pixel = ((i * 31 + request % IMAGES * 17) % 101) as f32 / 101.0;
    }
    pixels
}

fn answer(dl: &Context, model: &Module, request: usize) -> Result<Scores> {
    model.call(&dl.tensor(image(request), [1, 784])?)?.to_vec()
}

/// What the model itself, not a snapshot of it, answers to every image between two steps.
fn answers(dl: &Context, model: &Module) -> Result<Vec<Scores>> {
    let _inference = dl.inference();
    (0..IMAGES).map(|request| answer(dl, model, request)).collect()
}

/// Trains until it is told to stop, and publishes a snapshot after each step. Returns the model's own answers at each.
fn train(
    dl: &Context,
    model: &Module,
    newest: &RwLock<Published>,
    check: bool,
    stop: &AtomicBool,
) -> Result<Vec<Vec<Scores>>> {
    let adam = optim::Adam::new(&model.parameters(), 1e-3)?;
    let (x, y) = (dl.random_uniform([64, 784])?, dl.random_integers([64], 0, 10)?);
    let mut expected = Vec::new();
    for steps in 1.. {
        if check {
            expected.push(answers(dl, model)?);
        }
        if stop.load(Relaxed) {
            break;
        }
        model.call(&x)?.cross_entropy(&y)?.backward()?;
        adam.step()?;
        *newest.write().unwrap() = Published { steps, model: model.snapshot()? };
    }
    Ok(expected)
}

/// An answered request: its number, the steps that the model had, the answer.
type Answered = (usize, usize, Scores);

fn work(engine: &Engine, requests: usize, next: &AtomicUsize, newest: &RwLock<Published>) -> Result<Vec<Answered>> {
    let dl = engine.inference_context("cpu")?; // one for each worker
    let mut answered = Vec::new();
    loop {
        let request = next.fetch_add(1, Relaxed);
        if request >= requests {
            return Ok(answered);
        }
        let Published { steps, model } = newest.read().unwrap().clone();
        answered.push((request, steps, answer(&dl, &model, request)?));
    }
}

fn ended<T>(thread: thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().unwrap_or_else(|_| Err(Error::new(Code::Internal, "a thread panicked")))
}

/// Number of wrong or missing answers.
fn serve(options: &Options) -> Result<usize> {
    let engine = Engine::options().threads(2).memory_limit(512 << 20).open()?;
    let dl = engine.context("cpu", 42)?;
    let model = classifier(&dl)?;
    let newest = RwLock::new(Published { steps: 0, model: model.snapshot()? });
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));

    let (expected, answered) = thread::scope(|scope| {
        let (newest, next, stop, engine) = (&newest, &next, &stop, &engine);
        let trainer = scope.spawn(move || train(&dl, &model, newest, options.check, stop)); // the context moves there
        let workers: Vec<_> =
            (0..options.workers).map(|_| scope.spawn(move || work(engine, options.requests, next, newest))).collect();
        let answered = workers.into_iter().map(ended).collect::<Result<Vec<_>>>();
        stop.store(true, Relaxed); // nobody asks any more: the trainer ends after its step
        Ok::<_, Error>((ended(trainer)?, answered?.concat()))
    })?;

    let bits = |scores: &Scores| scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>();
    let is_wrong = |(request, steps, scores): &&Answered| bits(scores) != bits(&expected[*steps][request % IMAGES]);
    let wrong = if options.check { answered.iter().filter(is_wrong).count() } else { 0 };
    println!("{} requests, {wrong} wrong, {} steps", answered.len(), newest.read().unwrap().steps);
    Ok(wrong + options.requests - answered.len())
}

fn main() -> ExitCode {
    match Options::parse().map(|options| serve(&options)) {
        Ok(Ok(0)) => ExitCode::SUCCESS,
        Ok(Ok(_)) => ExitCode::FAILURE,
        Ok(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        Err(status) => ExitCode::from(status),
    }
}
