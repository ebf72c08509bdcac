// SPDX-License-Identifier: Apache-2.0
#include "dlcore/optimizer.h"

#include <vector>

#include "capi/src/call.h"
#include "core/nn/module.h"
#include "core/optim/optimizer.h"

using namespace dlcore;
using namespace dlcore::api;

namespace {

Optimizer& need_optimizer(Context& ctx, const dlcore_optimizer* handle, const char* call) {
  return need_own<Optimizer>(ctx, handle, call, "optimizer");
}

// Every element of an array of handles.
template <class T, class Public>
std::vector<T*> need_all(Public* const* handles, int64_t count, const char* call,
                         const char* name) {
  const int64_t n = need_count(count, handles, call, name);
  std::vector<T*> objects;
  for (int64_t i = 0; i < n; ++i) objects.push_back(&need<T>(handles[i], call, name));
  return objects;
}

}  // namespace

extern "C" {

dlcore_optimizer* dlcore_optimizer_create(dlcore_context* ctx, int32_t optimizer,
                                          dlcore_module* const* modules, int64_t n_modules,
                                          const int64_t* attrs, int64_t n_words) {
  return object_call<dlcore_optimizer>(ctx, [&](Context& c) {
    constexpr const char* kCall = "optimizer_create";
    const OptimizerDef* def = find_optimizer(optimizer);
    if (def == nullptr) fail(DLCORE_NOT_FOUND, "{}: no optimizer has number {}", kCall, optimizer);
    const std::vector<Module*> all = need_all<Module>(modules, n_modules, kCall, "modules");
    return make_ref<Optimizer>(c, *def, std::span<Module* const>(all),
                               need_words(attrs, n_words, kCall));
  });
}

dlcore_status dlcore_optimizer_add_group(dlcore_context* ctx, dlcore_optimizer* optimizer,
                                         dlcore_variable* const* variables, int64_t n_variables,
                                         const int64_t* attrs, int64_t n_words) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "optimizer_add_group";
    Optimizer& o = need_optimizer(c, optimizer, kCall);
    o.add_group(c, need_all<Variable>(variables, n_variables, kCall, "variables"),
                need_words(attrs, n_words, kCall));
  });
}

void dlcore_optimizer_retain(dlcore_optimizer* optimizer) { retain<Optimizer>(optimizer); }
void dlcore_optimizer_release(dlcore_optimizer* optimizer) { release<Optimizer>(optimizer); }

dlcore_status dlcore_optimizer_step(dlcore_context* ctx, dlcore_optimizer* optimizer) {
  return status_call(ctx, [&](Context& c) {
    need_optimizer(c, optimizer, "optimizer_step").step(c, /*keep_gradients=*/false);
  });
}

dlcore_status dlcore_optimizer_step_keep(dlcore_context* ctx, dlcore_optimizer* optimizer) {
  return status_call(ctx, [&](Context& c) {
    need_optimizer(c, optimizer, "optimizer_step_keep").step(c, /*keep_gradients=*/true);
  });
}

dlcore_status dlcore_optimizer_zero_gradients(dlcore_context* ctx, dlcore_optimizer* optimizer) {
  return status_call(ctx, [&](Context& c) {
    need_optimizer(c, optimizer, "optimizer_zero_gradients").zero_gradients(c);
  });
}

dlcore_tensor* dlcore_optimizer_clip_gradients(dlcore_context* ctx, dlcore_optimizer* optimizer,
                                               double max_norm) {
  return tensor_call(ctx, [&](Context& c) {
    return need_optimizer(c, optimizer, "optimizer_clip_gradients").clip_gradients(c, max_norm);
  });
}

int64_t dlcore_optimizer_group_count(const dlcore_optimizer* optimizer) {
  const Optimizer* o = live<Optimizer>(optimizer);
  return o == nullptr ? -1 : o->group_count();
}

dlcore_variable* dlcore_optimizer_learning_rate(dlcore_context* ctx, dlcore_optimizer* optimizer,
                                                int64_t group) {
  return value_call<dlcore_variable*>(ctx, nullptr, [&](Context& c) {
    Optimizer& o = need_optimizer(c, optimizer, "optimizer_learning_rate");
    return reinterpret_cast<dlcore_variable*>(&o.learning_rate(group));
  });
}

int64_t dlcore_optimizer_variable_count(const dlcore_optimizer* optimizer) {
  const Optimizer* o = live<Optimizer>(optimizer);
  return o == nullptr ? -1 : o->variable_count();
}

dlcore_variable* dlcore_optimizer_variable(dlcore_context* ctx, dlcore_optimizer* optimizer,
                                           int64_t index) {
  return value_call<dlcore_variable*>(ctx, nullptr, [&](Context& c) {
    Optimizer& o = need_optimizer(c, optimizer, "optimizer_variable");
    return reinterpret_cast<dlcore_variable*>(&o.variable(index));
  });
}

}  // extern "C"
