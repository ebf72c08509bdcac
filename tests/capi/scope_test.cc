// SPDX-License-Identifier: Apache-2.0
// dlcore/context.h: scopes own tensors, contexts own everything else, and manual contexts nothing.
#include "support.h"

namespace dlcore::test {
namespace {

class ScopeTest : public ApiTest {
 protected:
  dlcore_tensor* some() { return f32({32}, Doubles(32, 1.0)); }
  static bool alive(dlcore_tensor* t) { return dlcore_tensor_rank(t) >= 0; }
};

TEST_F(ScopeTest, ClosingReleasesWhatWasMadeInside) {
  dlcore_tensor* outside = some();
  dlcore_scope* scope = dlcore_scope_open(ctx_);
  dlcore_tensor* a = some();
  dlcore_tensor* b = dlcore_relu(ctx_, a);
  dlcore_scope_close(ctx_, scope);
  EXPECT_TRUE(alive(outside));
  EXPECT_FALSE(alive(a));
  EXPECT_FALSE(alive(b));
  dlcore_scope_close(ctx_, scope);
  dlcore_scope_reset(ctx_, scope);
  EXPECT_TRUE(alive(outside));
}

TEST_F(ScopeTest, ScopesNestAndKeepMovesOneUp) {
  dlcore_scope* outer = dlcore_scope_open(ctx_);
  dlcore_scope* inner = dlcore_scope_open(ctx_);
  dlcore_tensor* once = some();
  dlcore_tensor* twice = some();
  EXPECT_EQ(dlcore_scope_keep(ctx_, once), once);
  dlcore_scope_keep(ctx_, dlcore_scope_keep(ctx_, twice));
  dlcore_scope_close(ctx_, inner);
  EXPECT_TRUE(alive(once));
  dlcore_scope_close(ctx_, outer);
  EXPECT_FALSE(alive(once));
  EXPECT_TRUE(alive(twice));
  dlcore_scope_keep(ctx_, twice);  // already where it can go no further
  EXPECT_TRUE(alive(twice));
  EXPECT_EQ(dlcore_scope_keep(ctx_, nullptr), nullptr);
  EXPECT_EQ(dlcore_scope_keep(ctx_, once), once);
  EXPECT_EQ(dlcore_scope_keep(ctx_, dlcore_tensor_none()), dlcore_tensor_none());
}

TEST_F(ScopeTest, ClosingAnOuterScopeClosesThoseInside) {
  dlcore_scope* outer = dlcore_scope_open(ctx_);
  dlcore_tensor* a = some();
  dlcore_scope* middle = dlcore_scope_open(ctx_);
  dlcore_tensor* b = some();
  dlcore_scope* inner = dlcore_scope_open(ctx_);
  dlcore_tensor* c = some();
  dlcore_scope_reset(ctx_, middle);
  EXPECT_TRUE(alive(a));
  EXPECT_FALSE(alive(b));
  EXPECT_FALSE(alive(c));
  dlcore_scope_close(ctx_, inner);  // has been closed
  dlcore_tensor* d = some();        // middle is open still
  dlcore_scope_close(ctx_, outer);
  EXPECT_FALSE(alive(a));
  EXPECT_FALSE(alive(d));
  dlcore_scope_close(ctx_, middle);
  EXPECT_TRUE(alive(some()));
}

TEST_F(ScopeTest, ALoopThatResetsStaysFlat) {
  dlcore_scope* scope = dlcore_scope_open(ctx_);
  dlcore_tensor* x = some();
  dlcore_scope_keep(ctx_, x);
  int64_t live = 0;
  for (int i = 0; i < 1000; ++i) {
    for (int k = 0; k < 5; ++k) dlcore_exp(ctx_, x);
    if (i == 0) live = statistics().live_tensors;
    EXPECT_EQ(statistics().live_tensors, live);
    dlcore_scope_reset(ctx_, scope);
  }
  dlcore_scope_close(ctx_, scope);
}

TEST_F(ScopeTest, AReferenceOfOnesOwnOutlivesTheScope) {
  dlcore_scope* scope = dlcore_scope_open(ctx_);
  dlcore_tensor* x = some();
  dlcore_tensor_retain(x);
  dlcore_tensor* early = some();
  dlcore_tensor_release(early);
  EXPECT_FALSE(alive(early));
  dlcore_tensor_release(early);
  dlcore_scope_close(ctx_, scope);
  EXPECT_TRUE(alive(x));
  EXPECT_EQ(read(x), Doubles(32, 1.0));
  dlcore_tensor_release(x);
  EXPECT_FALSE(alive(x));
}

TEST_F(ScopeTest, AReferenceOfOnesOwnOutlivesTheContext) {
  dlcore_context* other = open(1);
  const float value = 5;
  dlcore_tensor* x = dlcore_tensor_f32(other, nullptr, 0, &value, 1);
  dlcore_tensor_retain(x);
  dlcore_context_close(other);
  EXPECT_EQ(read(dlcore_square(ctx_, x)), Doubles{25});
  dlcore_tensor_release(x);
  EXPECT_FALSE(alive(x));
}

TEST_F(ScopeTest, ScopesOfAnotherContextAreLeftAlone) {
  dlcore_context* other = open(1);
  dlcore_scope* theirs = dlcore_scope_open(other);
  const float value = 5;
  dlcore_tensor* x = dlcore_tensor_f32(other, nullptr, 0, &value, 1);
  dlcore_scope_close(ctx_, theirs);
  dlcore_scope_reset(ctx_, theirs);
  EXPECT_TRUE(alive(x));
  dlcore_scope_keep(ctx_, x);
  dlcore_scope_close(other, theirs);
  EXPECT_FALSE(alive(x));
  dlcore_context_close(other);
}

TEST_F(ScopeTest, TheSameTensorGivenTwiceIsOwnedTwice) {
  dlcore_variable* v = dlcore_variable_create(ctx_, "v", some(), DLCORE_VARIABLE_TRAINABLE);
  dlcore_tensor* first = dlcore_variable_read(ctx_, v);
  dlcore_scope* scope = dlcore_scope_open(ctx_);
  dlcore_tensor* second = dlcore_variable_read(ctx_, v);
  dlcore_scope_close(ctx_, scope);
  EXPECT_TRUE(alive(first));
  EXPECT_FALSE(second != first && alive(second));
  EXPECT_EQ(read(first), Doubles(32, 1.0));
}

TEST_F(ScopeTest, OtherObjectsBelongToTheContextWhateverTheScope) {
  dlcore_scope* scope = dlcore_scope_open(ctx_);
  dlcore_module* model = linear(2, 3);
  dlcore_variable* v = dlcore_variable_create(ctx_, "v", some(), 0);
  dlcore_scope_close(ctx_, scope);
  EXPECT_STREQ(dlcore_module_kind(model), "Linear");
  EXPECT_STREQ(dlcore_variable_name(v), "v");
  dlcore_variable_release(v);
  EXPECT_EQ(dlcore_variable_name(v), nullptr);
  dlcore_variable_release(v);
  EXPECT_EQ(read(dlcore_module_variable(ctx_, model, 0)).size(), 6u);
}

class ManualTest : public ApiTest {
 protected:
  ManualTest() : ApiTest(DLCORE_CONTEXT_MANUAL) {}
};

TEST_F(ManualTest, TheCallerOwnsEverything) {
  dlcore_tensor* x = f32({32}, Doubles(32, 4.0));
  dlcore_tensor* y = dlcore_sqrt(ctx_, x);
  EXPECT_EQ(read(y), Doubles(32, 2.0));
  EXPECT_EQ(statistics().live_tensors, 2);
  dlcore_tensor* both[] = {x, nullptr, y};
  dlcore_tensor_release_many(both, 3);
  EXPECT_EQ(statistics().live_tensors, 0);
  dlcore_module* model = linear(2, 3);
  dlcore_context* other = open(1);
  dlcore_module_release(model);
  EXPECT_EQ(statistics().live_modules, 0);
  dlcore_context_close(other);
}

TEST_F(ManualTest, ThereAreNoScopes) {
  EXPECT_EQ(dlcore_scope_open(ctx_), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "manual");
  dlcore_tensor* x = f32({}, {1});
  EXPECT_EQ(dlcore_scope_keep(ctx_, x), x);
  dlcore_tensor_release(x);
}

TEST_F(ManualTest, WhatIsHeldOutlivesTheContext) {
  dlcore_context* other = open(1, DLCORE_CONTEXT_MANUAL);
  dlcore_tensor* x = dlcore_tensor_scalar_f64(other, 3);
  dlcore_module* model = dlcore_linear_layer(other, 1, 1);
  dlcore_context_close(other);
  EXPECT_EQ(read(x), Doubles{3});
  EXPECT_EQ(dlcore_module_variable_count(model), 2);
  dlcore_module_release(model);
  dlcore_tensor_release(x);
}

TEST_F(ManualTest, ReadingAVariableTwiceGivesTwoReferences) {
  dlcore_tensor* one = f32({32}, Doubles(32, 1.0));
  dlcore_variable* v = dlcore_variable_create(ctx_, "v", one, DLCORE_VARIABLE_TRAINABLE);
  dlcore_tensor* a = dlcore_variable_read(ctx_, v);
  dlcore_tensor* b = dlcore_variable_read(ctx_, v);
  dlcore_tensor_release(a);
  Doubles values(32);
  std::vector<float> data(32);
  EXPECT_EQ(dlcore_tensor_read_f32(ctx_, b, data.data(), 32), DLCORE_OK);
  dlcore_tensor_release(b);
  dlcore_tensor_release(one);
  dlcore_variable_release(v);
}

}  // namespace
}  // namespace dlcore::test
