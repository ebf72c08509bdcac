// SPDX-License-Identifier: Apache-2.0
import org.dlcore.*;

/** Fashion-MNIST, or generated data in its place. */
final class FashionData {
  private FashionData() {}

  static Loader batches(Context dl, String part, long size, boolean shuffled) {
    try {
      return loader(dl.data().fashionMnist(part), size, shuffled);
    } catch (NotFoundException missing) {
      System.out.println(
          "Fashion-MNIST ("
              + part
              + ") is not installed (package dataset-fashion-mnist): using generated data instead");
      return part.equals("train")
          ? generated(dl, 6000, 11, size, shuffled)
          : generated(dl, 1000, 12, size, shuffled);
    }
  }

  private static Loader loader(Dataset data, long size, boolean shuffled) {
    Loader loader = data.batch(size);
    return (shuffled ? loader.shuffle() : loader).open();
  }

  /** Ten fixed random patterns with noise on top. */
  private static Loader generated(Context dl, long n, long seed, long size, boolean shuffled) {
    try (var scope = dl.scope()) {
      dl.seed(7);
      Tensor patterns = dl.randomUniform(10, 784);
      dl.seed(seed);
      Tensor noise = dl.randomUniform(n, 784);
      Tensor labels = dl.randomIntegers(new long[] {n}, 0, 10);
      Tensor samples = labels.oneHot(10).matmul(patterns).multiply(0.5).add(noise.multiply(0.5));
      return loader(dl.data().of(samples, labels), size, shuffled);
    }
  }
}
