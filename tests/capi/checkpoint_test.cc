// SPDX-License-Identifier: Apache-2.0
// dlcore/checkpoint.h: a training that is resumed has the bits of one that was never interrupted.
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "module_support.h"
#include "resumable_training.h"

namespace dlcore::test {
namespace {

using Json = nlohmann::json;

class Checkpoint : public ModuleTest {
 protected:
  // Everything that a training has, as numbers.
  std::vector<Doubles> state(const Training& t) {
    std::vector<Doubles> all = values(t.model);
    for (int64_t i = 0; i < dlcore_optimizer_variable_count(t.optimizer); ++i) {
      all.push_back(read(dlcore_optimizer_variable(ctx_, t.optimizer, i)));
    }
    all.push_back(read(dlcore_context_generator(ctx_)));
    all.push_back({static_cast<double>(dlcore_loader_epoch(t.loader))});
    return all;
  }

  // The header of a safetensors file taken apart and put together again.
  static std::string edited(const std::string& bytes, const std::function<void(Json&)>& edit) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    Json header = Json::parse(bytes.substr(8, length));
    edit(header);
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    length = text.size();
    std::string result(reinterpret_cast<const char*>(&length), sizeof length);
    uint64_t old = 0;
    std::memcpy(&old, bytes.data(), sizeof old);
    return result + text + bytes.substr(8 + old);
  }
  // One number of an i64 tensor replaced.
  static std::string with_number(std::string bytes, const char* tensor, size_t index,
                                 int64_t value) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    const Json header = Json::parse(bytes.substr(8, length));
    const uint64_t at = header[tensor]["data_offsets"][0];
    std::memcpy(bytes.data() + 8 + length + at + 8 * index, &value, sizeof value);
    return bytes;
  }

  static dlcore_status append(void* to, const void* data, uint64_t size) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(data), size);
    return DLCORE_OK;
  }
  struct Source {
    std::string bytes;
    size_t at = 0;
  };
  // Hands out little at a time.
  static int64_t take(void* from, void* buffer, uint64_t size) {
    auto* source = static_cast<Source*>(from);
    const size_t n = std::min<size_t>({size, source->bytes.size() - source->at, 777});
    std::memcpy(buffer, source->bytes.data() + source->at, n);
    source->at += n;
    return static_cast<int64_t>(n);
  }
};

TEST_F(Checkpoint, ATrainingGoesOnWithEveryBit) {
  for (const char* name : {"SGD", "Adam", "AdamW"}) {
    for (const int before : {0, 3, 7, 20}) {  // an epoch has 7 batches
      std::vector<Doubles> straight, saved;
      {
        Training t(ctx_, name, 0);
        t.run(before);
        ASSERT_EQ(dlcore_checkpoint_save(ctx_, t.checkpoint, file("c").c_str()), DLCORE_OK);
        straight = {t.run(17)};
        for (const Doubles& v : state(t)) straight.push_back(v);
      }
      // As in another process: another engine, other seeds, other numbers of objects.
      for (const int64_t prefetch : {0, 3}) {
        dlcore_engine* const old_engine = engine_;
        dlcore_context* const old = ctx_;
        dlcore_engine_options options = engine_options();
        options.threads = 1 + static_cast<int32_t>(prefetch);
        engine_ = dlcore_engine_open(&options, nullptr);
        ctx_ = open(99);
        Training t(ctx_, name, prefetch, /*others=*/2);
        t.run(2);
        dlcore_tensor *x, *y;
        dlcore_loader_next(ctx_, t.loader, &x, &y);
        dlcore_backward(ctx_, dlcore_cross_entropy(ctx_, call(t.model, x), y));  // gradients
        ASSERT_EQ(dlcore_checkpoint_load(ctx_, t.checkpoint, file("c").c_str()), DLCORE_OK)
            << dlcore_context_error_message(ctx_);
        EXPECT_STREQ(dlcore_checkpoint_warning(t.checkpoint), "");
        t.taken = before;
        std::vector<Doubles> resumed = {t.run(17)};
        for (const Doubles& v : state(t)) resumed.push_back(v);
        EXPECT_EQ(resumed, straight) << name << " after " << before << ", prefetch " << prefetch;
        expect_ok();
        dlcore_context_close(ctx_);
        expect_nothing_left();
        dlcore_engine_close(engine_);
        engine_ = old_engine;
        ctx_ = old;
      }
      dlcore_context_set_seed(ctx_, 42);
    }
  }
}

TEST_F(Checkpoint, TheEndOfAnEpochIsAPosition) {
  Training t(ctx_, "SGD", 0);
  dlcore_tensor *x, *y;
  for (int i = 0; i < 8; ++i) dlcore_loader_next(ctx_, t.loader, &x, &y);  // the 8th ends it
  EXPECT_EQ(x, nullptr);
  ASSERT_EQ(dlcore_checkpoint_save(ctx_, t.checkpoint, file("c").c_str()), DLCORE_OK);
  const Doubles next = t.run(9);
  ASSERT_EQ(dlcore_checkpoint_load(ctx_, t.checkpoint, file("c").c_str()), DLCORE_OK);
  t.taken = 0;
  EXPECT_EQ(t.run(9), next);
}

TEST_F(Checkpoint, FilesBuffersAndFunctionsHoldTheSame) {
  Training t(ctx_, "Adam", 0);
  t.run(3);
  dlcore_checkpoint_set_text(ctx_, t.checkpoint, "note", "läuft");
  ASSERT_EQ(dlcore_checkpoint_save(ctx_, t.checkpoint, file("c").c_str()), DLCORE_OK);
  std::string written;
  ASSERT_EQ(dlcore_checkpoint_write(ctx_, t.checkpoint, append, &written), DLCORE_OK);
  EXPECT_EQ(written, read_file(file("c")));
  const std::vector<Doubles> saved = state(t);
  const auto expect_loaded = [&](dlcore_status status) {
    EXPECT_EQ(status, DLCORE_OK) << dlcore_context_error_message(ctx_);
    EXPECT_EQ(state(t), saved);
    EXPECT_STREQ(dlcore_checkpoint_text(t.checkpoint, "note"), "läuft");
    dlcore_checkpoint_set_text(ctx_, t.checkpoint, "note", nullptr);
    EXPECT_EQ(dlcore_checkpoint_text(t.checkpoint, "note"), nullptr);
    t.run(4);
  };
  t.run(4);
  expect_loaded(dlcore_checkpoint_load(ctx_, t.checkpoint, file("c").c_str()));
  expect_loaded(dlcore_checkpoint_load_buffer(ctx_, t.checkpoint, written.data(), written.size()));
  Source source{written};
  expect_loaded(dlcore_checkpoint_read(ctx_, t.checkpoint, take, &source));

  // The weights are there for every program that reads safetensors.
  dlcore_archive* archive = dlcore_archive_open(ctx_, file("c").c_str());
  EXPECT_NE(dlcore_archive_tensor(ctx_, archive, "module/model/0.weight"), nullptr);
}

TEST_F(Checkpoint, ModulesAndArchivesTakeFunctionsToo) {
  dlcore_module* m = classifier();
  const std::vector<Doubles> saved = values(m);
  ASSERT_EQ(dlcore_module_save(ctx_, m, file("m").c_str()), DLCORE_OK);
  std::string written;
  ASSERT_EQ(dlcore_module_write(ctx_, m, append, &written), DLCORE_OK);
  EXPECT_EQ(written, read_file(file("m")));
  dlcore_module* other = classifier();
  Source source{written};
  ASSERT_EQ(dlcore_module_read(ctx_, other, take, &source), DLCORE_OK);
  EXPECT_EQ(values(other), saved);
  dlcore_module* third = classifier();
  ASSERT_EQ(dlcore_module_load_buffer(ctx_, third, written.data(), written.size()), DLCORE_OK);
  EXPECT_EQ(values(third), saved);

  const char* name = "x";
  dlcore_tensor* x = f32({3}, {1, 2, 3});
  source = {};
  ASSERT_EQ(dlcore_archive_write(ctx_, append, &source.bytes, &name, &x, 1), DLCORE_OK);
  dlcore_archive* archive = dlcore_archive_open_stream(ctx_, take, &source);
  EXPECT_EQ(read(dlcore_archive_tensor(ctx_, archive, "x")), Doubles({1, 2, 3}));
}

TEST_F(Checkpoint, FunctionsMayFail) {
  Training t(ctx_, "SGD", 0);
  const std::vector<Doubles> before = state(t);
  const auto full = [](void*, const void*, uint64_t) -> dlcore_status {
    return DLCORE_RESOURCE_EXHAUSTED;
  };
  EXPECT_EQ(dlcore_checkpoint_write(ctx_, t.checkpoint, full, nullptr), DLCORE_RESOURCE_EXHAUSTED);
  expect_error(DLCORE_RESOURCE_EXHAUSTED, "checkpoint_write: the write function returned 8");
  const auto odd = [](void*, const void*, uint64_t) -> dlcore_status { return -1; };
  EXPECT_EQ(dlcore_module_write(ctx_, t.model, odd, nullptr), DLCORE_UNKNOWN);
  expect_error(DLCORE_UNKNOWN, "module_write: the write function returned -1");
  const auto denied = [](void*, void*, uint64_t) -> int64_t { return -DLCORE_PERMISSION_DENIED; };
  EXPECT_EQ(dlcore_checkpoint_read(ctx_, t.checkpoint, denied, nullptr), DLCORE_PERMISSION_DENIED);
  expect_error(DLCORE_PERMISSION_DENIED, "checkpoint_read: the read function returned -7");
  const auto too_much = [](void*, void*, uint64_t size) -> int64_t {
    return static_cast<int64_t>(size) + 1;
  };
  EXPECT_EQ(dlcore_module_read(ctx_, t.model, too_much, nullptr), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "read function");
  const auto least = [](void*, void*, uint64_t) -> int64_t { return INT64_MIN; };
  EXPECT_EQ(dlcore_module_read(ctx_, t.model, least, nullptr), DLCORE_UNKNOWN);
  expect_error(DLCORE_UNKNOWN, "read function");
  const auto nothing = [](void*, void*, uint64_t) -> int64_t { return 0; };
  EXPECT_EQ(dlcore_checkpoint_read(ctx_, t.checkpoint, nothing, nullptr), DLCORE_DATA_LOSS);
  expect_error(DLCORE_DATA_LOSS, "");
  EXPECT_EQ(state(t), before);
}

TEST_F(Checkpoint, LoadsAllOrNothing) {
  Training t(ctx_, "Adam", 0);
  t.run(5);
  std::string good;
  ASSERT_EQ(dlcore_checkpoint_write(ctx_, t.checkpoint, append, &good), DLCORE_OK);
  t.run(5);
  const std::vector<Doubles> before = state(t);
  const auto expect_refused = [&](const std::string& bytes, dlcore_status code,
                                  const std::string& part) {
    EXPECT_EQ(dlcore_checkpoint_load_buffer(ctx_, t.checkpoint, bytes.data(), bytes.size()), code);
    expect_error(code, part);
    EXPECT_EQ(state(t), before);
  };
  for (size_t n = 0; n < good.size(); n += 61)
    expect_refused(good.substr(0, n), DLCORE_DATA_LOSS, "");
  EXPECT_EQ(dlcore_checkpoint_load(ctx_, t.checkpoint, file("none").c_str()), DLCORE_NOT_FOUND);
  expect_error(DLCORE_NOT_FOUND, "none");

  // Files of another kind or format.
  std::string weights;
  ASSERT_EQ(dlcore_module_write(ctx_, t.model, append, &weights), DLCORE_OK);
  expect_refused(weights, DLCORE_INVALID_ARGUMENT, "is no checkpoint");
  const auto change = [&](const std::function<void(Json&)>& edit) { return edited(good, edit); };
  expect_refused(change([](Json& h) { h["__metadata__"]["dlcore.checkpoint"] = "2"; }),
                 DLCORE_INVALID_ARGUMENT, "has format '2', expected '1'");

  // Tensors that are missing, too many, or others.
  const auto rename = [&](const char* from, const char* to) {
    return change([&](Json& h) {
      h[to] = h[from];
      h.erase(from);
    });
  };
  for (const char* name : {"generator", "module/model/0.weight", "optimizer/optimizer/0.steps",
                           "optimizer/optimizer/0.learning_rate", "loader/data"}) {
    expect_refused(rename(name, "other"), DLCORE_INVALID_ARGUMENT,
                   "'" + std::string(name) + "' is missing; 'other' is not in this checkpoint");
  }
  expect_refused(change([](Json& h) {
                   h["module/model/0.weight"]["shape"] = {6, 16};
                 }),
                 DLCORE_INVALID_ARGUMENT,
                 "'module/model/0.weight' is f32 [6, 16], expected f32 [16, 6]");
  expect_refused(change([](Json& h) { h["loader/data"]["dtype"] = "F64"; }),
                 DLCORE_INVALID_ARGUMENT, "'loader/data' is f64 [8], expected i64 [8]");

  // Positions that are none, and loaders of other data.
  expect_refused(with_number(good, "loader/data", 2, -1), DLCORE_DATA_LOSS, "is no position");
  expect_refused(with_number(good, "loader/data", 3, 8), DLCORE_DATA_LOSS, "is no position");
  expect_refused(with_number(good, "loader/data", 4, 2), DLCORE_DATA_LOSS, "is no position");
  expect_refused(with_number(good, "loader/data", 5, 51), DLCORE_INVALID_ARGUMENT,
                 "the number of samples is 51 in the file, but 50 here");
  expect_refused(with_number(good, "loader/data", 6, 9), DLCORE_INVALID_ARGUMENT,
                 "the size of a batch is 9 in the file, but 8 here");
  expect_refused(with_number(good, "loader/data", 7, 0), DLCORE_INVALID_ARGUMENT, "shuffling is 0");

  // No memory for the values.
  int64_t n = 1;
  for (;; ++n) {
    dlcore_engine_fail_allocation(engine_, n);
    const dlcore_status status =
        dlcore_checkpoint_load_buffer(ctx_, t.checkpoint, good.data(), good.size());
    dlcore_engine_fail_allocation(engine_, 0);
    if (status == DLCORE_OK) break;
    expect_error(DLCORE_RESOURCE_EXHAUSTED, "");
    ASSERT_EQ(state(t), before);
  }
  EXPECT_GT(n, 1);
  EXPECT_NE(state(t), before);
}

TEST_F(Checkpoint, SurvivesDamage) {
  Training t(ctx_, "SGD", 0);
  t.run(2);
  std::string good;
  ASSERT_EQ(dlcore_checkpoint_write(ctx_, t.checkpoint, append, &good), DLCORE_OK);
  for (size_t i = 0; i < good.size(); i += 3) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    const std::vector<Doubles> before = state(t);
    if (dlcore_checkpoint_load_buffer(ctx_, t.checkpoint, bad.data(), bad.size()) == DLCORE_OK) {
      continue;  // a bit of a weight
    }
    dlcore_context_clear_error(ctx_);
    ASSERT_EQ(state(t), before) << "byte " << i;
  }
}

TEST_F(Checkpoint, SaysWhenBitsMayDiffer) {
  dlcore_engine_options options;
  dlcore_engine_options_init(&options, sizeof options);
  options.isa = DLCORE_ISA_BASELINE;
  dlcore_engine* baseline = dlcore_engine_open(&options, nullptr);
  dlcore_context* ctx = dlcore_context_open(baseline, "cpu", 1, 0, nullptr);
  std::string written;
  dlcore_checkpoint* there = dlcore_checkpoint_create(ctx);
  ASSERT_EQ(dlcore_checkpoint_write(ctx, there, append, &written), DLCORE_OK);
  ASSERT_EQ(dlcore_checkpoint_load_buffer(ctx, there, written.data(), written.size()), DLCORE_OK);
  EXPECT_STREQ(dlcore_checkpoint_warning(there), "");
  dlcore_context_close(ctx);
  dlcore_engine_close(baseline);

  dlcore_checkpoint* here = dlcore_checkpoint_create(ctx_);
  EXPECT_STREQ(dlcore_checkpoint_warning(here), "");
  ASSERT_EQ(dlcore_checkpoint_load_buffer(ctx_, here, written.data(), written.size()), DLCORE_OK);
  const std::string warning = dlcore_checkpoint_warning(here);
  if (statistics().isa != DLCORE_ISA_BASELINE) {
    EXPECT_NE(warning.find("instruction_set was baseline and is "), std::string::npos) << warning;
  }
  const std::string older = edited(written, [](Json& h) {
    h["__metadata__"]["dlcore.version"] = "0.0.9";
    h["__metadata__"].erase("dlcore.device");
  });
  ASSERT_EQ(dlcore_checkpoint_load_buffer(ctx_, here, older.data(), older.size()), DLCORE_OK);
  EXPECT_NE(std::string(dlcore_checkpoint_warning(here)).find("version was 0.0.9 and is 0.1.0"),
            std::string::npos);
  EXPECT_NE(std::string(dlcore_checkpoint_warning(here)).find("device was unknown and is cpu"),
            std::string::npos);
}

TEST_F(Checkpoint, HoldsVariablesAndTexts) {
  dlcore_variable* v = dlcore_variable_create(ctx_, "v", i64({2}, {1, 2}), 0);
  dlcore_context* worker = open(7);
  dlcore_checkpoint* c = dlcore_checkpoint_create(ctx_);
  ASSERT_EQ(dlcore_checkpoint_add_variable(ctx_, c, "v", v), DLCORE_OK);
  ASSERT_EQ(dlcore_checkpoint_add_variable(ctx_, c, "worker", dlcore_context_generator(worker)),
            DLCORE_OK);
  // The same variable by another way: it is saved twice, and locked once.
  ASSERT_EQ(dlcore_checkpoint_add_variable(ctx_, c, "own", dlcore_context_generator(ctx_)),
            DLCORE_OK);
  EXPECT_EQ(dlcore_checkpoint_text(c, "epoch"), nullptr);
  ASSERT_EQ(dlcore_checkpoint_set_text(ctx_, c, "epoch", "3"), DLCORE_OK);
  ASSERT_EQ(dlcore_checkpoint_set_text(ctx_, c, "", "x"), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "key is ''");
  ASSERT_EQ(dlcore_checkpoint_set_text(ctx_, c, "dlcore.version", "x"), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "key is 'dlcore.version'");
  std::string written;
  ASSERT_EQ(dlcore_checkpoint_write(ctx_, c, append, &written), DLCORE_OK);
  const int64_t shape[] = {4};
  dlcore_random_uniform(worker, shape, 1);
  dlcore_variable_assign(ctx_, v, i64({2}, {8, 9}));
  dlcore_checkpoint_set_text(ctx_, c, "epoch", "4");
  dlcore_checkpoint_set_text(ctx_, c, "more", "y");
  ASSERT_EQ(dlcore_checkpoint_load_buffer(ctx_, c, written.data(), written.size()), DLCORE_OK);
  EXPECT_EQ(read(v), Doubles({1, 2}));
  EXPECT_EQ(read(dlcore_context_generator(worker)), Doubles({7, 0, 0}));
  EXPECT_STREQ(dlcore_checkpoint_text(c, "epoch"), "3");
  EXPECT_EQ(dlcore_checkpoint_text(c, "more"), nullptr);
  EXPECT_EQ(dlcore_checkpoint_text(c, "dlcore.version"), nullptr);
  dlcore_checkpoint_set_text(ctx_, c, "bad", "\xff");
  EXPECT_EQ(dlcore_checkpoint_save(ctx_, c, file("c").c_str()), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "UTF-8");
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  dlcore_context_close(worker);
}

TEST_F(Checkpoint, HoldsSnapshotsForSavingOnly) {
  dlcore_module* m = classifier();
  dlcore_checkpoint* c = dlcore_checkpoint_create(ctx_);
  ASSERT_EQ(dlcore_checkpoint_add_module(ctx_, c, "m", dlcore_module_snapshot(ctx_, m)), DLCORE_OK);
  ASSERT_EQ(dlcore_checkpoint_save(ctx_, c, file("c").c_str()), DLCORE_OK);
  EXPECT_EQ(dlcore_checkpoint_load(ctx_, c, file("c").c_str()), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "snapshot");
  dlcore_checkpoint* of_model = dlcore_checkpoint_create(ctx_);
  ASSERT_EQ(dlcore_checkpoint_add_module(ctx_, of_model, "m", m), DLCORE_OK);
  EXPECT_EQ(dlcore_checkpoint_load(ctx_, of_model, file("c").c_str()), DLCORE_OK);
}

TEST_F(Checkpoint, ChecksArguments) {
  dlcore_module* m = classifier();
  dlcore_checkpoint* c = dlcore_checkpoint_create(ctx_);
  ASSERT_EQ(dlcore_checkpoint_add_module(ctx_, c, "m", m), DLCORE_OK);
  dlcore_checkpoint_add_module(ctx_, c, "m", classifier());
  expect_error(DLCORE_ALREADY_EXISTS, "module 'm' is in the checkpoint already");
  dlcore_checkpoint_add_module(ctx_, c, "n", m);
  expect_error(DLCORE_ALREADY_EXISTS, "module 'm' is the same object");
  for (const char* name : {"", "a/b"}) {
    dlcore_checkpoint_add_module(ctx_, c, name, classifier());
    expect_error(DLCORE_INVALID_ARGUMENT, "name is '" + std::string(name) + "'");
  }
  dlcore_checkpoint_add_module(ctx_, c, nullptr, m);
  expect_error(DLCORE_INVALID_ARGUMENT, "name is NULL");
  dlcore_checkpoint_add_module(ctx_, c, "x", nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "module is NULL");
  dlcore_checkpoint_add_loader(ctx_, c, "x", reinterpret_cast<dlcore_loader*>(m));
  expect_error(DLCORE_INVALID_ARGUMENT, "loader is a module");
  dlcore_checkpoint_save(ctx_, c, nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "path is NULL");
  dlcore_checkpoint_save(ctx_, c, file("no/c").c_str());
  expect_error(DLCORE_NOT_FOUND, "no/c");
  dlcore_checkpoint_write(ctx_, c, nullptr, nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "write is NULL");
  dlcore_checkpoint_read(ctx_, c, nullptr, nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "read is NULL");
  dlcore_checkpoint_load_buffer(ctx_, c, nullptr, 8);
  expect_error(DLCORE_INVALID_ARGUMENT, "data is NULL");
  dlcore_capture_begin(ctx_, "g");
  dlcore_checkpoint_save(ctx_, c, file("c").c_str());
  EXPECT_EQ(dlcore_context_status(ctx_), DLCORE_FAILED_PRECONDITION);
  dlcore_context_clear_error(ctx_);
  dlcore_capture_abort(ctx_);
  dlcore_engine* other_engine = dlcore_engine_open(nullptr, nullptr);
  dlcore_context* foreign = dlcore_context_open(other_engine, "cpu", 1, 0, nullptr);
  EXPECT_EQ(dlcore_checkpoint_add_module(foreign, c, "f", m), DLCORE_INVALID_ARGUMENT);
  dlcore_context_close(foreign);
  dlcore_engine_close(other_engine);
  dlcore_checkpoint_release(c);
  EXPECT_EQ(dlcore_checkpoint_warning(c), nullptr);
  EXPECT_EQ(dlcore_checkpoint_text(c, "x"), nullptr);
  dlcore_checkpoint_save(ctx_, c, file("c").c_str());
  expect_error(DLCORE_FAILED_PRECONDITION, "checkpoint has been released");
}

}  // namespace
}  // namespace dlcore::test
