// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore
{
    /// <summary>Packs attributes into words, in the order of their schema, for one call. The buffer has room for
    /// lists and texts of the lengths that are checked here; the generator computed it.</summary>
    internal unsafe struct Words
    {
        private readonly string owner;
        private readonly long* buffer;

        internal Words(string owner, long* buffer)
        {
            this.owner = owner;
            this.buffer = buffer;
            Count = 0;
        }

        internal int Count { get; private set; }

        internal void Int(long value) => buffer[Count++] = value;

        internal void Bool(bool value) => Int(value ? 1 : 0);

        internal void Float(double value) => Int(BitConverter.DoubleToInt64Bits(value));

        internal void Ints(string name, long[] values)
        {
            NeedLength(name, values, Raw.MaxInts);
            Int(values.Length);
            foreach (long value in values) Int(value);
        }

        internal void Dims(string name, long[] values)
        {
            NeedLength(name, values, Raw.MaxDims);
            Int(values.Length);
            foreach (long value in values)
            {
                Int(0); // the kind: an integer
                Int(value);
            }
        }

        internal void Text(string name, string value)
        {
            if (value == null) throw new InvalidArgumentException($"{owner}: {name} is missing: it is null, expected text", owner);
            byte[] bytes = Dlcore.Text.Encode(value, $"{owner}: {name}");
            if (bytes.Length > Raw.MaxText)
            {
                throw new InvalidArgumentException(
                    $"{owner}: {name} is too long: it has {bytes.Length} bytes, expected at most {Raw.MaxText}", owner);
            }
            Int(bytes.Length);
            for (int at = 0; at < bytes.Length; at += sizeof(long))
            {
                long word = 0;
                for (int i = 0; i < sizeof(long) && at + i < bytes.Length; ++i) word |= (long)bytes[at + i] << (8 * i);
                Int(word);
            }
        }

        internal void OptionalInt(long? value)
        {
            Bool(value.HasValue);
            if (value.HasValue) Int(value.Value);
        }

        internal void OptionalFloat(double? value)
        {
            Bool(value.HasValue);
            if (value.HasValue) Float(value.Value);
        }

        internal void OptionalBool(bool? value)
        {
            Bool(value.HasValue);
            if (value.HasValue) Bool(value.Value);
        }

        internal void OptionalInts(string name, long[] values)
        {
            Bool(values != null);
            if (values != null) Ints(name, values);
        }

        internal void OptionalDims(string name, long[] values)
        {
            Bool(values != null);
            if (values != null) Dims(name, values);
        }

        internal void OptionalText(string name, string value)
        {
            Bool(value != null);
            if (value != null) Text(name, value);
        }

        /// <summary>The name of a choice by its number.</summary>
        internal string Name(string[] names, int index, string attribute)
        {
            if (index >= 0 && index < names.Length) return names[index];
            throw new InvalidArgumentException(
                $"{owner}: no such choice: {attribute} is {index}, expected one of {string.Join(", ", names)}", owner);
        }

        internal long[] ToArray()
        {
            var words = new long[Count];
            for (int i = 0; i < words.Length; ++i) words[i] = buffer[i];
            return words;
        }

        private void NeedLength(string name, long[] values, int most)
        {
            if (values == null) throw new InvalidArgumentException($"{owner}: {name} is missing: it is null, expected a list", owner);
            if (values.Length > most)
            {
                throw new InvalidArgumentException(
                    $"{owner}: {name} is too long: it has {values.Length} elements, expected at most {most}", owner);
            }
        }
    }
}
