// SPDX-License-Identifier: Apache-2.0
//! Learning rates that follow the number of steps.

use dlcore::{optim, Checkpoint, Code, Context, Optimizer, Variable};
use dlcore_tests::{context, engine, failure, Scratch};
use std::f64::consts::PI;
use std::thread;

fn variable(dl: &Context, name: &str) -> Variable {
    Variable::trainable(dl, name, &dl.full([2], 1.0).unwrap()).unwrap()
}

fn sgd(dl: &Context, rate: f64) -> optim::SGD {
    optim::SGD::new(&[variable(dl, "w")], rate).unwrap()
}

fn rate(optimizer: &Optimizer, group: usize) -> f64 {
    optimizer.learning_rate(group).unwrap().value().unwrap().item().unwrap()
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-6, "{found} is not {expected}");
}

#[test]
fn cosine_annealing_follows_its_formula() {
    let engine = engine();
    let dl = context(&engine);
    let sgd = sgd(&dl, 0.8);
    let other = variable(&dl, "v");
    sgd.add_group_with(&[other], 0.4, optim::SGDOptions::new()).unwrap();
    let options = optim::CosineAnnealingLROptions::new().eta_min(0.1);
    let cosine = optim::CosineAnnealingLR::with(&sgd, 10, options).unwrap();
    assert_eq!(
        (cosine.kind(), format!("{:?}", *cosine).as_str()),
        ("CosineAnnealingLR", "Schedule(\"CosineAnnealingLR\")")
    );
    for step in 0..=10 {
        assert_eq!(cosine.count().unwrap(), step);
        for (group, base) in [0.8, 0.4].into_iter().enumerate() {
            near(rate(&sgd, group), 0.1 + (base - 0.1) * (1.0 + (PI * step as f64 / 10.0).cos()) / 2.0);
        }
        cosine.step().unwrap();
    }
    // Count and base rate may be assigned; the next step goes on from there.
    cosine.count_variable().unwrap().assign(&dl.scalar(4i64).unwrap()).unwrap();
    cosine.base_rate(1).unwrap().assign(&dl.scalar(0.5f64).unwrap()).unwrap();
    cosine.step().unwrap();
    near(rate(&sgd, 0), 0.45);
    near(rate(&sgd, 1), 0.3);
    failure(cosine.base_rate(2), Code::OutOfRange, &["2"]);
    failure(cosine.base_rate(usize::MAX), Code::OutOfRange, &["-1"]);
}

#[test]
fn attributes_of_every_type_arrive() {
    let engine = engine();
    let dl = context(&engine);
    let after = |steps: i64, sgd: &Optimizer, schedule: dlcore::Schedule| -> f64 {
        (0..steps).for_each(|_| schedule.step().unwrap());
        rate(sgd, 0)
    };
    let a = sgd(&dl, 1.0);
    near(after(4, &a, optim::MultiStepLR::new(&a, [2, 4], 0.5).unwrap().into()), 0.25); // a list
    let a = sgd(&dl, 1.0);
    let linear = || optim::OneCycleLROptions::new().anneal_strategy(optim::OneCycleLRAnnealStrategy::Linear);
    let options = linear().pct_start(0.5).div_factor(4.0).three_phase(true).final_div_factor(10.0);
    let cycle = optim::OneCycleLR::with(&a, 2.0, 11, options).unwrap(); // a choice, a bool
    near(rate(&a, 0), 0.5);
    near(after(4, &a, cycle.clone().into()), 0.5 + 1.5 * 4.0 / 4.5);
    near(after(6, &a, cycle.into()), 0.05);
    let a = sgd(&dl, 1.0);
    drop(optim::OneCycleLR::with(&a, None, 11, linear()).unwrap()); // the highest rate is the group's
    near(rate(&a, 0), 1.0 / 25.0);
}

#[test]
fn wrong_attributes_are_errors() {
    let engine = engine();
    let dl = context(&engine);
    let sgd = sgd(&dl, 0.5);
    let invalid = Code::InvalidArgument;
    failure(optim::CosineAnnealingLR::new(&sgd, 0), invalid, &["cosine_annealing_lr", "t_max is 0"]);
    failure(optim::StepLR::new(&sgd, -3, 0.1), invalid, &["step_lr", "step_size is -3"]);
    failure(optim::ExponentialLR::new(&sgd, f64::NAN), invalid, &["exponential_lr", "gamma"]);
    failure(optim::MultiStepLR::new(&sgd, [4, 2], 0.1), invalid, &["multi_step_lr", "milestones"]);
    failure(optim::MultiStepLR::new(&sgd, [1; 33], 0.1), invalid, &["MultiStepLR: milestones", "33"]);
    failure(optim::OneCycleLR::new(&sgd, f64::INFINITY, 10), invalid, &["one_cycle_lr", "max_lr"]);
    assert_eq!(rate(&sgd, 0), 0.5); // nothing has changed
}

#[test]
fn a_schedule_keeps_its_optimizer_and_context() {
    let engine = engine();
    let dl = context(&engine);
    let sgd = sgd(&dl, 0.5);
    let learning_rate = sgd.learning_rate(0).unwrap();
    let schedule = optim::ExponentialLR::new(&sgd, 0.5).unwrap();
    drop((sgd, dl));
    schedule.step().unwrap();
    near(learning_rate.value().unwrap().item().unwrap(), 0.25);
}

#[test]
fn threads_step_together_and_closing_is_an_error() {
    let engine = engine();
    let dl = context(&engine);
    let sgd = sgd(&dl, 1.0);
    let schedule = optim::ExponentialLR::new(&sgd, 0.99).unwrap();
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let own = schedule.on(&context(&engine));
            thread::spawn(move || (0..50).for_each(|_| own.step().unwrap()))
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    assert_eq!(schedule.count().unwrap(), 200);
    near(rate(&sgd, 0), 0.99f64.powi(200));

    let other = context(&engine);
    let own = schedule.on(&other);
    let runner = thread::spawn(move || loop {
        if let Err(error) = own.step() {
            return error;
        }
    });
    while schedule.count().unwrap() < 210 {
        thread::yield_now();
    }
    other.close();
    assert_eq!(runner.join().unwrap().code(), Code::FailedPrecondition);
    schedule.step().unwrap(); // it goes on elsewhere
}

#[test]
fn a_checkpoint_resumes_it() {
    let engine = engine();
    let dl = context(&engine);
    let file = Scratch::new("schedule.safetensors");
    let run = |save: bool| -> (i64, u64) {
        let sgd = sgd(&dl, 0.8);
        let cosine = optim::CosineAnnealingLR::new(&sgd, 10).unwrap();
        let checkpoint = Checkpoint::new(&dl).unwrap();
        checkpoint.add_optimizer("sgd", &sgd).unwrap().add_schedule("cosine", &cosine).unwrap();
        failure(checkpoint.add_schedule("again", &cosine), Code::AlreadyExists, &["cosine"]);
        failure(checkpoint.add_schedule("a/b", &cosine), Code::InvalidArgument, &["a/b"]);
        if save {
            (0..4).for_each(|_| cosine.step().unwrap());
            checkpoint.save(&file).unwrap();
        } else {
            checkpoint.load(&file).unwrap();
            assert_eq!(cosine.count().unwrap(), 4);
        }
        (0..3).for_each(|_| cosine.step().unwrap());
        near(rate(&sgd, 0), 0.4 * (1.0 + (PI * 0.7).cos()));
        (cosine.count().unwrap(), rate(&sgd, 0).to_bits())
    };
    assert_eq!(run(true), run(false));
}
