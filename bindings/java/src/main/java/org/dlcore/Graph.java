// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.util.List;
import org.dlcore.internal.Access;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Raw;

/** A program as data: captured from calls, printed, transformed, made executable. */
public final class Graph extends Resource {
  private Graph(Context dl, long made) {
    super(dl, dl.core.own(Handle.Kind.GRAPH, made));
  }

  static Graph of(Context dl, Access.Call call) {
    return new Graph(dl, Access.get().made(dl, null, call));
  }

  /**
   * Reads the text of a graph.
   *
   * @param dl the context that makes it
   * @param text what {@link #text} gave
   * @return the graph, whose text is the same
   */
  public static Graph parse(Context dl, String text) {
    return of(dl, (ctx, self) -> Raw.dlcore_graph_parse(ctx, text));
  }

  /**
   * The graph as text.
   *
   * @return text that {@link #parse} reads
   */
  public String text() {
    return Access.get()
        .text(
            context,
            this,
            (ctx, self, buffer, size) -> Raw.dlcore_graph_to_text(ctx, self, buffer, size));
  }

  /**
   * How many nodes it has.
   *
   * @return the number
   */
  public long nodes() {
    return Access.get().value(context, this, (ctx, self) -> Raw.dlcore_graph_node_count(self));
  }

  /** Checks every rule of the form. */
  public void verify() {
    Access.get().status(context, this, Raw::dlcore_graph_verify);
  }

  /**
   * A new graph, after a pass.
   *
   * @param pass its name, like {@code dce} or {@code cse}
   * @return the new graph
   */
  public Graph apply(String pass) {
    long made =
        Access.get().made(context, this, (ctx, self) -> Raw.dlcore_graph_apply(ctx, self, pass));
    return new Graph(context, made);
  }

  /**
   * Makes it executable, with the variables that it was captured with.
   *
   * @return what runs it
   */
  public Executable compile() {
    return compile(List.of());
  }

  /**
   * Makes it executable.
   *
   * @param variables its state is bound to them by name; none: those that it was captured with
   * @return what runs it
   */
  public Executable compile(List<Variable> variables) {
    Access access = Access.get();
    long made =
        access.made(
            context,
            this,
            (ctx, self) ->
                access.inside(
                    variables,
                    handles ->
                        Raw.dlcore_graph_compile(
                            ctx, self, variables.isEmpty() ? 0 : handles, variables.size())));
    return new Executable(context, made);
  }
}
