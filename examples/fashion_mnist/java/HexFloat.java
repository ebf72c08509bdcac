// SPDX-License-Identifier: Apache-2.0

/** Floats as C's %a writes them. */
final class HexFloat {
  private HexFloat() {}

  static String of(float value) {
    String text = Double.toHexString(value); // 0x1.27ap1, 0x1.0p-3, NaN, Infinity
    int p = text.indexOf('p');
    if (p < 0) {
      return text.toLowerCase().replace("infinity", "inf");
    }
    String mantissa = text.substring(0, p).replaceFirst("\\.0$", "");
    String exponent = text.substring(p + 1);
    return mantissa + "p" + (exponent.startsWith("-") ? "" : "+") + exponent;
  }
}
