// SPDX-License-Identifier: Apache-2.0
//! What nobody should pass is an error that tells so; never a crash, and nothing sticks.

use dlcore::autograd::{self, Forward, Vectorised};
use dlcore::custom::{CustomModule, CustomOp};
use dlcore::graph::Graph;
use dlcore::ops::*;
use dlcore::{data, nn, optim, Archive, Checkpoint, Code, Context, Dtype, Engine, InstructionSet, Result, Tensor};
use dlcore_tests::{context, engine, failure};

#[test]
fn bad_tensors() {
    let engine = engine();
    let dl = context(&engine);
    let bad = |result: Result<Tensor>| drop(failure(result, Code::InvalidArgument, &[]));
    bad(dl.tensor_from_bytes(Dtype::None, [1], &[0]));
    bad(dl.tensor_from_bytes(Dtype::Bool, [1], &[2]));
    bad(dl.tensor_from_bytes(Dtype::F32, [1], &[0; 3]));
    bad(dl.tensor([1f32], [i64::MAX, i64::MAX]));
    bad(dl.tensor_strided(&[1f32; 4], [2, 2], [i64::MAX, 1], 0));
    bad(dl.tensor_strided(&[1f32; 4], [2, 2], [i64::MIN, 1], i64::MIN));
    bad(dl.tensor_strided::<f32>(&[], [1], [0], 0));
    bad(dl.full([-1], 0.0));
    bad(dl.full_with([1], 0.5, FullOptions::new().dtype(Dtype::None)));
    failure(dl.full([1], 0.0).unwrap().to_device("nowhere"), Code::NotFound, &["nowhere"]);
    failure(dl.full([1], 0.0).unwrap().to_device("zero\0"), Code::InvalidArgument, &["zero"]);
    dl.tensor_strided::<f32>(&[], [0, 5], [7, 7], 0).unwrap();
}

#[test]
fn bad_attributes() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.full([1, 1, 4, 4], 1.0).unwrap();
    let bad = |result: Result<Tensor>, word: &str| drop(failure(result, Code::InvalidArgument, &[word]));
    bad(x.conv2d_with(&x, None, Conv2dOptions::new().stride([1; 17])), "conv2d: stride");
    bad(x.conv2d_with(&x, None, Conv2dOptions::new().stride([0])), "conv2d");
    bad(x.conv2d_with(&x, None, Conv2dOptions::new().groups(-3)), "conv2d");
    bad(x.permute_dims([0, 0, 1, 2]), "permute_dims");
    bad(x.reshape([-1, -1]), "reshape");
    bad(x.argmax(99), "99");
    bad(x.softmax(i64::MIN), "softmax");
    bad(x.dropout(f64::NAN), "dropout");
    bad(x.one_hot(3), "one_hot");
    bad(x.cross_entropy(&x), "cross_entropy");
    bad(x.sum_with(SumOptions::new().axes([0, 0])), "sum");
    bad(Tensor::concat(&[&x, &x], 7), "concat");
    bad(dl.random_bernoulli([2], 2.0), "random_bernoulli");
    bad(dl.random_integers([2], 5, 5), "random_integers");
    bad(dl.arange(0.0, 1.0, 0.0), "arange");
}

#[test]
fn bad_transforms() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor([1f64, 2.0], [2]).unwrap();
    let three = dl.tensor([1f64; 3], [3]).unwrap();
    failure(x.backward(), Code::InvalidArgument, &[]);
    failure(x.sum().unwrap().backward(), Code::FailedPrecondition, &[]);
    failure(autograd::jvp(|x| x.sum(), &x, &three), Code::InvalidArgument, &[]);
    failure(autograd::vmap(|x| x.relu(), &x, 5), Code::InvalidArgument, &[]);
    failure(autograd::vmap(|x| x.relu(), &x, i64::MIN), Code::InvalidArgument, &[]);
    failure(Vectorised::new(&dl, -1).map(drop), Code::InvalidArgument, &["-1"]);
    failure(autograd::value_and_grad(|x| x.square(), &x), Code::InvalidArgument, &[]);
    failure(autograd::hessian(|x| x.square(), &x), Code::InvalidArgument, &[]);
    failure(autograd::gradcheck(|_, x| x[0].sum(), &[&x], 7), Code::InvalidArgument, &["7"]);
    failure(dl.tensor([1i64], [1]).unwrap().watch(), Code::InvalidArgument, &[]);
    // Levels that end in the wrong order end all the same.
    let outer = Forward::new(&dl).unwrap();
    let inner = Forward::new(&dl).unwrap();
    let lifted = outer.lift(&x, &x).unwrap();
    drop(outer);
    drop((inner, lifted));
    assert_eq!(x.relu().unwrap().count(), 2);
}

#[test]
fn bad_models_and_data() {
    let engine = engine();
    let dl = context(&engine);
    let model = nn::Linear::new(&dl, 2, 2).unwrap();
    let invalid = Code::InvalidArgument;
    failure(nn::Conv2d::new(&dl, 1, 1, []), invalid, &["kernel"]);
    failure(nn::Dropout::new(&dl, 1.5), invalid, &["1.5"]);
    failure(nn::Sequential::new(&dl, vec![model.clone(), model.clone()]), invalid, &[]);
    failure(model.find(""), Code::NotFound, &["weight"]);
    failure(model.call(&dl.full([3, 3], 1.0).unwrap()), invalid, &["3"]);
    failure(model.load("/nowhere/at/all"), Code::NotFound, &["/nowhere"]);
    failure(model.save("/nowhere/at/all"), Code::NotFound, &["/nowhere"]);
    failure(model.load(std::env::temp_dir()), invalid, &[]);
    failure(model.load_bytes(&[]), Code::DataLoss, &[]);
    let twice = [model.parameters(), model.parameters()].concat();
    failure(optim::Adam::new(&twice, 1e-3), invalid, &["twice"]);
    failure(optim::Adam::new(&model.parameters(), f64::NAN), invalid, &["lr"]);
    let adam = optim::Adam::new(&model.parameters(), 1e-3).unwrap();
    failure(adam.clip_gradients(-1.0), invalid, &["-1"]);

    let (x, y) = (dl.full([4, 2], 1.0).unwrap(), dl.tensor([0i64; 3], [3]).unwrap());
    failure(data::from_tensors(&dl, &x, &y).batch(1), invalid, &["3"]);
    failure(data::from_tensors(&dl, &x, &x).batch(0), invalid, &["0"]);
    failure(data::from_tensors(&dl, &x, &x).prefetch(-1).batch(1), invalid, &["-1"]);
    failure(data::open(&dl, "").batch(1), invalid, &[]);
    failure(data::open(&dl, "idx:/nowhere/train").batch(1), Code::NotFound, &["/nowhere"]);
    let loader = data::from_tensors(&dl, &x, &x).batch(3).unwrap();
    failure(loader.seek(-1, 0), invalid, &["-1"]);
    failure(loader.seek(0, 99), Code::OutOfRange, &["99"]);

    let checkpoint = Checkpoint::new(&dl).unwrap();
    failure(checkpoint.add_module("a/b", &model), invalid, &["a/b"]);
    checkpoint.add_module("a", &model).unwrap();
    failure(checkpoint.add_module("a", &model), Code::AlreadyExists, &["a"]);
    failure(checkpoint.set_text("dlcore.version", Some("9")), invalid, &["dlcore."]);
    failure(checkpoint.load_bytes(b"nothing"), Code::DataLoss, &[]);
    failure(Archive::save_to(&dl, &mut Vec::new(), &[("a", &x), ("a", &x)]), invalid, &["a"]);
}

#[test]
fn bad_programs_and_engines() {
    let engine = engine();
    let dl = context(&engine);
    let invalid = Code::InvalidArgument;
    failure(Graph::parse(&dl, ""), invalid, &[]);
    failure(Graph::capture(&dl, "", |c| Ok(vec![c.input("x", Dtype::F32, "[")?])), invalid, &[]);
    failure(Graph::capture(&dl, "g", |c| Ok(vec![c.input("x", Dtype::None, "[1]")?])), invalid, &[]);
    let graph = Graph::capture(&dl, "g", |c| Ok(vec![c.input("x", Dtype::F32, "[2]")?.relu()?])).unwrap();
    let executable = graph.compile().unwrap();
    let x = dl.full([3], 1.0).unwrap();
    failure(executable.run::<1, 1>([&x]), invalid, &["3"]);
    failure(executable.run::<1, 2>([&dl.full([2], 1.0).unwrap()]), invalid, &["2"]);
    let like = |name: &str, inputs: i32, outputs: i32| {
        let op = CustomOp::new(name, inputs, outputs).infer(|_, _| Ok(())).forward(|_, _| Ok(()));
        op.register(&dl)
    };
    failure(like("negative", -1, 1), invalid, &["-1"]);
    failure(like("many", 1, 99), invalid, &["99"]);
    failure(like("add", 1, 1), Code::AlreadyExists, &["add"]);
    let silent = like("silent", 1, 1).unwrap();
    failure(dl.call(silent, &[Some(&x)], &[], 1), Code::FailedPrecondition, &["silent"]);
    let layer = || nn::ReLU::new(&dl).unwrap();
    let twins = CustomModule::new("Twins").child("one", layer()).child("one", layer());
    failure(twins.forward(&dl, |_, x| x.relu()), invalid, &["one"]);

    failure(Context::open(""), Code::NotFound, &["cpu"]);
    failure(Engine::options().threads(i32::MIN).open(), invalid, &[]);
    let baseline = Engine::options().instruction_set(InstructionSet::Baseline).open().unwrap();
    assert_eq!(baseline.statistics().instruction_set, InstructionSet::Baseline);
    assert_eq!(x.relu().unwrap().count(), 3);
}
