// SPDX-License-Identifier: Apache-2.0
using System;
using System.Text;

namespace Dlcore
{
    /// <summary>Text as the library wants it: UTF-8, ended by a zero byte.</summary>
    internal static unsafe class Text
    {
        private static readonly UTF8Encoding Strict = new UTF8Encoding(false, throwOnInvalidBytes: true);
        private static readonly byte[] Nothing = { 0 };

        /// <summary>What asks for text by the two-call pattern: returns the bytes needed, writes at most so many.</summary>
        internal delegate long Writer(byte* buffer, long size);

        /// <summary>The bytes of a name or a path; null stays null, and crosses as a null pointer.</summary>
        internal static byte[] Bytes(string text, string what)
        {
            if (text == null) return null;
            if (text.Length == 0) return Nothing;
            if (text.IndexOf('\0') >= 0)
            {
                throw new InvalidArgumentException($"{what}: the text ends early: it holds a zero character, expected none");
            }
            byte[] plain = Encode(text, what);
            Array.Resize(ref plain, plain.Length + 1);
            return plain;
        }

        /// <summary>The bytes of a name that must be there.</summary>
        internal static byte[] Needed(string text, string what)
        {
            if (text == null) throw new ArgumentNullException(what);
            return Bytes(text, what);
        }

        /// <summary>The bytes without a zero at the end.</summary>
        internal static byte[] Encode(string text, string what)
        {
            try
            {
                return Strict.GetBytes(text);
            }
            catch (EncoderFallbackException)
            {
                throw new InvalidArgumentException($"{what}: the text is no Unicode: it holds half of a surrogate pair, expected both");
            }
        }

        /// <summary>The bytes of a message, whatever it holds.</summary>
        internal static byte[] Lossy(string text) => Encoding.UTF8.GetBytes((text ?? "").Replace('\0', ' ') + "\0");

        /// <summary>Borrowed text, copied; "" for a null pointer.</summary>
        internal static string From(byte* text)
        {
            if (text == null) return "";
            int length = 0;
            while (text[length] != 0) ++length;
            return length == 0 ? "" : Encoding.UTF8.GetString(text, length);
        }

        /// <summary>Text by the two-call pattern; null when the library failed.</summary>
        internal static string Written(Writer write)
        {
            long size = write(null, 0);
            if (size < 1) return null;
            var bytes = new byte[size];
            fixed (byte* buffer = bytes)
            {
                return write(buffer, size) < 1 ? null : Encoding.UTF8.GetString(buffer, (int)size - 1);
            }
        }
    }
}
