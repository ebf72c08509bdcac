// SPDX-License-Identifier: Apache-2.0
#include "dlcore/graph.h"

#include "capi/src/call.h"
#include "core/graph/capture.h"
#include "core/graph/executable.h"
#include "core/graph/parse.h"
#include "core/graph/passes/pass.h"
#include "core/graph/print.h"
#include "core/graph/verify.h"
#include "core/tensor/variable.h"

using namespace dlcore;
using namespace dlcore::api;

namespace {

Capture& need_capture(Context& ctx, const char* call) {
  if (!ctx.capture)
    fail(DLCORE_FAILED_PRECONDITION, "{}: no capture is open on this context", call);
  return *ctx.capture;
}

Graph& need_graph(Context& ctx, const dlcore_graph* handle, const char* call) {
  Graph& graph = need<Graph>(handle, call, "graph");
  if (&graph.engine() != &ctx.engine()) invalid("{}: graph belongs to another engine", call);
  return graph;
}

std::vector<Tensor*> need_tensors(Context& ctx, dlcore_tensor* const* handles, int64_t n,
                                  const char* call, const char* name) {
  std::vector<Tensor*> tensors;
  for (int64_t i = 0; i < need_count(n, handles, call, name); ++i) {
    tensors.push_back(&need_tensor(ctx, handles[i], call, name));
  }
  return tensors;
}

}  // namespace

extern "C" {

// ---- Capture

dlcore_status dlcore_capture_begin(dlcore_context* ctx, const char* name) {
  return status_call(ctx, [&](Context& c) {
    std::string text = need_text(name, "capture_begin", "name");
    if (c.capture)
      fail(DLCORE_FAILED_PRECONDITION, "capture_begin: a capture is open on this context already");
    if (c.depth() > 0)
      fail(DLCORE_FAILED_PRECONDITION, "capture_begin: {} transform levels are open", c.depth());
    c.capture = std::make_unique<Capture>(c, std::move(text));
  });
}

dlcore_tensor* dlcore_capture_input(dlcore_context* ctx, const char* name, dlcore_dtype dtype,
                                    const char* shape) {
  return tensor_call(ctx, [&](Context& c) {
    Capture& capture = need_capture(c, "capture_input");
    std::string text = need_text(name, "capture_input", "name");
    return capture.input(c, std::move(text), dtype, need_text(shape, "capture_input", "shape"));
  });
}

dlcore_tensor* dlcore_capture_constant(dlcore_context* ctx, dlcore_tensor* tensor) {
  return tensor_call(ctx, [&](Context& c) {
    Capture& capture = need_capture(c, "capture_constant");
    return capture.constant(c, need_elements(c, tensor, "capture_constant"));
  });
}

dlcore_graph* dlcore_capture_end(dlcore_context* ctx, dlcore_tensor* const* outputs,
                                 int64_t n_outputs) {
  return object_call<dlcore_graph>(ctx, [&](Context& c) {
    Capture& capture = need_capture(c, "capture_end");
    if (c.depth() > 0)
      fail(DLCORE_FAILED_PRECONDITION, "capture_end: {} transform levels are open", c.depth());
    Ref<Graph> graph =
        capture.finish(c, need_tensors(c, outputs, n_outputs, "capture_end", "outputs"));
    c.capture.reset();
    return graph;
  });
}

dlcore_status dlcore_capture_abort(dlcore_context* ctx) {
  return status_call(
      ctx, [](Context& c) { c.capture.reset(); }, Entry::Kind::kAlwaysRuns);
}

void dlcore_graph_retain(dlcore_graph* graph) { retain<Graph>(graph); }
void dlcore_graph_release(dlcore_graph* graph) { release<Graph>(graph); }

// ---- Text

int64_t dlcore_graph_to_text(dlcore_context* ctx, const dlcore_graph* graph, char* buffer,
                             int64_t size) {
  return value_call<int64_t>(ctx, -1, [&](Context& c) {
    return copy_text(print(need_graph(c, graph, "graph_to_text")), buffer, size);
  });
}

dlcore_graph* dlcore_graph_parse(dlcore_context* ctx, const char* text, int64_t length) {
  return object_call<dlcore_graph>(ctx, [&](Context& c) {
    const auto n = static_cast<size_t>(need_count(length, text, "graph_parse", "text"));
    return parse_graph(c, n == 0 ? std::string_view() : std::string_view(text, n));
  });
}

int64_t dlcore_graph_node_count(const dlcore_graph* graph) {
  const Graph* g = live<Graph>(graph);
  return g == nullptr ? -1 : static_cast<int64_t>(g->nodes.size());
}

// ---- Passes and execution

dlcore_status dlcore_graph_verify(dlcore_context* ctx, const dlcore_graph* graph) {
  return status_call(ctx, [&](Context& c) { verify(need_graph(c, graph, "graph_verify")); });
}

dlcore_graph* dlcore_graph_apply(dlcore_context* ctx, const dlcore_graph* graph, const char* pass) {
  return object_call<dlcore_graph>(ctx, [&](Context& c) {
    const Graph& g = need_graph(c, graph, "graph_apply");
    return apply_pass(g, need_text(pass, "graph_apply", "pass"));
  });
}

dlcore_executable* dlcore_graph_compile(dlcore_context* ctx, const dlcore_graph* graph,
                                        dlcore_variable* const* variables, int64_t n_variables) {
  return object_call<dlcore_executable>(ctx, [&](Context& c) {
    const Graph& g = need_graph(c, graph, "graph_compile");
    std::vector<Variable*> bound;
    for (int64_t i = 0; i < need_count(n_variables, variables, "graph_compile", "variables"); ++i) {
      bound.push_back(&need<Variable>(variables[i], "graph_compile", "variables"));
    }
    return make_ref<Executable>(c, g, bound);
  });
}

void dlcore_executable_retain(dlcore_executable* executable) { retain<Executable>(executable); }
void dlcore_executable_release(dlcore_executable* executable) { release<Executable>(executable); }

dlcore_status dlcore_executable_run(dlcore_context* ctx, dlcore_executable* executable,
                                    dlcore_tensor* const* inputs, int64_t n_inputs,
                                    dlcore_tensor** outputs, int64_t n_outputs) {
  return status_call(ctx, [&](Context& c) {
    Executable& e = need<Executable>(executable, "executable_run", "executable");
    if (&e.engine() != &c.engine()) invalid("executable_run: executable belongs to another engine");
    const std::vector<Tensor*> given =
        need_tensors(c, inputs, n_inputs, "executable_run", "inputs");
    const auto n = static_cast<size_t>(need_count(n_outputs, outputs, "executable_run", "outputs"));
    if (n != e.output_count()) {
      invalid("executable_run: there is room for {} outputs, but the graph has {}", n,
              e.output_count());
    }
    std::vector<TensorRef> made(n);
    e.run(c, given, made);
    for (size_t i = 0; i < n; ++i)
      outputs[i] = reinterpret_cast<dlcore_tensor*>(c.give(std::move(made[i])));
  });
}

}  // extern "C"
