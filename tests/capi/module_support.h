// SPDX-License-Identifier: Apache-2.0
// What the tests of modules share.
#pragma once

#include "support.h"

namespace dlcore::test {

class ModuleTest : public ApiTest {
 protected:
  dlcore_module* classifier() { return sequential({linear(6, 5), layer("ReLU"), linear(5, 3)}); }
  std::vector<std::string> paths(dlcore_module* m) {
    std::vector<std::string> all;
    for (int64_t i = 0; i < dlcore_module_variable_count(m); ++i) {
      const int64_t size = dlcore_module_variable_path(ctx_, m, i, nullptr, 0);
      std::string path(static_cast<size_t>(size), '\0');
      EXPECT_EQ(dlcore_module_variable_path(ctx_, m, i, path.data(), size), size);
      path.resize(path.size() - 1);
      all.push_back(path);
    }
    return all;
  }
  std::vector<Doubles> values(dlcore_module* m) {
    std::vector<Doubles> all;
    for (int64_t i = 0; i < dlcore_module_variable_count(m); ++i) {
      all.push_back(read(dlcore_module_variable(ctx_, m, i)));
    }
    return all;
  }
  void set(dlcore_module* m, const char* path, const Doubles& v) {
    dlcore_variable* variable = dlcore_module_find(ctx_, m, path);
    const Shape shape = shape_of(dlcore_variable_read(ctx_, variable));
    ASSERT_EQ(dlcore_variable_assign(ctx_, variable, f32(shape, v)), DLCORE_OK);
  }
  dlcore_tensor* call(dlcore_module* m, dlcore_tensor* x) { return dlcore_module_call(ctx_, m, x); }
  dlcore_tensor* leaf(dlcore_tensor* x) { return dlcore_autograd_watch(ctx_, x); }
};

}  // namespace dlcore::test
