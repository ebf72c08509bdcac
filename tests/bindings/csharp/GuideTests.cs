// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Linq;
using System.Text.RegularExpressions;

namespace Dlcore.Tests
{
    /// <summary>The code in docs/guide-csharp.md is that of docs/guide.cs.</summary>
    internal static class GuideTests
    {
        public static void QuotedCodeIsInTheProgram(Engine engine)
        {
            string root = AppDomain.CurrentDomain.BaseDirectory;
            while (!Directory.Exists(Path.Combine(root, "docs"))) root = Path.GetDirectoryName(root);
            string program = Plain(File.ReadAllText(Path.Combine(root, "docs/guide.cs")));
            string guide = File.ReadAllText(Path.Combine(root, "docs/guide-csharp.md"));
            MatchCollection blocks = Regex.Matches(guide, "^```csharp\n(.*?)^```", RegexOptions.Multiline | RegexOptions.Singleline);
            Check.That(blocks.Count > 10, "the guide quotes code");
            foreach (string code in blocks.Cast<Match>().Select(block => Plain(block.Groups[1].Value)))
            {
                Check.That(program.Contains(code), $"the guide quotes what is not in guide.cs: {code}");
            }
        }

        private static string Plain(string code) => string.Join("\n", code.Trim().Split('\n').Select(line => line.Trim()));
    }
}
