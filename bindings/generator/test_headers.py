#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The parser of the headers: what it reads, and that it refuses the rest with file and line."""

import tempfile
import unittest
from pathlib import Path

import headers
from lexer import HeaderError

FRAME = """/* dlcore/{name} -- for a test. */
#ifndef GUARD
#define GUARD
#ifdef __cplusplus
extern "C" {{
#endif
typedef struct dlcore_thing dlcore_thing;
{text}
#ifdef __cplusplus
}}
#endif
#endif
"""
LINE = 8  # where `text` starts


def parse(text):
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "thing.h").write_text(FRAME.format(name="thing.h", text=text), encoding="utf-8")
        return headers.parse(Path(directory))


class Accepted(unittest.TestCase):
    def test_function(self):
        function = parse(
            "typedef int32_t dlcore_status;\n/* Fills it.\n * Since 0.3. */\n"
            "DLCORE_API DLCORE_STATUS DLCORE_ALWAYS_RUNS dlcore_status dlcore_x(void);")["functions"][0]
        self.assertEqual((function["class"], function["traits"]), ("status", ["always_runs"]))
        self.assertEqual(function["since"], "0.3")
        self.assertEqual(function["doc"], "Fills it.\nSince 0.3.")

    def test_parameters(self):
        function = parse(
            "DLCORE_API DLCORE_VOID void dlcore_x(DLCORE_NULLABLE DLCORE_ARRAY(n) dlcore_thing *const *things,\n"
            "    int64_t n, DLCORE_OUT double *value,\n"
            "    DLCORE_NULLABLE void (*destroy)(void *user_data));")["functions"][0]
        things, _, value, destroy = function["parameters"]
        self.assertEqual(things["type"]["c"], "dlcore_thing *const *")
        self.assertEqual((things["array"], things["nullable"]), ("n", True))
        self.assertTrue(value["out"])
        self.assertEqual(destroy["parameters"][0]["type"]["c"], "void *")

    def test_struct(self):
        members = "int64_t shape[16]; /* its\n  dimensions */\n  char name[32];\n"
        fields = parse(f"typedef struct dlcore_s {{\n  {members}}} dlcore_s;")["structs"][0]["fields"]
        self.assertEqual([field.get("length") for field in fields], [16, 32])
        self.assertEqual([field["doc"] for field in fields], ["its dimensions", ""])

    def test_enum(self):
        values = parse("enum {\n  DLCORE_A = -1, /* first */\n  DLCORE_B = 2\n};")["enums"][0]["values"]
        expected = [("DLCORE_A", -1, "first"), ("DLCORE_B", 2, "")]
        self.assertEqual([tuple(value.values()) for value in values], expected)

    def test_title_is_no_documentation(self):
        text = "/* ---- Part ---- */\nDLCORE_API DLCORE_VOID void dlcore_x(void);"
        self.assertEqual(parse(text)["functions"][0]["doc"], "")


REFUSED = {
    "no result class": ("DLCORE_API void dlcore_x(void);", "result class"),
    "a class that does not fit": ("DLCORE_API DLCORE_HANDLE int32_t dlcore_x(void);", "marked as handle"),
    "a borrowed value": ("DLCORE_API DLCORE_BORROWED int64_t dlcore_x(void);", "marked as borrowed"),
    "an unknown type": ("DLCORE_API DLCORE_VOID void dlcore_x(dlcore_other *other);", "unknown type dlcore_other"),
    "a type that has no fixed size": ("DLCORE_API DLCORE_VALUE long dlcore_x(void);", "unknown type long"),
    "an array of no length": ("DLCORE_API DLCORE_VOID void dlcore_x(DLCORE_ARRAY(n) char *a);", "no parameter"),
    "a marked value": ("DLCORE_API DLCORE_VOID void dlcore_x(DLCORE_OUT int64_t n);", "no pointer"),
    "a foreign prefix": ("DLCORE_API DLCORE_VOID void other_x(void);", "lacks the prefix"),
    "an enumerator without a number": ("enum { DLCORE_A };", "expected '='"),
    "a line comment": ("// text", "unexpected '/'"),
    "a variable": ("extern int32_t dlcore_x;", "expected DLCORE_API"),
    "varargs": ("DLCORE_API DLCORE_VOID void dlcore_x(const char *format, ...);", "unexpected '.'"),
    "a condition": ("#ifdef X\nDLCORE_API DLCORE_VOID void dlcore_x(void);\n#endif", "under a condition"),
    "a function twice": ("\n".join(["DLCORE_API DLCORE_VOID void dlcore_x(void);"] * 2), "twice"),
}


class Refused(unittest.TestCase):
    def test_each(self):
        for name, (text, reason) in REFUSED.items():
            with self.subTest(name), self.assertRaises(HeaderError) as caught:
                parse(text)
            self.assertRegex(str(caught.exception), rf"^thing\.h:{LINE + (text.count(chr(10)) > 0)}: ", name)
            self.assertIn(reason, str(caught.exception), name)


if __name__ == "__main__":
    unittest.main()
