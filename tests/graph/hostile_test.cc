// SPDX-License-Identifier: Apache-2.0
// Texts that are no graph: an error with line and column, whatever they are.
#include <random>

#include "tests/graph/support.h"

namespace graph_test {
namespace {

constexpr const char* kGood =
    "graph.v1 \"step\" (%0 \"x\": f32[B, 3], %1 \"y\": i64[B]) {\n"
    "  state %2 \"w\": f32[2, 3]\n"
    "  const %3: weak f64[] = 0x1.8p+1\n"
    "  const %4: f32[2] = [0x1p+0, nan(0xffc00001)]\n"
    "  %5: f32[B, 2] = linear.v1(%0, %2, %4)\n"
    "  %6: f32[], %7: f32[B] = cross_entropy.v1(%5, %1) {reduction = \"mean\", ignore_index = "
    "none, label_smoothing = "
    "0x0p+0}\n"
    "  %8: f32[2, 3] = negative.v1(%2)\n"
    "  update %2 = %8\n"
    "  return %6\n"
    "}\n";

std::string with_body(const std::string& body) {
  return "graph.v1 \"g\" (%x \"x\": f32[B, 4]) {\n" + body + "\n return\n}";
}

class HostileTest : public GraphTest {
 protected:
  void body_is_refused(const std::string& body, std::initializer_list<const char*> parts) {
    s.expect_refused(with_body(body), parts);
  }
  Session s{engine};
};

TEST_F(HostileTest, TheModelTextIsGood) { s.expect_stable(kGood); }

TEST_F(HostileTest, Located) {
  s.expect_refused("", {"line 1, column 1", "expected 'graph.v1', found the end of the text"});
  s.expect_refused("graph.v2 \"g\" () { return }", {"line 1, column 1", "graph.v2"});
  for (const char* start : {"0", "-", "%", "\\", "]", "7\"", "\""})
    s.expect_refused(start, {"line 1, column 1"});
  s.expect_refused("graph.v1 g", {"line 1, column 10", "the graph's name"});
  s.expect_refused("graph.v1 \"\xC3\xA9\" x",
                   {"line 1, column 14", "expected '('"});  // columns count characters
  s.expect_refused("graph.v1 \"g\" () { return } more", {"column 28", "the end of the text"});
  s.expect_refused("graph.v1 \"g", {"column 10", "has no end"});
  s.expect_refused("graph.v1 \"g\nh\" () { return }", {"control character"});
  s.expect_refused("graph.v1 \"\xFF\" () { return }", {"no UTF-8"});
  s.expect_refused("graph.v1 \"\\q\" () { return }", {"escape"});
  s.expect_refused("graph.v1 \"\\x00\" () { return }", {"NUL"});
  s.expect_refused(std::string_view("graph.v1 \0", 10), {"line 1, column 10", "\\x00"});
  s.expect_refused("graph.v1 \"g\" () {", {"found the end of the text"});
  s.expect_refused("graph.v1 \"g\" (%0 \"x\": f32[2]", {"expected ','"});
  s.expect_refused("graph.v1 \"g\" (%0 \"x\": f32[2", {"no ']'"});
}

TEST_F(HostileTest, Names) {
  s.expect_refused("graph.v1 \"g\" (%0 \"x\": f32[], %0 \"y\": f32[]) { return }",
                   {"'%0' is defined already"});
  s.expect_refused("graph.v1 \"g\" (%0 \"x\": f32[], %1 \"x\": f32[]) { return }",
                   {"input 'x'", "another input"});
  body_is_refused("state %1 \"w\": f32[]\nstate %2 \"w\": f32[]", {"state 'w'", "another state"});
  body_is_refused("%1: f32[B, 4] = negative.v1(%2)\n%2: f32[B, 4] = negative.v1(%x)",
                  {"line 2", "'%2' is used before"});
  body_is_refused("%1: f32[B, 4] = negative.v1(%1)", {"line 2", "'%1' is used before"});
  body_is_refused("update %x = %x", {"line 2, column 8", "a state"});
  body_is_refused("state %1 \"w\": f32[]\nupdate %1 = %1\nupdate %1 = %1",
                  {"line 4", "update already"});
  body_is_refused("state %1 \"w\": f32[]\nupdate %1 = %x",
                  {"state 'w'", "its update is f32[B, 4]"});
  body_is_refused("%", {"name is missing"});
}

TEST_F(HostileTest, Ops) {
  body_is_refused("%1: f32[B, 4] = cat.v1(%x)",
                  {"line 2, column 17", "there is no op \"cat\"", "concat"});
  body_is_refused("%1: f32[B, 4] = negative(%x)", {"no version"});
  body_is_refused("%1: f32[B, 4] = negative.v9(%x)", {"has version 1 here, not 'v9'"});
  body_is_refused("%1: f32[B, 4] = negative.v01(%x)", {"has version 1 here"});
  body_is_refused("%1: f32[B, 4] = negative.v1()", {"node 0 (negative)", "0 inputs"});
  body_is_refused("%1: f32[B, 4] = negative.v1(none)", {"input 0", "missing"});
  body_is_refused("%1: f32[B, 4] = negative.v1(%x, %x)", {"2 inputs"});
  body_is_refused("%1: f32[B, 5] = negative.v1(%x)",
                  {"line 2, column 1", "f32[B, 5]", "f32[B, 4]"});
  body_is_refused("%1: f64[B, 4] = negative.v1(%x)", {"f64[B, 4]"});
  body_is_refused("%1: weak f32[B, 4] = negative.v1(%x)", {"line 2, column 1", "weak"});
  body_is_refused("%1: f32[B, 4], %2: f32[B, 4] = negative.v1(%x)", {"2 outputs"});
  body_is_refused("const %1: i64[] = 1\n%2: f32[B, 4] = add.v1(%x, %1)",
                  {"line 3", "one before it is f32"});
  body_is_refused("const %1: i64[] = 1\n%2: i64[] = exp.v1(%1)", {"is i64, expected"});
  body_is_refused(
      "%1: f32[3] = random_uniform.v1(none) {shape = [3], low = 0, high = 1, dtype = f32}",
      {"missing"});
  body_is_refused("%1: f32[B, 4] = concat.v1() {axis = 0}", {"0 inputs"});
  std::string many;
  for (int i = 0; i < 100; ++i) many += (i == 0 ? "%x" : ", %x");
  body_is_refused("%1: f32[B, 4] = concat.v1(" + many + ") {axis = 0}", {"expected ')'"});
}

TEST_F(HostileTest, Attributes) {
  const auto softmax = [](const std::string& attrs) {
    return "%1: f32[B, 4] = softmax.v1(%x)" + attrs;
  };
  body_is_refused(softmax(""), {"expected '{'"});
  body_is_refused(softmax(" {}"), {"expected attribute 'axis' of softmax"});
  body_is_refused(softmax(" {axes = 1}"), {"expected attribute 'axis' of softmax, found 'axes'"});
  body_is_refused(softmax(" {axis = 1, axis = 1}"), {"expected '}'"});
  body_is_refused(softmax(" {axis = 1.5}"), {"expected an integer, found '1.5'"});
  body_is_refused(softmax(" {axis = \"1\"}"), {"expected an integer, found a string"});
  body_is_refused(softmax(" {axis = none}"), {"expected an integer"});
  body_is_refused(softmax(" {axis = 99999999999999999999}"), {"out of range"});
  body_is_refused(softmax(" {axis = " + std::string(100000, '9') + "}"), {"out of range"});
  body_is_refused(softmax(" {axis = 2}"), {"node 0 (softmax)", "axis is 2"});
  body_is_refused("%1: f32[B, 4] = gelu.v1(%x) {approximate = \"x\"}", {"'x'", "none|tanh"});
  body_is_refused("%1: f32[B, 4] = gelu.v1(%x) {approximate = " + std::string(100, '{') + "}",
                  {"expected a string"});
  body_is_refused("%1: f32[B, 4] = clip.v1(%x) {min = 1e999, max = none}", {"f64"});
  body_is_refused("%1: f32[B, 4] = clip.v1(%x) {min = 0x, max = none}", {"f64"});
  body_is_refused("%1: f32[B, 4] = clip.v1(%x) {min = nan(0x0), max = none}", {"bits of a NaN"});
  body_is_refused("%1: f64[B, 4] = astype.v1(%x) {dtype = float}", {"expected a dtype"});
  body_is_refused("%1: f32[] = sum.v1(%x) {axes = [0, 0], keepdims = false}", {"twice"});
  std::string longest = "0";
  for (int i = 0; i < 5000; ++i) longest += ", 0";
  body_is_refused("%1: f32[] = sum.v1(%x) {axes = [" + longest + "], keepdims = false}",
                  {"axes", "5001"});
  body_is_refused("%1: f32[B] = reshape.v1(%x) {shape = [" + longest + "]}", {"more than 16"});
}

TEST_F(HostileTest, Constants) {
  body_is_refused("const %1: f32[2] = [1]", {"line 2", "4 bytes", "expected 8"});
  body_is_refused("const %1: f32[2] = [1, 2, 3]", {"12 bytes"});
  body_is_refused("const %1: f32[1000000000000] = [1]", {"4 bytes"});
  body_is_refused("const %1: f32[4611686018427387904, 4611686018427387904] = []", {"overflow"});
  body_is_refused("const %1: f32[B] = [1]", {"symbolic"});
  body_is_refused("const %1: f32[-1] = [1]", {"-1"});
  body_is_refused("const %1: u8[] = 256", {"out of range, expected 0 to 255"});
  body_is_refused("const %1: i8[] = -129", {"out of range"});
  body_is_refused("const %1: f32[] = 1e39", {"range of f32"});
  body_is_refused("const %1: f16[] = 1", {"written as hex"});
  body_is_refused("const %1: f32[] = hex \"0000803\"", {"odd"});
  body_is_refused("const %1: f32[] = hex \"0000803g\"", {"hex digits"});
  body_is_refused("const %1: bool[] = hex \"02\"", {"bool"});
  body_is_refused("const %1: bool[] = 1", {"true or false"});
}

TEST_F(HostileTest, Sizes) {
  const auto constant = [](const std::string& shape) { return "state %1 \"w\": f32" + shape; };
  body_is_refused(constant("[B]"), {"symbolic"});
  body_is_refused(constant("[-5]"), {"-5"});
  body_is_refused(constant("[99999999999999999999]"), {"overflows"});
  body_is_refused(constant("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"), {"16"});
  body_is_refused(constant("[B +]"), {"malformed"});
  body_is_refused(constant("[div(B, 0)]"), {"divided by 0"});
  body_is_refused(constant("[div(-9223372036854775807*B + -1*B, -1)]"), {"overflows"});
  std::string nested, sum = "A0";
  for (int i = 0; i < 100000; ++i) nested += "div(";
  body_is_refused(constant("[" + nested + "]"), {"nested"});
  for (int i = 1; i < 3000; ++i) sum += " + A" + std::to_string(i);
  body_is_refused(constant("[" + sum + "]"), {"more than"});
  // Squaring a sum again and again would square the number of its terms.
  s.expect_refused(
      "graph.v1 \"g\" (%x \"x\": f32[A + B + C + D + E + F + G + H, A + B + C + D + E + F + G + H, "
      "A + B + C + D + "
      "E + F + G + H, A + B + C + D + E + F + G + H]) {\n"
      "  %1: f32[Z] = reshape.v1(%x) {shape = [-1]}\n return\n}",
      {"characters"});
}

// Dropping, doubling and changing bytes: an error, or a graph that prints stably.
TEST_F(HostileTest, EveryPrefixAndManyMutations) {
  const std::string good = kGood;
  for (size_t n = 0; n + 2 < good.size(); ++n) {
    EXPECT_EQ(s.parse(good.substr(0, n)), nullptr) << n;
    s.expect_error(DLCORE_INVALID_ARGUMENT, {"graph_parse: line "});
  }
  std::mt19937 random(20240601);
  const std::string bytes = "0123456789%\"(){}[]:,=.-+*xBnan\\\n \x00\xff" + std::string(1, '\0');
  int parsed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    for (int edits = static_cast<int>(random() % 3) + 1; edits > 0; --edits) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text.erase(at, random() % 4 + 1);
          break;
        case 1:
          text.insert(at, text.substr(random() % text.size(), random() % 12));
          break;
        case 2:
          text[at] = bytes[random() % bytes.size()];
          break;
        default:
          text[at] = static_cast<char>(random());
      }
      if (text.empty()) text = " ";
    }
    dlcore_graph* graph = s.parse(text);
    if (graph == nullptr) {
      s.expect_error(DLCORE_INVALID_ARGUMENT, {"graph_parse: line "});
      continue;
    }
    ++parsed;
    s.expect_stable(s.text(graph));
    dlcore_graph_release(graph);
  }
  EXPECT_GT(parsed, 100);
}

TEST_F(HostileTest, Megabytes) {
  constexpr size_t kMany = size_t{1} << 20;
  for (const char* part : {"(", "{", "[", "%0", "\"", "graph.v1 ", "0", "-", " ", "\n", "\\",
                           "//\n", "\xF0\x9F\x99\x82", "B + "}) {
    std::string text;
    while (text.size() < kMany) text += part;
    EXPECT_EQ(s.parse(text), nullptr);
    s.expect_error(DLCORE_INVALID_ARGUMENT, {"graph_parse: line "});
    if (s.parse(with_body(text)) == nullptr)
      s.expect_error(DLCORE_INVALID_ARGUMENT, {"graph_parse: line "});
  }
}

TEST_F(HostileTest, LongGraphsTakeTheirTime) {
  std::string text = "graph.v1 \"long\" (%0 \"x\": f32[B]) {\n";
  constexpr int kNodes = 50000;
  for (int i = 1; i <= kNodes; ++i)
    text += "  %" + std::to_string(i) + ": f32[B] = negative.v1(%" + std::to_string(i - 1) + ")\n";
  text += "  return %" + std::to_string(kNodes) + "\n}\n";
  dlcore_graph* graph = s.parse(text);
  ASSERT_NE(graph, nullptr) << s.message();
  EXPECT_EQ(dlcore_graph_node_count(graph), kNodes);
  EXPECT_EQ(s.text(graph), text);
}

TEST_F(HostileTest, WrongArguments) {
  EXPECT_EQ(dlcore_graph_parse(s.ctx, nullptr, 5), nullptr);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {});
  EXPECT_EQ(dlcore_graph_parse(s.ctx, "graph.v1", -1), nullptr);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {});
  EXPECT_EQ(dlcore_graph_parse(s.ctx, nullptr, 0), nullptr);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"line 1, column 1"});
  EXPECT_EQ(dlcore_graph_to_text(s.ctx, nullptr, nullptr, 0), -1);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {});
}

}  // namespace
}  // namespace graph_test
