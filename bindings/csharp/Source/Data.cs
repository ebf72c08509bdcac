// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore
{
    public sealed unsafe partial class Context
    {
        /// <summary>Data sets, to be cut into batches.</summary>
        public Data Data => new Data(this);
    }

    /// <summary>Where batches come from.</summary>
    public readonly struct Data
    {
        private readonly Context context;

        internal Data(Context context)
        {
            this.context = context;
        }

        /// <summary>Fashion-MNIST: f32 [N, 784] between 0 and 1, and i64 labels [N].</summary>
        /// <param name="part">"train" or "test"</param>
        /// <returns>the data set</returns>
        public Dataset FashionMnist(string part) => Source("fashion-mnist:" + part);

        /// <summary>What a text names, as "idx:DIR/train"; dlcore/data.h lists the schemes.</summary>
        /// <param name="name">scheme:rest</param>
        /// <returns>the data set</returns>
        public Dataset Source(string name) => new Dataset(context, name, null, null);

        /// <summary>Samples and labels from memory.</summary>
        /// <param name="samples">[N, ...]</param>
        /// <param name="labels">[N, ...]</param>
        /// <returns>the data set</returns>
        public Dataset FromTensors(Tensor samples, Tensor labels) => new Dataset(context, null, samples, labels);

        /// <summary>Says where FashionMnist looks first.</summary>
        /// <param name="directory">with the IDX files, plain or gzip; null for nowhere in particular</param>
        public unsafe void SetDirectory(string directory)
        {
            Context owner = context;
            byte[] bytes = Text.Bytes(directory, nameof(directory));
            owner.Use(ctx =>
            {
                fixed (byte* text = bytes) owner.Check(ctx, Raw.dlcore_context_set_data_directory(ctx, text));
                return 0;
            });
        }
    }

    /// <summary>Samples and labels that are still to be cut into batches.</summary>
    public sealed unsafe class Dataset
    {
        private readonly Context context;
        private readonly string name;
        private readonly Tensor samples, labels;

        internal Dataset(Context context, string name, Tensor samples, Tensor labels)
        {
            this.context = context;
            this.name = name;
            this.samples = samples;
            this.labels = labels;
        }

        /// <summary>Opens it.</summary>
        /// <param name="size">samples in a batch; the last one of an epoch may be smaller</param>
        /// <param name="shuffle">whether each epoch has an order of its own</param>
        /// <returns>the batches</returns>
        public Loader Batch(long size, bool shuffle = false)
        {
            byte[] bytes = Text.Bytes(name, nameof(name));
            ulong flags = shuffle ? (ulong)Raw.DLCORE_LOADER_SHUFFLE : 0;
            return context.Use(ctx =>
            {
                fixed (byte* text = bytes)
                {
                    IntPtr made = text != null
                        ? Raw.dlcore_loader_open(ctx, text, size, flags)
                        : Raw.dlcore_loader_from_tensors(ctx, context.Use(samples, nameof(samples)), context.Use(labels, nameof(labels)),
                            size, flags);
                    if (made == IntPtr.Zero) throw context.TakeError(ctx);
                    return new Loader(context, made);
                }
            });
        }
    }
}
