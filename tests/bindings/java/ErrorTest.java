// SPDX-License-Identifier: Apache-2.0
import static org.junit.jupiter.api.Assertions.*;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.dlcore.*;
import org.dlcore.nn.*;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A class for each code, with message, op and cause. */
final class ErrorTest extends EngineTest {
  @TempDir Path folder;

  private <E extends DlcoreException> E fails(Class<E> type, String contains, Runnable call) {
    E error = assertThrows(type, call::run);
    assertTrue(error.getMessage().contains(contains), error.getMessage());
    return error;
  }

  @Test
  void classFollowsFromTheCode() throws IOException {
    DlcoreException error =
        fails(
            InvalidArgumentException.class,
            "did you mean transpose_b?",
            () -> dl.full(2, 3).matmul(dl.full(2, 3)));
    assertEquals(3, error.code());
    assertEquals("INVALID_ARGUMENT", error.codeName());
    assertEquals("matmul", error.op());
    assertNull(error.getCause());
    fails(NotFoundException.class, "use 'concat'", () -> dl.op("cat"));
    fails(NotFoundException.class, "nodevice", () -> engine.context("nodevice"));
    fails(
        NotFoundException.class,
        "missing",
        () -> new Linear(dl, 2, 2).load(folder.resolve("missing")));
    fails(FailedPreconditionException.class, "", () -> dl.full(1).backward());
    fails(OutOfRangeException.class, "axis is 2", () -> dl.full(2, 2).dim(2));
    fails(AlreadyExistsException.class, "twice", () -> register("twice", register("twice", null)));
    Path broken = Files.write(folder.resolve("broken"), new byte[] {1, 2, 3});
    fails(DataLossException.class, "broken", () -> dl.archive(broken));
    engine.failAllocation(1);
    fails(ResourceExhaustedException.class, "", () -> dl.full(1000, 1000));
    fails(
        InvalidArgumentException.class, "thread", () -> Engine.open(Engine.options().threads(-1)));
    assertEquals(0, dl.full(1).toFloat()); // no error is left behind
  }

  private Op register(String name, Op before) {
    return dl.register(
        name,
        1,
        1,
        0,
        new CustomOp() {
          @Override
          public void infer(OpCall call) {
            call.setOutputLike(0, call.input(0));
          }

          @Override
          public void forward(OpCall call) {
            call.setOutput(0, call.input(0));
          }
        });
  }

  @Test
  void programsMakeTheirOwn() {
    List<DlcoreException> all =
        List.of(
            new CancelledException("x"),
            new UnknownException("x"),
            new InvalidArgumentException("x"),
            new DeadlineExceededException("x"),
            new NotFoundException("x"),
            new AlreadyExistsException("x"),
            new PermissionDeniedException("x"),
            new ResourceExhaustedException("x"),
            new FailedPreconditionException("x"),
            new AbortedException("x"),
            new OutOfRangeException("x"),
            new UnimplementedException("x"),
            new InternalException("x"),
            new UnavailableException("x"),
            new DataLossException("x"),
            new UnauthenticatedException("x"));
    for (int i = 0; i < all.size(); i++) {
      assertEquals(i + 1, all.get(i).code());
      assertEquals("x", all.get(i).getMessage());
    }
  }

  @Test
  void contextsDoNotMix() {
    try (Context other = engine.context("cpu")) {
      Tensor theirs = other.full(3);
      fails(InvalidArgumentException.class, "another context", () -> dl.full(3).add(theirs));
      fails(InvalidArgumentException.class, "another context", () -> dl.relu(theirs));
      assertEquals(3, dl.full(3).add(1).add(theirs.on(dl)).sum().toFloat());
    }
  }

  @Test
  void badInputs() {
    fails(InvalidArgumentException.class, "null", () -> dl.relu(null));
    fails(InvalidArgumentException.class, "null", () -> dl.tensor((float[]) null));
    fails(InvalidArgumentException.class, "", () -> dl.tensor(new float[3], 2, 2));
    fails(InvalidArgumentException.class, "", () -> dl.tensor(new float[1], -1));
    fails(InvalidArgumentException.class, "", () -> dl.full(new long[17]));
    fails(InvalidArgumentException.class, "", () -> dl.full(Long.MAX_VALUE, Long.MAX_VALUE));
    fails(InvalidArgumentException.class, "", () -> dl.full(2, 3).reshape(new long[100_000]));
    fails(InvalidArgumentException.class, "char[]", () -> dl.tensor(DType.I16, new char[2], 2));
    fails(InvalidArgumentException.class, "String", () -> dl.tensor(DType.I16, "text", 2));
    fails(InvalidArgumentException.class, "", () -> dl.concat());
    fails(InvalidArgumentException.class, "", () -> dl.concat(List.of()));
    fails(
        InvalidArgumentException.class,
        "missing",
        () -> dl.concat(Arrays.asList(dl.full(1), null)));
    fails(
        InvalidArgumentException.class,
        "stride",
        () -> dl.strided(DType.F32, new float[4], new long[1], new long[2], 0));
    fails(
        InvalidArgumentException.class,
        "",
        () -> dl.strided(DType.F32, new float[4], new long[] {3}, new long[] {2}, 0));
    fails(InvalidArgumentException.class, "NUL", () -> dl.op("a\0b"));
    fails(InvalidArgumentException.class, "surrogate", () -> dl.op("\ud83d"));
    fails(InvalidArgumentException.class, "one element", () -> dl.full(2).toFloat());
    fails(InvalidArgumentException.class, "dtype is i64", () -> dl.arange(3).toFloatArray());
    fails(InvalidArgumentException.class, "dtype is f32", () -> dl.full(3).toLongArray());
    fails(NotFoundException.class, "missing.so", () -> engine.loadPlugin(Path.of("missing.so")));
    fails(InvalidArgumentException.class, "no engine", () -> Engine.adopt(0));
    fails(
        InvalidArgumentException.class,
        "number 1 is null",
        () -> new Sequential(dl, new ReLU(dl), null));
    fails(InvalidArgumentException.class, "null", () -> dl.full(2).reshape((long[]) null));
    fails(InvalidArgumentException.class, "null", () -> dl.full(2).astype(null));
    fails(
        InvalidArgumentException.class,
        "",
        () -> dl.data().of(dl.full(2), dl.full(3)).batch(1).open());
    fails(
        InvalidArgumentException.class,
        "",
        () -> dl.data().fashionMnist("no such part").batch(1).open());
    fails(
        InvalidArgumentException.class,
        "tangents are 0",
        () -> dl.jvp(x -> x.get(0), List.of(dl.full(1)), List.of()));
  }
}
