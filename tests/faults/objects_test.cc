// SPDX-License-Identifier: Apache-2.0
// Opening, building, saving, loading and reading while memory fails.
#include "faults.h"

namespace dlcore::test {
namespace {

class ObjectFaults : public FaultTest {
 protected:
  ObjectFaults() {
    w_ = f32({3, 4}, range(12));
    b_ = i64({3}, {1, 2, 3});
  }

  dlcore_tensor *w_, *b_;
};

TEST_F(ObjectFaults, Engines) {
  const auto open_and_close = [&](Fault fault) {
    for (int64_t n = 1;; ++n) {
      const bool once = fault == Fault::kHostOnce;
      fail_host_allocation(n, once ? Failing::kOnce : Failing::kFromThere);
      dlcore_error* error = nullptr;
      dlcore_engine* engine = dlcore_engine_open(nullptr, &error);
      dlcore_context* ctx =
          engine == nullptr ? nullptr : dlcore_context_open(engine, "cpu", 1, 0, &error);
      const float one = 1;
      dlcore_tensor* t = ctx == nullptr ? nullptr : dlcore_tensor_f32(ctx, nullptr, 0, &one, 1);
      dlcore_tensor_release(t);
      const dlcore_status status = dlcore_context_status(ctx);
      dlcore_context_close(ctx);
      dlcore_engine_close(engine);
      const bool injected = disarm_host_allocations();
      // With no memory at all there may be no error to say so.
      if (error != nullptr) {
        EXPECT_EQ(dlcore_error_code(error), DLCORE_RESOURCE_EXHAUSTED);
      }
      if (ctx == nullptr && once) {
        EXPECT_NE(error, nullptr);
      }
      if (ctx != nullptr && t == nullptr) {
        EXPECT_EQ(status, DLCORE_RESOURCE_EXHAUSTED);
      }
      dlcore_error_release(error);
      ASSERT_FALSE(HasFailure()) << "allocation " << n;
      if (!injected) break;
    }
  };
  for (Fault fault : {Fault::kHostOnce, Fault::kHostFromThere}) {
    expect_flat([&] { open_and_close(fault); });
  }
}

TEST_F(ObjectFaults, ModulesOptimizersAndSchedules) {
  dlcore_module* model = nullptr;
  dlcore_optimizer* optimizer = nullptr;
  dlcore_schedule* schedule = nullptr;
  std::string first;
  const Steps steps{[&] {
                      dlcore_module* layers[] = {dlcore_linear_layer(ctx_, 4, 5),
                                                 dlcore_relu_layer(ctx_),
                                                 dlcore_linear_layer(ctx_, 5, 2)};
                      model = dlcore_sequential(ctx_, layers, 3);
                      optimizer = dlcore_adam(ctx_, model, 0.1);
                      schedule = dlcore_one_cycle_lr(ctx_, optimizer, 0.2, 10);
                      for (dlcore_module* layer : layers) dlcore_module_release(layer);
                    },
                    [&](bool done) {
                      EXPECT_EQ(model != nullptr && schedule != nullptr, done);
                      dlcore_schedule_release(schedule);
                      dlcore_optimizer_release(optimizer);
                      dlcore_module_release(model);
                      model = nullptr;
                      optimizer = nullptr;
                      schedule = nullptr;
                    }};
  sweep_all(steps, /*tensors=*/false);
  expect_flat([&] { sweep(Fault::kHostOnce, steps); });
}

TEST_F(ObjectFaults, SchedulesStepWhollyOrNotAtAll) {
  dlcore_module* model = linear(2, 2);
  dlcore_optimizer* optimizer = dlcore_sgd(ctx_, model, 0.5);
  dlcore_schedule* schedule = dlcore_exponential_lr(ctx_, optimizer, 0.5);
  dlcore_variable* count = dlcore_schedule_count(ctx_, schedule);
  dlcore_variable* rate = dlcore_optimizer_learning_rate(ctx_, optimizer, 0);
  const auto number = [&](dlcore_variable* v) {
    dlcore_tensor* t = dlcore_variable_read(ctx_, v);
    const double value = read(t)[0];
    dlcore_tensor_release(t);
    return value;
  };
  double before = 0;
  const Steps steps{[&] { dlcore_schedule_step(ctx_, schedule); },
                    [&](bool done) {
                      EXPECT_EQ(number(count), before + (done ? 1 : 0));
                      EXPECT_EQ(number(rate), std::pow(0.5, number(count) + 1));
                      before = number(count);
                    }};
  sweep_all(steps, /*tensors=*/false);
  expect_flat([&] { sweep(Fault::kHostOnce, steps); });
  dlcore_schedule_release(schedule);
  dlcore_optimizer_release(optimizer);
  dlcore_module_release(model);
}

TEST_F(ObjectFaults, FilesAreWholeWhateverFails) {
  const std::string path = file("tensors.safetensors");
  const char* const names[] = {"w", "b"};
  dlcore_tensor* const old_tensors[] = {b_, b_};
  dlcore_tensor* const new_tensors[] = {w_, b_};
  const auto save_old = [&] {
    ASSERT_EQ(dlcore_archive_save(ctx_, path.c_str(), names, old_tensors, 2), DLCORE_OK);
  };
  save_old();
  const std::string old_file = read_file(path);
  dlcore_archive_save(ctx_, path.c_str(), names, new_tensors, 2);
  const std::string new_file = read_file(path);
  save_old();
  const Steps saving{[&] { dlcore_archive_save(ctx_, path.c_str(), names, new_tensors, 2); },
                     [&](bool done) {
                       EXPECT_EQ(read_file(path), done ? new_file : old_file);
                       size_t files = 0;
                       for (const auto& entry : std::filesystem::directory_iterator(directory_))
                         files += entry.is_regular_file();
                       EXPECT_EQ(files, 1u) << "a temporary file is left";
                       save_old();
                     }};
  sweep_all(saving, /*tensors=*/false);
  expect_flat([&] { sweep(Fault::kHostOnce, saving); });

  dlcore_tensor* read_back = nullptr;
  dlcore_archive* archive = nullptr;
  const auto afterwards = [&](bool done) {
    EXPECT_EQ(read_back != nullptr, done);
    if (done) {
      EXPECT_EQ(read(read_back), Doubles({1, 2, 3}));
    }
    dlcore_tensor_release(read_back);
    dlcore_archive_release(archive);
    archive = nullptr;
    read_back = nullptr;
  };
  const Steps loading{[&] {
                        archive = dlcore_archive_open(ctx_, path.c_str());
                        read_back = dlcore_archive_tensor(ctx_, archive, "w");
                      },
                      afterwards};
  sweep_all(loading, /*tensors=*/false);
  expect_flat([&] { sweep(Fault::kHostOnce, loading); });
  sweep_all({[&] {
               archive = dlcore_archive_open_buffer(ctx_, old_file.data(), old_file.size());
               read_back = dlcore_archive_tensor(ctx_, archive, "w");
             },
             afterwards},
            /*tensors=*/false);
}

TEST_F(ObjectFaults, ModulesLoadAllOrNothing) {
  const std::string path = file("model.safetensors");
  const auto make = [&] { return sequential({linear(30, 20), linear(20, 3)}); };
  dlcore_module *source = make(), *target = make();
  ASSERT_EQ(dlcore_module_save(ctx_, source, path.c_str()), DLCORE_OK);
  const auto values = [&](dlcore_module* module) {
    dlcore_scope* scope = dlcore_scope_open(ctx_);
    std::string all;
    for (int64_t i = 0; i < dlcore_module_variable_count(module); ++i)
      all += bytes_of(dlcore_module_variable(ctx_, module, i));
    dlcore_scope_close(ctx_, scope);
    return all;
  };
  const std::string wanted = values(source), before = values(target);
  ASSERT_NE(wanted, before);
  const std::string backup = file("before.safetensors");
  ASSERT_EQ(dlcore_module_save(ctx_, target, backup.c_str()), DLCORE_OK);
  const Steps steps{[&] { dlcore_module_load(ctx_, target, path.c_str()); },
                    [&](bool done) {
                      EXPECT_EQ(values(target), done ? wanted : before);
                      if (done) dlcore_module_load(ctx_, target, backup.c_str());
                    }};
  sweep_all(steps);
  expect_flat([&] { sweep(Fault::kHostOnce, steps); });
  const std::string saved = read_file(backup);
  sweep_all({[&] { dlcore_module_save(ctx_, target, backup.c_str()); },
             [&](bool) { EXPECT_EQ(read_file(backup), saved); }},
            /*tensors=*/false);
}

// A batch that could not be made is the next one again.
TEST_F(ObjectFaults, LoadersLoseNoBatch) {
  dlcore_tensor* samples = f32({40, 20}, range(800));
  Doubles numbers = range(40);
  dlcore_tensor* labels = i64({40}, numbers);
  dlcore_loader* loader =
      dlcore_loader_from_tensors(ctx_, samples, labels, 6, DLCORE_LOADER_SHUFFLE);
  const auto epoch = [&](int64_t number) {
    dlcore_scope* scope = dlcore_scope_open(ctx_);
    dlcore_loader_seek(ctx_, loader, number, 0);
    Doubles all;
    dlcore_tensor *x, *y;
    while (dlcore_loader_next(ctx_, loader, &x, &y) != 0) {
      for (double v : read(y)) all.push_back(v);
    }
    dlcore_scope_close(ctx_, scope);
    return all;
  };
  int64_t number = 1;
  Doubles seen, wanted = epoch(number);
  dlcore_loader_seek(ctx_, loader, number, 0);
  dlcore_tensor *x = nullptr, *y = nullptr;
  int32_t more = 0;
  const Steps steps{[&] { more = dlcore_loader_next(ctx_, loader, &x, &y); },
                    [&](bool done) {
                      if (!done) return;
                      if (more != 0) {
                        for (double v : read(y)) seen.push_back(v);
                        dlcore_tensor_release(x);
                        dlcore_tensor_release(y);
                        return;
                      }
                      EXPECT_EQ(seen, wanted);
                      seen.clear();
                      wanted = epoch(++number);
                      dlcore_loader_seek(ctx_, loader, number, 0);
                    }};
  for (int i = 0; i < 20; ++i) {
    for (Fault fault : kFaults) sweep(fault, steps);
  }
  expect_flat([&] { sweep(Fault::kHostOnce, steps); });
  dlcore_loader_release(loader);

  // One that could not be opened leaves no trace in how the next one shuffles.
  std::vector<Doubles> orders;
  for (bool disturbed : {false, true}) {
    dlcore_context* ctx = open(5);
    std::swap(ctx, ctx_);
    samples = f32({40, 1}, numbers);
    labels = i64({40}, numbers);
    if (disturbed) {
      loader = nullptr;
      for (int64_t n = 1; loader == nullptr; ++n) {
        fail_host_allocation(n, Failing::kOnce);
        loader = dlcore_loader_from_tensors(ctx_, samples, labels, 6, DLCORE_LOADER_SHUFFLE);
        disarm_host_allocations();
        dlcore_context_clear_error(ctx_);
      }
    } else {
      loader = dlcore_loader_from_tensors(ctx_, samples, labels, 6, DLCORE_LOADER_SHUFFLE);
    }
    orders.push_back(epoch(0));
    std::swap(ctx, ctx_);
    dlcore_context_close(ctx);
  }
  EXPECT_EQ(orders[0], orders[1]);
}

// Images as they are, labels through gzip, whose library asks for memory of its own.
TEST_F(ObjectFaults, DataSets) {
  std::string images("\0\0\x08\x03\0\0\0\x04\0\0\0\x02\0\0\0\x03", 16);
  for (char c = 0; c < 24; ++c) images.push_back(c);
  write_file(file("train-images-idx3-ubyte"), images);
  // 00 00 08 01  00 00 00 04  03 01 02 00
  static const unsigned char kLabels[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00,
                                          0x02, 0x03, 0x63, 0x60, 0xe0, 0x60, 0x64, 0x60,
                                          0x60, 0x60, 0x61, 0x66, 0x64, 0x62, 0x00, 0x00,
                                          0x43, 0x93, 0xb8, 0xab, 0x0c, 0x00, 0x00, 0x00};
  write_file(file("train-labels-idx1-ubyte.gz"),
             std::string(reinterpret_cast<const char*>(kLabels), sizeof kLabels));
  const std::string source = "idx:" + file("train");
  dlcore_loader* loader = nullptr;
  dlcore_tensor *x = nullptr, *y = nullptr;
  const Steps steps{[&] {
                      loader = dlcore_loader_open(ctx_, source.c_str(), 4, 0);
                      dlcore_loader_next(ctx_, loader, &x, &y);
                    },
                    [&](bool done) {
                      EXPECT_EQ(loader != nullptr && y != nullptr, done);
                      if (done) {
                        EXPECT_EQ(read(y), Doubles({3, 1, 2, 0}));
                      }
                      dlcore_tensor_release(x);
                      dlcore_tensor_release(y);
                      dlcore_loader_release(loader);
                      loader = nullptr;
                      x = y = nullptr;
                    }};
  sweep_all(steps, /*tensors=*/false);
  expect_flat([&] { sweep(Fault::kHostOnce, steps); });
}

TEST_F(ObjectFaults, Graphs) {
  dlcore_capture_begin(ctx_, "g");
  dlcore_tensor* x = dlcore_capture_input(ctx_, "x", DLCORE_F32, "[B, 3*C]");
  dlcore_tensor* sum[] = {
      dlcore_add(ctx_, dlcore_exp(ctx_, x), dlcore_capture_constant(ctx_, f32({}, {2})))};
  dlcore_graph* graph = dlcore_capture_end(ctx_, sum, 1);
  std::string text(static_cast<size_t>(dlcore_graph_to_text(ctx_, graph, nullptr, 0)), '\0');
  dlcore_graph_to_text(ctx_, graph, text.data(), static_cast<int64_t>(text.size()));
  dlcore_graph* parsed = nullptr;
  const auto afterwards = [&](bool done) {
    EXPECT_EQ(parsed != nullptr, done);
    dlcore_graph_release(parsed);
    parsed = nullptr;
  };
  const Steps parsing{[&] {
                        parsed = dlcore_graph_parse(ctx_, text.data(),
                                                    static_cast<int64_t>(text.size()) - 1);
                      },
                      afterwards};
  sweep_all(parsing, /*tensors=*/false);
  expect_flat([&] { sweep(Fault::kHostOnce, parsing); });
  for (const char* pass : {"dce", "cse"}) {
    sweep_all({[&] { parsed = dlcore_graph_apply(ctx_, graph, pass); }, afterwards},
              /*tensors=*/false);
  }
  std::string again(text.size(), '\0');
  int64_t size = 0;
  sweep_all({[&] {
               size = dlcore_graph_to_text(ctx_, graph, again.data(),
                                           static_cast<int64_t>(again.size()));
             },
             [&](bool done) {
               EXPECT_EQ(size, done ? static_cast<int64_t>(text.size()) : -1);
               if (done) {
                 EXPECT_EQ(again, text);
               }
             }},
            /*tensors=*/false);
  dlcore_graph_release(graph);
}

// A level that could not be opened is not open, so that the ones below can be closed.
TEST_F(ObjectFaults, TransformLevels) {
  dlcore_tensor* x = f32({4, 3}, range(12));
  dlcore_tensor* y = nullptr;
  const Steps steps{[&] {
                      dlcore_transform* outer = dlcore_jvp_open(ctx_);
                      dlcore_transform* inner = dlcore_vmap_open(ctx_, 4);
                      dlcore_tensor* lifted =
                          dlcore_vmap_lift(ctx_, inner, dlcore_jvp_lift(ctx_, outer, x, x), 0);
                      dlcore_tensor* sum = dlcore_sum(ctx_, dlcore_tanh(ctx_, lifted));
                      y = dlcore_jvp_tangent(ctx_, outer, dlcore_vmap_lower(ctx_, inner, sum, 0));
                      dlcore_transform_close(ctx_, inner);
                      dlcore_transform_close(ctx_, outer);
                    },
                    [&](bool done) {
                      EXPECT_EQ(y != nullptr, done);
                      if (done) {
                        EXPECT_EQ(read(y).size(), 4u);
                      }
                      // A capture is refused while a level is open.
                      EXPECT_EQ(dlcore_capture_begin(ctx_, "g"), DLCORE_OK)
                          << dlcore_context_error_message(ctx_);
                      dlcore_capture_abort(ctx_);
                      y = nullptr;
                    }};
  sweep_all(steps, /*tensors=*/false);
}

TEST_F(ObjectFaults, VariablesAndSeeds) {
  dlcore_variable* v = nullptr;
  const Steps steps{[&] {
                      v = dlcore_variable_create(ctx_, "a name that is longer than a short string",
                                                 w_, DLCORE_VARIABLE_TRAINABLE);
                      dlcore_variable_assign(ctx_, v, w_);
                      dlcore_variable_accumulate(ctx_, v, w_);
                      dlcore_variable_set_gradient(ctx_, v, w_);
                    },
                    [&](bool done) {
                      if (done) {
                        EXPECT_EQ(read(v), Doubles({0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}));
                      }
                      dlcore_variable_release(v);
                      v = nullptr;
                    }};
  sweep_all(steps, /*tensors=*/false);

  // A seed that could not be set is not in use.
  const int64_t shape[] = {3};
  const auto draw = [&](uint64_t seed) {
    dlcore_context_set_seed(ctx_, seed);
    return read(dlcore_random_uniform(ctx_, shape, 1));
  };
  const Doubles of_1 = draw(1), of_2 = draw(2);
  draw(1);
  const Steps seeding{[&] { dlcore_context_set_seed(ctx_, 2); },
                      [&](bool done) {
                        EXPECT_EQ(read(dlcore_random_uniform(ctx_, shape, 1)),
                                  done ? of_2 : draw(1));
                        dlcore_context_set_seed(ctx_, 1);
                      }};
  for (Fault fault : kFaults) sweep(fault, seeding);
}

}  // namespace
}  // namespace dlcore::test
