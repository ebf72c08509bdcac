/* SPDX-License-Identifier: Apache-2.0
 * Makes one op call many times, on tensors of 16 floats, each with the release of its result:
 *   calls NAME COUNT */
#include <dlcore/dlcore.h>
#include <dlcore/ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kAdd = 1, kMultiply = 3 };

static dlcore_tensor *x, *watched, *row;

static dlcore_tensor *add16(dlcore_context *ctx) {
  return dlcore_op_call2(ctx, kAdd, x, x, NULL, 0);
}

static dlcore_tensor *add16_recorded(dlcore_context *ctx) {
  return dlcore_op_call2(ctx, kAdd, watched, x, NULL, 0);
}

static dlcore_tensor *add16_broadcast(dlcore_context *ctx) {
  return dlcore_op_call2(ctx, kAdd, x, row, NULL, 0);
}

static dlcore_tensor *multiply16_scalar(dlcore_context *ctx) {
  const double two = 2;
  int64_t word;
  memcpy(&word, &two, sizeof word);
  return dlcore_op_call_scalar(ctx, kMultiply, x, DLCORE_SCALAR_F64, word, 0);
}

static dlcore_tensor *sum16(dlcore_context *ctx) { return dlcore_sum(ctx, x); }

static dlcore_tensor *reshape16(dlcore_context *ctx) {
  const int64_t shape[] = {16};
  return dlcore_reshape(ctx, x, shape, 1);
}

static const struct {
  const char *name;
  dlcore_tensor *(*call)(dlcore_context *);
} kCalls[] = {
    {"add16", add16},
    {"add16_recorded", add16_recorded},
    {"add16_broadcast", add16_broadcast},
    {"multiply16_scalar", multiply16_scalar},
    {"sum16", sum16},
    {"reshape16", reshape16},
};

int main(int argc, char **argv) {
  const size_t n_calls = sizeof kCalls / sizeof kCalls[0];
  dlcore_engine_options options;
  dlcore_engine *engine;
  dlcore_context *ctx;
  const float elements[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  const int64_t square[] = {4, 4}, side[] = {4};
  long count;
  size_t c;
  if (argc != 3) {
    for (c = 0; c < n_calls; ++c) puts(kCalls[c].name);
    return argc == 1 ? 0 : 2;
  }
  dlcore_engine_options_init(&options, sizeof options);
  options.threads = 1;
  engine = dlcore_engine_open(&options, NULL);
  ctx = dlcore_context_open(engine, "cpu", 1, DLCORE_CONTEXT_MANUAL, NULL);
  x = dlcore_tensor_f32(ctx, square, 2, elements, 16);
  row = dlcore_tensor_f32(ctx, side, 1, elements, 4);
  watched = dlcore_autograd_watch(ctx, x);
  for (c = 0; c < n_calls && strcmp(kCalls[c].name, argv[1]) != 0; ++c) {
  }
  if (c == n_calls || !dlcore_ok(ctx)) return 2;
  for (count = atol(argv[2]); count > 0; --count) dlcore_tensor_release(kCalls[c].call(ctx));
  return dlcore_ok(ctx) ? 0 : 1;
}
