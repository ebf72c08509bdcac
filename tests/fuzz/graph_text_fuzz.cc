// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: bytes as the text of a graph. What parses verifies, prints as what parses and
// prints the same, and stays sound under every pass; what can be compiled can be run.
#include "fuzz.h"

namespace dlcore::fuzz {
namespace {

std::string text_of(dlcore_context* ctx, const dlcore_graph* graph) {
  const int64_t size = dlcore_graph_to_text(ctx, graph, nullptr, 0);
  if (size < 1) {
    if (dlcore_context_status(ctx) == DLCORE_RESOURCE_EXHAUSTED) return "";
    found("cannot be printed", dlcore_context_error_message(ctx));
  }
  std::string text(static_cast<size_t>(size), '\0');
  dlcore_graph_to_text(ctx, graph, text.data(), size);
  text.pop_back();
  return text;
}

dlcore_graph* parse(dlcore_context* ctx, const std::string& text) {
  return dlcore_graph_parse(ctx, text.data(), static_cast<int64_t>(text.size()));
}

void require_stable(dlcore_context* ctx, dlcore_graph* graph) {
  if (dlcore_graph_verify(ctx, graph) != DLCORE_OK)
    found("does not verify", dlcore_context_error_message(ctx));
  const std::string once = text_of(ctx, graph);
  dlcore_graph* again = parse(ctx, once);
  if (again == nullptr) {
    if (dlcore_context_status(ctx) == DLCORE_RESOURCE_EXHAUSTED) return;
    found("does not parse again", once + dlcore_context_error_message(ctx));
  }
  const std::string twice = text_of(ctx, again);
  if (once != twice) found("prints differently", once + twice);
  dlcore_graph_release(again);
}

void compile_and_run(dlcore_context* ctx, dlcore_graph* graph) {
  dlcore_executable* e = dlcore_graph_compile(ctx, graph, nullptr, 0);
  dlcore_tensor* output[1];
  dlcore_executable_run(ctx, e, nullptr, 0, output, 1);
  dlcore_executable_release(e);
  require_sound_status(ctx);
  dlcore_context_clear_error(ctx);
}

}  // namespace
}  // namespace dlcore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dlcore::fuzz;
  return on_fresh_context([&](dlcore_context* ctx) {
    dlcore_graph* graph = parse(ctx, std::string(reinterpret_cast<const char*>(data), size));
    require_sound_status(ctx);
    if (graph == nullptr) return;
    require_stable(ctx, graph);
    for (const char* pass : {"dce", "cse"}) {
      dlcore_graph* changed = dlcore_graph_apply(ctx, graph, pass);
      if (changed != nullptr) require_stable(ctx, changed);
      dlcore_graph_release(changed);
      dlcore_context_clear_error(ctx);
    }
    compile_and_run(ctx, graph);
    dlcore_graph_release(graph);
  });
}
