// SPDX-License-Identifier: Apache-2.0
// What the tests of optimizers share.
#pragma once

#include <array>

#include "support.h"

namespace dlcore::test {

constexpr dlcore_dtype kFloats[] = {DLCORE_F32, DLCORE_F64};

class OptimizerTest : public ApiTest {
 protected:
  dlcore_variable* variable(dlcore_dtype dtype, const Shape& shape, const Doubles& values,
                            const char* name = "w") {
    return dlcore_variable_create(ctx_, name, tensor(dtype, shape, values),
                                  DLCORE_VARIABLE_TRAINABLE);
  }
  dlcore_optimizer* optimizer(const char* name, const std::vector<dlcore_variable*>& variables,
                              const Words& attrs) {
    dlcore_optimizer* o = make(name, {}, attrs);
    add_group(o, variables);
    return o;
  }
  dlcore_optimizer* make(const char* name, const std::vector<dlcore_module*>& modules,
                         const Words& attrs) {
    const int32_t number = dlcore_catalogue_find(ctx_, DLCORE_CATALOGUE_OPTIMIZERS, name);
    return dlcore_optimizer_create(ctx_, number, modules.data(),
                                   static_cast<int64_t>(modules.size()), attrs.data(),
                                   attrs.size());
  }
  dlcore_status add_group(dlcore_optimizer* o, const std::vector<dlcore_variable*>& variables,
                          const Words& attrs = {}) {
    return dlcore_optimizer_add_group(ctx_, o, variables.data(),
                                      static_cast<int64_t>(variables.size()), attrs.data(),
                                      attrs.size());
  }
  void set_gradient(dlcore_variable* v, const Doubles& values) {
    dlcore_tensor* now = dlcore_variable_read(ctx_, v);
    ASSERT_EQ(dlcore_variable_set_gradient(ctx_, v,
                                           tensor(dlcore_tensor_dtype(now), shape_of(now), values)),
              DLCORE_OK);
  }
  bool has_gradient(dlcore_variable* v) { return dlcore_variable_gradient(ctx_, v) != nullptr; }
  std::vector<Doubles> state(dlcore_optimizer* o) {
    std::vector<Doubles> all;
    for (int64_t i = 0; i < dlcore_optimizer_variable_count(o); ++i) {
      all.push_back(read(dlcore_optimizer_variable(ctx_, o, i)));
    }
    return all;
  }
  static Doubles gradient_at(int step, size_t n) {
    Doubles g;
    for (size_t i = 0; i < n; ++i) g.push_back(std::sin(3.0 * step + static_cast<double>(i)));
    return g;
  }
};

}  // namespace dlcore::test
