// SPDX-License-Identifier: Apache-2.0
//! Derivatives against formulas, and that transforms nest.

use dlcore::autograd::{self, GradOptions};
use dlcore::{nn, optim, Code, Context, Result, Tensor, Variable};
use dlcore_tests::{context, engine, failure};

fn near(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len());
    for (a, b) in got.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{got:?}, expected {expected:?}");
    }
}

/// x sin x, summed.
fn f(x: &Tensor) -> Result<Tensor> {
    (x.sin()? * x).sum()
}

const AT: [f64; 3] = [0.5, -1.0, 2.0];

fn slope(x: f64) -> f64 {
    x.sin() + x * x.cos()
}

fn curvature(x: f64) -> f64 {
    2.0 * x.cos() - x * x.sin()
}

#[test]
fn derivatives_are_those_of_the_formula() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor(AT, [3]).unwrap();
    let (y, gradient) = autograd::value_and_grad(f, &x).unwrap();
    near(&[y.item().unwrap()], &[AT.iter().map(|x| x * x.sin()).sum()]);
    near(&gradient.to_vec().unwrap(), &AT.map(slope));

    let direction = dl.tensor([1.0f64, 2.0, -3.0], [3]).unwrap();
    let (y, rate) = autograd::jvp(f, &x, &direction).unwrap();
    near(&[y.item().unwrap()], &[AT.iter().map(|x| x * x.sin()).sum()]);
    near(&[rate.item().unwrap()], &[slope(AT[0]) + 2.0 * slope(AT[1]) - 3.0 * slope(AT[2])]);

    let (y, pull) = autograd::vjp(|x| x.square(), &x).unwrap();
    near(&y.to_vec().unwrap(), &AT.map(|x| x * x));
    for scale in [1.0, -2.0] {
        let seed = dl.full_with([3], scale, dlcore::ops::FullOptions::new().dtype(dlcore::Dtype::F64)).unwrap();
        near(&pull(&seed).unwrap().to_vec().unwrap(), &AT.map(|x| 2.0 * scale * x));
    }

    let hessian = autograd::hessian(f, &x).unwrap();
    assert_eq!(hessian.shape(), [3, 3]);
    let mut expected = [0.0; 9];
    for (i, x) in AT.iter().enumerate() {
        expected[4 * i] = curvature(*x);
    }
    near(&hessian.to_vec().unwrap(), &expected);
    let flat = autograd::hessian(|x| x.sum(), &x).unwrap();
    near(&flat.to_vec().unwrap(), &[0.0; 9]);

    let each = autograd::vmap(|x| (x * x).check()?.sum(), &dl.tensor(AT, [3, 1]).unwrap(), 0).unwrap();
    near(&each.to_vec().unwrap(), &AT.map(|x| x * x));
}

#[test]
fn transforms_nest() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor(AT, [3]).unwrap();
    // A forward derivative of a gradient, for each example at once.
    let one = |x: &Tensor| -> Result<Tensor> {
        let ones = (x * 0.0 + 1.0).check()?;
        autograd::jvp(|x| Ok(autograd::value_and_grad(f, x)?.1), x, &ones).map(|(_, rate)| rate)
    };
    near(&autograd::vmap(one, &x, 0).unwrap().to_vec().unwrap(), &AT.map(curvature));
    autograd::gradcheck(|_, x| f(&x[0]), &[&x], 2).unwrap();
}

#[test]
fn gradients_have_options() {
    let engine = engine();
    let dl = context(&engine);
    let (x, unused) = (dl.tensor(AT, [3]).unwrap().watch().unwrap(), dl.scalar(1f64).unwrap().watch().unwrap());
    let y = f(&x).unwrap();
    failure(autograd::grad(&[&y], &[&unused]), Code::FailedPrecondition, &["allow_unused"]);
    let options = GradOptions::new().allow_unused(true).retain_graph(true);
    let found = autograd::grad_with(&[&y], &[&x, &unused], options).unwrap();
    near(&found[0].as_ref().unwrap().to_vec().unwrap(), &AT.map(slope));
    assert!(found[1].is_none());
    autograd::grad(&[&y], &[&x]).unwrap();
    failure(autograd::grad(&[&y], &[&x]), Code::FailedPrecondition, &[]); // its history is freed
    failure(autograd::grad(&[], &[&x]), Code::InvalidArgument, &["grad", "empty"]);
    let seeds = [Some(&y), Some(&y)];
    let options = GradOptions::new().seeds(&seeds);
    failure(autograd::grad_with(&[&y], &[&x], options), Code::InvalidArgument, &["seeds", "2", "1"]);
}

#[test]
fn wrong_derivatives_are_found() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor(AT, [3]).unwrap();
    let wrong = |_: &Context, x: &[Tensor]| (x[0].stop_gradient()? * &x[0]).sum();
    failure(autograd::gradcheck(wrong, &[&x], 1), Code::FailedPrecondition, &["0"]);
    let panics = |_: &Context, _: &[Tensor]| -> Result<Tensor> { panic!("while differentiating") };
    failure(autograd::gradcheck(panics, &[&x], 1), Code::Internal, &["panic: while differentiating"]);
}

#[test]
fn variables_gather_gradients() {
    let engine = engine();
    let dl = context(&engine);
    let w = Variable::trainable(&dl, "w", &dl.tensor([1f32, 2.0], [2]).unwrap()).unwrap();
    assert!(w.is_trainable() && w.gradient().unwrap().is_none());
    for _ in 0..2 {
        w.value().unwrap().square().unwrap().sum().unwrap().backward().unwrap();
    }
    assert_eq!(w.gradient().unwrap().unwrap().to_vec::<f32>().unwrap(), [4.0, 8.0]);
    let sgd = optim::SGD::new(std::slice::from_ref(&w), 0.5).unwrap();
    let norm = sgd.clip_gradients(1e9).unwrap();
    assert!((norm.item::<f32>().unwrap() - 80f32.sqrt()).abs() < 1e-5);
    sgd.step_keep().unwrap();
    assert_eq!(w.value().unwrap().to_vec::<f32>().unwrap(), [-1.0, -2.0]);
    sgd.zero_gradients().unwrap();
    failure(sgd.step(), Code::FailedPrecondition, &["gradient"]);
    w.set_gradient(Some(&dl.tensor([2f32, 2.0], [2]).unwrap())).unwrap();
    sgd.learning_rate(0).unwrap().assign(&dl.scalar(1f64).unwrap()).unwrap();
    sgd.step().unwrap();
    w.accumulate(&dl.tensor([10f32, 0.0], [2]).unwrap()).unwrap();
    assert_eq!(w.value().unwrap().to_vec::<f32>().unwrap(), [7.0, -4.0]);
    assert_eq!((sgd.groups(), sgd.variables().unwrap().len() > 1), (1, true));
    failure(sgd.learning_rate(1), Code::OutOfRange, &["1"]);
    failure(sgd.add_group(std::slice::from_ref(&w)), Code::InvalidArgument, &["w"]);
    w.set_trainable(false).unwrap();
    let frozen = w.value().unwrap().sum().unwrap();
    failure(frozen.backward(), Code::FailedPrecondition, &[]);
    let _inference = dl.inference();
    w.set_trainable(true).unwrap();
    assert!(!w.value().unwrap().describe().unwrap().requires_grad);
}

#[test]
fn groups_have_attributes_of_their_own() {
    let engine = engine();
    let dl = context(&engine);
    let ones = || Variable::trainable(&dl, "v", &dl.full([1], 1.0).unwrap()).unwrap();
    let (slow, fast) = (ones(), ones());
    let sgd = optim::SGD::new(std::slice::from_ref(&slow), 0.1).unwrap();
    let options = optim::SGDOptions::new().weight_decay(1.0);
    sgd.add_group_with(std::slice::from_ref(&fast), 0.5, options).unwrap();
    assert_eq!(sgd.groups(), 2);
    for variable in [&slow, &fast] {
        variable.set_gradient(Some(&dl.full([1], 1.0).unwrap())).unwrap();
    }
    sgd.step().unwrap();
    assert_eq!(slow.value().unwrap().item::<f32>().unwrap(), 0.9);
    assert_eq!(fast.value().unwrap().item::<f32>().unwrap(), 0.0); // 1 - 0.5 (1 + 1)
}

#[test]
fn models_answer_as_their_layers() {
    let engine = engine();
    let dl = context(&engine);
    let linear = nn::Linear::with(&dl, 3, 2, nn::LinearOptions::new().bias(false)).unwrap();
    let model = nn::Sequential::new(&dl, (linear.clone(), nn::ReLU::new(&dl).unwrap())).unwrap();
    let x = dl.random_normal([4, 3]).unwrap();
    let weight = model.find("0.weight").unwrap().value().unwrap();
    let expected = x.linear(&weight, None).unwrap().relu().unwrap();
    assert_eq!(model.call(&x).unwrap().to_vec::<f32>().unwrap(), expected.to_vec::<f32>().unwrap());
    assert_eq!((model.kind(), model.children().len()), ("Sequential", 2));
    assert_eq!(format!("{model:?}"), "Sequential(Sequential(Linear, ReLU))");
    failure(model.find("1.weight"), Code::NotFound, &["1.weight", "0.weight"]);
    failure(model.child(2), Code::InvalidArgument, &["2", "0 to 1"]);
    failure(nn::Sequential::new(&dl, [linear]), Code::InvalidArgument, &[]); // has a parent
    let dropout = nn::Dropout::new(&dl, 0.5).unwrap();
    let ones = dl.full([1000], 1.0).unwrap();
    let kept = |y: &Tensor| y.equal(&ones).unwrap().all().unwrap().item::<bool>().unwrap();
    assert!(!kept(&dropout.call(&ones).unwrap()));
    dropout.train(false).unwrap();
    assert!(kept(&dropout.call(&ones).unwrap()));
    assert_eq!(nn::Sequential::new(&dl, ()).unwrap().call(&x).unwrap().shape(), [4, 3]);
}
