/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes as words, the "packed attributes" of dlcore/op.h, and the arguments of generated
 * functions: which parameter gets which object. */
#ifndef DLCORE_PYTHON_ARGUMENTS_H
#define DLCORE_PYTHON_ARGUMENTS_H

enum { kInt, kBool, kDtype, kFloat, kString, kInts, kDims, kOperand };
enum { kMaxParameters = 24, kMaxWords = 192 };

typedef struct Parameter {
  const char *name;
  uint8_t kind;
  uint8_t optional; /* None leaves it out */
  uint8_t required;
  int8_t attribute;      /* position in the op's schema; -1: an operand */
  const int64_t *absent; /* words of the default value */
  int32_t n_absent;
} Parameter;

typedef struct Signature {
  const char *name;
  const Parameter
      *parameters; /* in the order of Python: operands, positional attributes, keywords */
  int32_t n_parameters;
  int32_t n_positional;
  int32_t n_attributes;
  PyObject **names; /* interned, made when the module is */
} Signature;

typedef struct Words {
  const char *function;
  int64_t data[kMaxWords];
  int64_t n;
} Words;

/* ---- Values -------------------------------------------------------------------------------- */

static int put(Words *words, int64_t word) {
  if (words->n == kMaxWords) {
    PyErr_Format(PyExc_ValueError, "%s: its attributes are too long", words->function);
    return 0;
  }
  words->data[words->n++] = word;
  return 1;
}

static int put_integer(Words *words, PyObject *value) {
  PyObject *index = PyNumber_Index(value);
  int64_t word = index ? PyLong_AsLongLong(index) : -1;
  Py_XDECREF(index);
  return !(word == -1 && PyErr_Occurred()) && put(words, word);
}

static int put_text(Words *words, const char *text, Py_ssize_t size) {
  const int64_t n = (size + 7) / 8;
  if (!put(words, size)) return 0;
  if (n > kMaxWords - words->n) return put(words, (words->n = kMaxWords));
  memset(words->data + words->n, 0, (size_t)n * 8);
  memcpy(words->data + words->n, text, (size_t)size);
  words->n += n;
  return 1;
}

static int put_list(Words *words, PyObject *value, int as_dims) {
  PyObject *items = NULL;
  Py_ssize_t i, n = 1;
  int good;
  if (!PyIndex_Check(value)) { /* a single one stands for a list of it */
    items = PySequence_Fast(value, "expected an integer or a sequence of integers");
    if (!items) return 0;
    n = PySequence_Fast_GET_SIZE(items);
  }
  good = put(words, n);
  for (i = 0; good && i < n; ++i) {
    if (as_dims) good = put(words, 0); /* an integer, not a symbol */
    good = good && put_integer(words, items ? PySequence_Fast_GET_ITEM(items, i) : value);
  }
  Py_XDECREF(items);
  return good;
}

static int32_t dtype_number(PyObject *name) {
  const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
  int32_t number = DLCORE_DTYPE_NONE;
  if (text) {
    number = dlcore_dtype_by_name(text);
  } else if (!PyErr_Occurred()) {
    PyErr_Format(PyExc_TypeError, "a dtype is a str like 'f32', found %s", Py_TYPE(name)->tp_name);
    return number;
  }
  if (number == DLCORE_DTYPE_NONE && !PyErr_Occurred()) {
    char message[128];
    snprintf(message, sizeof message, "no dtype is called '%.64s'", text);
    raise_code(DLCORE_INVALID_ARGUMENT, message);
  }
  return number;
}

static int put_value(Words *words, int kind, PyObject *value) {
  int truth;
  int64_t word;
  double real;
  Py_ssize_t size;
  const char *text;
  switch (kind) {
    case kInt:
      return put_integer(words, value);
    case kBool:
      truth = PyObject_IsTrue(value);
      return truth >= 0 && put(words, truth);
    case kDtype:
      word = dtype_number(value);
      return word != DLCORE_DTYPE_NONE && put(words, word);
    case kFloat:
      real = PyFloat_AsDouble(value);
      memcpy(&word, &real, sizeof word);
      return !(real == -1 && PyErr_Occurred()) && put(words, word);
    case kString:
      if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "must be str, not %s", Py_TYPE(value)->tp_name);
        return 0;
      }
      text = PyUnicode_AsUTF8AndSize(value, &size);
      return text && put_text(words, text, size);
    default:
      return put_list(words, value, kind == kDims);
  }
}

static void name_argument(const char *function, const char *parameter) {
  PyObject *kind, *value, *trace;
  PyErr_Fetch(&kind, &value, &trace);
  if (kind == PyExc_TypeError && value) {
    PyErr_Format(kind, "%s: %s: %S", function, parameter, value);
    Py_XDECREF(kind);
    Py_XDECREF(value);
    Py_XDECREF(trace);
  } else {
    PyErr_Restore(kind, value, trace);
  }
}

/* The attributes among `given` (borrowed; NULL: not given), up to the last that is given. */
static int pack(Words *words, const Signature *signature, PyObject *const *given) {
  const Parameter *of[kMaxParameters];
  int32_t i, last = -1, at[kMaxParameters];
  for (i = 0; i < signature->n_parameters; ++i) {
    const Parameter *parameter = &signature->parameters[i];
    if (parameter->attribute < 0) continue;
    of[parameter->attribute] = parameter;
    at[parameter->attribute] = i;
    if (given[i] && parameter->attribute > last) last = parameter->attribute;
  }
  words->function = signature->name;
  words->n = 0;
  for (i = 0; i <= last; ++i) {
    PyObject *value = given[at[i]];
    if (!value) {
      int32_t k;
      for (k = 0; k < of[i]->n_absent; ++k)
        if (!put(words, of[i]->absent[k])) return 0;
    } else if (of[i]->optional && value == Py_None) {
      if (!put(words, 0)) return 0;
    } else if ((of[i]->optional && !put(words, 1)) || !put_value(words, of[i]->kind, value)) {
      name_argument(signature->name, of[i]->name);
      return 0;
    }
  }
  return 1;
}

/* ---- Which parameter gets what ------------------------------------------------------------- */

static int intern_names(Signature *signature) {
  int32_t i;
  if (signature->names) return 1;
  signature->names = PyMem_Calloc((size_t)signature->n_parameters + 1, sizeof(PyObject *));
  for (i = 0; signature->names && i < signature->n_parameters; ++i)
    if (!(signature->names[i] = PyUnicode_InternFromString(signature->parameters[i].name)))
      return 0;
  return signature->names != NULL;
}

static int32_t find_name(const Signature *signature, PyObject *name) {
  int32_t i;
  for (i = 0; i < signature->n_parameters; ++i)
    if (signature->names[i] == name) return i;
  for (i = 0; i < signature->n_parameters; ++i)
    if (PyUnicode_Compare(signature->names[i], name) == 0) return i;
  return -1;
}

/* Fills given[], borrowed, from `first` (may be NULL) and the arguments of a FASTCALL. */
static int bind(const Signature *signature, PyObject **given, PyObject *first,
                PyObject *const *args, Py_ssize_t n, PyObject *keywords) {
  const Py_ssize_t n_keywords = keywords ? PyTuple_GET_SIZE(keywords) : 0, shift = first != NULL;
  Py_ssize_t i;
  int32_t p;
  if (n + shift > signature->n_positional) {
    PyErr_Format(PyExc_TypeError, "%s() takes %d positional arguments but %zd were given",
                 signature->name, (int)(signature->n_positional - shift), n);
    return 0;
  }
  memset(given, 0, (size_t)signature->n_parameters * sizeof *given);
  if (first) given[0] = first;
  for (i = 0; i < n; ++i) given[shift + i] = args[i];
  for (i = 0; i < n_keywords; ++i) {
    p = find_name(signature, PyTuple_GET_ITEM(keywords, i));
    if (p < 0 || given[p]) {
      PyErr_Format(PyExc_TypeError,
                   p < 0 ? "%s() got an unexpected keyword argument '%U'"
                         : "%s() got multiple values for argument '%U'",
                   signature->name, PyTuple_GET_ITEM(keywords, i));
      return 0;
    }
    given[p] = args[n + i];
  }
  for (p = 0; p < signature->n_parameters; ++p) {
    if (signature->parameters[p].required && !given[p]) {
      PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s'", signature->name,
                   signature->parameters[p].name);
      return 0;
    }
  }
  return 1;
}

#endif
