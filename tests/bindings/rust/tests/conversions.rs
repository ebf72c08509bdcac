// SPDX-License-Identifier: Apache-2.0
//! Elements and text crossing the border, both ways.

use dlcore::{custom::CustomOp, Archive, Bf16, Checkpoint, Code, Dtype, Element, Variable, F16};
use dlcore_tests::{context, engine, failure, Scratch};
use std::fmt::Debug;

fn round_trip<T: Element + Debug + PartialEq>(values: [T; 6]) {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor(values, [2, 3]).unwrap();
    assert_eq!((x.dtype(), x.count(), x.rank()), (T::DTYPE, 6, 2));
    assert_eq!(x.shape(), [2, 3]);
    assert_eq!(x.to_vec::<T>().unwrap(), values);
    let [a, b, c, d, e, f] = values;
    assert_eq!(x.permute_dims([1, 0]).unwrap().to_vec::<T>().unwrap(), [a, d, b, e, c, f]);
    assert_eq!(dl.scalar(f).unwrap().item::<T>().unwrap(), f);
    assert_eq!(dl.tensor([] as [T; 0], [0, 4]).unwrap().to_vec::<T>().unwrap(), []);
    // Columns 2 and 0, from the last row to the first.
    let strided = dl.tensor_strided(&values, [2, 2], [-3, -2], 5).unwrap();
    assert_eq!(strided.to_vec::<T>().unwrap(), [f, d, c, a]);
    let repeated = dl.tensor_strided(&values, [2, 2], [0, 1], 1).unwrap();
    assert_eq!(repeated.to_vec::<T>().unwrap(), [b, c, b, c]);
    let mut into = [f; 6];
    x.read_into(&mut into).unwrap();
    assert_eq!(into, values);
    if T::DTYPE != Dtype::Bool {
        assert_eq!(&x.view::<T>().unwrap()[..], values);
        assert_eq!(&x.permute_dims([1, 0]).unwrap().view::<T>().unwrap()[..], [a, d, b, e, c, f]);
    }
}

#[test]
fn every_dtype_crosses() {
    round_trip([true, false, false, true, true, false]);
    round_trip([0u8, 1, 2, 127, 128, 255]);
    round_trip([0i8, 1, -1, 127, -128, 5]);
    round_trip([0i16, 1, -1, i16::MAX, i16::MIN, 5]);
    round_trip([0i32, 1, -1, i32::MAX, i32::MIN, 5]);
    round_trip([0i64, 1, -1, i64::MAX, i64::MIN, 5]);
    round_trip([0f32, 1.5, -1.5, f32::MAX, f32::INFINITY, f32::from_bits(1)]);
    round_trip([0f64, 1.5, -1.5, f64::MAX, f64::NEG_INFINITY, f64::from_bits(1)]);
    round_trip([0.0, 1.5, -1.5, 65504.0, f32::INFINITY, 6e-8].map(F16::from_f32));
    round_trip([0.0, 1.5, -1.5, 3e38, f32::INFINITY, 1e-40].map(Bf16::from_f32));
}

#[test]
fn another_dtype_is_an_error() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor([1i64, 2, 3], [3]).unwrap();
    failure(x.to_vec::<i32>(), Code::InvalidArgument, &["i64", "i32"]);
    failure(x.to_vec::<f64>(), Code::InvalidArgument, &["i64", "f64"]);
    failure(x.view::<f64>().map(|_| ()), Code::InvalidArgument, &["i64", "f64"]);
    failure(x.read_into(&mut [0i64; 2]), Code::InvalidArgument, &[]);
    failure(x.item::<i64>(), Code::InvalidArgument, &[]);
    failure(dl.tensor([true], [1]).unwrap().view::<bool>().map(|_| ()), Code::InvalidArgument, &["bool"]);
}

#[test]
fn shapes_that_do_not_fit_are_errors() {
    let engine = engine();
    let dl = context(&engine);
    failure(dl.tensor([1f32, 2.0], [3]), Code::InvalidArgument, &[]);
    failure(dl.tensor([1f32], [-1]), Code::InvalidArgument, &[]);
    failure(dl.tensor([0u8; 0], [1i64 << 62, 4, 0]), Code::InvalidArgument, &[]);
    failure(dl.tensor([1f32], [1; 17]), Code::InvalidArgument, &["17"]);
    failure(dl.tensor_strided(&[1f32, 2.0], [2], [2], 0), Code::InvalidArgument, &[]);
    failure(dl.tensor_strided(&[1f32, 2.0], [2], [1], -1), Code::InvalidArgument, &[]);
    failure(dl.tensor_strided(&[1f32, 2.0], [2], [1, 1], 0), Code::InvalidArgument, &["strides is [1, 1]"]);
}

/// All bit patterns of both half precisions, against the engine's own conversions.
#[test]
fn halves_convert_as_the_engine_does() {
    let engine = engine();
    let dl = context(&engine);
    let bits: Vec<u16> = (0..=u16::MAX).collect();
    let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();

    let halves: Vec<F16> = bits.iter().map(|bits| F16::from_bits(*bits)).collect();
    let wide = dl.tensor(&halves, [65536]).unwrap().astype(Dtype::F32).unwrap().to_vec::<f32>().unwrap();
    assert!(halves.iter().zip(&wide).all(|(half, wide)| same(half.to_f32(), *wide)));
    let brains: Vec<Bf16> = bits.iter().map(|bits| Bf16::from_bits(*bits)).collect();
    let wide = dl.tensor(&brains, [65536]).unwrap().astype(Dtype::F32).unwrap().to_vec::<f32>().unwrap();
    assert!(brains.iter().zip(&wide).all(|(half, wide)| same(half.to_f32(), *wide)));

    // Numbers at, below and above the middle between two halves, of every magnitude.
    let mut numbers = Vec::new();
    for high in (0..=u16::MAX).step_by(7) {
        for low in [0u32, 1, 0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff] {
            numbers.push(f32::from_bits(u32::from(high) << 16 | low));
        }
    }
    let x = dl.tensor(&numbers, [numbers.len() as i64]).unwrap();
    let expected = x.astype(Dtype::F16).unwrap().to_vec::<F16>().unwrap();
    for (number, expected) in numbers.iter().zip(&expected) {
        let got = F16::from_f32(*number);
        assert!(got == *expected || got.to_f32().is_nan() && number.is_nan(), "{number:e}: {got} {expected}");
    }
    let expected = x.astype(Dtype::Bf16).unwrap().to_vec::<Bf16>().unwrap();
    for (number, expected) in numbers.iter().zip(&expected) {
        let got = Bf16::from_f32(*number);
        assert!(got == *expected || got.to_f32().is_nan() && number.is_nan(), "{number:e}: {got} {expected}");
    }
}

#[test]
fn views_keep_the_elements_alive() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor([1f32; 1000], [1000]).unwrap();
    let view = x.view::<f32>().unwrap();
    let (at, managed) = (view.as_ptr(), x.to_dlpack().unwrap());
    drop(x);
    assert_eq!(view.iter().sum::<f32>(), 1000.0);
    // SAFETY: taken over from a tensor, which nobody writes to.
    let shared = unsafe { dl.from_dlpack(managed.into_raw(), true) }.unwrap();
    assert_eq!(shared.view::<f32>().unwrap().as_ptr(), at);
    drop(view);
    assert_eq!(shared.sum().unwrap().item::<f32>().unwrap(), 1000.0);
    // SAFETY: as above.
    let copied = unsafe { dl.from_dlpack(shared.to_dlpack().unwrap().into_raw(), false) }.unwrap();
    drop(shared);
    assert_eq!(copied.to_vec::<f32>().unwrap(), [1.0; 1000]);
}

/// The smile is F0 9F 99 82 on the other side: in names, texts, paths and messages.
#[test]
fn text_is_utf8() {
    const SMILE: &str = "a \u{1F642} b";
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor([1f32], [1]).unwrap();
    assert_eq!(Variable::new(&dl, SMILE, &x).unwrap().name(), SMILE);

    let file = Scratch::new("\u{1F642}.safetensors");
    Archive::save(&dl, &file, &[(SMILE, &x)]).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.windows(4).any(|four| four == [0xf0, 0x9f, 0x99, 0x82]));
    let archive = Archive::open(&dl, &file).unwrap();
    assert_eq!(archive.names(), [SMILE]);
    assert_eq!(archive.tensor(SMILE).unwrap().item::<f32>().unwrap(), 1.0);
    failure(archive.tensor("no \u{1F642}"), Code::NotFound, &["no \u{1F642}", SMILE]);

    let checkpoint = Checkpoint::new(&dl).unwrap();
    checkpoint.set_text("\u{1F642}", Some(SMILE)).unwrap();
    assert_eq!(checkpoint.text("\u{1F642}").as_deref(), Some(SMILE));
    assert_eq!(checkpoint.text("none"), None);

    let op = CustomOp::new(SMILE, 1, 1)
        .infer(|_, call| call.set_output_like(0, &call.input(0)?))
        .forward(|_, _| Err(dlcore::Error::new(Code::Aborted, SMILE)));
    let number = op.register(&dl).unwrap();
    assert_eq!(dl.find_op(SMILE).unwrap(), number);
    let error = failure(dl.call(number, &[Some(&x)], &[], 1), Code::Aborted, &[]);
    assert_eq!((error.op(), error.cause().unwrap().message()), (SMILE, SMILE));

    failure(Variable::new(&dl, "zero\0", &x), Code::InvalidArgument, &["zero"]);
    failure(dl.find_op("\0"), Code::InvalidArgument, &["zero character"]);
}

#[test]
fn tensors_show_themselves() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor([1f32, 2.5], [2]).unwrap();
    for part in ["f32", "2", "2.5", "cpu"] {
        assert!(format!("{x} {x:?}").contains(part), "{x}");
    }
}
