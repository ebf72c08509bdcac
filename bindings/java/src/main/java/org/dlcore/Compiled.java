// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A function that is captured as a graph the first time it meets inputs of some dtypes and shapes
 * in some mode, and runs as that from then on, with the same bits. What cannot be captured runs
 * eagerly, for a reason that is logged and that {@link #explain} tells.
 */
public final class Compiled implements AutoCloseable {
  /** What a compiled function does. */
  interface Body {
    List<Tensor> apply(List<Tensor> inputs);
  }

  private final Context context;
  private final Body body;
  private final Map<String, Program> programs = new LinkedHashMap<>();
  private final List<String> history = new ArrayList<>();

  /** For one signature: executable is null where the function runs eagerly. */
  private record Program(Graph graph, Executable executable, int outputs) {}

  Compiled(Context context, Body body) {
    this.context = context;
    this.body = body;
  }

  /**
   * Runs the function on the context it was compiled for.
   *
   * @param inputs its inputs
   * @return its result, or the first one
   */
  public Tensor run(Tensor... inputs) {
    return runAll(inputs).get(0);
  }

  /**
   * Runs the function on the context it was compiled for.
   *
   * @param inputs its inputs
   * @return all of its results
   */
  public synchronized List<Tensor> runAll(Tensor... inputs) {
    String signature = signature(inputs);
    Program program = programs.get(signature);
    if (program == null) {
      program = compile(signature, inputs);
      programs.put(signature, program);
    }
    if (program.executable == null) {
      return body.apply(List.of(inputs));
    }
    return program.executable.run(context, program.outputs, inputs);
  }

  /**
   * What was compiled, when and why; and what was not, and why not.
   *
   * @return a line for each signature that was met
   */
  public synchronized String explain() {
    return history.isEmpty() ? "nothing has been run yet" : String.join("\n", history);
  }

  /**
   * The graphs that were compiled.
   *
   * @return graphs in the order of their signatures' first use
   */
  public synchronized List<Graph> graphs() {
    return programs.values().stream().map(Program::graph).filter(graph -> graph != null).toList();
  }

  private String signature(Tensor[] inputs) {
    StringBuilder text = new StringBuilder();
    for (Tensor input : inputs) {
      text.append(text.length() == 0 ? "" : ", ").append(input.dtype());
      text.append(Arrays.toString(input.shape())).append(input.isWeak() ? " weak" : "");
    }
    return text.append(context.isRecording() ? "; recording" : "; not recording")
        .append(context.isTraining() ? ", training" : ", in use")
        .toString();
  }

  private Program compile(String signature, Tensor[] inputs) {
    long start = System.nanoTime();
    String why = programs.isEmpty() ? "first call" : "inputs or modes of a new kind";
    try {
      Program program = capture(inputs);
      long nodes = program.graph.nodes();
      history.add(
          String.format(
              Locale.ROOT,
              "(%s): compiled, %s; %d nodes, %.1f ms",
              signature,
              why,
              nodes,
              1e-6 * (System.nanoTime() - start)));
      return program;
    } catch (RuntimeException reason) {
      if (reason instanceof CancelledException || reason instanceof DeadlineExceededException) {
        throw reason;
      }
      String text =
          "(" + signature + "): runs eagerly, it cannot be captured: " + reason.getMessage();
      history.add(text);
      Core.warn("compile: " + text, null);
      return new Program(null, null, 0);
    }
  }

  private Program capture(Tensor[] inputs) {
    try (Scope scope = context.scope();
        Capture capture = new Capture(context, "compiled")) {
      List<Tensor> symbols = new ArrayList<>();
      for (Tensor input : inputs) {
        String shape = Arrays.toString(input.shape());
        symbols.add(capture.input("x" + symbols.size(), input.dtype(), shape));
      }
      List<Tensor> outputs = body.apply(symbols);
      Graph graph = capture.end(outputs.toArray(new Tensor[0]));
      scope.reset();
      return new Program(graph, graph.compile(), outputs.size());
    }
  }

  /** Gives back what was compiled; it is compiled anew when it is run again. */
  @Override
  public synchronized void close() {
    for (Program program : programs.values()) {
      if (program.executable != null) {
        program.executable.close();
        program.graph.close();
      }
    }
    programs.clear();
  }
}
