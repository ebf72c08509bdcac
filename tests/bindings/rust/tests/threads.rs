// SPDX-License-Identifier: Apache-2.0
//! Many threads on one engine, and threads that meet on one context.

use dlcore::{data, nn, optim, Code, Engine, Tensor};
use dlcore_tests::{context, engine};
use std::sync::Barrier;
use std::thread;

/// A short training, whose losses depend on the seed alone.
fn train(engine: &Engine, seed: u64) -> Vec<u32> {
    let dl = engine.context("cpu", seed).unwrap();
    let (x, y) = (dl.random_normal([60, 8]).unwrap(), dl.random_integers([60], 0, 3).unwrap());
    let train = data::from_tensors(&dl, &x, &y).shuffle().batch(16).unwrap();
    let layers = (
        nn::Linear::new(&dl, 8, 16).unwrap(),
        nn::Dropout::new(&dl, 0.1).unwrap(),
        nn::Linear::new(&dl, 16, 3).unwrap(),
    );
    let model = nn::Sequential::new(&dl, layers).unwrap();
    let adam = optim::AdamW::new(&model.parameters(), 1e-2).unwrap();
    let mut losses = Vec::new();
    for _ in 0..3 {
        for batch in &train {
            let (x, y) = batch.unwrap();
            let loss = model.call(&x).unwrap().cross_entropy(&y).unwrap();
            loss.backward().unwrap();
            adam.step().unwrap();
            losses.push(loss.item::<f32>().unwrap().to_bits());
        }
    }
    losses
}

#[test]
fn thirty_two_threads_train_as_one_does() {
    let engine = engine();
    let alone: Vec<_> = (0..4).map(|seed| train(&engine, seed)).collect();
    assert_ne!(alone[0], alone[1]);
    thread::scope(|scope| {
        for worker in 0..32u64 {
            let (engine, alone) = (&engine, &alone);
            scope.spawn(move || assert_eq!(train(engine, worker % 4), alone[worker as usize % 4]));
        }
    });
}

#[test]
fn tensors_and_contexts_move() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor([1f32, 2.0], [2]).unwrap();
    let there = x.clone();
    let (dl, doubled) = thread::spawn(move || {
        let doubled = there.multiply(2).unwrap();
        (dl, doubled)
    })
    .join()
    .unwrap();
    assert_eq!((&x + &doubled).to_vec::<f32>().unwrap(), [3.0, 6.0]);
    drop(dl);
}

#[test]
fn dropping_elsewhere_is_fine() {
    let engine = engine();
    let dl = context(&engine);
    thread::scope(|scope| {
        for _ in 0..4 {
            let tensors: Vec<Tensor> = (0..200).map(|i| dl.full([i % 50], 1.0).unwrap()).collect();
            scope.spawn(move || drop(tensors));
        }
    });
}

/// A context serves one call at a time: whoever comes meanwhile gets an error, and so may the owner; nothing else
/// happens.
#[test]
fn meeting_on_one_context_is_an_error_at_most() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.full([64, 64], 0.01).unwrap();
    let start = Barrier::new(4);
    let errors: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    let mut errors = 0;
                    for _ in 0..500 {
                        match x.matmul(&x) {
                            Ok(y) => assert_eq!(y.shape(), [64, 64]),
                            Err(error) => {
                                assert_eq!(error.code(), Code::FailedPrecondition, "{error:?}");
                                errors += 1;
                            }
                        }
                    }
                    errors
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(errors < 2000);
    let _ = x.relu(); // an intruder's trace may stick; it is taken with this
    assert_eq!(x.relu().unwrap().count(), 4096);
}
