// SPDX-License-Identifier: Apache-2.0
//! Who holds what, and what happens after a close. `engine()` checks that everything is given back.

use dlcore::custom::CustomModule;
use dlcore::graph::Graph;
use dlcore::{data, nn, optim, Archive, Checkpoint, Code, Context, Dtype, Engine, Tensor, Variable};
use dlcore_tests::{context, engine, failure, live, Scratch};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{mpsc, Arc};
use std::thread;
use std::time::{Duration, Instant};

fn model(dl: &Context) -> nn::Sequential {
    let layers = (nn::Linear::new(dl, 4, 8).unwrap(), nn::Tanh::new(dl).unwrap(), nn::Linear::new(dl, 8, 2).unwrap());
    nn::Sequential::new(dl, layers).unwrap()
}

#[test]
fn threads_may_share_what_the_library_lets_them() {
    fn shared<T: Send + Sync + 'static>() {}
    fn sent<T: Send + 'static>() {}
    shared::<Engine>();
    shared::<Tensor>();
    shared::<Variable>();
    shared::<dlcore::Module>();
    shared::<dlcore::Optimizer>();
    shared::<dlcore::Schedule>();
    shared::<dlcore::Loader>();
    shared::<Checkpoint>();
    shared::<Archive>();
    shared::<Graph>();
    shared::<dlcore::graph::Executable>();
    shared::<dlcore::CancelHandle>();
    sent::<Context>();
}

#[test]
fn everything_goes_back() {
    let engine = engine();
    let file = Scratch::new("model.safetensors");
    {
        let dl = context(&engine);
        let model = model(&dl);
        let adam = optim::Adam::new(&model.parameters(), 1e-2).unwrap();
        let cosine = optim::CosineAnnealingLR::new(&adam, 10).unwrap();
        let (x, y) = (dl.random_normal([10, 4]).unwrap(), dl.random_integers([10], 0, 2).unwrap());
        let loader = data::from_tensors(&dl, &x, &y).shuffle().prefetch(2).batch(3).unwrap();
        let checkpoint = Checkpoint::new(&dl).unwrap();
        checkpoint.add_module("model", &model).unwrap().add_optimizer("adam", &adam).unwrap();
        checkpoint.add_schedule("cosine", &cosine).unwrap().add_loader("loader", &loader).unwrap();
        for batch in &loader {
            let (x, y) = batch.unwrap();
            model.call(&x).unwrap().cross_entropy(&y).unwrap().backward().unwrap();
            adam.step().unwrap();
            cosine.step().unwrap();
        }
        checkpoint.save(&file).unwrap();
        checkpoint.load(&file).unwrap();
        assert_eq!(checkpoint.warning(), "");
        let mut memory = Vec::new();
        model.save_to(&mut memory).unwrap();
        model.load_from(&mut &memory[..]).unwrap();
        model.load_bytes(&memory).unwrap();
        assert_eq!(Archive::read_from(&dl, &mut &memory[..]).unwrap().names().len(), 4);
        let snapshot = model.snapshot().unwrap();
        assert_eq!(snapshot.call(&x).unwrap().shape(), [10, 2]);
        assert!(live(&engine).iter().all(|count| *count > 0 || *count == live(&engine)[5]));
    }
    // Dropping `engine` checks the rest.
}

#[test]
fn a_loop_holds_one_turn() {
    let engine = engine();
    let dl = context(&engine);
    let (x, y) = (dl.random_normal([64, 4]).unwrap(), dl.random_integers([64], 0, 2).unwrap());
    let loader = data::from_tensors(&dl, &x, &y).batch(4).unwrap();
    let before = live(&engine);
    for (turn, batch) in loader.iter().enumerate() {
        let (x, _) = batch.unwrap();
        let _twice = &x * 2 + 1;
        assert!(live(&engine)[0] <= before[0] + 5);
        if turn == 7 {
            break;
        }
    }
    assert_eq!(live(&engine), before);
    // It goes on where it stands.
    assert_eq!(loader.iter().count(), 8);
    let escape = || -> dlcore::Result<()> {
        for batch in &loader {
            let (x, _) = batch?;
            x.reshape([5])?;
        }
        Ok(())
    };
    failure(escape(), Code::InvalidArgument, &["reshape"]);
    assert_eq!(live(&engine), before);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for (turn, batch) in loader.iter().enumerate() {
            let _batch = batch.unwrap();
            assert!(turn < 1, "in a turn");
        }
    }));
    assert!(caught.is_err());
    assert_eq!(live(&engine), before);
    let mut batches = loader.iter();
    assert_eq!(batches.by_ref().count(), 13);
    assert!(batches.next().is_none(), "an iterator that ended began an epoch");
}

#[test]
fn a_closed_context_is_an_error() {
    let engine = engine();
    let dl = context(&engine);
    let other = context(&engine);
    let (x, y) = (dl.random_normal([8, 4]).unwrap(), dl.random_integers([8], 0, 2).unwrap());
    let model = model(&dl);
    let adam = optim::Adam::new(&model.parameters(), 1e-2).unwrap();
    let cosine = optim::CosineAnnealingLR::new(&adam, 10).unwrap();
    let loader = data::from_tensors(&dl, &x, &y).batch(4).unwrap();
    let checkpoint = Checkpoint::new(&dl).unwrap();
    let variable = Variable::new(&dl, "v", &x).unwrap();
    let graph = Graph::capture(&dl, "g", |c| Ok(vec![c.input("x", Dtype::F32, "[2]")?.relu()?])).unwrap();
    let executable = graph.compile().unwrap();
    let mut bytes = Vec::new();
    Archive::save_to(&dl, &mut bytes, &[("x", &x)]).unwrap();
    let archive = Archive::from_bytes(&dl, &bytes).unwrap();
    let compiled = dl.compile("f", |[x]: [&Tensor; 1]| Ok([x.relu()?]));
    let cancel = dl.cancel_handle();
    let custom = CustomModule::new("Own").forward(&dl, |_, x| x.relu()).unwrap();
    dl.close();

    let closed = |result: dlcore::Result<()>| failure(result, Code::FailedPrecondition, &["closed"]);
    closed(x.relu().map(drop));
    closed(x.add(&x).map(drop));
    closed((&x + 1).check().map(drop));
    closed(x.to_vec::<f32>().map(drop));
    closed(x.describe().map(drop));
    closed(x.view::<f32>().map(drop));
    closed(x.backward());
    closed(model.call(&x).map(drop));
    closed(custom.call(&x).map(drop));
    closed(model.save("/tmp/never"));
    closed(model.snapshot().map(drop));
    closed(model.find("0.weight").map(drop));
    closed(adam.step());
    closed(adam.learning_rate(0).map(drop));
    closed(cosine.step());
    closed(cosine.count().map(drop));
    closed(cosine.base_rate(0).map(drop));
    closed(optim::StepLR::new(&adam, 1, 0.5).map(drop));
    closed(loader.iter().next().expect("no end of the data").map(drop));
    closed(loader.seek(0, 0));
    closed(checkpoint.save("/tmp/never"));
    closed(variable.value().map(drop));
    closed(variable.gradient().map(drop));
    closed(variable.assign(&x));
    closed(graph.text().map(drop));
    closed(executable.run::<1, 1>([&x]).map(drop));
    closed(archive.tensor("x").map(drop));
    closed(compiled.call([&x]).map(drop));
    assert!(x.to_string().contains("closed"));
    assert!(model.parameters().is_empty());
    assert_eq!((x.shape().to_vec(), x.dtype()), (vec![8, 4], Dtype::F32)); // what needs no context still answers
    cancel.cancel();

    // All of it goes on elsewhere.
    assert_eq!(x.on(&other).to_vec::<f32>().unwrap().len(), 32);
    assert_eq!(model.call(&x.on(&other)).unwrap().shape(), [8, 2]);
    assert_eq!(custom.call(&x.on(&other)).unwrap().shape(), [8, 4]);
    assert_eq!(loader.on(&other).iter().count(), 2);
    assert_eq!(variable.on(&other).value().unwrap().shape(), [8, 4]);
    assert!(graph.on(&other).text().unwrap().contains("relu"));
    model.on(&other).call(&x.on(&other)).unwrap().sum().unwrap().backward().unwrap();
    adam.on(&other).step().unwrap();
    cosine.on(&other).step().unwrap();
    assert_eq!((cosine.kind(), cosine.on(&other).count().unwrap()), ("CosineAnnealingLR", 1));
}

#[test]
fn contexts_close_with_their_last_owner() {
    let engine = engine();
    let dl = context(&engine);
    let model = model(&dl);
    let x = dl.tensor([1f32; 4], [1, 4]).unwrap();
    drop(dl);
    assert_eq!(model.call(&x).unwrap().shape(), [1, 2]); // the model keeps it open
    drop(model);
    failure(x.relu(), Code::FailedPrecondition, &["closed"]);
    // A context in the same place is another one.
    let next = context(&engine);
    failure(x.relu(), Code::FailedPrecondition, &["closed"]);
    failure(next.scalar(1f32).unwrap().add(&x), Code::InvalidArgument, &["different contexts"]);
}

#[test]
fn a_closed_engine_is_an_error() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.tensor([1f32, 2.0], [2]).unwrap();
    engine.close();
    engine.close();
    failure(engine.context("cpu", 0), Code::FailedPrecondition, &[]);
    failure(x.relu(), Code::FailedPrecondition, &[]);
    assert_eq!(x.to_vec::<f32>().unwrap(), [1.0, 2.0]); // what is held can be read
}

#[test]
fn contexts_do_not_mix() {
    let engine = engine();
    let (one, two) = (context(&engine), context(&engine));
    let (a, b) = (one.scalar(1f32).unwrap(), two.scalar(2f32).unwrap());
    failure(a.add(&b), Code::InvalidArgument, &["add", "different contexts"]);
    failure((&a * &b).check(), Code::InvalidArgument, &["multiply", "t.on"]);
    failure(Tensor::stack(&[&a, &b], 0), Code::InvalidArgument, &["stack", "different contexts"]);
    failure(one.call(1, &[Some(&a), Some(&b)], &[], 1), Code::InvalidArgument, &["different contexts"]);
    failure(Variable::new(&one, "v", &b), Code::InvalidArgument, &["another context"]);
    failure(dlcore::autograd::grad(&[&a], &[&b]), Code::InvalidArgument, &["another context"]);
    assert_eq!((&a + &b.on(&one)).item::<f32>().unwrap(), 3.0);
    let elsewhere = Engine::open().unwrap();
    let foreign = elsewhere.context("cpu", 0).unwrap();
    failure(a.on(&foreign).relu(), Code::InvalidArgument, &["engine"]);
}

/// Matrix products without end, on another thread; the answer is what ended them.
fn busy(dl: Context, started: mpsc::Sender<()>) -> dlcore::Error {
    let x = dl.full([512, 512], 0.001).unwrap();
    started.send(()).unwrap();
    loop {
        if let Err(error) = x.matmul(&x) {
            return error;
        }
    }
}

#[test]
fn closing_while_another_thread_runs_is_an_error() {
    for _ in 0..5 {
        let engine = engine();
        let dl = context(&engine);
        let (sender, receiver) = mpsc::channel();
        let runner = thread::spawn(move || busy(dl, sender));
        receiver.recv().unwrap();
        thread::sleep(Duration::from_millis(3));
        engine.close();
        assert_eq!(runner.join().unwrap().code(), Code::FailedPrecondition);
    }
    for _ in 0..5 {
        let engine = engine();
        let dl = context(&engine);
        let x = dl.full([512, 512], 0.001).unwrap();
        let (sender, receiver) = mpsc::channel();
        let runner = thread::spawn(move || {
            sender.send(()).unwrap();
            loop {
                if let Err(error) = x.matmul(&x) {
                    return error;
                }
            }
        });
        receiver.recv().unwrap();
        thread::sleep(Duration::from_millis(3));
        dl.close();
        assert_eq!(runner.join().unwrap().code(), Code::FailedPrecondition);
    }
}

#[test]
fn cancelling_from_another_thread_ends_a_call() {
    let engine = engine();
    let dl = context(&engine);
    let cancel = dl.cancel_handle();
    let (sender, receiver) = mpsc::channel();
    let runner = thread::spawn(move || (busy(dl, sender), Instant::now()));
    receiver.recv().unwrap();
    thread::sleep(Duration::from_millis(3));
    let asked = Instant::now();
    cancel.cancel();
    let (error, ended) = runner.join().unwrap();
    assert_eq!(error.code(), Code::Cancelled);
    assert!(ended.duration_since(asked) < Duration::from_secs(5));
}

#[test]
fn deadlines_pass() {
    let engine = engine();
    let dl = context(&engine);
    dl.set_deadline(Some(Duration::ZERO)).unwrap();
    thread::sleep(Duration::from_millis(2));
    failure(dl.full([4], 1.0), Code::DeadlineExceeded, &[]);
    let restored = dl.set_deadline(None).or_else(|_| dl.set_deadline(None));
    restored.unwrap();
    dl.full([4], 1.0).unwrap();
}

#[test]
fn an_engine_can_be_adopted() {
    let engine = engine();
    let dl = context(&engine);
    let x = dl.scalar(1f32).unwrap();
    // SAFETY: the handle is this process's, and lives.
    let same = unsafe { Engine::adopt(engine.handle()) }.unwrap();
    assert_eq!(same, *engine);
    let there = same.context("cpu", 0).unwrap();
    assert_eq!(x.on(&there).item::<f32>().unwrap(), 1.0);
    same.close(); // is not ours to close
    drop((same, there));
    assert_eq!(x.item::<f32>().unwrap(), 1.0);
    x.relu().unwrap();
    // SAFETY: NULL is refused.
    failure(unsafe { Engine::adopt(std::ptr::null_mut()) }, Code::InvalidArgument, &["NULL"]);
}

#[test]
fn modes_end_with_their_guards() {
    let engine = engine();
    let dl = context(&engine);
    {
        let _inference = dl.inference();
        assert!(!dl.is_recording() && !dl.is_training());
        {
            let _recording = dl.recording();
            assert!(dl.is_recording() && !dl.is_training());
        }
        assert!(!dl.is_recording());
    }
    assert!(dl.is_recording() && dl.is_training());
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _off = dl.no_grad();
        assert!(!dl.is_recording() && dl.is_training());
        panic!("inside");
    }));
    assert!(dl.is_recording());
    let frozen = engine.inference_context("cpu").unwrap();
    assert!(!frozen.is_recording() && !frozen.is_training());
}

/// The system's allocator, counted.
struct Counting(Arc<AtomicI64>, Arc<AtomicI64>);

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.fetch_add(layout.size() as i64, Ordering::SeqCst);
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        self.0.fetch_sub(layout.size() as i64, Ordering::SeqCst);
        System.dealloc(address, layout)
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn memory_comes_from_the_program() {
    let (bytes, drops) = (Arc::<AtomicI64>::default(), Arc::<AtomicI64>::default());
    let counting = || Counting(bytes.clone(), drops.clone());
    failure(Engine::options().threads(-1).open_with_allocator(counting()), Code::InvalidArgument, &["-1"]);
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    let engine = Engine::options().open_with_allocator(counting()).unwrap();
    let x = engine.context("cpu", 0).unwrap().full([1000], 1.0).unwrap();
    assert!(bytes.load(Ordering::SeqCst) >= 4000);
    drop(engine);
    assert_eq!(drops.load(Ordering::SeqCst), 1); // a tensor is alive
    drop(x);
    assert_eq!((bytes.load(Ordering::SeqCst), drops.load(Ordering::SeqCst)), (0, 2));
}
