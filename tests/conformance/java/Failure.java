// SPDX-License-Identifier: Apache-2.0

/** A case does not hold. */
final class Failure extends RuntimeException {
  private static final long serialVersionUID = 1;

  Failure(String message) {
    super(message);
  }
}
