// SPDX-License-Identifier: Apache-2.0
// A graph as text:
//
//   graph.v1 "step" (%0 "x": f32[B, 784], %1 "y": i64[B]) {
//     state %2 "0.weight": f32[10, 784]
//     const %3: weak f64[] = 0x1.8p+1
//     const %4: f32[64, 64] = hex "0000803f..."
//     %5: f32[B, 10] = linear.v1(%0, %2, none)
//     %6: f32[], %7: f32[B] = cross_entropy.v1(%5, %1) {reduction = "mean", ignore_index = none,
//     label_smoothing = 0x0p+0} update %2 = %9 return %6
//   }
//
// Values are numbered in the order of the text. Every attribute is written, in the order of the
// op's schema. Floats are exact: hexadecimal, `inf`, `nan`, or `nan(0x...)` with the bits where
// they are not those of the usual NaN. Elements of constants are a list when there are few, or else
// bytes in little-endian order. Strings are UTF-8 with
// \", \\, \n, \t, \r, and \xNN for any other control character and for bytes that are no UTF-8.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace dlcore {

// The same text for graphs that differ only in the numbers of their values.
std::string print(const Graph& graph);

std::string quoted(std::string_view text);
// Length of the UTF-8 sequence at the front of `text`; 0 when there is none.
size_t utf8_length(std::string_view text);

// Names as which the text writes an op: "linear.v1".
std::string versioned_name(const OpDef& op);
// Those that need no quotes.
bool is_plain_name(std::string_view name);

}  // namespace dlcore
