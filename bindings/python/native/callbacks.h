/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's calls into Python: one function for each kind of callback, whose user_data is the
 * Python object to call. What that raises is kept for the exception at the call site, and its text
 * goes to the engine. */
#ifndef DLCORE_PYTHON_CALLBACKS_H
#define DLCORE_PYTHON_CALLBACKS_H

static PyObject *describe_exception; /* exception -> (code, text), written in Python */

/* Keeps the exception that is set; returns the code that stands for it, and sets it on `child`. */
static int32_t keep_exception(dlcore_context *child) {
  PyObject *kind, *value, *trace, *described;
  int32_t code = DLCORE_UNKNOWN;
  const char *text = "a callback failed";
  PyErr_Fetch(&kind, &value, &trace);
  PyErr_NormalizeException(&kind, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(kind);
  Py_XDECREF(trace);
  described = PyObject_CallOneArg(describe_exception, value);
  if (described && !PyArg_ParseTuple(described, "is", &code, &text)) PyErr_Clear();
  PyErr_Clear();
  if (child) dlcore_context_set_error(child, code, text);
  Py_XDECREF(described);
  if (!kept_exception) {
    kept_exception = value;
    kept_as_it_is = child == NULL; /* of a stream, which has no context to leave its text on */
  } else {
    Py_DECREF(value);
  }
  return code;
}

static void drop_object(void *object) {
  PyGILState_STATE state;
  /* When the process ends, whoever asks for the lock is ended, inside the engine as well. */
  if (!Py_IsInitialized() || _Py_IsFinalizing()) return;
  state = PyGILState_Ensure();
  Py_DECREF((PyObject *)object);
  PyGILState_Release(state);
}

/* An object for something that is lent for the length of a callback. */
static PyObject *lend(const char *noun, void *pointer, PyObject *context) {
  HandleKind *kind = handle_kinds;
  PyObject *object;
  while (strcmp(kind->noun, noun) != 0) ++kind;
  object = wrap(kind, pointer, context);
  if (object) ((Handle *)object)->swig.own = kLent;
  return object;
}

static void take_back(PyObject *object) {
  if (object) ((Handle *)object)->swig.ptr = NULL;
  Py_XDECREF(object);
}

/* ---- Streams ------------------------------------------------------------------------------- */

static dlcore_status write_to_python(void *write, const void *data, uint64_t size) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *done = PyObject_CallFunction(write, "y#", data, (Py_ssize_t)size);
  const int32_t code = done ? DLCORE_OK : keep_exception(NULL);
  Py_XDECREF(done);
  PyGILState_Release(state);
  return code;
}

static int64_t read_from_python(void *read, void *buffer, uint64_t size) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *bytes = PyObject_CallFunction(read, "K", (unsigned long long)size);
  Py_buffer view;
  int64_t n;
  if (bytes && PyObject_GetBuffer(bytes, &view, PyBUF_SIMPLE) == 0) {
    n = view.len;
    if ((uint64_t)n > size) {
      PyErr_Format(PyExc_ValueError, "read: %lld bytes came, expected at most %llu", (long long)n,
                   (unsigned long long)size);
    } else {
      memcpy(buffer, view.buf, (size_t)n);
    }
    PyBuffer_Release(&view);
  }
  if (PyErr_Occurred()) n = -keep_exception(NULL);
  Py_XDECREF(bytes);
  PyGILState_Release(state);
  return n;
}

/* ---- Ops, modules, functions ----------------------------------------------------------------- */

/* Calls function(context[, thing[, call]]) with what is lent to it. */
static int32_t call_python(PyObject *function, dlcore_context *child, const char *noun, void *thing,
                           dlcore_op_call *call) {
  PyObject *context = lend("context", child, NULL), *lent = NULL, *lent_call = NULL, *done = NULL;
  int32_t code = DLCORE_OK;
  if (context && thing) {
    lent = lend(noun, thing, context);
  }
  if (context && (lent || !thing)) lent_call = lend("op call", call, context);
  if (lent_call) {
    done = thing ? PyObject_CallFunctionObjArgs(function, context, lent, lent_call, NULL)
                 : PyObject_CallFunctionObjArgs(function, context, lent_call, NULL);
  }
  if (!done) code = keep_exception(child);
  Py_XDECREF(done);
  take_back(lent_call);
  take_back(lent);
  take_back(context);
  return code;
}

/* The functions of an op: a tuple (infer, forward, backward). */
static dlcore_status call_op_function(void *functions, int which, dlcore_context *child,
                                      dlcore_op_call *call) {
  const PyGILState_STATE state = PyGILState_Ensure();
  const int32_t code =
      call_python(PyTuple_GET_ITEM((PyObject *)functions, which), child, NULL, NULL, call);
  PyGILState_Release(state);
  return code;
}

static dlcore_status infer_in_python(void *f, dlcore_context *child, dlcore_op_call *call) {
  return call_op_function(f, 0, child, call);
}
static dlcore_status forward_in_python(void *f, dlcore_context *child, dlcore_op_call *call) {
  return call_op_function(f, 1, child, call);
}
static dlcore_status backward_in_python(void *f, dlcore_context *child, dlcore_op_call *call) {
  return call_op_function(f, 2, child, call);
}

/* The forward of a module: forward(context, module, call). */
static dlcore_status module_in_python(void *forward, dlcore_context *child, dlcore_module *module,
                                      dlcore_op_call *call) {
  const PyGILState_STATE state = PyGILState_Ensure();
  const int32_t code = call_python(forward, child, "module", module, call);
  PyGILState_Release(state);
  return code;
}

/* The function that gradcheck checks: function(context, [inputs]) -> Tensor. */
static dlcore_status checked_in_python(void *function, dlcore_context *ctx,
                                       dlcore_tensor *const *inputs, int64_t n,
                                       dlcore_tensor **output) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *context = lend("context", ctx, NULL),
           *list = context ? PyList_New((Py_ssize_t)n) : NULL, *made = NULL;
  int32_t code = DLCORE_OK;
  int64_t i;
  for (i = 0; list && i < n; ++i) {
    PyObject *input = wrap_borrowed(tensor_kind, inputs[i], context);
    if (!input) Py_CLEAR(list);
    if (list) PyList_SET_ITEM(list, (Py_ssize_t)i, input);
  }
  if (list) made = PyObject_CallFunctionObjArgs((PyObject *)function, context, list, NULL);
  if (made && !(is_tensor(made) && ((Handle *)made)->swig.ptr)) {
    PyErr_Format(PyExc_TypeError, "gradcheck: the function returned %s, expected a Tensor",
                 Py_TYPE(made)->tp_name);
  } else if (made) {
    *output = ((Handle *)made)->swig.ptr;
    dlcore_tensor_retain(*output);
  }
  if (PyErr_Occurred()) code = keep_exception(ctx);
  Py_XDECREF(made);
  Py_XDECREF(list);
  take_back(context);
  PyGILState_Release(state);
  return code;
}

#endif
