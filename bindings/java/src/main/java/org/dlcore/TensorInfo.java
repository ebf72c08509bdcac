// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.nio.ByteBuffer;
import org.dlcore.internal.Access;
import org.dlcore.internal.Layout;
import org.dlcore.internal.Raw;

/** What a tensor is, which never changes. */
final class TensorInfo {
  final DType dtype;
  final long[] shape;
  final long[] strides;
  final long count;
  final long bytes;
  final boolean weak;
  final boolean contiguous;
  final boolean requiresGrad;
  final boolean symbolic;
  final String device;

  private TensorInfo(ByteBuffer record) {
    int rank = record.getInt(Layout.TensorDescription.RANK);
    dtype = DType.of(record.getInt(Layout.TensorDescription.DTYPE));
    shape = longs(record, Layout.TensorDescription.SHAPE, rank);
    strides = longs(record, Layout.TensorDescription.STRIDES, rank);
    count = record.getLong(Layout.TensorDescription.COUNT);
    bytes = record.getLong(Layout.TensorDescription.BYTES);
    weak = record.get(Layout.TensorDescription.IS_WEAK) != 0;
    contiguous = record.get(Layout.TensorDescription.IS_CONTIGUOUS) != 0;
    requiresGrad = record.get(Layout.TensorDescription.REQUIRES_GRAD) != 0;
    symbolic = record.get(Layout.TensorDescription.IS_SYMBOLIC) != 0;
    device = EngineLog.text(record, Layout.TensorDescription.DEVICE);
  }

  static TensorInfo of(Tensor tensor) {
    Context dl = tensor.context;
    TensorInfo[] info = new TensorInfo[1];
    Access.get()
        .value(
            dl,
            null,
            (ctx, self) -> {
              long handle = dl.handle(tensor);
              ByteBuffer record = dl.core.bytes(Layout.TensorDescription.SIZE);
              record.putInt(Layout.TensorDescription.STRUCT_SIZE, Layout.TensorDescription.SIZE);
              if (Raw.dlcore_tensor_describe(ctx, handle, dl.core.reserve(0)) != 0) {
                throw dl.core.failure();
              }
              info[0] = new TensorInfo(record);
              return 0;
            });
    return info[0];
  }

  private static long[] longs(ByteBuffer record, int offset, int count) {
    long[] values = new long[count];
    for (int i = 0; i < count; i++) {
      values[i] = record.getLong(offset + 8 * i);
    }
    return values;
  }
}
