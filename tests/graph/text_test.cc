// SPDX-License-Identifier: Apache-2.0
// Graphs as text: what is printed parses to what prints the same.
#include <cmath>
#include <limits>

#include "tests/graph/support.h"

namespace graph_test {
namespace {

class TextTest : public GraphTest {
 protected:
  Session s{engine};
};

TEST_F(TextTest, ReadsAsItWasCaptured) {
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "step"), DLCORE_OK);
  dlcore_tensor* x = s.input("x", DLCORE_F32, "[B, 3]");
  dlcore_tensor* w = dlcore_capture_constant(s.ctx, s.f32({2, 3}, {1, 2, 3, 4, 5, 6.5f}));
  dlcore_tensor* y = s.op("linear", {x, w});
  dlcore_tensor* p = s.op("softmax", {y}, Words().number(-1));
  dlcore_graph* graph = s.end({p, y});
  ASSERT_NE(graph, nullptr) << s.message();
  EXPECT_EQ(dlcore_graph_node_count(graph), 2);
  const std::string text = s.text(graph);
  EXPECT_EQ(text,
            "graph.v1 \"step\" (%0 \"x\": f32[B, 3]) {\n"
            "  const %1: f32[2, 3] = [0x1p+0, 0x1p+1, 0x1.8p+1, 0x1p+2, 0x1.4p+2, 0x1.ap+2]\n"
            "  %2: f32[B, 2] = linear.v1(%0, %1, none)\n"
            "  %3: f32[B, 2] = softmax.v1(%2) {axis = -1}\n"
            "  return %3, %2\n"
            "}\n");
  s.expect_stable(text);
}

TEST_F(TextTest, AttributesOfEveryKind) {
  s.expect_stable(
      "graph.v1 \"attributes\" (%0 \"x\": f32[B, 6], %1 \"y\": i64[B]) {\n"
      "  %2: f32[B, 6] = clip.v1(%0) {min = none, max = 0x1.8p+1}\n"
      "  %3: f32[B, 6] = clip.v1(%0) {min = -inf, max = nan}\n"
      "  %4: f32[B, 6] = clip.v1(%0) {min = nan(0x7ff8000000000001), max = -0x0p+0}\n"
      "  %5: f64[B, 6] = astype.v1(%0) {dtype = f64}\n"
      "  %6: f32[B, 1] = sum.v1(%0) {axes = [-1], keepdims = true}\n"
      "  %7: f32[] = sum.v1(%0) {axes = none, keepdims = false}\n"
      "  %8: f32[2*B, 3] = reshape.v1(%0) {shape = [-1, 3]}\n"
      "  %9: f32[6*B] = reshape.v1(%0) {shape = [6*B]}\n"
      "  %10: f32[B, 6] = gelu.v1(%0) {approximate = \"tanh\"}\n"
      "  %11: f32[], %12: f32[B] = cross_entropy.v1(%0, %1) {reduction = \"mean\", ignore_index = "
      "-100, label_smoothing = "
      "0x1.999999999999ap-4}\n"
      "  return %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12\n"
      "}\n");
}

TEST_F(TextTest, ConstantsKeepTheirBits) {
  s.expect_stable(
      "graph.v1 \"constants\" () {\n"
      "  const %0: bool[2] = [true, false]\n"
      "  const %1: u8[1] = [255]\n"
      "  const %2: i8[1, 1] = [-128]\n"
      "  const %3: i16[] = -32768\n"
      "  const %4: i32[] = 2147483647\n"
      "  const %5: i64[3] = [-9223372036854775808, 9223372036854775807, 0]\n"
      "  const %6: f16[2] = hex \"003c017e\"\n"
      "  const %7: bf16[] = hex \"803f\"\n"
      "  const %8: f32[6] = [-0x0p+0, inf, -inf, nan, nan(0xffc00001), 0x1p-149]\n"
      "  const %9: f64[2] = [0x0.0000000000001p-1022, 0x1.fffffffffffffp+1023]\n"
      "  const %10: weak f64[] = 0x1.8p+1\n"
      "  const %11: f32[0, 4] = []\n"
      "  const %12: u8[17] = hex \"000102030405060708090a0b0c0d0e0f10\"\n"
      "  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12\n"
      "}\n");
}

TEST_F(TextTest, CapturedConstantsComeBack) {
  const float special[] = {0.1f, -0.0f, std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::denorm_min(),
                           std::bit_cast<float>(0x7f800001u)};  // a signalling NaN
  std::vector<float> data;
  for (int i = 0; i < 40; ++i) data.push_back(special[i % 5]);
  for (const auto& [n, hex] : {std::pair<int64_t, bool>{5, false}, {40, true}}) {
    const std::vector<float> part(data.begin(), data.begin() + n);
    ASSERT_EQ(dlcore_capture_begin(s.ctx, "c"), DLCORE_OK);
    dlcore_graph* graph = s.end({dlcore_capture_constant(s.ctx, s.f32({n}, part))});
    const std::string text = s.text(graph);
    EXPECT_EQ(text.find("hex") != std::string::npos, hex) << text;
    dlcore_graph* parsed = s.parse(text);
    const auto outputs = s.run(dlcore_graph_compile(s.ctx, parsed, nullptr, 0), {}, 1);
    expect_same_bits(s.floats(outputs[0]), part, text);
  }
  s.expect_ok();
}

TEST_F(TextTest, NamesAreQuoted) {
  const std::string name =
      "a \"b\"\\\n\t\r\x01\x7f \xF0\x9F\x99\x82 \xC3(";  // U+1F642, and a byte that is no UTF-8
  ASSERT_EQ(dlcore_capture_begin(s.ctx, name.c_str()), DLCORE_OK);
  dlcore_tensor* x = s.input(name.c_str(), DLCORE_F32, "[]");
  const std::string text = s.text(s.end({x}));
  EXPECT_EQ(text,
            "graph.v1 \"a \\\"b\\\"\\\\\\n\\t\\r\\x01\\x7f \xF0\x9F\x99\x82 \\xc3(\" (%0 \"a "
            "\\\"b\\\"\\\\\\n\\t\\r\\x01\\x7f \xF0\x9F\x99\x82 \\xc3(\": f32[]) {\n"
            "  return %0\n"
            "}\n");
  s.expect_stable(text);
}

TEST_F(TextTest, SizesPrintTheSameWhateverTheOrderOfTheirSymbols) {
  // concat meets Z before A, and their sum before their product.
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "sizes"), DLCORE_OK);
  dlcore_tensor* z = s.input("z", DLCORE_F32, "[Z]");
  dlcore_tensor* a = s.input("a", DLCORE_F32, "[A]");
  dlcore_tensor* b = s.input("b", DLCORE_F32, "[Z, A]");
  dlcore_tensor* sum = s.op("concat", {z, a, z}, Words().number(0));
  dlcore_tensor* flat = s.op("reshape", {b}, Words().dims({-1}));
  dlcore_tensor* both = s.op("concat", {flat, sum}, Words().number(0));
  const std::string text = s.text(s.end({both}));
  EXPECT_NE(text.find("f32[A*Z + A + 2*Z]"), std::string::npos) << text;
  s.expect_stable(text);
}

TEST_F(TextTest, HandwrittenTextMayDifferInBlanksNamesAndComments) {
  dlcore_graph* graph = s.parse(
      "// a comment\n"
      "graph.v1 \"g\"(%first \"x\":f32[ B,2 ]){ %y2:f32[B , 2]=negative.v1( %first )// more\n"
      "const %c:f64[]=2.5 return %y2,%c}");
  ASSERT_NE(graph, nullptr) << s.message();
  EXPECT_EQ(s.text(graph),
            "graph.v1 \"g\" (%0 \"x\": f32[B, 2]) {\n"
            "  const %1: f64[] = 0x1.4p+1\n"
            "  %2: f32[B, 2] = negative.v1(%0)\n"
            "  return %2, %1\n"
            "}\n");
}

TEST_F(TextTest, TwoCallPattern) {
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "g"), DLCORE_OK);
  dlcore_graph* graph = s.end({s.input("x", DLCORE_F32, "[2]")});
  char small[8];
  std::memset(small, 'z', sizeof small);
  const int64_t size = dlcore_graph_to_text(s.ctx, graph, small, 4);
  EXPECT_GT(size, 8);
  EXPECT_EQ(small[4], 'z');
  EXPECT_EQ(dlcore_graph_node_count(graph), 0);
  EXPECT_EQ(dlcore_graph_node_count(nullptr), -1);
}

}  // namespace
}  // namespace graph_test
