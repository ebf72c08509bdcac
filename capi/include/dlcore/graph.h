/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/graph.h -- programs as data: capture, text, passes, execution.
 *
 * Between capture_begin and capture_end the same calls that run eagerly append nodes to a graph in
 * SSA form instead: ops, gradients, optimizer steps, random numbers. Variables that are read become
 * inputs of the graph's state, variables that are assigned become its updates; the variables
 * themselves do not change until the graph is run.
 */
#ifndef DLCORE_GRAPH_H
#define DLCORE_GRAPH_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Capture ------------------------------------------------------------------------------- */

/* FAILED_PRECONDITION while already capturing, or inside a transform level. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_capture_begin(dlcore_context *ctx, const char *name);
/* An input of the graph. `shape` is text: "[64, 784]", or with symbols "[B, 784]"; "[]" is rank 0.
 * One symbol stands for one size (at least 1) everywhere in the graph. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_capture_input(dlcore_context *ctx, const char *name,
                                                             dlcore_dtype dtype, const char *shape);
/* Makes a concrete tensor usable in the capture, as a constant of the graph. Concrete tensors that
 * meet the capture otherwise are an error. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_capture_constant(dlcore_context *ctx,
                                                                dlcore_tensor *tensor);
/* Ends the capture; the graph returns `outputs`. */
DLCORE_API DLCORE_HANDLE dlcore_graph *dlcore_capture_end(dlcore_context *ctx,
                                                          DLCORE_ARRAY(n_outputs)
                                                              dlcore_tensor *const *outputs,
                                                          int64_t n_outputs);
/* Ends the capture and forgets it; nothing has changed. */
DLCORE_API DLCORE_STATUS DLCORE_ALWAYS_RUNS dlcore_status dlcore_capture_abort(dlcore_context *ctx);

DLCORE_API DLCORE_VOID void dlcore_graph_retain(DLCORE_NULLABLE dlcore_graph *graph);
DLCORE_API DLCORE_VOID void dlcore_graph_release(DLCORE_NULLABLE dlcore_graph *graph);

/* ---- Text ---------------------------------------------------------------------------------- */

/* The graph as text, by the two-call pattern: returns the bytes needed including the NUL and writes
 * at most `size` of them; -1 on failure. Parsing gives a graph that prints as the identical text.
 */
DLCORE_API DLCORE_VALUE int64_t
dlcore_graph_to_text(dlcore_context *ctx, const dlcore_graph *graph,
                     DLCORE_NULLABLE DLCORE_OUT DLCORE_ARRAY(size) char *buffer, int64_t size);
/* INVALID_ARGUMENT with line and column for text that is no graph, or none that verifies. */
DLCORE_API DLCORE_HANDLE dlcore_graph *dlcore_graph_parse(dlcore_context *ctx,
                                                          DLCORE_ARRAY(length) const char *text,
                                                          int64_t length);
/* Number of nodes; -1 on a NULL or closed graph. */
DLCORE_API DLCORE_VALUE int64_t dlcore_graph_node_count(const dlcore_graph *graph);

/* ---- Passes and execution ------------------------------------------------------------------ */

/* Checks every rule of the form; INVALID_ARGUMENT naming node and rule. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_graph_verify(dlcore_context *ctx,
                                                           const dlcore_graph *graph);
/* A new graph, after the pass of that name: "dce" drops what no output or update needs, "cse"
 * computes equal things once. NOT_FOUND lists the passes there are. */
DLCORE_API DLCORE_HANDLE dlcore_graph *dlcore_graph_apply(dlcore_context *ctx,
                                                          const dlcore_graph *graph,
                                                          const char *pass);

/* Makes a graph executable on the context's device. Its state is bound to `variables` by name; NULL
 * (n 0) binds the variables that it was captured with. */
DLCORE_API DLCORE_HANDLE dlcore_executable *dlcore_graph_compile(
    dlcore_context *ctx, const dlcore_graph *graph,
    DLCORE_NULLABLE DLCORE_ARRAY(n_variables) dlcore_variable *const *variables,
    int64_t n_variables);
DLCORE_API DLCORE_VOID void dlcore_executable_retain(DLCORE_NULLABLE dlcore_executable *executable);
DLCORE_API DLCORE_VOID void dlcore_executable_release(
    DLCORE_NULLABLE dlcore_executable *executable);

/* Runs it: reads its variables, computes, and then, all together, updates its variables, for which
 * other updates wait; callbacks inside it update by their child context. Writes n_outputs new
 * tensors. The bits are those of the eager calls. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_executable_run(
    dlcore_context *ctx, dlcore_executable *executable,
    DLCORE_ARRAY(n_inputs) dlcore_tensor *const *inputs, int64_t n_inputs,
    DLCORE_OUT DLCORE_ARRAY(n_outputs) dlcore_tensor **outputs, int64_t n_outputs);

#ifdef __cplusplus
}
#endif
#endif
