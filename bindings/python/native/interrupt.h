/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C during a call of the main thread: SIGINT goes to a handler that cancels the call's context
 * and then does what the handler before it would have done. Python's own only takes note, and raises
 * KeyboardInterrupt when the cancelled call has come back. */
#ifndef DLCORE_PYTHON_INTERRUPT_H
#define DLCORE_PYTHON_INTERRUPT_H

#include <pthread.h>
#include <signal.h>

static pthread_t main_thread;   /* where Python handles signals */
static struct sigaction before; /* the handler that ours stands in for */
static int in_place;
static dlcore_context *volatile interruptible;
static volatile sig_atomic_t interrupted;

/* Only ever at work on the main thread, so never while that one lands. */
static void on_interrupt(int number, siginfo_t *info, void *place) {
  const int error = errno;
  dlcore_context *ctx = interruptible;
  if (!pthread_equal(pthread_self(), main_thread)) {
    pthread_kill(main_thread, number);
    errno = error;
    return;
  }
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

static void take_away(void) {
  struct sigaction now;
  if (!in_place) return;
  in_place = 0;
  sigaction(SIGINT, &before, &now);
  if (now.sa_sigaction != on_interrupt) sigaction(SIGINT, &now, NULL); /* a callback chose another */
}

/* For a context without an error: an interrupt that came too late for its call must not cancel the
 * next one. */
static void forget_interrupt(dlcore_context *ctx) {
  if (!interrupted || !pthread_equal(pthread_self(), main_thread)) return;
  interrupted = 0;
  if (!dlcore_ok(ctx)) dlcore_context_clear_error(ctx);
}

static PyObject *set_main_thread(PyObject *module, PyObject *ident) {
  (void)module;
  main_thread = (pthread_t)PyLong_AsUnsignedLong(ident);
  if (PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

#endif
