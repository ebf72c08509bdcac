// SPDX-License-Identifier: Apache-2.0
#include "dlcore/module.h"

#include <vector>

#include "capi/src/call.h"
#include "capi/src/stream.h"
#include "core/nn/module.h"

using namespace dlcore;
using namespace dlcore::api;

namespace {

Module& need_module(Context& ctx, const dlcore_module* handle, const char* call) {
  return need_own<Module>(ctx, handle, call, "module");
}

}  // namespace

extern "C" {

dlcore_module* dlcore_module_create(dlcore_context* ctx, int32_t layer,
                                    dlcore_module* const* children, int64_t n_children,
                                    const int64_t* attrs, int64_t n_words) {
  return object_call<dlcore_module>(ctx, [&](Context& c) {
    constexpr const char* kCall = "module_create";
    const LayerDef* def = find_layer(layer);
    if (def == nullptr) fail(DLCORE_NOT_FOUND, "{}: no layer has number {}", kCall, layer);
    const int64_t n = need_count(n_children, children, kCall, "children");
    std::vector<Module*> modules;
    for (int64_t i = 0; i < n; ++i) modules.push_back(&need<Module>(children[i], kCall, "a child"));
    return make_ref<Module>(c, *def, modules, need_words(attrs, n_words, kCall));
  });
}

dlcore_module* dlcore_module_define(dlcore_context* ctx, const char* kind,
                                    dlcore_module* const* children, int64_t n_children,
                                    const char* names, dlcore_variable* const* variables,
                                    int64_t n_variables, dlcore_module_callback forward,
                                    void* user_data, void (*destroy)(void*)) {
  bool taken = false;  // by the layer, which from then on destroys it
  dlcore_module* made = object_call<dlcore_module>(ctx, [&](Context& c) {
    constexpr const char* kCall = "module_define";
    const std::string name = need_text(kind, kCall, "kind");
    if (name.empty()) invalid("{}: kind is '', expected at least one character", kCall);
    need_pointer(reinterpret_cast<const void*>(forward), kCall, "forward");
    const int64_t n = need_count(n_children, children, kCall, "children");
    const int64_t m = need_count(n_variables, variables, kCall, "variables");
    std::vector<Module*> modules;
    for (int64_t i = 0; i < n; ++i) modules.push_back(&need<Module>(children[i], kCall, "a child"));
    std::vector<Variable*> own;
    for (int64_t i = 0; i < m; ++i) own.push_back(&need_variable(c, variables[i], kCall));
    const auto layer = std::make_shared<CustomLayer>(c, name, forward);
    layer->set_names(names == nullptr ? "" : names, modules.size(), own);
    Ref<Module> module = make_ref<Module>(c, layer, modules, own);
    layer->take(user_data, destroy);
    taken = true;
    return module;
  });
  if (!taken && destroy != nullptr) destroy(user_data);
  return made;
}

void dlcore_module_retain(dlcore_module* module) { retain<Module>(module); }
void dlcore_module_release(dlcore_module* module) { release<Module>(module); }

dlcore_tensor* dlcore_module_call(dlcore_context* ctx, dlcore_module* module, dlcore_tensor* x) {
  return tensor_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "module_call";
    Module& m = need_module(c, module, kCall);
    return m.call(c, value_of(c, need_tensor(c, x, kCall, "x"))).take();
  });
}

int32_t dlcore_module_set_training(dlcore_context* ctx, dlcore_module* module, int32_t training) {
  return value_call<int32_t>(
      ctx, -1,
      [&](Context& c) {
        return need_module(c, module, "module_set_training").set_training(training != 0) ? 1 : 0;
      },
      Entry::Kind::kAlwaysRuns);
}

dlcore_module* dlcore_module_snapshot(dlcore_context* ctx, dlcore_module* module) {
  return object_call<dlcore_module>(
      ctx, [&](Context& c) { return need_module(c, module, "module_snapshot").snapshot(c); });
}

const char* dlcore_module_kind(const dlcore_module* module) {
  const Module* m = live<Module>(module);
  return m == nullptr ? nullptr : m->layer().name;
}

int64_t dlcore_module_child_count(const dlcore_module* module) {
  const Module* m = live<Module>(module);
  return m == nullptr ? -1 : static_cast<int64_t>(m->child_count());
}

dlcore_module* dlcore_module_child(const dlcore_module* module, int64_t index) {
  const Module* m = live<Module>(module);
  if (m == nullptr || index < 0 || index >= static_cast<int64_t>(m->child_count())) return nullptr;
  return reinterpret_cast<dlcore_module*>(&m->child(static_cast<size_t>(index)));
}

int64_t dlcore_module_variable_count(const dlcore_module* module) {
  const Module* m = live<Module>(module);
  return m == nullptr ? -1 : m->variable_count();
}

dlcore_variable* dlcore_module_variable(dlcore_context* ctx, dlcore_module* module, int64_t index) {
  return value_call<dlcore_variable*>(ctx, nullptr, [&](Context& c) {
    Module& m = need_module(c, module, "module_variable");
    return reinterpret_cast<dlcore_variable*>(m.variable(index).variable);
  });
}

int64_t dlcore_module_variable_path(dlcore_context* ctx, dlcore_module* module, int64_t index,
                                    char* buffer, int64_t size) {
  return value_call<int64_t>(ctx, -1, [&](Context& c) {
    Module& m = need_module(c, module, "module_variable_path");
    return copy_text(m.variable(index).name, buffer, size);
  });
}

dlcore_variable* dlcore_module_find(dlcore_context* ctx, dlcore_module* module, const char* path) {
  return value_call<dlcore_variable*>(ctx, nullptr, [&](Context& c) {
    constexpr const char* kCall = "module_find";
    Module& m = need_module(c, module, kCall);
    return reinterpret_cast<dlcore_variable*>(&m.find(need_text(path, kCall, "path")));
  });
}

dlcore_status dlcore_module_save(dlcore_context* ctx, dlcore_module* module, const char* path) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "module_save";
    need_module(c, module, kCall).save(c, need_text(path, kCall, "path"));
  });
}

dlcore_status dlcore_module_load(dlcore_context* ctx, dlcore_module* module, const char* path) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "module_load";
    Module& m = need_module(c, module, kCall);
    const std::string file = need_text(path, kCall, "path");
    m.load(c, read_safetensors_file(file), formatted("'{}'", file));
  });
}

dlcore_status dlcore_module_write(dlcore_context* ctx, dlcore_module* module, dlcore_write_fn write,
                                  void* user_data) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "module_write";
    need_module(c, module, kCall).write(c, writer(write, user_data, kCall));
  });
}

dlcore_status dlcore_module_read(dlcore_context* ctx, dlcore_module* module, dlcore_read_fn read,
                                 void* user_data) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "module_read";
    Module& m = need_module(c, module, kCall);
    m.load(c, read_safetensors(reader(read, user_data, kCall)), "what was read");
  });
}

dlcore_status dlcore_module_load_buffer(dlcore_context* ctx, dlcore_module* module,
                                        const void* data, uint64_t size) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "module_load_buffer";
    Module& m = need_module(c, module, kCall);
    m.load(c, parse_buffer(data, size, kCall), "the buffer");
  });
}

}  // extern "C"
