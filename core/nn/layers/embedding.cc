// SPDX-License-Identifier: Apache-2.0
// Layers that look up rows of a table.
#include "core/base/error.h"
#include "core/nn/initial.h"
#include "core/nn/layer.h"

namespace dlcore {
namespace {

constexpr int32_t kEmbeddingOp = 138;
enum : int { kRows, kFeatures, kPadding };

void check(const AttrReader& attrs, const char* function) {
  const int64_t rows = attrs.number(kRows), features = attrs.number(kFeatures);
  if (rows < 0) invalid("{}: num_embeddings is {}, expected 0 or more", function, rows);
  if (features < 0) invalid("{}: embedding_dim is {}, expected 0 or more", function, features);
  if (!attrs.has(kPadding)) return;
  const int64_t padding = attrs.number(kPadding);
  if (padding < -rows || padding >= rows) {
    invalid("{}: padding_idx is {}, expected {} to {} for {} rows", function, padding, -rows,
            rows - 1, rows);
  }
}

Value forward(const LayerCall& c, const Value& x) {
  Attrs attrs;
  if (c.attrs.has(kPadding)) {
    attrs.present().number(c.attrs.number(kPadding));
  } else {
    attrs.absent();
  }
  return call(kEmbeddingOp, {c.variable(0), x}, attrs);
}

constexpr LayerDef kEmbedding = {
    .number = 18,
    .name = "Embedding",
    .function = "embedding_layer",
    .doc =
        "The rows of the weight that x names.\n\n"
        "x holds integers below num_embeddings, of any shape; the result is [..., embedding_dim].",
    .attrs = {required(int_attr("num_embeddings", "rows of the weight")),
              required(int_attr("embedding_dim", "size of a row")),
              optional(int_attr("padding_idx",
                                "the row that gets no gradient, so that it stays as it starts"))},
    .variables = {{"weight", "[num_embeddings, embedding_dim], starts normal with deviation 1"}},
    .check = check,
    .specify =
        [](const AttrReader& attrs, size_t, VariableSpec& spec) {
          spec.shape = {attrs.number(kRows), attrs.number(kFeatures)};
          spec.initial = {.kind = InitialValue::Kind::kNormal, .scale = 1};
          return true;
        },
    .forward = forward,
};

constexpr const LayerDef* kLayers[] = {&kEmbedding};

}  // namespace

extern const LayerFamily embedding_layers = kLayers;

}  // namespace dlcore
