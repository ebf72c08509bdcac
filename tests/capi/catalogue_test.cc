// SPDX-License-Identifier: Apache-2.0
// dlcore/op.h: what is made by number is found by name. Saved programs hold the numbers, so they
// never change.
#include <utility>

#include "support.h"

namespace dlcore::test {
namespace {

class Catalogue : public ApiTest {};

TEST_F(Catalogue, LayersKeepTheirNumbers) {
  const char* names[] = {"Linear",    "Sequential", "ReLU",      "GELU",      "SiLU",
                         "Sigmoid",   "Tanh",       "LeakyReLU", "Softmax",   "LogSoftmax",
                         "Flatten",   "Dropout",    "LayerNorm", "Identity",  "Conv2d",
                         "MaxPool2d", "AvgPool2d",  "Embedding", "BatchNorm", "Unflatten"};
  int32_t number = 1;
  for (const char* name : names) {
    EXPECT_EQ(dlcore_catalogue_find(ctx_, DLCORE_CATALOGUE_LAYERS, name), number++) << name;
  }
}

TEST_F(Catalogue, OptimizersKeepTheirNumbers) {
  int32_t number = 1;
  for (const char* name : {"Adam", "AdamW", "SGD"}) {
    EXPECT_EQ(dlcore_catalogue_find(ctx_, DLCORE_CATALOGUE_OPTIMIZERS, name), number++) << name;
  }
}

TEST_F(Catalogue, SchedulesKeepTheirNumbers) {
  int32_t number = 1;
  for (const char* name : {"ConstantLR", "LinearLR", "StepLR", "MultiStepLR", "ExponentialLR",
                           "PolynomialLR", "CosineAnnealingLR", "OneCycleLR", "WarmupCosine"}) {
    EXPECT_EQ(dlcore_catalogue_find(ctx_, DLCORE_CATALOGUE_SCHEDULES, name), number++) << name;
  }
}

TEST_F(Catalogue, AMissIsSilentWithoutAContextAndHelpsWithOne) {
  const std::pair<int32_t, std::pair<const char*, const char*>> misses[] = {
      {DLCORE_CATALOGUE_OPS, {"cat", "concat"}},
      {DLCORE_CATALOGUE_LAYERS, {"Dense", "Linear"}},
      {DLCORE_CATALOGUE_OPTIMIZERS, {"Momentum", "SGD"}},
      {DLCORE_CATALOGUE_SCHEDULES, {"CosineAnnealing", "CosineAnnealingLR"}}};
  for (const auto& [catalogue, names] : misses) {
    EXPECT_EQ(dlcore_catalogue_find(nullptr, catalogue, names.first), -1);
    EXPECT_EQ(dlcore_catalogue_find(ctx_, catalogue, names.first), -1);
    expect_error(DLCORE_NOT_FOUND, names.second);
  }
  EXPECT_EQ(dlcore_catalogue_find(ctx_, 4, "Linear"), -1);
  expect_error(DLCORE_INVALID_ARGUMENT, "catalogue is 4, expected 0 to 3");
}

TEST_F(Catalogue, TheTextDescribesEverything) {
  int64_t size = 0;
  const char* json = dlcore_catalogue_json(&size);
  ASSERT_NE(json, nullptr);
  const std::string text(json, static_cast<size_t>(size));
  EXPECT_EQ(text, json);
  for (const char* part :
       {R"("function":"linear_layer")", R"("name":"in_features","type":"int","positional":true)",
        R"("name":"init","type":"string","default":"default")", R"("children":"list")",
        R"("function":"adamw")", R"("state":["m","v"])", R"("function":"cosine_annealing_lr")",
        R"("cat":"concat")", R"("name":"matmul")", R"("tombstones":[])"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace dlcore::test
