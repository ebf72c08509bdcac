/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that let other Python threads run. On the main thread Ctrl-C cancels them: while such a
 * call runs, SIGINT goes to a handler that cancels its context and then does what the handler before
 * it would have done. Python's own only takes note, and raises KeyboardInterrupt when the cancelled
 * call has come back. */
#ifndef DLCORE_PYTHON_FLIGHT_H
#define DLCORE_PYTHON_FLIGHT_H

#include <pthread.h>
#include <signal.h>

typedef struct Flight {
  PyThreadState *thread;
  dlcore_context *ctx; /* one that an interrupt cancels; NULL: none */
  dlcore_context *outer;
} Flight;

static pthread_t main_thread;   /* where Python handles signals */
static struct sigaction before; /* the handler that ours stands in for */
static int in_place;
static dlcore_context *volatile interruptible;
static volatile sig_atomic_t interrupted;

static void on_interrupt(int number, siginfo_t *info, void *place) {
  const int error = errno;
  dlcore_context *ctx = interruptible;
  interrupted = 1;
  if (ctx) dlcore_context_cancel(ctx); /* it only sets flags */
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(number, info, place);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  }
  errno = error;
}

/* Not where an interrupt ends the process, or is ignored. */
static void stand_in(void) {
  struct sigaction ours;
  if (in_place || sigaction(SIGINT, NULL, &before) != 0) return;
  if (!(before.sa_flags & SA_SIGINFO) &&
      (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN))
    return;
  ours = before;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ours.sa_sigaction = on_interrupt;
  in_place = sigaction(SIGINT, &ours, NULL) == 0;
}

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
  if (!flight->outer && in_place) {
    struct sigaction now;
    in_place = 0;
    sigaction(SIGINT, &before, &now);
    if (now.sa_sigaction != on_interrupt)
      sigaction(SIGINT, &now, NULL); /* a callback chose another */
  }
  /* An interrupt that came too late for the call must not cancel the next one. */
  if (interrupted && dlcore_ok(flight->ctx)) {
    dlcore_context_synchronize(flight->ctx);
    dlcore_context_clear_error(flight->ctx);
  }
}

static PyObject *set_main_thread(PyObject *module, PyObject *ident) {
  (void)module;
  main_thread = (pthread_t)PyLong_AsUnsignedLong(ident);
  if (PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

#endif
