/* SPDX-License-Identifier: Apache-2.0
 * What an embedded program does: memory of its own, a model from a buffer, a few training steps. Prints losses and
 * answers as hexadecimal floats, which are the same for every build of the library. With the argument `small` it also
 * requires that threads and plug-ins were left out. */
#include <dlcore/dlcore.h>
#include <dlcore/ops.h>
#include <stdio.h>
#include <string.h>

enum { kArenaBytes = 1 << 20, kSteps = 20 };

/* Memory for tensors: blocks are cut from the front of an arena; the engine itself keeps and reuses them. */
typedef struct arena {
  unsigned char *next, *end;
  uint64_t blocks, destroyed;
} arena;

static void *arena_allocate(void *user_data, uint64_t bytes, uint64_t alignment) {
  arena *a = user_data;
  unsigned char *block = a->next + (alignment - (uintptr_t)a->next % alignment) % alignment;
  if (block > a->end || (uint64_t)(a->end - block) < bytes) return NULL;
  a->next = block + bytes;
  ++a->blocks;
  return block;
}

static void arena_deallocate(void *user_data, void *address, uint64_t bytes) {
  arena *a = user_data;
  (void)address, (void)bytes;
  --a->blocks;
}

static void arena_destroy(void *user_data) { ++((arena *)user_data)->destroyed; }

static dlcore_engine *open_engine(arena *memory, dlcore_error **error) {
  dlcore_engine_options options;
  dlcore_engine_options_init(&options, sizeof options);
  options.isa = DLCORE_ISA_BASELINE; /* the same bits on every processor of this architecture */
  options.threads = 1;
  options.memory_limit = kArenaBytes;
  return dlcore_engine_open_with_allocator(&options, arena_allocate, arena_deallocate, memory,
                                           arena_destroy, error);
}

static int failures;

static void expect(int right, const char *what) {
  if (right) return;
  fprintf(stderr, "%s: not as expected\n", what);
  ++failures;
}

/* A file as it may be compiled into the program: one tensor `w` of f32 [2, 2], in the safetensors format. */
static dlcore_tensor *weights_from_memory(dlcore_context *ctx) {
  static const char header[] =
      "{\"w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}    ";
  static const float values[] = {1, 2, 3, 4};
  unsigned char file[8 + sizeof header - 1 + sizeof values] = {sizeof header -
                                                               1}; /* length, little-endian */
  memcpy(file + 8, header, sizeof header - 1);
  memcpy(file + 8 + sizeof header - 1, values, sizeof values);
  return dlcore_archive_tensor(ctx, dlcore_archive_open_buffer(ctx, file, sizeof file), "w");
}

static void print(const char *what, const float *values, int n) {
  int i;
  printf("%s", what);
  for (i = 0; i < n; ++i) printf(" %a", (double)values[i]);
  printf("\n");
}

static void train(dlcore_context *ctx) {
  const int64_t shape[] = {32, 20}, labels[] = {32};
  dlcore_module *layers[] = {dlcore_linear_layer(ctx, 20, 48), dlcore_gelu_layer(ctx),
                             dlcore_linear_layer(ctx, 48, 5)};
  dlcore_module *model = dlcore_sequential(ctx, layers, 3);
  dlcore_optimizer *adam = dlcore_adam(ctx, model, 1e-2);
  float losses[kSteps] = {0};
  int i;
  for (i = 0; i < kSteps; ++i) {
    dlcore_scope *scope = dlcore_scope_open(ctx);
    dlcore_tensor *x = dlcore_random_normal(ctx, shape, 2);
    dlcore_tensor *y = dlcore_random_integers(ctx, labels, 1, 0, 5);
    dlcore_tensor *loss = dlcore_cross_entropy(ctx, dlcore_module_call(ctx, model, x), y);
    dlcore_backward(ctx, loss);
    dlcore_optimizer_step(ctx, adam);
    dlcore_tensor_read_f32(ctx, loss, &losses[i], 1);
    dlcore_scope_close(ctx, scope);
  }
  print("losses", losses, kSteps);
}

int main(int argc, char **argv) {
  static unsigned char bytes[kArenaBytes];
  arena memory = {bytes, bytes + sizeof bytes, 0, 0};
  dlcore_error *error = NULL;
  dlcore_engine *engine = open_engine(&memory, &error);
  dlcore_context *ctx = dlcore_context_open(engine, "cpu", /*seed=*/1, 0, NULL);
  float answers[4] = {0};
  if (engine == NULL) {
    fprintf(stderr, "%s\n", dlcore_error_message(error));
    return 1;
  }

  dlcore_tensor *w = weights_from_memory(ctx);
  dlcore_tensor_read_f32(ctx, dlcore_matmul(ctx, w, dlcore_softmax(ctx, w, -1)), answers, 4);
  print("answers", answers, 4);
  train(ctx);

  if (argc > 1 && strcmp(argv[1], "small") == 0) {
    dlcore_engine_statistics s;
    s.struct_size = sizeof s;
    dlcore_engine_get_statistics(engine, &s);
    expect(s.threads == 1, "threads");
    expect(strstr(dlcore_build_info(), "blas none, threads none, plugins none") != NULL,
           dlcore_build_info());
    expect(dlcore_engine_load_plugin(engine, "./plugin.so", NULL) == DLCORE_UNIMPLEMENTED,
           "load_plugin");
  }
  expect(dlcore_ok(ctx), dlcore_context_error_message(ctx));
  expect(memory.blocks > 10 && memory.destroyed == 0, "blocks in use");
  dlcore_context_close(ctx);
  dlcore_engine_close(engine);
  expect(memory.blocks == 0 && memory.destroyed == 1, "blocks given back");
  return failures != 0;
}
