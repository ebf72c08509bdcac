// SPDX-License-Identifier: Apache-2.0
//! Codes, messages, causes, and how errors travel through operators.

use dlcore::custom::CustomOp;
use dlcore::{data, nn, ops, optim, Archive, Code, Context, Engine, Error, Weak};
use dlcore_tests::{context, engine, failure};
use std::error::Error as _;

#[test]
fn every_code_arrives() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor([0f32], [1]).unwrap();
    for (index, code) in Code::ALL.iter().enumerate() {
        let failing = CustomOp::new(format!("fails{index}"), 1, 1)
            .infer(|_, call| call.set_output_like(0, &call.input(0)?))
            .forward(move |_, _| Err(Error::new(*code, format!("as {code:?}"))));
        let op = failing.register(&dl).unwrap();
        let error = failure(dl.call(op, &[Some(&x)], &[], 1), *code, &["fails"]);
        assert_eq!(error.op(), format!("fails{index}"));
        let cause = error.cause().expect("a cause");
        assert_eq!((cause.code(), cause.message()), (*code, format!("as {code:?}").as_str()));
        assert_eq!(error.source().unwrap().to_string(), cause.to_string());
        assert!(format!("{error:?}").contains("caused by"));
        assert!(format!("{error:?}").starts_with(code.name()));
    }
}

#[test]
fn messages_name_op_argument_and_values() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor([0f32; 6], [2, 3]).unwrap();
    let error = failure(x.matmul(&x), Code::InvalidArgument, &["matmul", "[2, 3]"]);
    assert_eq!(error.op(), "matmul");
    failure(dl.find_op("cat"), Code::NotFound, &["concat"]);
    failure(Context::open("nowhere"), Code::NotFound, &["nowhere", "cpu"]);
    failure(Engine::options().threads(-1).open(), Code::InvalidArgument, &["-1"]);
    failure(Archive::open(&dl, "/nowhere/at/all"), Code::NotFound, &["/nowhere/at/all"]);
    failure(Archive::from_bytes(&dl, b"no safetensors"), Code::DataLoss, &[]);
    failure(data::open(&dl, "nothing:at-all").batch(1), Code::InvalidArgument, &["nothing"]);
    failure(engine.load_plugin("/nowhere.so"), Code::NotFound, &["/nowhere.so"]);
    failure(x.sum_with(ops::SumOptions::new().axes([2])), Code::InvalidArgument, &["sum", "2"]);
    failure(x.sum_with(ops::SumOptions::new().axes([0; 17])), Code::InvalidArgument, &["sum: axes", "17", "0 to 16"]);
    failure(x.reshape([1; 17]), Code::InvalidArgument, &["reshape", "17"]);
    failure(dlcore::Tensor::concat(&[], 0), Code::InvalidArgument, &["concat", "empty"]);
    let many = vec![&x; 65];
    failure(dlcore::Tensor::concat(&many, 0), Code::InvalidArgument, &["concat", "64"]);
    failure(ops::add(1, 2.0), Code::InvalidArgument, &["add", "I64(1)", "F64(2.0)"]);
    failure(optim::Adam::new(&[], 1e-3), Code::InvalidArgument, &["Adam", "parameters is []"]);
    failure(nn::Linear::new(&dl, -1, 2), Code::InvalidArgument, &["-1"]);
    failure("sideways".parse::<ops::CrossEntropyReduction>(), Code::InvalidArgument, &["sideways", "mean"]);
    // The context is clear again each time.
    assert_eq!(x.sum().unwrap().item::<f32>().unwrap(), 0.0);
}

#[test]
fn operators_hand_the_first_error_on() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor([1f32, 2.0], [2]).unwrap();
    let y = dl.tensor([1f32, 2.0, 3.0], [3]).unwrap();
    let failed = 1.0 - (&x + &y) * 2 / &x;
    assert_eq!((failed.count(), failed.dtype().name()), (0, "none"));
    for other in [failed.clone(), -&failed, &x * &failed, failed.on(&dl)] {
        assert_eq!(failure(other.check(), Code::InvalidArgument, &["add", "[3]"]).op(), "add");
    }
    failure(failed.sum(), Code::InvalidArgument, &["add"]);
    failure(failed.to_vec::<f32>(), Code::InvalidArgument, &["add"]);
    failure(failed.backward(), Code::InvalidArgument, &["add"]);
    failure(x.matmul(&failed), Code::InvalidArgument, &["add"]);
    failure(dlcore::Tensor::stack(&[&x, &failed], 0), Code::InvalidArgument, &["add"]);
    failure(nn::Linear::new(&dl, 2, 2).unwrap().call(&failed), Code::InvalidArgument, &["add"]);
    failure(dlcore::Variable::new(&dl, "v", &failed), Code::InvalidArgument, &["add"]);
    failure(failed.view::<f32>().map(|_| ()), Code::InvalidArgument, &["add"]);
    assert!(failed.to_string().contains("add"));
    drop(failed);
    assert_eq!((&x - 1).check().unwrap().to_vec::<f32>().unwrap(), [0.0, 1.0]);
}

#[test]
fn operators_compute() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor([1f32, 2.0], [2]).unwrap();
    let values = |tensor: dlcore::Tensor| tensor.to_vec::<f32>().unwrap();
    assert_eq!(values(&x + &x), [2.0, 4.0]);
    assert_eq!(values(&x - 1), [0.0, 1.0]);
    assert_eq!(values(1 - &x), [0.0, -1.0]);
    assert_eq!(values(x.clone() * 0.5), [0.5, 1.0]);
    assert_eq!(values(2.0 / &x), [2.0, 1.0]);
    assert_eq!(values(5 % &x), [0.0, 1.0]);
    assert_eq!(values(-x.clone() * x.clone()), [-1.0, -4.0]);
    assert_eq!(values(x.maximum(1.5).unwrap()), [1.5, 2.0]);
    assert_eq!(values(ops::pow(2, &x).unwrap()), [2.0, 4.0]);
    assert_eq!(values(x.clip(None, 1.5).unwrap()), [1.0, 1.5]);
    // A number takes the dtype it meets, and is refused where it does not fit.
    let whole = dl.tensor([7i32], [1]).unwrap();
    assert_eq!((&whole * 2).to_vec::<i32>().unwrap(), [14]);
    failure((&whole * 0.5).check(), Code::InvalidArgument, &["multiply"]);
    let weak = dl.weak(Weak::F64(0.5)).unwrap();
    assert!(weak.describe().unwrap().is_weak);
    assert_eq!(values(x.multiply(&weak).unwrap()), [0.5, 1.0]);
}

#[test]
fn errors_cross_into_io_and_back() {
    let missing = std::fs::File::open("/nowhere/at/all").unwrap_err();
    assert_eq!(Error::from(missing).code(), Code::NotFound);
    let io = std::io::Error::from(Error::new(Code::DataLoss, "torn"));
    assert_eq!(io.to_string(), "torn");
    fn is_usable<T: std::error::Error + Send + Sync + Clone + 'static>() {}
    is_usable::<Error>();
}

#[test]
fn out_of_memory_is_an_error() {
    let engine = engine();
    let dl = context(&engine);
    engine.fail_allocation(1);
    failure(dl.full([1000], 1.0), Code::ResourceExhausted, &[]);
    assert_eq!(dl.full([1000], 1.0).unwrap().count(), 1000);
    let small = Engine::options().memory_limit(1 << 20).open().unwrap();
    let dl = small.context("cpu", 0).unwrap();
    failure(dl.full([1 << 20], 1.0), Code::ResourceExhausted, &[]);
    assert_eq!(small.statistics().memory_limit, 1 << 20);
}
