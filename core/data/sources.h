// SPDX-License-Identifier: Apache-2.0
// What the source strings of loaders mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlcore {

// Images and labels, as they are in the files; samples become floats in [0, 1] batch by batch.
struct Dataset {
  int64_t count = 0;
  std::vector<int64_t> sample_shape;  // one image, flattened: [784]
  std::vector<std::byte> samples;     // [count, 784], u8
  std::vector<int64_t> labels;        // [count]
};

// Loads what `source` names:
//   idx:DIR/NAME               DIR/NAME-images-idx3-ubyte and DIR/NAME-labels-idx1-ubyte, plain or
//                              .gz; the NAME `test` stands for `t10k`, as MNIST's files are called
//   fashion-mnist:train|test   the same from `directory`; when that is empty, from $DLCORE_DATA or
//                              where Debian's dataset-fashion-mnist puts it (each of them, or a
//                              folder fashion-mnist in it)
// Throws NOT_FOUND with the paths tried, INVALID_ARGUMENT for other strings and for files that do
// not belong together, and the errors of read_idx.
Dataset load_dataset(std::string_view source, const std::string& directory = {});

}  // namespace dlcore
