// SPDX-License-Identifier: Apache-2.0
// Random numbers follow from the seed and the number of the call, and from nothing else.
#include <set>

#include "support.h"

namespace dlcore::test {
namespace {

class RandomTest : public ApiTest {
 protected:
  Doubles uniform(int64_t n) { return read(dlcore_random_uniform(ctx_, &n, 1)); }
  Doubles generator() { return read(dlcore_context_generator(ctx_)); }
};

TEST_F(RandomTest, TheGeneratorCountsCalls) {
  EXPECT_EQ(generator(), (Doubles{42, 0, 0}));
  uniform(3);
  EXPECT_EQ(generator(), (Doubles{42, 0, 1}));
  const int64_t shape[] = {1000};
  dlcore_random_normal(ctx_, shape, 1);
  dlcore_random_bernoulli(ctx_, shape, 1, 0.5);
  dlcore_random_integers(ctx_, shape, 1, 0, 10);
  EXPECT_EQ(generator(), (Doubles{42, 0, 4}));
  EXPECT_EQ(dlcore_context_set_seed(ctx_, 7), DLCORE_OK);
  EXPECT_EQ(generator(), (Doubles{7, 0, 0}));
}

TEST_F(RandomTest, AStateThatIsPutBackRepeatsTheNumbers) {
  uniform(5);
  dlcore_variable* state = dlcore_context_generator(ctx_);
  dlcore_tensor* saved = dlcore_variable_read(ctx_, state);
  const Doubles first = uniform(100), second = uniform(100);
  EXPECT_EQ(dlcore_variable_assign(ctx_, state, saved), DLCORE_OK);
  EXPECT_EQ(uniform(100), first);
  EXPECT_EQ(uniform(100), second);
  // Also from a view with strides.
  const Doubles words = read(saved);
  Doubles rows(48, 9);
  for (size_t i = 0; i < 3; ++i) rows[16 * i] = words[i];
  dlcore_tensor* wide = i64({3, 16}, rows);
  const int64_t starts[] = {0, 0}, stops[] = {3, 1}, axes[] = {1};
  dlcore_tensor* column =
      dlcore_squeeze(ctx_, dlcore_slice(ctx_, wide, starts, 2, stops, 2), axes, 1);
  EXPECT_EQ(dlcore_variable_assign(ctx_, state, column), DLCORE_OK);
  EXPECT_EQ(uniform(100), first);
}

TEST_F(RandomTest, ShorterDrawsAreAPrefix) {
  const Doubles longer = uniform(1001);
  EXPECT_EQ(dlcore_context_set_seed(ctx_, 42), DLCORE_OK);
  const Doubles shorter = uniform(7);
  EXPECT_EQ(Doubles(longer.begin(), longer.begin() + 7), shorter);
}

TEST_F(RandomTest, TheNumberOfThreadsChangesNothing) {
  const int64_t shape[] = {300, 301};
  std::vector<std::vector<float>> all;
  for (int32_t threads : {1, 2, 4}) {
    dlcore_engine_options options = engine_options();
    options.threads = threads;
    dlcore_engine* engine = dlcore_engine_open(&options, nullptr);
    dlcore_context* ctx = dlcore_context_open(engine, "cpu", 5, 0, nullptr);
    std::vector<float> values(300 * 301);
    dlcore_tensor* x = dlcore_random_normal(ctx, shape, 2);
    EXPECT_EQ(dlcore_tensor_read_f32(ctx, x, values.data(), 300 * 301), DLCORE_OK);
    all.push_back(values);
    dlcore_context_close(ctx);
    dlcore_engine_close(engine);
  }
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
}

TEST_F(RandomTest, StreamsAreIndependent) {
  std::set<double> seen;
  size_t drawn = 0;
  const auto take = [&](const Doubles& values) {
    seen.insert(values.begin(), values.end());
    drawn += values.size();
  };
  dlcore_random_uniform_options o;
  dlcore_random_uniform_options_init(&o, sizeof o);
  o.dtype = DLCORE_F64;
  const int64_t n = 500;
  for (uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, UINT64_MAX}) {
    EXPECT_EQ(dlcore_context_set_seed(ctx_, seed), DLCORE_OK);
    for (int call = 0; call < 3; ++call) take(read(dlcore_random_uniform_ex(ctx_, &n, 1, &o)));
  }
  EXPECT_EQ(seen.size(), drawn);
}

TEST_F(RandomTest, ParametersFollowFromSeedModuleAndPathNotFromOrder) {
  const auto weights = [&](bool backwards) {
    dlcore_context* ctx = open(9);
    dlcore_module* a = dlcore_linear_layer(ctx, 4, 4);
    dlcore_module* b = dlcore_linear_layer(ctx, 4, 4);
    dlcore_module* both[] = {a, b};
    dlcore_module* model = dlcore_sequential(ctx, both, 2);
    std::vector<std::vector<float>> values(2, std::vector<float>(16));
    for (int i = 0; i < 2; ++i) {
      const int at = backwards ? 1 - i : i;
      const char* path = at == 0 ? "0.weight" : "1.weight";
      dlcore_tensor* w = dlcore_variable_read(ctx, dlcore_module_find(ctx, model, path));
      EXPECT_EQ(dlcore_tensor_read_f32(ctx, w, values[static_cast<size_t>(at)].data(), 16),
                DLCORE_OK);
      const int64_t shape[] = {100};
      dlcore_random_uniform(ctx, shape, 1);  // draws by the program do not matter either
    }
    dlcore_context_close(ctx);
    return values;
  };
  const auto forwards = weights(false);
  EXPECT_EQ(forwards, weights(true));
  EXPECT_NE(forwards[0], forwards[1]);
}

TEST_F(RandomTest, DropoutDrawsOnlyInTraining) {
  dlcore_module* dropout = dlcore_dropout_layer(ctx_, 0.5);
  dlcore_tensor* x = f32({64}, Doubles(64, 1.0));
  const Doubles a = read(dlcore_module_call(ctx_, dropout, x));
  EXPECT_NE(a, read(dlcore_module_call(ctx_, dropout, x)));
  dlcore_context_set_training(ctx_, 0);
  const Doubles before = generator();
  EXPECT_EQ(read(dlcore_module_call(ctx_, dropout, x)), Doubles(64, 1.0));
  EXPECT_EQ(generator(), before);
  EXPECT_EQ(dlcore_context_set_seed(ctx_, 42), DLCORE_OK);
  dlcore_context_set_training(ctx_, 1);
  EXPECT_EQ(read(dlcore_module_call(ctx_, dropout, x)), a);
}

}  // namespace
}  // namespace dlcore::test
