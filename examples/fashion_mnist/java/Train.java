// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.io.PrintWriter;
import org.dlcore.*;
import org.dlcore.nn.*;
import org.dlcore.nn.Module;
import org.dlcore.optim.Adam;

/** Trains a small classifier on Fashion-MNIST, saves it, loads it back and reports its accuracy. */
public final class Train {
  public static void main(String[] arguments) {
    try {
      Settings settings = Settings.parse(arguments);
      try (var engine = Engine.open(Engine.options().threads(settings.threads()));
          var dl = engine.context("cpu", settings.seed());
          var losses = settings.open()) {
        run(dl, settings, losses);
      }
    } catch (DlcoreException | IllegalArgumentException | IOException error) {
      System.err.println(error.getMessage());
      System.exit(1);
    }
  }

  static Module classifier(Context dl) {
    return new Sequential(
        dl,
        new Linear(dl, 784, 256),
        new ReLU(dl),
        new Linear(dl, 256, 128),
        new ReLU(dl),
        new Linear(dl, 128, 10));
  }

  static void run(Context dl, Settings settings, PrintWriter losses) {
    dl.data().setDirectory(settings.data());
    var train = FashionData.batches(dl, "train", 64, true);
    var test = FashionData.batches(dl, "test", 1000, false);
    var model = classifier(dl);
    var copy = classifier(dl);
    var adam = new Adam(dl, model.parameters(), Adam.options().lr(1e-3));
    var checkpoint = dl.checkpoint().add("model", model).add("adam", adam).add("train", train);
    if (settings.resume() != null) {
      checkpoint.load(settings.resume());
    }

    long steps = 0;
    for (long epoch = train.epoch();
        epoch < settings.epochs() && steps != settings.limit();
        epoch++) {
      var progress = Progress.of(train, "epoch " + (epoch + 1) + "/" + settings.epochs());
      for (Batch b : progress) { // each turn is a scope: what it made goes back at the next one
        try (b) { // and when the loop is left early
          Tensor loss = dl.crossEntropy(model.call(b.x()), b.y());
          loss.backward();
          adam.step(); // uses the gradients and clears them
          float last = loss.toFloat();
          losses.println(HexFloat.of(last));
          progress.note(String.format("loss %.4f", last));
        }
        if (++steps == settings.limit()) {
          progress.end();
          break;
        }
      }
    }
    if (settings.checkpoint() != null) {
      checkpoint.save(settings.checkpoint());
    }

    model.save(settings.save());
    copy.load(settings.save());
    System.out.printf("accuracy %.4f%n", accuracy(dl, copy, test));
  }

  static double accuracy(Context dl, Module model, Loader test) {
    long right = 0;
    try (var inference = dl.inference()) {
      for (Batch b : test) {
        right += model.call(b.x()).argmax(1).equal(b.y()).sum().toLong();
      }
    }
    return (double) right / test.samples();
  }
}
