/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that let other Python threads run; on the main thread Ctrl-C cancels them. */
#ifndef DLCORE_PYTHON_FLIGHT_H
#define DLCORE_PYTHON_FLIGHT_H

typedef struct Flight {
  PyThreadState *thread;
  dlcore_context *ctx; /* one that an interrupt cancels; NULL: none */
  dlcore_context *outer;
} Flight;

static void take_off(Flight *flight, PyObject *context, int may_last) {
  Py_CLEAR(kept_exception); /* of a call that came right all the same */
  flight->ctx = NULL;
  if (may_last && context_pointer(context) && pthread_equal(pthread_self(), main_thread)) {
    flight->ctx = context_pointer(context);
    flight->outer = interruptible;
    interruptible = flight->ctx;
    if (!flight->outer) {
      interrupted = 0;
      stand_in();
    }
  }
  flight->thread = PyEval_SaveThread();
}

static void land(Flight *flight) {
  PyEval_RestoreThread(flight->thread);
  if (!flight->ctx) return;
  interruptible = flight->outer;
  if (!flight->outer) take_away();
  if (!*dlcore_context_error_message(flight->ctx)) forget_interrupt(flight->ctx);
}

#endif
