// SPDX-License-Identifier: Apache-2.0
//! Closures that the library calls: ops, modules, streams. What goes wrong in them arrives with its text.

use dlcore::custom::{CustomModule, CustomOp};
use dlcore::{autograd, nn, Archive, Checkpoint, Code, Dtype, Error, Tensor, Variable};
use dlcore_tests::{context, engine, failure, live};
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// x³ times an integer attribute, with a backward written in ops.
fn cube(name: &str) -> CustomOp {
    CustomOp::new(name, 1, 1)
        .attrs(1)
        .infer(|_, call| call.set_output_like(0, &call.input(0)?))
        .forward(|_, call| {
            let x = call.input(0)?;
            call.set_output(0, &(x.square()? * x * call.attr(0)))
        })
        .backward(|_, call| {
            assert!(call.needs_gradient(0) && call.inputs() == 1);
            let x = call.input(0)?;
            assert_eq!(call.output(0)?.shape(), x.shape());
            let gradient = call.gradient(0)?.expect("a gradient");
            call.set_input_gradient(0, &(gradient * (3 * call.attr(0)) * x.square()?))
        })
}

#[test]
fn an_op_of_ones_own_has_derivatives_of_any_order() {
    let engine = engine();
    let dl = context(&engine);
    let op = cube("cube").register(&dl).unwrap();
    failure(cube("cube").register(&dl), Code::AlreadyExists, &["cube"]);
    failure(CustomOp::new("half", 1, 1).register(&dl), Code::InvalidArgument, &["half", "forward"]);
    let x = dl.tensor([0.3f64, -0.7, 1.1], [3]).unwrap();
    let f = move |dl: &dlcore::Context, x: &[Tensor]| dl.call(op, &[Some(&x[0])], &[2], 1)?.remove(0).sum();
    autograd::gradcheck(f, &[&x], 2).unwrap();
    let y = dl.call(op, &[Some(&x)], &[2], 1).unwrap();
    assert!((y[0].to_vec::<f64>().unwrap()[2] - 2.0 * 1.331).abs() < 1e-12);
    // Any context of the engine, by name.
    let other = context(&engine);
    assert_eq!(other.find_op("cube").unwrap(), op);
    other.call(op, &[Some(&x.on(&other))], &[1], 1).unwrap();
    failure(other.call(op, &[], &[1], 1), Code::InvalidArgument, &["cube"]);
    failure(other.call(op, &[], &[1], 9), Code::InvalidArgument, &["cube", "9"]);
    failure(other.call(-7, &[], &[], 1), Code::InvalidArgument, &["-7"]);
}

#[test]
fn outputs_have_types_of_their_own() {
    let engine = engine();
    let dl = context(&engine);
    let op = CustomOp::new("split", 1, 2)
        .infer(|_, call| {
            call.set_output_type(0, Dtype::I64, [])?;
            call.set_output_like(1, &call.input(0)?)
        })
        .forward(|dl, call| {
            call.set_output(0, &dl.scalar(call.input(0)?.count() as i64)?)?;
            call.set_output(1, &call.input(0)?.relu()?)
        })
        .register(&dl)
        .unwrap();
    let x = dl.tensor([-1f32, 2.0], [2]).unwrap();
    let found = dl.call(op, &[Some(&x)], &[], 2).unwrap();
    assert_eq!(found[0].item::<i64>().unwrap(), 2);
    assert_eq!(found[1].to_vec::<f32>().unwrap(), [0.0, 2.0]);
}

#[test]
fn panics_and_errors_arrive_with_their_text() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor([1f64], [1]).unwrap().watch().unwrap();
    let call = |name: &str, op: CustomOp| {
        let op = op.register(&dl).unwrap();
        let outcome = dl.call(op, &[Some(&x)], &[0], 1).and_then(|y| autograd::grad(&[&y[0]], &[&x]));
        let error = outcome.expect_err(name);
        let mut texts = vec![error.message().to_string()];
        let mut cause = error.cause();
        while let Some(inner) = cause {
            texts.push(inner.message().to_string());
            cause = inner.cause();
        }
        (error.code(), texts.join(" / "))
    };
    let (code, texts) = call("infer", cube("a").infer(|_, _| panic!("in infer {}", 7)));
    assert!(code == Code::Internal && texts.contains("panic: in infer 7"), "{code:?} {texts}");
    let (code, texts) = call("forward", cube("b").forward(|_, _| panic!("in forward")));
    assert!(code == Code::Internal && texts.contains("panic: in forward"), "{code:?} {texts}");
    let (code, texts) = call("backward", cube("c").backward(|_, _| std::panic::panic_any(7)));
    assert!(code == Code::Internal && texts.contains("panic: without a text"), "{code:?} {texts}");
    let failing = cube("d").forward(|_, _| Err(Error::new(Code::DataLoss, "torn \u{1F642}")));
    let (code, texts) = call("error", failing);
    assert!(code == Code::DataLoss && texts.contains("torn \u{1F642}"), "{code:?} {texts}");
    // The error of an op inside, with the op's name.
    let inner = cube("e").forward(|_, call| call.set_output(0, &call.input(0)?.reshape([2])?));
    let (code, texts) = call("inner", inner);
    assert!(code == Code::InvalidArgument && texts.contains("reshape"), "{code:?} {texts}");
    // That of an operator, which travelled in its value.
    let travelling = cube("f").forward(|_, call| call.set_output(0, &(call.input(0)? + call.input(0)?.isnan()?)));
    let (_, texts) = call("travelling", travelling);
    assert!(texts.contains("add"), "{texts}");
    let nothing = cube("g").forward(|_, _| Ok(()));
    let (_, texts) = call("nothing", nothing);
    assert!(texts.contains('g'), "{texts}");
    x.relu().unwrap(); // nothing sticks
}

#[test]
fn what_escapes_a_callback_is_closed() {
    let engine = engine();
    let dl = context(&engine);
    let kept: Arc<Mutex<Vec<Tensor>>> = Arc::default();
    let escape = kept.clone();
    let op = cube("keeps")
        .forward(move |_, call| {
            let y = call.input(0)?.relu()?;
            escape.lock().unwrap().push(y.clone());
            call.set_output(0, &y)
        })
        .register(&dl)
        .unwrap();
    let x = dl.tensor([1f32], [1]).unwrap();
    dl.call(op, &[Some(&x)], &[0], 1).unwrap();
    let escaped = kept.lock().unwrap().pop().unwrap();
    failure(escaped.relu(), Code::FailedPrecondition, &["closed"]);
    assert_eq!(escaped.on(&dl).item::<f32>().unwrap(), 1.0);
}

/// Counts how many of it are alive.
struct Token(Arc<AtomicUsize>);

impl Token {
    fn new(count: &Arc<AtomicUsize>) -> Token {
        count.fetch_add(1, Ordering::SeqCst);
        Token(count.clone())
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn closures_are_dropped_once() {
    let count = Arc::new(AtomicUsize::new(0));
    {
        let engine = engine();
        let dl = context(&engine);
        let token = Token::new(&count);
        let op = cube("held").forward(move |_, call| {
            let _held = &token;
            call.set_output(0, &call.input(0)?)
        });
        op.register(&dl).unwrap();
        let token = Token::new(&count);
        let twice = cube("held").infer(move |_, _| {
            let _held = &token;
            Ok(())
        });
        failure(twice.register(&dl), Code::AlreadyExists, &["held"]);
        assert_eq!(count.load(Ordering::SeqCst), 1);

        let token = Token::new(&count);
        let module = CustomModule::new("Held").forward(&dl, move |_, x| {
            let _held = &token;
            x.relu()
        });
        let snapshot = module.unwrap().snapshot().unwrap();
        engine.collect();
        assert_eq!(count.load(Ordering::SeqCst), 2);
        drop(snapshot);
        assert_eq!(engine.collect(), 1);
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[test]
fn modules_of_ones_own_are_modules() {
    let engine = engine();
    let dl = context(&engine);
    let scale = Variable::trainable(&dl, "scale", &dl.scalar(2f32).unwrap()).unwrap();
    let own = CustomModule::new("Residual")
        .child("inner", nn::Linear::new(&dl, 2, 2).unwrap())
        .variable(&scale)
        .forward(&dl, |this, x| {
            let scale = this.find("scale")?.value()?;
            (this.child(0)?.call(x)? * scale + x).check()
        })
        .unwrap();
    let model = nn::Sequential::new(&dl, (own.clone(), nn::Linear::new(&dl, 2, 1).unwrap())).unwrap();
    let paths: Vec<_> = model.variables().unwrap().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths.len(), 5);
    assert!(paths.contains(&"0.inner.weight".into()) && paths.contains(&"0.scale".into()), "{paths:?}");
    assert_eq!(own.kind(), "Residual");

    let x = dl.tensor([1f32, -1.0], [1, 2]).unwrap();
    let weight = |path: &str| model.find(path).unwrap().value().unwrap();
    let inner = x.linear(&weight("0.inner.weight"), &weight("0.inner.bias")).unwrap();
    let expected = (inner * 2 + &x).to_vec::<f32>().unwrap();
    assert_eq!(own.call(&x).unwrap().to_vec::<f32>().unwrap(), expected);

    model.call(&x).unwrap().sum().unwrap().backward().unwrap();
    assert!(scale.gradient().unwrap().is_some());
    let frozen = model.snapshot().unwrap();
    let before = frozen.call(&x).unwrap().to_vec::<f32>().unwrap();
    scale.assign(&dl.scalar(5f32).unwrap()).unwrap();
    assert_eq!(frozen.call(&x).unwrap().to_vec::<f32>().unwrap(), before);
    assert_ne!(model.call(&x).unwrap().to_vec::<f32>().unwrap(), before);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let dl = engine.inference_context("cpu").unwrap();
                assert_eq!(frozen.call(&x.on(&dl)).unwrap().to_vec::<f32>().unwrap(), before);
            });
        }
    });

    let panics = CustomModule::new("Panics").forward(&dl, |_, _| panic!("in a module")).unwrap();
    let error = failure(panics.call(&x), Code::Internal, &[]);
    assert!(format!("{error:?}").contains("panic: in a module"), "{error:?}");
    let bad = CustomModule::new("Bad").child("a.b", nn::ReLU::new(&dl).unwrap());
    failure(bad.forward(&dl, |_, x| x.relu()), Code::InvalidArgument, &["a.b"]);
}

struct Torn(usize);

impl Write for Torn {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the disk is torn"));
        }
        self.0 -= 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Torn {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        if self.0 == 1 {
            panic!("the reader is torn");
        }
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the tape is torn"))
    }
}

/// A byte at a time, with interruptions.
struct Slow<'a>(&'a [u8], bool);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.0.read(&mut buffer[..1])
    }
}

#[test]
fn streams_fail_with_their_own_words() {
    let engine = engine();
    let dl = context(&engine);
    let model = nn::Linear::new(&dl, 2, 2).unwrap();
    let x = dl.scalar(1f32).unwrap();
    let checkpoint = Checkpoint::new(&dl).unwrap();
    checkpoint.add_module("model", &model).unwrap();
    checkpoint.save_to(&mut Vec::new()).unwrap(); // draws the initial values
    let before = live(&engine);
    let torn = |result: dlcore::Result<()>| failure(result, Code::PermissionDenied, &["the disk is torn"]);
    torn(model.save_to(&mut Torn(1)));
    torn(checkpoint.save_to(&mut Torn(0)));
    let error = torn(Archive::save_to(&dl, &mut Torn(0), &[("x", &x)]));
    assert!(error.cause().is_some());
    failure(model.load_from(&mut Torn(0)), Code::DataLoss, &["the tape is torn"]);
    failure(model.load_from(&mut Torn(1)), Code::Internal, &["panic: the reader is torn"]);
    failure(Archive::read_from(&dl, &mut Torn(0)), Code::DataLoss, &["the tape is torn"]);

    let mut bytes = Vec::new();
    model.save_to(&mut bytes).unwrap();
    model.load_from(&mut Slow(&bytes, false)).unwrap();
    failure(model.load_bytes(&bytes[..bytes.len() - 1]), Code::DataLoss, &[]);
    let mut bytes = Vec::new();
    checkpoint.save_to(&mut bytes).unwrap();
    checkpoint.load_from(&mut Slow(&bytes, false)).unwrap();
    checkpoint.load_bytes(&bytes).unwrap();
    assert_eq!(live(&engine), before);
}
