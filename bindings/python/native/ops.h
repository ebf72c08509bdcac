/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of ops: from generated functions and methods, and by number. */
#ifndef DLCORE_PYTHON_OPS_H
#define DLCORE_PYTHON_OPS_H

typedef struct Op {
  Signature signature;
  int32_t number;
  uint8_t n_inputs;
  uint8_t variadic; /* the last input is a sequence */
  uint8_t n_outputs;
  uint8_t elementwise; /* the work follows from the counts of the inputs */
  uint8_t is_view;
  uint8_t sized; /* the result may be as large as attributes say */
} Op;

/* From so many elements on others may run meanwhile, and from so many on Ctrl-C is listened to. */
enum {
  kElementwiseWork = 1 << 15,
  kOtherWork = 1 << 10,
  kLongElementwise = 1 << 18,
  kLongOther = 1 << 16
};

static PyObject *current_context; /* () -> the current Context, written in Python */

/* Operands of a call: tensors that were given, and scalars made for it. */
typedef struct Operands {
  const char *op;
  PyObject *context;                     /* of the first tensor; a reference */
  Handle *entered[DLCORE_MAX_OP_INPUTS]; /* NULL where a scalar was made or nothing given */
  dlcore_tensor *tensors[DLCORE_MAX_OP_INPUTS];
  int n;
} Operands;

static inline int64_t count_of(Handle *tensor) {
  if (tensor->count < 0) tensor->count = dlcore_tensor_count(tensor->swig.ptr);
  return tensor->count;
}

static void raise_mixed(const char *op, int index) {
  char message[160];
  snprintf(message, sizeof message,
           "%.64s: operand %d belongs to another context; x.on(context) rebinds it", op, index);
  raise_code(DLCORE_INVALID_ARGUMENT, message);
}

/* The kind and word of a Python number; 0 when it is none, -1 with an exception. */
static int number_word(PyObject *value, int32_t *kind, int64_t *word) {
  double real;
  if (PyFloat_Check(value)) {
    real = PyFloat_AS_DOUBLE(value);
  } else if (PyBool_Check(value)) {
    *kind = DLCORE_SCALAR_BOOL;
    *word = value == Py_True;
    return 1;
  } else if (PyIndex_Check(value) && !is_tensor(value)) {
    PyObject *index = PyNumber_Index(value);
    *kind = DLCORE_SCALAR_I64;
    *word = index ? PyLong_AsLongLong(index) : -1;
    Py_XDECREF(index);
    return *word == -1 && PyErr_Occurred() ? -1 : 1;
  } else if (Py_TYPE(value)->tp_as_number && Py_TYPE(value)->tp_as_number->nb_float &&
             !is_tensor(value) && !PyObject_CheckBuffer(value)) {
    real = PyFloat_AsDouble(value);
    if (real == -1 && PyErr_Occurred()) return -1;
  } else if (PyObject_HasAttrString(value, "dtype") && PyObject_HasAttrString(value, "item") &&
             !is_tensor(value) &&
             !PySequence_Check(value)) { /* a number of NumPy, which has the buffer protocol */
    PyObject *plain = PyObject_CallMethod(value, "item", NULL);
    int found = plain ? number_word(plain, kind, word) : -1;
    Py_XDECREF(plain);
    return found;
  } else {
    return 0;
  }
  *kind = DLCORE_SCALAR_F64;
  memcpy(word, &real, sizeof real);
  return 1;
}

static dlcore_tensor *weak_scalar(dlcore_context *ctx, int32_t kind, int64_t word) {
  double real;
  memcpy(&real, &word, sizeof real);
  if (kind == DLCORE_SCALAR_F64) return dlcore_tensor_weak_f64(ctx, real);
  if (kind == DLCORE_SCALAR_I64) return dlcore_tensor_weak_i64(ctx, word);
  return dlcore_tensor_weak_bool(ctx, (uint8_t)word);
}

static void end_operands(Operands *operands) {
  int i;
  for (i = 0; i < operands->n; ++i) {
    if (operands->entered[i]) {
      leave(operands->entered[i]);
    } else if (operands->tensors[i] != dlcore_tensor_none()) {
      dlcore_tensor_release(operands->tensors[i]);
    }
  }
  operands->n = 0;
  Py_CLEAR(operands->context);
}

/* Finds the context first, so that scalars in front of tensors are made on it. Without a tensor it is `fallback`, or if
 * that is NULL the current one. */
static int begin_operands(Operands *operands, const char *op, PyObject *const *given, int n,
                          PyObject *fallback) {
  dlcore_context *ctx;
  int i;
  operands->op = op;
  operands->context = NULL;
  operands->n = 0;
  if (n > DLCORE_MAX_OP_INPUTS) {
    PyErr_Format(PyExc_ValueError, "%s: it has %d operands, expected at most %d", op, n,
                 (int)DLCORE_MAX_OP_INPUTS);
    return 0;
  }
  for (i = 0; i < n && !operands->context; ++i)
    if (given[i] && is_tensor(given[i])) operands->context = ((Handle *)given[i])->context;
  if (!operands->context) operands->context = fallback;
  if (operands->context) {
    Py_INCREF(operands->context);
  } else if (!(operands->context = PyObject_CallNoArgs(current_context))) {
    return 0;
  }
  ctx = need_context(operands->context);
  if (!ctx) {
    Py_CLEAR(operands->context);
    return 0;
  }
  for (i = 0; i < n; ++i) {
    PyObject *object = given[i];
    Handle *handle = NULL;
    int32_t kind;
    int64_t word;
    if (object && is_tensor(object)) {
      if (!(handle = enter(object, tensor_info))) break;
      if (handle->context != operands->context) {
        leave(handle);
        raise_mixed(op, i);
        break;
      }
      operands->tensors[i] = handle->swig.ptr;
    } else if (!object || object == Py_None) {
      operands->tensors[i] = dlcore_tensor_none();
    } else {
      const int found = number_word(object, &kind, &word);
      if (found == 0)
        PyErr_Format(PyExc_TypeError, "%s: expected a Tensor or a number, found %s", op,
                     Py_TYPE(object)->tp_name);
      if (found <= 0) break;
      if (!(operands->tensors[i] = weak_scalar(ctx, kind, word))) {
        raise_from(ctx, DLCORE_UNKNOWN);
        break;
      }
    }
    operands->entered[i] = handle;
    operands->n = i + 1;
  }
  if (i == n) return 1;
  end_operands(operands);
  return 0;
}

/* 0: at once; 1: others may run meanwhile; 2: and it may take long. */
static int weight(const Operands *operands, int elementwise, int is_view, int sized) {
  int64_t work = 0, least = INT64_MAX, n;
  int i;
  if (is_view) return 0;
  if (operands->n == 0 || sized) return 2;
  for (i = 0; i < operands->n; ++i) {
    if (!operands->entered[i]) continue;
    n = count_of(operands->entered[i]);
    if (n > work) work = n;
    if (n < least) least = n;
  }
  if (elementwise && least > 1 && least < work && work < kLongElementwise)
    work *= least; /* broadcast, at worst */
  if (work >= (elementwise ? kLongElementwise : kLongOther)) return 2;
  return work >= (elementwise ? kElementwiseWork : kOtherWork);
}

/* Runs it; writes n_outputs new references of the engine's. */
static int32_t run_op(const Operands *operands, int32_t number, const int64_t *words,
                      int64_t n_words, dlcore_tensor **outputs, int n_outputs, int heavy) {
  dlcore_context *ctx = context_pointer(operands->context);
  dlcore_tensor *const *in = operands->tensors;
  Flight flight;
  int32_t code = DLCORE_OK;
  if (heavy) {
    ++((Handle *)operands->context)->uses;
    take_off(&flight, operands->context, heavy > 1);
  }
  if (n_outputs != 1 || operands->n > 3) {
    code = dlcore_op_invoke(ctx, number, in, operands->n, words, n_words, outputs, n_outputs, 0);
  } else {
    outputs[0] = operands->n == 1   ? dlcore_op_call1(ctx, number, in[0], words, n_words)
                 : operands->n == 2 ? dlcore_op_call2(ctx, number, in[0], in[1], words, n_words)
                 : operands->n == 3
                     ? dlcore_op_call3(ctx, number, in[0], in[1], in[2], words, n_words)
                     : dlcore_op_call0(ctx, number, words, n_words);
    if (!outputs[0]) code = DLCORE_UNKNOWN;
  }
  if (heavy) {
    land(&flight);
    leave((Handle *)operands->context);
  }
  if (code) raise_from(ctx, code);
  return code;
}

/* Takes the outputs over: one tensor, or a tuple of them. */
static PyObject *outputs_of(dlcore_tensor **outputs, int n, PyObject *context) {
  PyObject *tuple;
  int i;
  if (n == 1) return wrap_tensor(outputs[0], context);
  tuple = PyTuple_New(n);
  for (i = 0; i < n; ++i) {
    PyObject *made = tuple ? wrap_tensor(outputs[i], context) : NULL;
    if (!tuple) dlcore_tensor_release(outputs[i]);
    if (tuple && !made) Py_CLEAR(tuple);
    if (tuple) PyTuple_SET_ITEM(tuple, i, made);
  }
  return tuple;
}

static PyObject *finish_op(Operands *operands, int32_t number, const int64_t *words,
                           int64_t n_words, int n_outputs, int heavy) {
  dlcore_tensor *outputs[DLCORE_MAX_OP_OUTPUTS] = {NULL};
  PyObject *result = NULL;
  if (!run_op(operands, number, words, n_words, outputs, n_outputs, heavy))
    result = outputs_of(outputs, n_outputs, operands->context);
  end_operands(operands);
  return result;
}

/* A generated function, or with `self` a method. */
static PyObject *call_op(const Op *op, PyObject *self, PyObject *const *args, Py_ssize_t n,
                         PyObject *keywords) {
  const Signature *signature = &op->signature;
  PyObject *given[kMaxParameters], *const *inputs = given, *list = NULL;
  Operands operands;
  Words words;
  PyObject *all[DLCORE_MAX_OP_INPUTS];
  int count = op->n_inputs, ready;
  if (!bind(signature, given, self, args, n, keywords)) return NULL;
  words.n = 0;
  if (signature->n_attributes && !pack(&words, signature, given)) return NULL;
  if (op->variadic) {
    Py_ssize_t i, more;
    list = PySequence_Tuple(
        given[count - 1]); /* of our own: others may change theirs while the call runs */
    if (!list) {
      name_argument(signature->name, signature->parameters[count - 1].name);
      return NULL;
    }
    more = PyTuple_GET_SIZE(list);
    for (i = 0; i < count - 1; ++i) all[i] = given[i];
    for (i = 0; i < more && count - 1 + i < DLCORE_MAX_OP_INPUTS; ++i)
      all[count - 1 + i] = PyTuple_GET_ITEM(list, i);
    inputs = all;
    count += (int)(more < DLCORE_MAX_OP_INPUTS ? more : DLCORE_MAX_OP_INPUTS) - 1;
    if (more > DLCORE_MAX_OP_INPUTS) {
      PyErr_Format(PyExc_ValueError, "%s: %zd tensors were given, expected at most %d",
                   signature->name, more, (int)DLCORE_MAX_OP_INPUTS);
      Py_DECREF(list);
      return NULL;
    }
  }
  ready = begin_operands(&operands, signature->name, inputs, count, NULL);
  if (!ready) {
    Py_XDECREF(list);
    return NULL;
  }
  {
    PyObject *result = finish_op(&operands, op->number, words.data, words.n, op->n_outputs,
                                 weight(&operands, op->elementwise, op->is_view, op->sized));
    Py_XDECREF(list);
    return result;
  }
}

#endif
