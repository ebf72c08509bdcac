// SPDX-License-Identifier: Apache-2.0
//! Capture, compiled functions, logs, progress.

use dlcore::graph::Graph;
use dlcore::log::Level;
use dlcore::{nn, optim, Code, Context, Dtype, Progress, Result, Tensor};
use dlcore_tests::{context, engine, failure};
use std::cell::Cell;
use std::sync::mpsc;
use std::time::Duration;

#[test]
fn a_graph_is_text_and_back() {
    let engine = engine();
    let dl = context(&engine);
    let half = dl.scalar(0.5f32).unwrap();
    let graph = Graph::capture(&dl, "twice", |capture| {
        let x = capture.input("x", Dtype::F32, "[B, 2]")?;
        let y = x.relu()?.multiply(&capture.constant(&half)?)?;
        let again = x.relu()?.multiply(&capture.constant(&half)?)?;
        assert!(capture.context().is_recording());
        Ok(vec![(y + again).check()?, x.sum()?])
    })
    .unwrap();
    graph.verify().unwrap();
    let text = graph.text().unwrap();
    assert_eq!(format!("{graph:?}"), text);
    let parsed = Graph::parse(&dl, &text).unwrap();
    assert_eq!((parsed.text().unwrap(), parsed.nodes()), (text, graph.nodes()));
    let small = parsed.apply("cse").unwrap().apply("dce").unwrap();
    assert!(small.nodes() < graph.nodes());
    let x = dl.tensor([1f32, -2.0, 3.0, 4.0], [2, 2]).unwrap();
    for graph in [&graph, &small] {
        let [y, sum] = graph.compile().unwrap().run([&x]).unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), [1.0, 0.0, 3.0, 4.0]);
        assert_eq!(sum.item::<f32>().unwrap(), 6.0);
    }
    failure(graph.apply("nothing"), Code::NotFound, &["cse", "dce"]);
    failure(Graph::parse(&dl, "no graph"), Code::InvalidArgument, &["1"]);
    failure(graph.compile().unwrap().run::<0, 1>([]), Code::InvalidArgument, &[]);
}

#[test]
fn a_capture_that_fails_leaves_nothing_open() {
    let engine = engine();
    let dl = context(&engine);
    let outside = dl.scalar(1f32).unwrap();
    let capture = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
        Graph::capture(&dl, "g", |c| Ok(vec![f(&c.input("x", Dtype::F32, "[2]")?)?]))
    };
    failure(capture(&|x| x.add(&outside)), Code::InvalidArgument, &["constant"]);
    failure(capture(&|x| x.to_vec::<f32>().map(|_| x.clone())), Code::FailedPrecondition, &["'x'"]);
    failure(capture(&|_| panic!("while capturing")), Code::Internal, &["panic: while capturing"]);
    let nested = |x: &Tensor| {
        failure(Graph::capture(&dl, "inner", |_| Ok(vec![])), Code::FailedPrecondition, &[]);
        x.relu()
    };
    let _ = capture(&nested);
    assert_eq!(outside.add(1).unwrap().item::<f32>().unwrap(), 2.0);
    capture(&|x| x.relu()).unwrap();
}

fn training(dl: &Context) -> (nn::Sequential, optim::Adam) {
    let layers =
        (nn::Linear::new(dl, 4, 8).unwrap(), nn::Dropout::new(dl, 0.2).unwrap(), nn::Linear::new(dl, 8, 3).unwrap());
    let model = nn::Sequential::new(dl, layers).unwrap();
    let adam = optim::Adam::new(&model.parameters(), 1e-2).unwrap();
    (model, adam)
}

#[test]
fn a_compiled_step_has_the_bits_of_the_eager_one() {
    let engine = engine();
    let run = |compiled: bool| {
        let dl = context(&engine);
        let (model, adam) = training(&dl);
        let function = |[x, y]: [&Tensor; 2]| {
            let loss = model.call(x)?.cross_entropy(y)?;
            loss.backward()?;
            adam.step()?;
            Ok([loss])
        };
        let step = dl.compile("step", &function);
        let mut losses = Vec::new();
        for size in [6, 6, 4, 6] {
            let x = dl.random_normal([size, 4]).unwrap();
            let y = dl.random_integers([size], 0, 3).unwrap();
            let [loss] = if compiled { step.call([&x, &y]) } else { function([&x, &y]) }.unwrap();
            losses.push(loss.item::<f32>().unwrap().to_bits());
        }
        if compiled {
            let told = step.explain();
            assert!(step.is_captured(), "{told}");
            assert_eq!(told.lines().count(), 2, "{told}");
            assert!(told.contains("step(f32 [6, 4], i64 [6]), recording, training: a graph of"), "{told}");
        }
        losses
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn what_cannot_be_captured_runs_eagerly() {
    let engine = engine();
    let dl = context(&engine);
    let calls = Cell::new(0);
    let reads = dl.compile("reads", |[x]: [&Tensor; 1]| {
        calls.set(calls.get() + 1);
        let largest = x.max()?.item::<f32>()?;
        Ok([x.multiply(f64::from(largest))?])
    });
    let x = dl.tensor([1f32, 3.0], [2]).unwrap();
    for turn in 0..3 {
        let [y] = reads.call([&x]).unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), [3.0, 9.0]);
        assert_eq!(calls.get(), turn + 2); // the first time it was captured in vain
    }
    assert!(!reads.is_captured());
    assert!(reads.explain().contains("eagerly, because"), "{}", reads.explain());
    let record = std::iter::from_fn(|| engine.next_log(Duration::ZERO)).find(|record| record.source == "compile");
    let record = record.expect("a record");
    assert!(record.level == Level::Warning && record.message.contains("reads runs eagerly"), "{record:?}");

    // Modes are part of the signature, and an error of the function itself arrives.
    let calls = Cell::new(0);
    let relu = dl.compile("relu", |[x]: [&Tensor; 1]| {
        calls.set(calls.get() + 1);
        Ok([x.relu()?])
    });
    let [_] = relu.call([&x]).unwrap();
    let [_] = relu.call([&x]).unwrap();
    assert_eq!(calls.get(), 1);
    {
        let _inference = dl.inference();
        let [_] = relu.call([&x]).unwrap();
    }
    assert_eq!(calls.get(), 2);
    let [y] = relu.call([&x.watch().unwrap()]).unwrap(); // history does not go through a graph
    assert!(y.describe().unwrap().requires_grad);
    let wrong = dl.compile("wrong", |[x]: [&Tensor; 1]| Ok([x.reshape([7])?]));
    failure(wrong.call([&x]), Code::InvalidArgument, &["reshape"]);
    failure(relu.call([&(&x + &dl.full([3], 1.0).unwrap())]), Code::InvalidArgument, &["add"]);
    dl.cancel_handle().cancel();
    failure(relu.call([&x]), Code::Cancelled, &[]);
}

#[test]
fn logs_reach_the_program() {
    let engine = engine();
    engine.set_log_level(Level::Debug);
    engine.log(Level::Debug, "test", "first \u{1F642}");
    let record = engine.next_log(Duration::from_secs(1)).unwrap();
    assert_eq!(
        (record.level, record.source.as_str(), record.message.as_str()),
        (Level::Debug, "test", "first \u{1F642}")
    );
    assert!(record.time.elapsed().unwrap() < Duration::from_secs(60));
    assert!(engine.next_log(Duration::from_millis(1)).is_none());
    let (sender, receiver) = mpsc::channel();
    engine.forward_logs(move |record| sender.send(record.message).unwrap()).unwrap();
    engine.log(Level::Error, "test", "second");
    assert_eq!(receiver.recv_timeout(Duration::from_secs(10)).unwrap(), "second");
    engine.close();
    // The thread ends, and with it the sender.
    assert_eq!(receiver.recv_timeout(Duration::from_secs(10)), Err(mpsc::RecvTimeoutError::Disconnected));
}

#[test]
fn progress_hands_everything_on() {
    let bar = Progress::new("counting");
    assert_eq!(bar.over(0..10).sum::<i32>(), 45);
    for item in bar.over(vec!["a", "b"]) {
        bar.note(format_args!("at {item}"));
        if item == "a" {
            break;
        }
    }
}

#[test]
fn a_random_state_can_be_kept() {
    let engine = engine();
    let dl = context(&engine).seed(3);
    let state = dl.generator().unwrap().value().unwrap();
    let draw = || dl.random_uniform([4]).unwrap().to_vec::<f32>().unwrap();
    let first = draw();
    assert_ne!(first, draw());
    dl.generator().unwrap().assign(&state).unwrap();
    assert_eq!(first, draw());
    dl.set_seed(3).unwrap();
    assert_eq!(first, draw());
    let opened = engine.context("cpu", 3).unwrap();
    assert_eq!(opened.random_uniform([4]).unwrap().to_vec::<f32>().unwrap(), first);
    assert_eq!((dl.device(), dl.engine().devices()), ("cpu", vec![String::from("cpu")]));
    dl.synchronize().unwrap();
    engine.trim();
    assert!(dlcore::version() >= 1000 && dlcore::build_info().contains("dlcore"));
}
