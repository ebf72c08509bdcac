/* SPDX-License-Identifier: Apache-2.0
 *
 * What a Tensor answers by itself: operators, comparisons, what it is. Methods that are written in
 * Python are added when the package is imported. */
#ifndef DLCORE_PYTHON_TENSOR_H
#define DLCORE_PYTHON_TENSOR_H

static PyObject *tensor_hooks; /* {"name": function written in Python} */

/* ---- Operators ------------------------------------------------------------------------------
 * Two tensors, or a tensor and a number. An operand of another kind gets its own chance first. */

static PyObject *binary_slowly(PyObject *a, PyObject *b, int32_t number, const char *name) {
  PyObject *given[2] = {a, b};
  Operands operands;
  int32_t kind;
  int64_t word;
  const int side = !is_tensor(a); /* the number is on the left */
  if (!is_tensor(a) || !is_tensor(b)) {
    const int found = number_word(given[!side], &kind, &word);
    Handle *x = (Handle *)given[side];
    if (found < 0) return NULL;
    if (found == 0) Py_RETURN_NOTIMPLEMENTED;
    if (!begin_operands(&operands, name, &given[side], 1, NULL)) return NULL;
    if (weight(&operands, 1, 0, 0) == 0) {
      dlcore_context *ctx = context_pointer(x->context);
      dlcore_tensor *made = dlcore_op_call_scalar(ctx, number, x->swig.ptr, kind, word, side);
      end_operands(&operands);
      if (made) return wrap_tensor(made, x->context);
      raise_from(ctx, DLCORE_UNKNOWN);
      return NULL;
    }
    end_operands(&operands);
  }
  if (!begin_operands(&operands, name, given, 2, NULL)) return NULL;
  return finish_op(&operands, number, NULL, 0, 1,
                   weight(&operands, strcmp(name, "matmul") != 0, 0, 0));
}

static inline PyObject *binary(PyObject *a, PyObject *b, int32_t number, const char *name) {
  Handle *x = (Handle *)a, *y = (Handle *)b;
  if (Py_TYPE(a) == tensor_type && Py_TYPE(b) == tensor_type && x->context == y->context &&
      x->swig.ptr && y->swig.ptr && count_of(x) < kOtherWork && count_of(y) == count_of(x)) {
    PyObject *context = x->context;
    dlcore_context *ctx = ((Handle *)context)->swig.ptr;
    dlcore_tensor *made;
    if (!ctx) {
      raise_released("context");
      return NULL;
    }
    made = dlcore_op_call2(ctx, number, x->swig.ptr, y->swig.ptr, NULL, 0);
    if (made) return wrap_tensor(made, context);
    raise_from(ctx, DLCORE_UNKNOWN);
    return NULL;
  }
  return binary_slowly(a, b, number, name);
}

static PyObject *unary(PyObject *x, int32_t number, const char *name) {
  Operands operands;
  if (!begin_operands(&operands, name, &x, 1, NULL)) return NULL;
  return finish_op(&operands, number, NULL, 0, 1, weight(&operands, 1, 0, 0));
}

#define BINARY(SLOT, OP) \
  static PyObject *SLOT(PyObject *a, PyObject *b) { return binary(a, b, OP_##OP, #OP); }
BINARY(tensor_nb_add, add)
BINARY(tensor_nb_subtract, subtract)
BINARY(tensor_nb_multiply, multiply)
BINARY(tensor_nb_true_divide, divide)
BINARY(tensor_nb_floor_divide, floor_divide)
BINARY(tensor_nb_remainder, remainder)
BINARY(tensor_nb_matrix_multiply, matmul)
BINARY(tensor_nb_and, logical_and)
BINARY(tensor_nb_or, logical_or)
BINARY(tensor_nb_xor, logical_xor)
#undef BINARY

static PyObject *tensor_nb_power(PyObject *a, PyObject *b, PyObject *modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary(a, b, OP_pow, "pow");
}

static PyObject *tensor_nb_negative(PyObject *x) { return unary(x, OP_negative, "negative"); }
static PyObject *tensor_nb_absolute(PyObject *x) { return unary(x, OP_abs, "abs"); }
static PyObject *tensor_nb_invert(PyObject *x) { return unary(x, OP_logical_not, "logical_not"); }
static PyObject *tensor_nb_positive(PyObject *x) {
  Py_INCREF(x);
  return x;
}

static PyObject *tensor_tp_richcompare(PyObject *a, PyObject *b, int compared) {
  switch (compared) {
    case Py_LT:
      return binary(a, b, OP_less, "less");
    case Py_LE:
      return binary(a, b, OP_less_equal, "less_equal");
    case Py_GT:
      return binary(a, b, OP_greater, "greater");
    case Py_GE:
      return binary(a, b, OP_greater_equal, "greater_equal");
    case Py_EQ:
      return binary(a, b, OP_equal, "equal");
    default:
      return binary(a, b, OP_not_equal, "not_equal");
  }
}

/* == compares elements, so that objects are told apart by what they are. */
static Py_hash_t tensor_tp_hash(PyObject *self) { return _Py_HashPointer(self); }

/* ---- Written in Python ---------------------------------------------------------------------- */

static PyObject *call_hook(const char *name, PyObject *self, PyObject *argument) {
  PyObject *hook = tensor_hooks ? PyDict_GetItemString(tensor_hooks, name) : NULL;
  if (!hook) return PyErr_Format(PyExc_RuntimeError, "the package dlcore is not imported");
  return argument ? PyObject_CallFunctionObjArgs(hook, self, argument, NULL)
                  : PyObject_CallOneArg(hook, self);
}

static PyObject *tensor_mp_subscript(PyObject *self, PyObject *index) {
  return call_hook("getitem", self, index);
}
static PyObject *tensor_tp_repr(PyObject *self) { return call_hook("repr", self, NULL); }
static PyObject *tensor_tp_iter(PyObject *self) { return call_hook("iter", self, NULL); }
static PyObject *tensor_nb_float(PyObject *self) { return call_hook("float", self, NULL); }
static PyObject *tensor_nb_int(PyObject *self) { return call_hook("int", self, NULL); }
static PyObject *tensor_nb_index(PyObject *self) { return call_hook("index", self, NULL); }

static int tensor_nb_bool(PyObject *self) {
  PyObject *item = call_hook("item", self, NULL);
  const int truth = item ? PyObject_IsTrue(item) : -1;
  Py_XDECREF(item);
  return truth;
}

static int tensor_mp_ass_subscript(PyObject *self, PyObject *index, PyObject *value) {
  (void)self;
  (void)index;
  (void)value;
  PyErr_SetString(PyExc_TypeError,
                  "a Tensor never changes; make another one, as with dl.where(mask, a, b)");
  return -1;
}

/* ---- What it is ---------------------------------------------------------------------------- */

static PyObject *dtype_names[16]; /* interned */

static PyObject *dtype_name(int32_t dtype) {
  if (dtype <= 0 || dtype >= 16) Py_RETURN_NONE;
  if (!dtype_names[dtype]) {
    const char *name = dlcore_dtype_name(dtype);
    if (!name) Py_RETURN_NONE;
    dtype_names[dtype] = PyUnicode_InternFromString(name);
  }
  Py_XINCREF(dtype_names[dtype]);
  return dtype_names[dtype];
}

/* Fills it in for a tensor that has not been released, on its context or on none. */
static int describe(PyObject *self, dlcore_tensor_description *description) {
  Handle *tensor = (Handle *)self;
  dlcore_context *ctx = context_pointer(tensor->context);
  if (!tensor->swig.ptr || !ctx) {
    raise_released(tensor->swig.ptr ? "context" : "tensor");
    return 0;
  }
  memset(description, 0, sizeof *description);
  description->struct_size = sizeof *description;
  if (dlcore_tensor_describe(ctx, tensor->swig.ptr, description) == DLCORE_OK) return 1;
  raise_from(ctx, DLCORE_UNKNOWN);
  return 0;
}

static PyObject *tuple_of(const int64_t *values, int n) {
  PyObject *tuple = PyTuple_New(n);
  int i;
  for (i = 0; tuple && i < n; ++i) {
    PyObject *value = PyLong_FromLongLong(values[i]);
    if (!value) Py_CLEAR(tuple);
    if (tuple) PyTuple_SET_ITEM(tuple, i, value);
  }
  return tuple;
}

enum {
  kIsShape,
  kIsStrides,
  kIsRank,
  kIsCount,
  kIsBytes,
  kIsDtype,
  kIsDevice,
  kIsWeak,
  kIsContiguous,
  kNeedsGrad,
  kIsSymbolic
};

static PyObject *tensor_property(PyObject *self, void *which) {
  dlcore_tensor_description d;
  if (!describe(self, &d)) return NULL;
  switch ((intptr_t)which) {
    case kIsShape:
      return tuple_of(d.shape, d.rank);
    case kIsStrides:
      return tuple_of(d.strides, d.rank);
    case kIsRank:
      return PyLong_FromLong(d.rank);
    case kIsCount:
      return PyLong_FromLongLong(d.count);
    case kIsBytes:
      return PyLong_FromUnsignedLongLong(d.bytes);
    case kIsDtype:
      return dtype_name(d.dtype);
    case kIsDevice:
      return PyUnicode_FromString(d.device);
    case kIsWeak:
      return PyBool_FromLong(d.is_weak);
    case kIsContiguous:
      return PyBool_FromLong(d.is_contiguous);
    case kNeedsGrad:
      return PyBool_FromLong(d.requires_grad);
    default:
      return PyBool_FromLong(d.is_symbolic);
  }
}

#define PROPERTY(NAME, WHICH, DOC) \
  { NAME, tensor_property, NULL, DOC, (void *)(intptr_t)WHICH }
static PyGetSetDef tensor_properties[] = {
    PROPERTY("shape", kIsShape, "its dimensions; a symbolic one is -1"),
    PROPERTY("strides", kIsStrides, "steps in elements, one for each axis"),
    PROPERTY("ndim", kIsRank, "number of axes"),
    PROPERTY("size", kIsCount, "number of elements; -1 when symbolic"),
    PROPERTY("nbytes", kIsBytes, "bytes of all elements"),
    PROPERTY("dtype", kIsDtype,
             "name of the dtype: bool, u8, i8, i16, i32, i64, f16, bf16, f32 or f64"),
    PROPERTY("device", kIsDevice, "name of the device it lies on"),
    PROPERTY("is_weak", kIsWeak, "whether it takes the dtype of the operand it meets"),
    PROPERTY("is_contiguous", kIsContiguous,
             "whether its elements lie in row-major order without gaps"),
    PROPERTY("requires_grad", kNeedsGrad, "whether it has history, or is watched"),
    PROPERTY("is_symbolic", kIsSymbolic,
             "whether it is a value of a graph being captured, without elements"),
    {NULL, NULL, NULL, NULL, NULL}};
#undef PROPERTY

static Py_ssize_t tensor_mp_length(PyObject *self) {
  dlcore_tensor_description d;
  if (!describe(self, &d)) return -1;
  if (d.rank > 0 && d.shape[0] >= 0) return (Py_ssize_t)d.shape[0];
  PyErr_SetString(PyExc_TypeError,
                  d.rank ? "len() of a symbolic size" : "len() of a tensor of rank 0");
  return -1;
}

#endif
