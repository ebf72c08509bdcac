// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Dlcore.Conformance
{
    /// <summary>Reads JSON into dictionaries, lists, strings, longs, doubles, booleans and null. The files are our own: it
    /// trusts their form.</summary>
    internal sealed class Json
    {
        private readonly string text;
        private int at;

        private Json(string text)
        {
            this.text = text;
        }

        internal static object Parse(string text) => new Json(text).Value();

        private object Value()
        {
            char c = Next();
            if (c == '{') return Object();
            if (c == '[') return List();
            if (c == '"') return String();
            int start = at;
            while (at < text.Length && ",]} \n\r\t".IndexOf(text[at]) < 0) ++at;
            string word = text.Substring(start, at - start);
            if (word == "null") return null;
            if (word == "true" || word == "false") return word == "true";
            if (word.IndexOfAny(new[] { '.', 'e', 'E' }) < 0) return long.Parse(word, CultureInfo.InvariantCulture);
            double value = double.Parse(word, CultureInfo.InvariantCulture);
            return value == 0 && word[0] == '-' ? BitConverter.Int64BitsToDouble(long.MinValue) : value; // Mono parses -0 as 0
        }

        private object Object()
        {
            var members = new Dictionary<string, object>();
            for (++at; Next() != '}';)
            {
                if (text[at] == ',') { ++at; continue; }
                string name = String();
                Next();
                ++at; // the colon
                members[name] = Value();
            }
            ++at;
            return members;
        }

        private object List()
        {
            var items = new List<object>();
            for (++at; Next() != ']';)
            {
                if (text[at] == ',') ++at;
                else items.Add(Value());
            }
            ++at;
            return items;
        }

        private string String()
        {
            var built = new StringBuilder();
            for (++at; text[at] != '"'; ++at)
            {
                if (text[at] != '\\')
                {
                    built.Append(text[at]);
                    continue;
                }
                char c = text[++at];
                int known = "nrtbf".IndexOf(c);
                if (c == 'u')
                {
                    built.Append((char)Convert.ToInt32(text.Substring(at + 1, 4), 16));
                    at += 4;
                }
                else
                {
                    built.Append(known < 0 ? c : "\n\r\t\b\f"[known]);
                }
            }
            ++at;
            return built.ToString();
        }

        private char Next()
        {
            while (char.IsWhiteSpace(text[at])) ++at;
            return text[at];
        }
    }
}
