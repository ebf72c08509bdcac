// SPDX-License-Identifier: Apache-2.0
import com.google.gson.JsonObject;
import org.dlcore.DType;

/** When a result is right; see README.md. */
record Comparison(double rtol, double atol, double ulp, boolean signedZero) {
  private static final int SHOWN = 4;

  static Comparison of(JsonObject tolerance, boolean signedZero) {
    return new Comparison(
        number(tolerance, "rtol"), number(tolerance, "atol"), number(tolerance, "ulp"), signedZero);
  }

  private static double number(JsonObject tolerance, String key) {
    return tolerance == null || !tolerance.has(key) ? 0 : tolerance.get(key).getAsDouble();
  }

  /** Throws unless all elements are right. */
  void require(String where, Elements got, Elements expected) {
    if (got.isFloating() != expected.isFloating() || got.count() != expected.count()) {
      throw new Failure(where + "has " + got.count() + " elements, expected " + expected.count());
    }
    int wrong = 0;
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < got.count(); i++) {
      boolean same =
          got.isFloating()
              ? agree(got.real(i), expected.real(i), got.dtype())
              : got.integer(i) == expected.integer(i);
      if (!same && ++wrong <= SHOWN) {
        text.append("; element ").append(i).append(" is ").append(show(got, i));
        text.append(", expected ").append(show(expected, i));
      }
    }
    if (wrong > 0) {
      throw new Failure(where + wrong + " of " + got.count() + " elements differ" + text);
    }
  }

  private static Object show(Elements elements, int i) {
    return elements.isFloating() ? (Object) elements.real(i) : (Object) elements.integer(i);
  }

  private boolean agree(double got, double expected, DType dtype) {
    if (Double.isNaN(got) || Double.isNaN(expected)) {
      return Double.isNaN(got) && Double.isNaN(expected);
    }
    double rounded = round(expected, dtype);
    if (signedZero && rounded == 0 && Double.compare(got, rounded) != 0) {
      return false;
    }
    if (got == rounded) {
      return true;
    }
    if (Double.isInfinite(got) || Double.isInfinite(expected)) {
      return false;
    }
    double allowed = atol + rtol * Math.abs(expected);
    if (ulp > 0) {
      allowed += ulp * spacing(expected, dtype);
    }
    return Math.abs(got - expected) <= allowed;
  }

  private static double round(double value, DType dtype) {
    if (dtype == DType.F64) {
      return value;
    }
    return Elements.rounded(dtype, new long[0], 1, i -> value).real(0);
  }

  /** Distance to the next number of the dtype. */
  private static double spacing(double value, DType dtype) {
    int fraction = dtype == DType.F16 ? 10 : dtype == DType.BF16 ? 7 : dtype == DType.F32 ? 23 : 52;
    int least = dtype == DType.F16 ? -14 : dtype == DType.F64 ? -1022 : -126;
    int exponent = value == 0 ? least : Math.max(Math.getExponent(value), least);
    return Math.scalb(1.0, exponent - fraction);
  }
}
