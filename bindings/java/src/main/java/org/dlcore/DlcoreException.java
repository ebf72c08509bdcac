// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

/**
 * A call failed. There is one subclass for each code; the cause is the failure that led to this
 * one, or what a callback threw.
 */
public abstract class DlcoreException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The number of the code. */
  private final int code;

  /** The name of the code. */
  private final String name;

  /** The op that failed, or an empty text. */
  private final String op;

  DlcoreException(int code, String name, String message, String op, Throwable cause) {
    super(message, cause);
    this.code = code;
    this.name = name;
    this.op = op;
  }

  /**
   * The number of the code, which gRPC, TensorFlow and PJRT share.
   *
   * @return 1 to 16
   */
  public final int code() {
    return code;
  }

  /**
   * The name of the code.
   *
   * @return a name like {@code INVALID_ARGUMENT}
   */
  public final String codeName() {
    return name;
  }

  /**
   * The op that failed.
   *
   * @return its name in the catalogue; empty when the failing call was none
   */
  public final String op() {
    return op;
  }
}
