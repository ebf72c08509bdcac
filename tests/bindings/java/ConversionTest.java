// SPDX-License-Identifier: Apache-2.0
import static org.junit.jupiter.api.Assertions.*;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.List;
import java.util.Map;
import org.dlcore.*;
import org.dlcore.nn.Linear;
import org.junit.jupiter.api.Test;

/** Elements and text on their way in and out. */
final class ConversionTest extends EngineTest {
  @Test
  void arraysOfEveryDtype() {
    for (DType dtype : DType.values()) {
      byte[] bytes = new byte[6 * dtype.bytes()];
      for (int i = 0; i < bytes.length; i++) {
        bytes[i] = (byte) (dtype == DType.BOOL ? i % 2 : i * 7 % 50);
      }
      Tensor x = dl.tensor(dtype, bytes, 2, 3);
      assertEquals(dtype, x.dtype());
      assertArrayEquals(new long[] {2, 3}, x.shape());
      assertArrayEquals(bytes, x.toBytes());
      assertArrayEquals(bytes, x.permuteDims(1, 0).permuteDims(1, 0).toBytes());
      assertEquals(dtype.number(), DType.of(dtype.number()).number());
    }
    assertNull(DType.of(0));
    assertNull(DType.of(-1));
    assertNull(DType.of(1000));
  }

  @Test
  void typedArrays() {
    assertArrayEquals(
        new float[] {1, -2, Float.NaN}, dl.tensor(new float[] {1, -2, Float.NaN}).toFloatArray());
    assertArrayEquals(
        new double[] {1, Double.MIN_VALUE},
        dl.tensor(new double[] {1, Double.MIN_VALUE}).toDoubleArray());
    assertArrayEquals(
        new long[] {Long.MIN_VALUE, 7}, dl.tensor(new long[] {Long.MIN_VALUE, 7}).toLongArray());
    assertArrayEquals(
        new int[] {Integer.MIN_VALUE, 7}, dl.tensor(new int[] {Integer.MIN_VALUE, 7}).toIntArray());
    assertArrayEquals(
        new boolean[] {true, false}, dl.tensor(new boolean[] {true, false}).toBooleanArray());
    assertArrayEquals(new int[] {-1, 5}, dl.tensor(DType.I8, new byte[] {-1, 5}, 2).toIntArray());
    assertArrayEquals(new int[] {255, 5}, dl.tensor(DType.U8, new byte[] {-1, 5}, 2).toIntArray());
    assertArrayEquals(
        new long[] {-300, 5}, dl.tensor(DType.I16, new short[] {-300, 5}, 2).toLongArray());
    assertArrayEquals(
        new float[] {1.5f, -2},
        dl.tensor(DType.F16, new short[] {0x3e00, (short) 0xc000}, 2).toFloatArray());
    assertArrayEquals(
        new double[] {1.5}, dl.tensor(DType.BF16, new short[] {0x3fc0}, 1).toDoubleArray());
    assertEquals(0, dl.tensor(new float[0]).count());
    assertArrayEquals(new long[] {0, 16}, dl.tensor(new float[0], 0, 16).shape());
    assertEquals(3, dl.tensor(new float[] {3}, new long[0]).toFloat());
    assertEquals(0, dl.tensor(new float[] {3}, new long[0]).rank());
    float[] large = new float[100_000];
    large[99_999] = 5;
    assertArrayEquals(large, dl.tensor(large, 100, 1000).toFloatArray());
  }

  @Test
  void stridedArrays() {
    float[] values = new float[12];
    for (int i = 0; i < 12; i++) {
      values[i] = i;
    }
    Tensor columns = dl.strided(DType.F32, values, new long[] {3, 2}, new long[] {4, 1}, 1);
    assertArrayEquals(new float[] {1, 2, 5, 6, 9, 10}, columns.toFloatArray());
    Tensor backwards = dl.strided(DType.F32, values, new long[] {3}, new long[] {-2}, 11);
    assertArrayEquals(new float[] {11, 9, 7}, backwards.toFloatArray());
    Tensor repeated = dl.strided(DType.F32, values, new long[] {2, 2}, new long[] {0, 1}, 3);
    assertArrayEquals(new float[] {3, 4, 3, 4}, repeated.toFloatArray());
    Tensor view = dl.tensor(values, 3, 4).slice(new long[] {0, 1}, new long[] {3, 3});
    assertFalse(view.isContiguous());
    assertArrayEquals(new long[] {4, 1}, view.strides());
    assertArrayEquals(new float[] {1, 2, 5, 6, 9, 10}, view.toFloatArray());
  }

  @Test
  void buffersOfEveryKindAndOrder() {
    for (boolean direct : new boolean[] {true, false}) {
      for (ByteOrder order : List.of(ByteOrder.LITTLE_ENDIAN, ByteOrder.BIG_ENDIAN)) {
        ByteBuffer bytes =
            (direct ? ByteBuffer.allocateDirect(64) : ByteBuffer.allocate(64)).order(order);
        bytes.putFloat(4, 1.5f).putFloat(8, -2).putFloat(12, 3);
        bytes.position(4).limit(16);
        for (var source :
            List.of(bytes, bytes.asReadOnlyBuffer().order(order), bytes.asFloatBuffer())) {
          assertArrayEquals(
              new float[] {1.5f, -2, 3}, dl.tensor(DType.F32, source, 3).toFloatArray());
        }
        assertEquals(4, bytes.position());
        FloatBuffer part = bytes.asFloatBuffer();
        part.position(1);
        assertArrayEquals(new float[] {-2, 3}, dl.tensor(DType.F32, part, 2).toFloatArray());
        assertThrows(InvalidArgumentException.class, () -> dl.tensor(DType.F32, part, 3));

        Tensor x = dl.tensor(new float[] {7, 8, 9});
        x.read(bytes);
        assertEquals(8, bytes.getFloat(8));
        assertEquals(0, bytes.getFloat(0));
        assertEquals(0, bytes.duplicate().clear().order(order).getFloat(16));
        dl.tensor(new float[] {5, 6}).read(part);
        assertEquals(6, bytes.getFloat(12));
        assertThrows(InvalidArgumentException.class, () -> x.read(part));
        assertThrows(InvalidArgumentException.class, () -> x.read(bytes.asReadOnlyBuffer()));
        assertThrows(InvalidArgumentException.class, () -> x.read(IntBuffer.allocate(3)));
        assertThrows(InvalidArgumentException.class, () -> dl.tensor(DType.I64, part, 2));

        bytes.clear();
        bytes.putLong(0, 1L << 40).putShort(8, (short) 300).putDouble(16, 0.25).putInt(24, 9);
        assertEquals(1L << 40, dl.tensor(DType.I64, bytes.slice(0, 8).order(order), 1).toLong());
        assertEquals(300, dl.tensor(DType.I16, bytes.slice(8, 2).order(order), 1).toLong());
        assertEquals(0.25, dl.tensor(DType.F64, bytes.slice(16, 8).order(order), 1).toDouble());
        assertEquals(9, dl.tensor(DType.I32, bytes.slice(24, 4).order(order), 1).toLong());
      }
    }
  }

  @Test
  void numbersTakeTheDtypeOfTensors() {
    Tensor x = dl.tensor(DType.BF16, new short[] {0x3fc0}, 1);
    assertEquals(DType.BF16, x.add(2).dtype());
    assertEquals(DType.BF16, x.multiply(2.5).dtype());
    assertEquals(DType.BF16, dl.subtract(1, x).dtype());
    assertEquals(-0.5f, dl.subtract(1, x).toFloat());
    assertEquals(0.5f, x.subtract(1).toFloat());
    assertEquals(DType.BOOL, dl.tensor(new boolean[] {true}).logicalAnd(true).dtype());
    assertTrue(dl.scalar(2.0).isWeak() && dl.scalar(2).isWeak() && dl.scalar(true).isWeak());
    assertEquals(DType.I64, dl.scalar(2).dtype());
    assertArrayEquals(
        new float[] {1, 0},
        dl.where(dl.tensor(new boolean[] {true, false}), dl.full(2).add(1), dl.scalar(0))
            .toFloatArray());
  }

  @Test
  void textIsRealUtf8() {
    String smile = "\ud83d\ude42 ä"; // U+1F642: F0 9F 99 82 on the other side, never six bytes
    byte[] utf8 = {(byte) 0xf0, (byte) 0x9f, (byte) 0x99, (byte) 0x82};
    Variable variable = new Variable(dl, smile, dl.full(1), false);
    assertEquals(smile, variable.name());
    var bytes = new java.io.ByteArrayOutputStream();
    Archive.save(dl, bytes, Map.of(smile, dl.full(2), "b", dl.full(3)));
    String header = new String(bytes.toByteArray(), java.nio.charset.StandardCharsets.ISO_8859_1);
    assertTrue(header.contains(new String(utf8, java.nio.charset.StandardCharsets.ISO_8859_1)));
    Archive archive = Archive.open(dl, ByteBuffer.wrap(bytes.toByteArray()));
    assertEquals(List.of("b", smile), archive.names());
    assertEquals(2, archive.tensor(smile).count());
    DlcoreException error = assertThrows(NotFoundException.class, () -> dl.op(smile));
    assertTrue(error.getMessage().contains(smile), error.getMessage());
    Checkpoint checkpoint = dl.checkpoint();
    checkpoint.setText("key", smile);
    assertEquals(smile, checkpoint.text("key"));
    assertNull(checkpoint.text("other"));
  }

  @Test
  void dlpackBothWays() {
    Tensor x = dl.tensor(new float[] {1, 2, 3, 4}, 2, 2);
    Tensor copied = dl.fromDlpack(x.permuteDims(1, 0).toDlpack(false), false);
    assertArrayEquals(new float[] {1, 3, 2, 4}, copied.toFloatArray());
    Tensor shared = dl.fromDlpack(x.toDlpack(false), true);
    x.close();
    assertArrayEquals(new float[] {1, 2, 3, 4}, shared.toFloatArray());
    assertThrows(InvalidArgumentException.class, () -> dl.fromDlpack(0, false));
  }

  @Test
  void readable() {
    Tensor x = dl.tensor(new float[] {1, 2});
    assertTrue(x.toString().contains("f32 [2]") && x.toString().contains("[1, 2]"), x.toString());
    assertEquals("Variable(weight)", new Linear(dl, 2, 2).find("weight").toString());
    assertTrue(
        engine.statistics().toString().startsWith("Statistics[threads=2"),
        engine.statistics().toString());
    assertEquals("f32", DType.F32.toString());
  }
}
