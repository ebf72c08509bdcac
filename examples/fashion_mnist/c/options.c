/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kUsage =
    "Trains a small classifier on Fashion-MNIST.\n"
    "  --model NAME    mlp or cnn (mlp)\n"
    "  --epochs N      passes over the training set (mlp: 5, cnn: 3)\n"
    "  --seed N        seed of weights and order (the model's)\n"
    "  --threads N     threads of the engine (0: all)\n"
    "  --limit N       stop after N steps\n"
    "  --data DIR      directory with the IDX files, plain or gzip\n"
    "  --losses FILE   write the loss of each step, as a hexadecimal float\n"
    "  --save FILE     where the weights go (mlp: fashion.safetensors)\n"
    "  --checkpoint FILE   write the state of the training after the last step\n"
    "  --resume FILE   go on from such a state\n"
    "  --device NAME   device to train on (cpu)\n"
    "  --plugin FILE   plug-in to load first\n";

static int parse_number(const char *text, int64_t *value) {
  char *end;
  errno = 0;
  *value = strtoll(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && *value >= 0;
}

int options_parse(int argc, char **argv, options *o, int *status) {
  int i, seed_given = 0;
  memset(o, 0, sizeof *o);
  o->model = model_find("mlp");
  o->epochs = -1;
  o->device = "cpu";
  *status = 0;
  for (i = 1; i < argc; i += 2) {
    const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    int64_t number = 0;
    int good = value != NULL;
    if (strcmp(name, "--help") == 0) {
      fputs(kUsage, stdout);
      return 0;
    }
    if (good && strcmp(name, "--model") == 0) {
      o->model = model_find(value);
      good = o->model != NULL;
    } else if (good && strcmp(name, "--data") == 0) {
      o->data = value;
    } else if (good && strcmp(name, "--losses") == 0) {
      o->losses = value;
    } else if (good && strcmp(name, "--save") == 0) {
      o->save = value;
    } else if (good && strcmp(name, "--checkpoint") == 0) {
      o->checkpoint = value;
    } else if (good && strcmp(name, "--resume") == 0) {
      o->resume = value;
    } else if (good && strcmp(name, "--device") == 0) {
      o->device = value;
    } else if (good && strcmp(name, "--plugin") == 0) {
      o->plugin = value;
    } else if (good && (good = parse_number(value, &number)) && strcmp(name, "--epochs") == 0) {
      o->epochs = (int)number;
    } else if (good && strcmp(name, "--seed") == 0) {
      o->seed = (uint64_t)number;
      seed_given = 1;
    } else if (good && strcmp(name, "--threads") == 0) {
      o->threads = (int)number;
    } else if (good && strcmp(name, "--limit") == 0) {
      o->limit = number;
    } else {
      good = 0;
    }
    if (!good) {
      fprintf(stderr, "%s%s%s is not understood\n%s", name, value ? " " : "", value ? value : "",
              kUsage);
      *status = 2;
      return 0;
    }
  }
  if (o->epochs < 0) o->epochs = o->model->epochs;
  if (!seed_given) o->seed = o->model->seed;
  if (o->save == NULL) o->save = o->model->file;
  return 1;
}
