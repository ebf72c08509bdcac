/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors of the engine as Python's exceptions: taken off the context at once. The classes are
 * written in Python (_errors.py), which hands in the function that makes them. */
#ifndef DLCORE_PYTHON_ERRORS_H
#define DLCORE_PYTHON_ERRORS_H

static PyObject *make_error; /* (code, message, op, cause) -> exception */
static __thread PyObject
    *kept_exception;               /* what a callback raised, until the call that ran it is over */
static __thread int kept_as_it_is; /* it is raised itself, not as the cause of an Error */

/* Texts of the engine may quote bytes that are no UTF-8, as of a path. */
static PyObject *decode(const char *text) {
  if (!text) Py_RETURN_NONE;
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace");
}

static PyObject *exception_of(const dlcore_error *error) {
  const dlcore_error *cause = dlcore_error_cause(error);
  PyObject *because = cause ? exception_of(cause) : NULL, *made = NULL;
  if (!cause) {
    because = Py_None;
    Py_INCREF(because);
  }
  if (because) {
    made = PyObject_CallFunction(make_error, "iNNO", dlcore_error_code(error),
                                 decode(dlcore_error_message(error)),
                                 decode(dlcore_error_op(error)), because);
    Py_DECREF(because);
  }
  return made;
}

static void raise_exception(PyObject *exception) {
  if (!exception) return;
  PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
  Py_DECREF(exception);
}

static void raise_code(int32_t code, const char *message) {
  raise_exception(PyObject_CallFunction(make_error, "issO", code, message, "", Py_None));
}

/* Takes the error over. */
static void raise_taken(dlcore_error *error) {
  PyObject *exception = exception_of(error);
  dlcore_error_release(error);
  raise_exception(exception);
}

/* What a callback raised is the deepest cause; what a stream raised, and an interrupt, come out as they are. */
static void raise_with_kept(PyObject *exception) {
  PyObject *kept = kept_exception, *last = exception, *next;
  kept_exception = NULL;
  if (!exception || kept_as_it_is || !PyObject_IsInstance(kept, PyExc_Exception)) {
    Py_XDECREF(exception);
    raise_exception(kept);
    return;
  }
  Py_INCREF(last);
  while ((next = PyException_GetCause(last)) != NULL) {
    Py_SETREF(last, next);
  }
  PyException_SetCause(last, kept);
  Py_DECREF(last);
  raise_exception(exception);
}

/* Raises what sticks to the context. An interrupted call is Python's KeyboardInterrupt. */
static void raise_from(dlcore_context *ctx, int32_t code) {
  dlcore_error *error = dlcore_context_take_error(ctx);
  forget_interrupt(ctx);
  if (error) code = dlcore_error_code(error);
  if (code == DLCORE_CANCELLED && PyErr_CheckSignals()) {
    dlcore_error_release(error);
  } else if (kept_exception) {
    PyObject *exception = error ? exception_of(error) : NULL;
    dlcore_error_release(error);
    raise_with_kept(exception);
  } else if (error) {
    raise_taken(error);
  } else if (code == DLCORE_INVALID_ARGUMENT) {
    raise_code(code, "an argument is NULL or of another type");
  } else {
    raise_code(DLCORE_FAILED_PRECONDITION, "the context is in use by another thread");
  }
}

/* The context that the first argument of a raw call is, or works on; NULL when there is none. */
static PyObject *context_of(PyObject *first) {
  const HandleKind *kind = kind_of_type(Py_TYPE(first));
  if (!kind) return NULL;
  return strcmp(kind->noun, "context") == 0 ? first : ((Handle *)first)->context;
}

static dlcore_context *context_pointer(PyObject *context) {
  return context && context != Py_None ? ((Handle *)context)->swig.ptr : NULL;
}

/* NULL with an exception when it is none, or closed. */
static dlcore_context *need_context(PyObject *object) {
  if (!is_context(object)) return NULL;
  if (!context_pointer(object)) raise_released("context");
  return context_pointer(object);
}

/* The context may have been closed by another thread while the call ran. */
static void raise_after(PyObject *first, int32_t code) {
  PyObject *context = context_of(first);
  if (context && context != Py_None && !context_pointer(context)) {
    raise_released("context");
  } else {
    raise_from(context_pointer(context), code);
  }
}

/* For results that do not tell by themselves whether the call failed. */
static int has_failed(PyObject *first) {
  PyObject *context = context_of(first);
  if (!context || context == Py_None ||
      (context_pointer(context) && dlcore_ok(context_pointer(context))))
    return 0;
  raise_after(first, DLCORE_UNKNOWN);
  return 1;
}

#endif
