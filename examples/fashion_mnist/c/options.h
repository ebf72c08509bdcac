/* SPDX-License-Identifier: Apache-2.0
 * The command line of the example. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>

#include "model.h"

typedef struct options {
  const model_kind *model;
  int epochs;
  uint64_t seed;
  int threads;        /* 0: all */
  int64_t limit;      /* stop after so many steps; 0: never */
  const char *data;   /* directory of the IDX files; NULL: where the library looks */
  const char *losses; /* file for the loss of each step; NULL: none */
  const char *save;   /* file for the weights */
  const char *checkpoint, *resume; /* states of the training; NULL: none */
  const char *device;
  const char *plugin; /* to be loaded first; NULL: none */
} options;

/* 0 when the program should not go on (help was asked for, or the command line is wrong: *status).
 */
int options_parse(int argc, char **argv, options *o, int *status);

#endif
