/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements shared with others: the buffer protocol, read-only, and DLPack both ways. */
#ifndef DLCORE_PYTHON_SHARING_H
#define DLCORE_PYTHON_SHARING_H

/* The layout of DLPack 1.0 (https://dmlc.github.io/dlpack/latest/c_api.html). */
typedef struct SharedTensor {
  void *data;
  int32_t device_type, device_id;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} SharedTensor;

typedef struct Versioned {
  uint32_t major, minor;
  void *owner;
  void (*deleter)(struct Versioned *);
  uint64_t flags;
  SharedTensor tensor;
} Versioned;

typedef struct Unversioned {
  SharedTensor tensor;
  void *owner;
  void (*deleter)(struct Unversioned *);
} Unversioned;

static void *export(PyObject *self, uint64_t flags) {
  Handle *tensor = enter(self, tensor_info);
  dlcore_context *ctx = tensor ? context_pointer(tensor->context) : NULL;
  uint64_t address = 0;
  Flight flight;
  int32_t code;
  if (tensor && !ctx) raise_released("context");
  if (!ctx) {
    leave(tensor);
    return NULL;
  }
  ++((Handle *)tensor->context)->uses;
  take_off(&flight, tensor->context, count_of(tensor) > kLongElementwise);
  code = dlcore_tensor_to_dlpack(ctx, tensor->swig.ptr, flags, &address);
  land(&flight);
  leave((Handle *)tensor->context);
  leave(tensor);
  if (code) raise_from(ctx, code);
  return code ? NULL : (void *)(uintptr_t)address;
}

/* ---- The buffer protocol --------------------------------------------------------------------- */

typedef struct Exported {
  Versioned *managed;
  Py_ssize_t shape[DLCORE_MAX_RANK], strides[DLCORE_MAX_RANK];
} Exported;

static char *format_of(int32_t dtype) {
  static char *const formats[] = {NULL, "?", "B", "b", "h", "i", "q", "e", NULL, "f", "d"};
  return dtype < 0 || dtype > DLCORE_F64 ? NULL : formats[dtype];
}

static int tensor_bf_getbuffer(PyObject *self, Py_buffer *view, int flags) {
  const int in_order = (flags & PyBUF_STRIDES) != PyBUF_STRIDES ||
                       (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
  dlcore_tensor_description d;
  Exported *exported = NULL;
  int i;
  view->obj = NULL;
  if (!describe(self, &d)) return -1;
  if ((flags & PyBUF_WRITABLE) || !format_of(d.dtype)) {
    PyErr_Format(PyExc_BufferError, (flags & PyBUF_WRITABLE)
                                        ? "a Tensor never changes: its buffer is read-only"
                                        : "buffers have no format for bf16; convert with astype");
    return -1;
  }
  if (!in_order && !d.is_contiguous &&
      (flags & (PyBUF_F_CONTIGUOUS | PyBUF_ANY_CONTIGUOUS) & ~PyBUF_STRIDES)) {
    PyErr_SetString(PyExc_BufferError, "the elements of the tensor do not lie in that order");
    return -1;
  }
  exported = PyMem_Calloc(1, sizeof *exported);
  if (!exported) {
    PyErr_NoMemory();
    return -1;
  }
  exported->managed = export(self, in_order ? DLCORE_DLPACK_CONTIGUOUS : 0);
  if (!exported->managed) {
    PyMem_Free(exported);
    return -1;
  }
  for (i = 0; i < d.rank; ++i) {
    const SharedTensor *shared = &exported->managed->tensor;
    exported->shape[i] = (Py_ssize_t)shared->shape[i];
    if (shared->strides)
      exported->strides[i] = (Py_ssize_t)(shared->strides[i] * (shared->bits / 8 * shared->lanes));
  }
  view->itemsize = (Py_ssize_t)dlcore_dtype_size(d.dtype);
  if (!exported->managed->tensor.strides) { /* row-major */
    Py_ssize_t step = view->itemsize;
    for (i = d.rank - 1; i >= 0; --i) {
      exported->strides[i] = step;
      step *= exported->shape[i];
    }
  }
  view->buf = (char *)exported->managed->tensor.data + exported->managed->tensor.byte_offset;
  if (!view->buf) view->buf = (void *)exported; /* of nothing; some take NULL for a failure */
  view->len = (Py_ssize_t)d.bytes;
  view->readonly = 1;
  view->ndim = d.rank;
  view->format = (flags & PyBUF_FORMAT) ? format_of(d.dtype) : NULL;
  view->shape = (flags & PyBUF_ND) ? exported->shape : NULL;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->strides : NULL;
  view->suboffsets = NULL;
  view->internal = exported;
  Py_INCREF(self);
  view->obj = self;
  return 0;
}

static void tensor_bf_releasebuffer(PyObject *self, Py_buffer *view) {
  Exported *exported = view->internal;
  (void)self;
  if (exported->managed->deleter) exported->managed->deleter(exported->managed);
  PyMem_Free(exported);
}

/* ---- DLPack ---------------------------------------------------------------------------------- */

#define VERSIONED "dltensor_versioned"
#define UNVERSIONED "dltensor"

/* Of a capsule that nobody took over. */
static void drop_capsule(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, VERSIONED)) {
    Versioned *managed = PyCapsule_GetPointer(capsule, VERSIONED);
    if (managed->deleter) managed->deleter(managed);
  } else if (PyCapsule_IsValid(capsule, UNVERSIONED)) {
    Unversioned *managed = PyCapsule_GetPointer(capsule, UNVERSIONED);
    if (managed->deleter) managed->deleter(managed);
  }
}

/* to_dlpack(tensor, versioned, copy): a capsule. */
static PyObject *to_dlpack(PyObject *module, PyObject *args) {
  PyObject *tensor;
  int versioned, copy;
  void *managed;
  (void)module;
  if (!PyArg_ParseTuple(args, "Opp:to_dlpack", &tensor, &versioned, &copy)) return NULL;
  managed = export(tensor, (uint64_t)((copy ? DLCORE_DLPACK_COPY : 0) |
                                      (versioned ? 0 : DLCORE_DLPACK_UNVERSIONED)));
  return managed ? PyCapsule_New(managed, versioned ? VERSIONED : UNVERSIONED, drop_capsule) : NULL;
}

/* from_dlpack(context, capsule, borrow): takes the capsule's tensor over. */
static PyObject *from_dlpack(PyObject *module, PyObject *args) {
  PyObject *context, *capsule;
  dlcore_context *ctx;
  dlcore_tensor *made;
  int borrow, versioned;
  void *managed;
  Flight flight;
  (void)module;
  if (!PyArg_ParseTuple(args, "OO!p:from_dlpack", &context, &PyCapsule_Type, &capsule, &borrow))
    return NULL;
  versioned = PyCapsule_IsValid(capsule, VERSIONED);
  managed = PyCapsule_GetPointer(capsule, versioned ? VERSIONED : UNVERSIONED);
  ctx = managed ? need_context(context) : NULL;
  if (!ctx) return NULL;
  ++((Handle *)context)->uses;
  take_off(&flight, context, 1);
  made = dlcore_tensor_from_dlpack(ctx, (uint64_t)(uintptr_t)managed,
                                   (uint64_t)((borrow ? DLCORE_DLPACK_BORROW : 0) |
                                              (versioned ? 0 : DLCORE_DLPACK_UNVERSIONED)));
  land(&flight);
  leave((Handle *)context);
  if (!made) {
    raise_from(ctx, DLCORE_UNKNOWN);
    return NULL;
  }
  PyCapsule_SetName(capsule, versioned ? "used_" VERSIONED : "used_" UNVERSIONED);
  return wrap_tensor(made, context);
}

static PyMethodDef sharing_functions[] = {{"to_dlpack", to_dlpack, METH_VARARGS, NULL},
                                          {"from_dlpack", from_dlpack, METH_VARARGS, NULL},
                                          {NULL, NULL, 0, NULL}};

#endif
