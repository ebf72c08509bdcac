/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements between Python and the engine: objects with the buffer protocol in, numbers and nested
 * lists out. */
#ifndef DLCORE_PYTHON_ELEMENTS_H
#define DLCORE_PYTHON_ELEMENTS_H

/* ---- In ------------------------------------------------------------------------------------- */

/* The dtype of elements that the struct module calls `format`; DLCORE_DTYPE_NONE when there is none. */
static int32_t dtype_of_format(const char *format, Py_ssize_t size) {
  const int little = *(const char *)&(const int){1};
  if (!format) return DLCORE_U8;
  if (*format == '@' || *format == '=' || *format == (little ? '<' : '>')) {
    ++format;
  } else if (size == 1 && (*format == '<' || *format == '>' || *format == '!')) {
    ++format;
  }
  if (format[0] == '\0' || format[1] != '\0') return DLCORE_DTYPE_NONE;
  switch (*format) {
    case '?':
      return DLCORE_BOOL;
    case 'B':
      return DLCORE_U8;
    case 'e':
      return DLCORE_F16;
    case 'f':
      return DLCORE_F32;
    case 'd':
      return DLCORE_F64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return size == 1 ? DLCORE_I8 : size == 2 ? DLCORE_I16 : size == 4 ? DLCORE_I32 : DLCORE_I64;
    default:
      return DLCORE_DTYPE_NONE;
  }
}

/* Where the elements of a view lie: from `low` on, `elements` of them, the first one at `offset`. */
static int place_of(const Py_buffer *view, int64_t *strides, const char **low, uint64_t *elements,
                    int64_t *offset) {
  int64_t least = 0, most = 0;
  int i;
  if (view->suboffsets) return 0;
  for (i = 0; i < view->ndim; ++i) {
    const int64_t reach = view->shape[i] > 0 ? (view->shape[i] - 1) * view->strides[i] : 0;
    if (view->strides[i] % view->itemsize) return 0;
    strides[i] = view->strides[i] / view->itemsize;
    if (reach < 0) least += reach;
    if (reach > 0) most += reach;
  }
  *low = (const char *)view->buf + least;
  *offset = -least / view->itemsize;
  *elements = view->len ? (uint64_t)((most - least) / view->itemsize + 1) : 0;
  return 1;
}

static dlcore_tensor *copy_of(PyObject *context, int32_t dtype, const Py_buffer *view) {
  int64_t shape[PyBUF_MAX_NDIM], strides[PyBUF_MAX_NDIM], offset = 0;
  const char *low = NULL;
  char *packed = NULL;
  uint64_t elements = 0;
  const int in_order = PyBuffer_IsContiguous(view, 'C'),
            placed = !in_order && place_of(view, strides, &low, &elements, &offset);
  dlcore_context *ctx = context_pointer(context);
  dlcore_tensor *made;
  Flight flight;
  int i;
  for (i = 0; i < view->ndim; ++i) shape[i] = view->shape[i];
  if (!in_order && !placed) { /* elements that lie between the places of others */
    packed = PyMem_Malloc(view->len ? (size_t)view->len : 1);
    if (!packed || PyBuffer_ToContiguous(packed, (Py_buffer *)view, view->len, 'C')) {
      PyMem_Free(packed);
      if (!PyErr_Occurred()) PyErr_NoMemory();
      return NULL;
    }
  }
  ++((Handle *)context)->uses;
  take_off(&flight, context, view->len > (1 << 20));
  if (placed) {
    made = dlcore_tensor_create_strided(ctx, dtype, shape, strides, view->ndim,
                                        view->len ? low : "", elements, offset);
  } else {
    made = dlcore_tensor_create(ctx, dtype, shape, view->ndim,
                                packed      ? packed
                                : view->len ? view->buf
                                            : "",
                                (uint64_t)view->len);
  }
  land(&flight);
  leave((Handle *)context);
  PyMem_Free(packed);
  if (!made) raise_from(ctx, DLCORE_UNKNOWN);
  return made;
}

/* from_buffer(context, object): a tensor with a copy; None for an object without the protocol. */
static PyObject *from_buffer(PyObject *module, PyObject *const *args, Py_ssize_t n) {
  Py_buffer view;
  dlcore_tensor *made = NULL;
  int32_t dtype;
  (void)module;
  if (n != 2) return PyErr_Format(PyExc_TypeError, "from_buffer() takes a context and an object");
  if (!PyObject_CheckBuffer(args[1])) Py_RETURN_NONE;
  if (!need_context(args[0])) return NULL;
  if (PyObject_GetBuffer(args[1], &view, PyBUF_FULL_RO)) return NULL;
  dtype = dtype_of_format(view.format, view.itemsize);
  if (dtype == DLCORE_DTYPE_NONE) {
    char message[160];
    snprintf(message, sizeof message, "tensor: elements of the format '%.64s' have no dtype here",
             view.format);
    raise_code(DLCORE_INVALID_ARGUMENT, message);
  } else {
    made = copy_of(args[0], dtype, &view);
  }
  PyBuffer_Release(&view);
  return made ? wrap_tensor(made, args[0]) : NULL;
}

/* ---- Out ------------------------------------------------------------------------------------ */

static PyObject *number_at(const char *data, int32_t dtype, int64_t index) {
  union {
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint32_t u32;
    uint16_t u16;
    float f32;
    double f64;
  } v;
  const size_t size = dlcore_dtype_size(dtype);
  memcpy(&v, data + (size_t)index * size, size);
  switch (dtype) {
    case DLCORE_BOOL:
      return PyBool_FromLong(v.u8);
    case DLCORE_U8:
      return PyLong_FromLong(v.u8);
    case DLCORE_I8:
      return PyLong_FromLong(v.i8);
    case DLCORE_I16:
      return PyLong_FromLong(v.i16);
    case DLCORE_I32:
      return PyLong_FromLong(v.i32);
    case DLCORE_I64:
      return PyLong_FromLongLong(v.i64);
    case DLCORE_F16: {
      const double real = PyFloat_Unpack2(data + (size_t)index * size, 1);
      return real == -1 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(real);
    }
    case DLCORE_BF16:
      v.u32 = (uint32_t)v.u16 << 16; /* the upper half of an f32 */
      return PyFloat_FromDouble(v.f32);
    case DLCORE_F32:
      return PyFloat_FromDouble(v.f32);
    default:
      return PyFloat_FromDouble(v.f64);
  }
}

static PyObject *nested_list(const char *data, const dlcore_tensor_description *d, int axis,
                             int64_t *at) {
  PyObject *list;
  int64_t i;
  if (axis == d->rank) return number_at(data, d->dtype, (*at)++);
  list = PyList_New((Py_ssize_t)d->shape[axis]);
  for (i = 0; list && i < d->shape[axis]; ++i) {
    PyObject *item = nested_list(data, d, axis + 1, at);
    if (!item) Py_CLEAR(list);
    if (list) PyList_SET_ITEM(list, (Py_ssize_t)i, item);
  }
  return list;
}

/* The elements in row-major order, into room for d->bytes. */
static int read_elements(PyObject *self, const dlcore_tensor_description *d, void *data) {
  Handle *tensor = enter(self, tensor_info);
  dlcore_context *ctx;
  Flight flight;
  int32_t code;
  if (!tensor) return 0;
  ctx = context_pointer(tensor->context);
  ++((Handle *)tensor->context)->uses;
  take_off(&flight, tensor->context, d->bytes > (1 << 20));
  code = dlcore_tensor_read(ctx, tensor->swig.ptr, d->dtype, data, d->bytes);
  land(&flight);
  leave((Handle *)tensor->context);
  leave(tensor);
  if (code) raise_from(ctx, code);
  return !code;
}

static PyObject *tensor_tolist(PyObject *self, PyObject *none) {
  dlcore_tensor_description d;
  PyObject *list = NULL;
  int64_t at = 0;
  char small[64], *data = small;
  (void)none;
  if (!describe(self, &d)) return NULL;
  if (d.bytes > sizeof small && !(data = PyMem_Malloc(d.bytes))) return PyErr_NoMemory();
  if (read_elements(self, &d, data)) list = nested_list(data, &d, 0, &at);
  if (data != small) PyMem_Free(data);
  return list;
}

static PyObject *tensor_item(PyObject *self, PyObject *none) {
  dlcore_tensor_description d;
  char data[8];
  (void)none;
  if (!describe(self, &d)) return NULL;
  if (d.count != 1 && !d.is_symbolic) {
    char message[96];
    snprintf(message, sizeof message, "item: the tensor has %lld elements, expected one",
             (long long)d.count);
    raise_code(DLCORE_INVALID_ARGUMENT, message);
    return NULL;
  }
  return read_elements(self, &d, data) ? number_at(data, d.dtype, 0) : NULL;
}

static PyObject *tensor_tobytes(PyObject *self, PyObject *none) {
  dlcore_tensor_description d;
  PyObject *bytes;
  (void)none;
  if (!describe(self, &d)) return NULL;
  bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)d.bytes);
  if (bytes && !read_elements(self, &d, PyBytes_AS_STRING(bytes))) Py_CLEAR(bytes);
  return bytes;
}

static PyMethodDef tensor_methods[] = {
    {"tolist", tensor_tolist, METH_NOARGS,
     "tolist($self, /)\n--\n\nNested lists of Python numbers; a number for rank 0."},
    {"item", tensor_item, METH_NOARGS,
     "item($self, /)\n--\n\nThe only element, as a Python number."},
    {"tobytes", tensor_tobytes, METH_NOARGS,
     "tobytes($self, /)\n--\n\nAll elements in row-major order."},
    {NULL, NULL, 0, NULL}};

#endif
