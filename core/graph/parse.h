// SPDX-License-Identifier: Apache-2.0
// Graphs from text (print.h describes it).
#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace dlcore {

// A graph that verifies, with state that is bound to no variable. Anything else is INVALID_ARGUMENT
// with line and column; what it costs is bounded by the length of the text.
Ref<Graph> parse_graph(Context& ctx, std::string_view text);

}  // namespace dlcore
