// SPDX-License-Identifier: Apache-2.0
// Many threads on one engine, each with a context of its own. Results are those of one thread;
// built with ThreadSanitizer, the program also finds what is not ordered.
#include "threads.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

namespace dlcore::test {
namespace {

TEST_F(ThreadsTest, ThirtyTwoCallersOfOneEngine) {
  // As many as never run at once, each training a model of its own.
  std::vector<std::vector<float>> losses(32);
  in_threads(32, [&](size_t i, dlcore_context* ctx) {
    Model model(ctx);
    for (int k = 0; k < 3; ++k) losses[i].push_back(model.step(ctx));
  });
  Model model(ctx_);
  std::vector<float> alone;
  for (int k = 0; k < 3; ++k) alone.push_back(model.step(ctx_));
  for (const auto& one : losses) EXPECT_EQ(one, alone);
}

TEST_F(ThreadsTest, LargeOpsShareThePool) {
  // Large enough for the pool; who finds it busy computes alone, with the same bits.
  const auto work = [](dlcore_context* ctx) {
    const int64_t shape[] = {96, 160};
    dlcore_tensor* x = dlcore_random_normal(ctx, shape, 2);
    dlcore_tensor* y = dlcore_softmax(ctx, dlcore_gelu(ctx, x), -1);
    const int64_t axes[] = {1, 0};
    dlcore_tensor* z = dlcore_matmul(ctx, y, dlcore_permute_dims(ctx, x, axes, 2));
    return elements(ctx, dlcore_sum(ctx, dlcore_exp(ctx, z)));
  };
  const std::vector<float> alone = work(ctx_);
  in_threads(8, [&](size_t, dlcore_context* ctx) {
    for (int k = 0; k < 5; ++k) {
      dlcore_context_set_seed(ctx, kSeed);
      EXPECT_EQ(work(ctx), alone);
    }
  });
}

TEST_F(ThreadsTest, SnapshotsWhileAnOptimizerSteps) {
  // With equal gradients all elements stay equal, in whatever moment they are read.
  constexpr int64_t kCount = 5000;
  const int64_t shape[] = {kCount};
  std::vector<dlcore_variable*> variables;
  for (const char* name : {"a", "b"}) {
    variables.push_back(dlcore_variable_create(ctx_, name, dlcore_full(ctx_, shape, 1, 1),
                                               DLCORE_VARIABLE_TRAINABLE));
  }
  const int32_t adam = dlcore_catalogue_find(ctx_, DLCORE_CATALOGUE_OPTIMIZERS, "Adam");
  const Words rate = Words().f(0.125);
  dlcore_optimizer* optimizer =
      dlcore_optimizer_create(ctx_, adam, nullptr, 0, rate.data(), rate.size());
  dlcore_optimizer_add_group(ctx_, optimizer, variables.data(), 2, nullptr, 0);
  dlcore_tensor* gradient = dlcore_full(ctx_, shape, 1, 1);
  std::atomic<bool> over{false};
  std::thread trainer([&] {
    for (int i = 0; i < 60; ++i) {
      for (dlcore_variable* v : variables) dlcore_variable_set_gradient(ctx_, v, gradient);
      EXPECT_EQ(dlcore_optimizer_step(ctx_, optimizer), DLCORE_OK);
      std::this_thread::yield();
    }
    over = true;
  });
  in_threads(3, [&](size_t, dlcore_context* ctx) {
    do {
      dlcore_scope* scope = dlcore_scope_open(ctx);
      for (dlcore_variable* v : variables) {
        const std::vector<float> now = elements(ctx, dlcore_variable_read(ctx, v));
        EXPECT_EQ(std::count(now.begin(), now.end(), now[0]), kCount);
      }
      dlcore_scope_close(ctx, scope);
    } while (!over);
  });
  trainer.join();
}

TEST_F(ThreadsTest, SavingAndCallingAModelThatIsBeingTrained) {
  Model model(ctx_);
  const std::string path = file("model");
  model.step(ctx_);
  std::atomic<bool> over{false};
  std::thread trainer([&] {
    for (int i = 0; i < 20; ++i) model.step(ctx_);
    over = true;
  });
  in_threads(2, [&](size_t i, dlcore_context* ctx) {
    const std::string mine = path + std::to_string(i);
    do {
      dlcore_scope* scope = dlcore_scope_open(ctx);
      EXPECT_EQ(dlcore_module_save(ctx, model.module(), mine.c_str()), DLCORE_OK);
      dlcore_module* copy = Model::make_module(ctx);
      EXPECT_EQ(dlcore_module_load(ctx, copy, mine.c_str()), DLCORE_OK);
      EXPECT_NE(dlcore_module_call(ctx, model.module(), model.x(ctx)), nullptr);
      dlcore_module_release(copy);
      dlcore_scope_close(ctx, scope);
    } while (!over);
  });
  trainer.join();
}

TEST_F(ThreadsTest, GradientsAddUpFromManyThreads) {
  const int64_t shape[] = {600};
  dlcore_variable* v =
      dlcore_variable_create(ctx_, "v", dlcore_full(ctx_, shape, 1, 3), DLCORE_VARIABLE_TRAINABLE);
  dlcore_variable* w =
      dlcore_variable_create(ctx_, "w", dlcore_full(ctx_, shape, 1, 2), DLCORE_VARIABLE_TRAINABLE);
  in_threads(6, [&](size_t i, dlcore_context* ctx) {
    for (int k = 0; k < 10; ++k) {
      dlcore_scope* scope = dlcore_scope_open(ctx);
      // The order in which slots are met differs between threads.
      dlcore_tensor* a = dlcore_variable_read(ctx, i % 2 == 0 ? v : w);
      dlcore_tensor* b = dlcore_variable_read(ctx, i % 2 == 0 ? w : v);
      EXPECT_EQ(dlcore_backward(ctx, dlcore_sum(ctx, dlcore_multiply(ctx, a, b))), DLCORE_OK);
      dlcore_scope_close(ctx, scope);
    }
  });
  EXPECT_EQ(elements(ctx_, dlcore_variable_gradient(ctx_, v)), std::vector<float>(600, 120));
  EXPECT_EQ(elements(ctx_, dlcore_variable_gradient(ctx_, w)), std::vector<float>(600, 180));
}

TEST_F(ThreadsTest, HistoryIsWalkedByManyThreads) {
  const int64_t shape[] = {500};
  for (int32_t retain : {1, 0}) {
    dlcore_tensor* x = dlcore_autograd_watch(ctx_, dlcore_full(ctx_, shape, 1, 0.5));
    dlcore_tensor* y = dlcore_sum(ctx_, dlcore_exp(ctx_, dlcore_sin(ctx_, x)));
    dlcore_grad_options options;
    dlcore_grad_options_init(&options, sizeof options);
    options.retain_graph = retain;
    const float expected = std::cos(0.5f) * std::exp(std::sin(0.5f));
    std::atomic<int> answers{0};
    in_threads(4, [&](size_t, dlcore_context* ctx) {
      for (int k = 0; k < 5; ++k) {
        dlcore_tensor* g = nullptr;
        const dlcore_status status = dlcore_autograd_grad(ctx, &y, 1, &x, 1, nullptr, &options, &g);
        if (status == DLCORE_OK) {
          ++answers;
          for (float e : elements(ctx, g)) EXPECT_NEAR(e, expected, 1e-5);
        } else {  // somebody has freed it
          EXPECT_EQ(retain, 0);
          EXPECT_EQ(status, DLCORE_FAILED_PRECONDITION) << dlcore_context_error_message(ctx);
          dlcore_context_clear_error(ctx);
        }
      }
    });
    EXPECT_GE(answers, retain != 0 ? 20 : 1);
  }
}

TEST_F(ThreadsTest, ExecutablesRunConcurrently) {
  dlcore_variable* count = dlcore_variable_create(ctx_, "count", i64({1}, {0}), /*flags=*/0);
  dlcore_capture_begin(ctx_, "count");
  dlcore_tensor* x = dlcore_capture_input(ctx_, "x", DLCORE_F32, "[N]");
  dlcore_tensor* next = dlcore_add_scalar_i64(ctx_, dlcore_variable_read(ctx_, count), 1);
  dlcore_variable_assign(ctx_, count, next);
  dlcore_tensor* outputs[] = {dlcore_sum(ctx_, dlcore_exp(ctx_, x)), next};
  dlcore_graph* graph = dlcore_capture_end(ctx_, outputs, 2);
  dlcore_executable* e = dlcore_graph_compile(ctx_, graph, nullptr, 0);
  ASSERT_EQ(dlcore_ok(ctx_), 1) << dlcore_context_error_message(ctx_);
  std::mutex lock;
  std::vector<double> seen;
  in_threads(6, [&](size_t i, dlcore_context* ctx) {
    const int64_t shape[] = {static_cast<int64_t>(100 + i)};
    dlcore_tensor* in = dlcore_full(ctx, shape, 1, 0);
    for (int k = 0; k < 20; ++k) {
      dlcore_tensor* out[2];
      ASSERT_EQ(dlcore_executable_run(ctx, e, &in, 1, out, 2), DLCORE_OK);
      EXPECT_EQ(elements(ctx, out[0])[0], static_cast<float>(100 + i));
      int64_t number = 0;
      dlcore_tensor_read_i64(ctx, out[1], &number, 1);
      const std::lock_guard<std::mutex> guard(lock);
      seen.push_back(static_cast<double>(number));
    }
  });
  std::sort(seen.begin(), seen.end());
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<double>(i + 1));
  EXPECT_EQ(read(count), Doubles({120}));
}

TEST_F(ThreadsTest, CapturesOfOneModelInManyThreads) {
  Model model(ctx_);
  const float alone = model.forward(ctx_);
  in_threads(4, [&](size_t, dlcore_context* ctx) {
    for (int k = 0; k < 3; ++k) {
      dlcore_scope* scope = dlcore_scope_open(ctx);
      dlcore_capture_begin(ctx, "g");
      dlcore_tensor* x = dlcore_capture_input(ctx, "x", DLCORE_F32, "[B, 12]");
      dlcore_tensor* y = dlcore_capture_input(ctx, "y", DLCORE_I64, "[B]");
      dlcore_tensor* out[] = {model.loss(ctx, x, y)};
      dlcore_graph* graph = dlcore_capture_end(ctx, out, 1);
      dlcore_executable* e = dlcore_graph_compile(ctx, graph, nullptr, 0);
      dlcore_tensor* in[] = {model.x(ctx), model.y(ctx)};
      EXPECT_EQ(dlcore_executable_run(ctx, e, in, 2, out, 1), DLCORE_OK)
          << dlcore_context_error_message(ctx);
      EXPECT_EQ(elements(ctx, out[0])[0], alone);
      dlcore_executable_release(e);
      dlcore_graph_release(graph);
      dlcore_scope_close(ctx, scope);
    }
  });
}

TEST_F(ThreadsTest, CancellationsFromAnotherThread) {
  std::atomic<bool> over{false};
  std::vector<dlcore_context*> contexts;
  for (int i = 0; i < 3; ++i) contexts.push_back(open(1));
  std::thread canceller([&] {
    while (!over) {
      for (dlcore_context* ctx : contexts) dlcore_context_cancel(ctx);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  std::atomic<int> cancelled{0};
  run_threads(3, [&](size_t i) {
    dlcore_context* ctx = contexts[i];
    const int64_t shape[] = {60, 500};
    for (int k = 0; k < 300 || (cancelled == 0 && k < 300000); ++k) {
      dlcore_scope* scope = dlcore_scope_open(ctx);
      dlcore_sum(ctx, dlcore_softmax(ctx, dlcore_full(ctx, shape, 2, 1), -1));
      const dlcore_status status = dlcore_context_status(ctx);
      EXPECT_TRUE(status == DLCORE_OK || status == DLCORE_CANCELLED);
      cancelled += status == DLCORE_CANCELLED;
      dlcore_scope_close(ctx, scope);
      dlcore_context_clear_error(ctx);
    }
  });
  over = true;
  canceller.join();
  EXPECT_GT(cancelled, 0);
  for (dlcore_context* ctx : contexts) dlcore_context_close(ctx);
}

TEST_F(ThreadsTest, AnEngineIsClosedWhileItWorks) {
  for (int round = 0; round < 5; ++round) {
    dlcore_engine* engine = dlcore_engine_open(&options_, nullptr);
    std::atomic<int> working{0};
    std::thread closer([&] {
      while (working < 4) std::this_thread::yield();
      dlcore_engine_close(engine);
    });
    // The contexts keep what they need of it.
    std::vector<dlcore_context*> contexts;
    for (int i = 0; i < 4; ++i)
      contexts.push_back(dlcore_context_open(engine, "cpu", 1, 0, nullptr));
    run_threads(4, [&](size_t i) {
      dlcore_context* ctx = contexts[i];
      const int64_t shape[] = {100, 200};
      for (;;) {
        dlcore_scope* scope = dlcore_scope_open(ctx);
        dlcore_sum(ctx, dlcore_softmax(ctx, dlcore_full(ctx, shape, 2, 1), -1));
        ++working;
        const dlcore_status status = dlcore_context_status(ctx);
        dlcore_context_clear_error(ctx);
        dlcore_scope_close(ctx, scope);
        if (status == DLCORE_OK) continue;
        EXPECT_EQ(status, DLCORE_FAILED_PRECONDITION);
        break;
      }
      dlcore_context_close(ctx);
    });
    closer.join();
  }
}

TEST_F(ThreadsTest, MemoryFromManyThreads) {
  std::atomic<bool> over{false};
  std::thread observer([&] {
    while (!over) {
      EXPECT_GE(statistics().allocations, statistics().source_allocations);
      dlcore_engine_trim(engine_);
      std::this_thread::yield();
    }
  });
  in_threads(6, [&](size_t i, dlcore_context* ctx) {
    for (int64_t k = 0; k < 200; ++k) {
      const int64_t shape[] = {(k * 37 + static_cast<int64_t>(i) * 101) % 3000};
      dlcore_tensor* t = dlcore_full(ctx, shape, 1, static_cast<double>(i));
      const std::vector<float> e = elements(ctx, t);
      EXPECT_EQ(std::count(e.begin(), e.end(), static_cast<float>(i)), shape[0]);
      dlcore_tensor_release(t);
    }
  });
  over = true;
  observer.join();
}

TEST_F(ThreadsTest, TensorsAreHandedOnAndReleasedElsewhere) {
  // Made here, used and released there, while here goes on.
  std::mutex lock;
  std::vector<dlcore_tensor*> queue;
  std::atomic<bool> over{false};
  std::vector<std::thread> users;
  std::atomic<int> used{0};
  for (int i = 0; i < 3; ++i) {
    users.emplace_back([&] {
      dlcore_context* ctx = open(1);
      for (;;) {
        dlcore_tensor* t = nullptr;
        {
          const std::lock_guard<std::mutex> guard(lock);
          if (!queue.empty()) {
            t = queue.back();
            queue.pop_back();
          } else if (over) {
            break;
          }
        }
        if (t == nullptr) continue;
        dlcore_tensor* sum = dlcore_sum(ctx, t);
        EXPECT_EQ(elements(ctx, sum)[0], 100);
        dlcore_tensor_release(sum);
        dlcore_tensor_release(t);
        ++used;
      }
      dlcore_context_close(ctx);
    });
  }
  const int64_t shape[] = {100};
  dlcore_scope* scope = dlcore_scope_open(ctx_);
  for (int i = 0; i < 300; ++i) {
    dlcore_tensor* t = dlcore_full(ctx_, shape, 1, 1);
    dlcore_tensor_retain(t);
    {
      const std::lock_guard<std::mutex> guard(lock);
      queue.push_back(t);
    }
    if (i % 50 == 0) dlcore_scope_reset(ctx_, scope);
  }
  dlcore_scope_close(ctx_, scope);
  over = true;
  for (std::thread& user : users) user.join();
  EXPECT_EQ(used, 300);
}

TEST_F(ThreadsTest, TheLastTwoReferencesAreGivenUpAtOnce) {
  // One is the scope's, or the context's: neither may be left with what is gone.
  constexpr int kRounds = 3000;
  std::vector<dlcore_tensor*> tensors(kRounds);
  std::vector<dlcore_variable*> variables(kRounds);
  dlcore_scope* scope = dlcore_scope_open(ctx_);
  for (int i = 0; i < kRounds; ++i) {
    const auto k = static_cast<size_t>(i);
    tensors[k] = dlcore_tensor_scalar_f32(ctx_, 1);
    variables[k] = dlcore_variable_create(ctx_, "v", tensors[k], 0);
    dlcore_tensor_retain(tensors[k]);
    dlcore_variable_retain(variables[k]);
  }
  std::array<std::atomic<size_t>, 2> done{};
  run_threads(2, [&](size_t me) {
    for (size_t k = 0; k < kRounds; ++k) {
      done[me] = k;
      while (done[1 - me] < k) {
      }
      dlcore_tensor_release(tensors[k]);
      dlcore_variable_release(variables[k]);
    }
    done[me] = kRounds;
  });
  const dlcore_engine_statistics s = statistics();
  EXPECT_EQ(s.live_tensors, 0);
  EXPECT_EQ(s.live_variables, 0);
  // What lives in the same slots now is not touched by the scope's end.
  dlcore_scope_close(ctx_, scope);
  std::vector<dlcore_tensor*> later(kRounds);
  dlcore_scope* inner = dlcore_scope_open(ctx_);
  for (dlcore_tensor*& t : later) t = dlcore_tensor_scalar_f32(ctx_, 2);
  for (dlcore_tensor* t : later) EXPECT_EQ(elements(ctx_, t)[0], 2);
  dlcore_scope_close(ctx_, inner);
}

TEST_F(ThreadsTest, ALoaderGivesEachBatchOnce) {
  dlcore_tensor* samples = f32({90, 2}, range(180));
  dlcore_tensor* labels = i64({90}, range(90));
  dlcore_loader* loader =
      dlcore_loader_from_tensors(ctx_, samples, labels, 1, DLCORE_LOADER_SHUFFLE);
  std::mutex lock;
  std::vector<int64_t> seen;
  in_threads(3, [&](size_t, dlcore_context* ctx) {
    for (int k = 0; k < 30; ++k) {
      dlcore_tensor *x, *y;
      ASSERT_EQ(dlcore_loader_next(ctx, loader, &x, &y), 1) << dlcore_context_error_message(ctx);
      int64_t label = -1;
      dlcore_tensor_read_i64(ctx, y, &label, 1);
      EXPECT_EQ(elements(ctx, x)[0], static_cast<float>(2 * label));
      const std::lock_guard<std::mutex> guard(lock);
      seen.push_back(label);
    }
  });
  std::sort(seen.begin(), seen.end());
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<int64_t>(i));
}

TEST_F(ThreadsTest, ContextsAndEnginesComeAndGo) {
  run_threads(6, [&](size_t i) {
    for (int k = 0; k < 10; ++k) {
      dlcore_engine* engine = i % 2 == 0 ? engine_ : dlcore_engine_open(&options_, nullptr);
      dlcore_context* ctx = dlcore_context_open(engine, "cpu", 1, 0, nullptr);
      const int64_t shape[] = {500};
      EXPECT_EQ(elements(ctx, dlcore_sum(ctx, dlcore_full(ctx, shape, 1, 1)))[0], 500);
      dlcore_context_close(ctx);
      if (engine != engine_) dlcore_engine_close(engine);
    }
  });
}

}  // namespace
}  // namespace dlcore::test
