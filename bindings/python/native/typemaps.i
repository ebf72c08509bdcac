/* SPDX-License-Identifier: Apache-2.0
 *
 * How the parameters and results of the C API cross, for the generated dlcore.i. */
%{
/* Takes both references; None is what a call without a result of its own returns. */
static PyObject *append_output(PyObject *result, PyObject *output) {
  PyObject *head = result, *tail = NULL, *joined = NULL;
  if (result == Py_None && output) {
    Py_DECREF(result);
    return output;
  }
  if (result && output && !PyTuple_CheckExact(result)) head = PyTuple_Pack(1, result);
  if (head && output) tail = PyTuple_Pack(1, output);
  if (head && tail) joined = PySequence_Concat(head, tail);
  if (head != result) Py_XDECREF(head);
  Py_XDECREF(tail);
  Py_XDECREF(result);
  Py_XDECREF(output);
  return joined;
}

static int64_t *take_integers(PyObject *object, int64_t *count) {
  PyObject *items = PySequence_Fast(object, "expected a sequence of integers");
  Py_ssize_t i, n = items ? PySequence_Fast_GET_SIZE(items) : 0;
  int64_t *values = items ? PyMem_Calloc(n ? (size_t)n : 1, sizeof *values) : NULL;
  if (items && !values) PyErr_NoMemory();
  for (i = 0; values && i < n; ++i) {
    values[i] = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items, i));
    if (values[i] == -1 && PyErr_Occurred()) {
      PyMem_Free(values);
      values = NULL;
    }
  }
  Py_XDECREF(items);
  *count = (int64_t)n;
  return values;
}

static const char **take_strings(PyObject *object, PyObject **owner, int64_t *count) {
  PyObject *items = PySequence_Tuple(object);
  Py_ssize_t i, n = items ? PyTuple_GET_SIZE(items) : 0;
  const char **texts = items ? PyMem_Calloc(n ? (size_t)n : 1, sizeof *texts) : NULL;
  if (items && !texts) PyErr_NoMemory();
  for (i = 0; texts && i < n; ++i) {
    if (!PyArg_Parse(PyTuple_GET_ITEM(items, i), "s", &texts[i])) {
      PyMem_Free((void *)texts);
      texts = NULL;
    }
  }
  *owner = items;
  *count = (int64_t)n;
  return texts;
}

/* Takes the references of the engine's over; a NULL becomes None. */
static PyObject *list_of_handles(void **handles, int64_t count, HandleKind *kind, PyObject *context) {
  PyObject *list = PyList_New((Py_ssize_t)count);
  int64_t i;
  for (i = 0; i < count; ++i) {
    PyObject *made = NULL;
    if (list) {
      made = kind == tensor_kind && handles[i] ? wrap_tensor(handles[i], context) : wrap(kind, handles[i], context);
    } else if (handles[i] && kind->give_back) {
      kind->give_back(handles[i]);
    }
    if (list && !made) Py_CLEAR(list);
    if (list) PyList_SET_ITEM(list, (Py_ssize_t)i, made);
  }
  return list;
}

static PyObject *result_handle(void *handle, HandleKind *kind, PyObject *first) {
  PyObject *owner = strcmp(kind->noun, "context") == 0 ? first : context_of(first);
  if (!handle) {
    if (has_failed(first)) return NULL;
    Py_RETURN_NONE;
  }
  return kind == tensor_kind ? wrap_tensor(handle, owner) : wrap(kind, handle, owner);
}
%}

/* A type of handles: the layout of handle.h, made by calls only, given back by its own dealloc. */
%define %handle_type(TYPE, NAME, DEALLOC, REPR)
%rename(NAME) TYPE;
%nodefaultctor TYPE;
%nodefaultdtor TYPE;
%feature("python:tp_basicsize") TYPE "sizeof(Handle)";
%feature("python:tp_dealloc") TYPE #DEALLOC;
%feature("python:tp_repr") TYPE #REPR;
%feature("python:tp_richcompare") TYPE "handle_compare";
%feature("python:tp_hash") TYPE "handle_hash";
%feature("python:tp_init") TYPE "0";
%feature("python:tp_dictoffset") TYPE "0";
%feature("python:tp_weaklistoffset") TYPE "offsetof(Handle, weak)";
%typemap(in) TYPE * (Handle *held = NULL), const TYPE * (Handle *held = NULL) {
  if ($input != Py_None) {
    held = enter($input, $descriptor(TYPE *));
    if (!held) SWIG_fail;
    $1 = ($1_ltype)held->swig.ptr;
  }
}
%typemap(freearg) TYPE *, const TYPE * { leave(held$argnum); }
%typemap(out) TYPE * {
  $result = result_handle((void *)$1, kind_of_info($descriptor(TYPE *)), swig_obj[0]);
  if (!$result) SWIG_fail;
}
%enddef

/* A function that returns what belongs to others. */
%define %borrowed(TYPE, FUNCTION)
%typemap(out) TYPE FUNCTION {
  if (!$1 && has_failed(swig_obj[0])) SWIG_fail;
  $result = wrap_borrowed(kind_of_info($1_descriptor), (void *)$1, context_of(swig_obj[0]));
}
%enddef

%typemap(in) const char * { if (!PyArg_Parse($input, "z", &$1)) SWIG_fail; }
%typemap(freearg) const char * ""
%typemap(out) const char * { $result = decode($1); }
%define %checked_text(FUNCTION)
%typemap(out) const char *FUNCTION {
  if (!$1 && has_failed(swig_obj[0])) SWIG_fail;
  $result = decode($1);
}
%enddef

%typemap(out) dlcore_status {
  if ($1) {
    raise_after(swig_obj[0], $1);
    SWIG_fail;
  }
  $result = SWIG_Py_Void();
}

/* A failure comes as the error that is written. */
%define %told_by_error(FUNCTION)
%typemap(out) dlcore_status FUNCTION { $result = SWIG_Py_Void(); }
%enddef

/* A status that is an answer, an answer of yes or no, a number that is negative on failure. */
%define %plain_status(FUNCTION)
%typemap(out) dlcore_status FUNCTION { $result = PyLong_FromLong($1); }
%enddef
%define %predicate(FUNCTION)
%typemap(out) int32_t FUNCTION {
  if (!$1 && has_failed(swig_obj[0])) SWIG_fail;
  $result = PyBool_FromLong($1);
}
%enddef
%define %checked_value(TYPE, FUNCTION)
%typemap(out) TYPE FUNCTION {
  if ($1 < 0 && has_failed(swig_obj[0])) SWIG_fail;
  $result = PyLong_FromLongLong($1);
}
%enddef

%typemap(in, numinputs=0) dlcore_error **error (dlcore_error *failure) {
  failure = NULL;
  $1 = &failure;
}
%typemap(argout) dlcore_error **error {
  if (*$1) {
    Py_CLEAR($result);
    raise_taken(*$1);
    SWIG_fail;
  }
}

%typemap(out) int64_t [ANY] {
  int i;
  $result = PyList_New($1_dim0);
  for (i = 0; $result && i < $1_dim0; ++i) PyList_SET_ITEM($result, i, PyLong_FromLongLong($1[i]));
}

/* ---- Arrays and their lengths --------------------------------------------------------------- */

%define %integers_in(ARRAY, COUNT)
%typemap(in) (ARRAY, COUNT) {
  int64_t count;
  $1 = take_integers($input, &count);
  if (!$1) SWIG_fail;
  $2 = ($2_ltype)count;
}
%typemap(freearg) (ARRAY, COUNT) { PyMem_Free((void *)$1); }
%enddef

%define %strings_in(ARRAY, COUNT)
%typemap(in) (ARRAY, COUNT) (PyObject *owner = NULL) {
  int64_t count;
  $1 = ($1_ltype)take_strings($input, &owner, &count);
  if (!$1) SWIG_fail;
  $2 = ($2_ltype)count;
}
%typemap(freearg) (ARRAY, COUNT) {
  PyMem_Free((void *)$1);
  Py_XDECREF(owner$argnum);
}
%enddef

%define %handles_in(TYPE, ARRAY, COUNT)
%typemap(in) (ARRAY, COUNT) (Handles many) {
  $1 = NULL;
  $2 = 0;
  if ($input != Py_None) {
    if (!enter_many(&many, $input, $descriptor(TYPE *))) SWIG_fail;
    $1 = ($1_ltype)many.pointers;
    $2 = ($2_ltype)PyTuple_GET_SIZE(many.objects);
  }
}
%typemap(arginit) (ARRAY, COUNT) { memset(&many$argnum, 0, sizeof many$argnum); }
%typemap(freearg) (ARRAY, COUNT) { leave_many(&many$argnum); }
%enddef

%define %handles_out(TYPE, ARRAY, COUNT)
%typemap(in) (ARRAY, COUNT) {
  const long count = PyLong_AsLong($input);
  if (count == -1 && PyErr_Occurred()) SWIG_fail;
  if (count < 0 || count > 65536) SWIG_exception_fail(SWIG_ValueError, "number of outputs is not in 0 to 65536");
  $1 = ($1_ltype)PyMem_Calloc(count ? (size_t)count : 1, sizeof *$1);
  if (!$1) SWIG_exception_fail(SWIG_MemoryError, "out of memory");
  $2 = ($2_ltype)count;
}
%typemap(argout) (ARRAY, COUNT) {
  $result = append_output(
      $result, list_of_handles((void **)$1, $2, kind_of_info($descriptor(TYPE *)), context_of(swig_obj[0])));
}
%typemap(freearg) (ARRAY, COUNT) { PyMem_Free($1); }
%enddef

%define %handle_out(TYPE, PARAMETER)
%typemap(in, numinputs=0) PARAMETER (TYPE *handle) {
  handle = NULL;
  $1 = &handle;
}
%typemap(argout) PARAMETER {
  HandleKind *kind = kind_of_info($descriptor(TYPE *));
  PyObject *context = context_of(swig_obj[0]);
  $result = append_output(
      $result, kind == tensor_kind && *$1 ? wrap_tensor((dlcore_tensor *)*$1, context) : wrap(kind, *$1, context));
}
%enddef

%define %integer_out(TYPE, PARAMETER)
%typemap(in, numinputs=0) PARAMETER (TYPE value) {
  value = 0;
  $1 = &value;
}
%typemap(argout) PARAMETER { $result = append_output($result, PyLong_FromLongLong((long long)*$1)); }
%enddef

%define %buffer_in(ARRAY, COUNT)
%typemap(in) (ARRAY, COUNT) (Py_buffer view) {
  if (PyObject_GetBuffer($input, &view, PyBUF_SIMPLE)) SWIG_fail;
  $1 = view.buf ? ($1_ltype)view.buf : ($1_ltype)"";
  $2 = ($2_ltype)view.len;
}
%typemap(freearg) (ARRAY, COUNT) { if ($1) PyBuffer_Release(&view$argnum); }
%enddef

%define %buffer_out(ARRAY, COUNT)
%typemap(in) (ARRAY, COUNT) (Py_buffer view, char nothing) {
  if ($input != Py_None) {
    if (PyObject_GetBuffer($input, &view, PyBUF_WRITABLE)) SWIG_fail;
    $1 = view.buf ? ($1_ltype)view.buf : ($1_ltype)&nothing;
    $2 = ($2_ltype)view.len;
  }
}
%typemap(freearg) (ARRAY, COUNT) { if ($1) PyBuffer_Release(&view$argnum); }
%enddef

/* ---- Callbacks: the Python object to call is their user_data --------------------------------- */

%define %callable(OBJECT)
  if (!PyCallable_Check(OBJECT)) {
    PyErr_Format(PyExc_TypeError, "expected a function, found %s", Py_TYPE(OBJECT)->tp_name);
    SWIG_fail;
  }
%enddef

%typemap(in) (dlcore_write_fn write, void *user_data) {
  %callable($input)
  $1 = write_to_python;
  $2 = $input;
}
%typemap(in) (dlcore_read_fn read, void *user_data) {
  %callable($input)
  $1 = read_from_python;
  $2 = $input;
}
%typemap(in) (dlcore_gradcheck_function function, void *user_data) {
  %callable($input)
  $1 = checked_in_python;
  $2 = $input;
}
/* A tuple (infer, forward, backward); backward may be None. */
%typemap(in) (dlcore_op_callback infer, dlcore_op_callback forward, dlcore_op_callback backward, void *user_data,
              void (*destroy)(void *user_data)) {
  if (!PyTuple_Check($input) || PyTuple_GET_SIZE($input) != 3) {
    SWIG_exception_fail(SWIG_TypeError, "expected a tuple (infer, forward, backward)");
  }
  $1 = infer_in_python;
  $2 = forward_in_python;
  $3 = PyTuple_GET_ITEM($input, 2) == Py_None ? NULL : backward_in_python;
  Py_INCREF($input);
  $4 = $input;
  $5 = drop_object;
}

%typemap(in) (dlcore_module_callback forward, void *user_data, void (*destroy)(void *user_data)) {
  %callable($input)
  $1 = module_in_python;
  Py_INCREF($input);
  $2 = $input;
  $3 = drop_object;
}

/* ---- Calls that execute something let other threads run ------------------------------------- */

%define %waits(FUNCTION)
%exception FUNCTION {
  Flight flight;
  take_off(&flight, context_of(swig_obj[0]), 1);
  $action
  land(&flight);
}
%enddef

/* ---- Slots of Tensor, in tensor.h -------------------------------------------------------------- */

%define %slot(SLOT)
%feature("python:" #SLOT) dlcore_tensor "tensor_" #SLOT;
%enddef
%slot(nb_add)
%slot(nb_subtract)
%slot(nb_multiply)
%feature("python:nb_divide") dlcore_tensor "tensor_nb_true_divide"; /* SWIG's name for it */
%slot(nb_floor_divide)
%slot(nb_remainder)
%slot(nb_power)
%slot(nb_matrix_multiply)
%slot(nb_and)
%slot(nb_or)
%slot(nb_xor)
%slot(nb_negative)
%slot(nb_positive)
%slot(nb_absolute)
%slot(nb_invert)
%feature("python:nb_nonzero") dlcore_tensor "tensor_nb_bool";
%slot(nb_int)
%slot(nb_float)
%slot(nb_index)
%slot(mp_subscript)
%slot(mp_ass_subscript)
%slot(mp_length)
%slot(tp_iter)
%slot(bf_getbuffer)
%slot(bf_releasebuffer)
