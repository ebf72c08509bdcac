/* SPDX-License-Identifier: Apache-2.0
 *
 * The object behind every handle that Python sees. SWIG's builtin types have this layout, in place
 * of SwigPyObject alone, so that a handle is one Python object and nothing stands in front of it.
 *
 * Ownership: an object owns one reference of the engine's and gives it back once, when it is
 * released or dies. A call that lets other threads run counts itself in `uses`; an object released
 * meanwhile refuses new calls at once and gives its reference back when the last call is over. */
#ifndef DLCORE_PYTHON_HANDLE_H
#define DLCORE_PYTHON_HANDLE_H

enum { kLent = 0, kMade = 1, kRetained = 2 }; /* whose the reference is, in swig.own */

typedef struct Handle {
  SwigPyObject swig;    /* the pointer (NULL: released), its type, whose it is */
  PyObject *context;    /* the Context it works on, of a Context its Engine; may be NULL */
  PyObject *weak;       /* list of weak references */
  int64_t count;        /* elements of a tensor, -1 until asked for */
  int64_t uses;         /* calls it is in that let other threads run */
  void *retired;        /* the pointer of one released during such a call */
  const void *identity; /* the pointer, also when it has been released */
} Handle;

/* A type of handles; the generated table handle_kinds has them all. */
typedef struct HandleKind {
  const char *noun;
  swig_type_info **info; /* filled in by SWIG */
  PyTypeObject *type;    /* the builtin type */
  void (*retain)(void *);
  void (*release)(void *);   /* undoes retain */
  void (*give_back)(void *); /* ends what a call made; NULL: others own it */
  PyTypeObject *made; /* what results are made as: the type or a subclass written in Python */
} HandleKind;

static HandleKind handle_kinds[];
static PyTypeObject *tensor_type; /* for the one compare by which calls know a tensor */
static swig_type_info *tensor_info;
static HandleKind *tensor_kind;

enum { kKeptTensors = 128 }; /* dead objects that wait for their next life */
static Handle *kept_tensors[kKeptTensors];
static int n_kept_tensors;

static HandleKind *kind_of_type(PyTypeObject *type) {
  HandleKind *kind;
  for (; type; type = type->tp_base)
    for (kind = handle_kinds; kind->noun; ++kind)
      if (kind->type == type) return kind;
  return NULL;
}

static HandleKind *kind_of_info(const swig_type_info *info) {
  HandleKind *kind;
  for (kind = handle_kinds; kind->noun; ++kind)
    if (*kind->info == info) return kind;
  return NULL;
}

static inline int is_tensor(PyObject *object) {
  return Py_TYPE(object) == tensor_type || PyType_IsSubtype(Py_TYPE(object), tensor_type);
}

static void set_up(Handle *handle, const HandleKind *kind, void *pointer, PyObject *context,
                   int own) {
  handle->swig.ptr = pointer;
  handle->swig.ty = *kind->info;
  handle->swig.own = own;
  handle->swig.next = NULL;
  handle->count = -1;
  handle->uses = 0;
  handle->retired = NULL;
  handle->identity = pointer;
  handle->weak = NULL;
  Py_XINCREF(context);
  handle->context = context;
}

/* Takes over one reference of the engine's, also when it fails. NULL becomes None. */
static PyObject *wrap(HandleKind *kind, void *pointer, PyObject *context) {
  Handle *handle;
  if (!pointer) Py_RETURN_NONE;
  handle = (Handle *)kind->made->tp_alloc(kind->made, 0);
  if (!handle) {
    if (kind->give_back) kind->give_back(pointer);
    return NULL;
  }
  set_up(handle, kind, pointer, context, kind->give_back ? kMade : kLent);
  return (PyObject *)handle;
}

static inline PyObject *wrap_tensor(dlcore_tensor *tensor, PyObject *context) {
  Handle *handle;
  if (n_kept_tensors) {
    handle = kept_tensors[--n_kept_tensors];
    PyObject_Init((PyObject *)handle, tensor_type);
  } else {
    handle = PyObject_New(Handle, tensor_type);
    if (!handle) {
      dlcore_tensor_release(tensor);
      return NULL;
    }
    handle->swig.dict = NULL;
  }
  set_up(handle, tensor_kind, tensor, context, kMade);
  return (PyObject *)handle;
}

/* A borrowed object: takes a reference of its own. */
static PyObject *wrap_borrowed(HandleKind *kind, void *pointer, PyObject *context) {
  PyObject *made;
  if (pointer && kind->retain) kind->retain(pointer);
  if (kind == tensor_kind && pointer) return wrap_tensor(pointer, context);
  made = wrap(kind, pointer, context);
  if (made && pointer) ((Handle *)made)->swig.own = kind->retain ? kRetained : kLent;
  return made;
}

static void give_back(const Handle *handle, void *pointer) {
  const HandleKind *kind = kind_of_info(handle->swig.ty);
  void (*end)(void *) = !kind                           ? NULL
                        : handle->swig.own == kRetained ? kind->release
                                                        : kind->give_back;
  if (!pointer || handle->swig.own == kLent || !end) return;
  if (handle->swig.own == kRetained) {
    /* Nothing to wait for; and a thread that has to take the lock again while the interpreter ends
     * is ended by it. */
    end(pointer);
    return;
  }
  Py_BEGIN_ALLOW_THREADS /* an engine joins its threads, a loader its own */
      end(pointer);
  Py_END_ALLOW_THREADS
}

/* The reference goes back now, or with the last call that uses it. */
static void handle_release(Handle *handle) {
  void *pointer = handle->swig.ptr;
  handle->swig.ptr = NULL;
  if (!pointer) return;
  if (handle->uses) {
    handle->retired = pointer;
  } else {
    give_back(handle, pointer);
  }
}

static void handle_dealloc(PyObject *self) {
  Handle *handle = (Handle *)self;
  if (handle->weak) PyObject_ClearWeakRefs(self);
  handle_release(handle);
  Py_CLEAR(handle->context);
  Py_CLEAR(handle->swig.dict);
  Py_TYPE(self)->tp_free(self);
}

static void tensor_dealloc(PyObject *self) {
  Handle *handle = (Handle *)self;
  if (handle->weak) PyObject_ClearWeakRefs(self);
  dlcore_tensor_release(handle->swig.ptr); /* NULL does nothing */
  Py_CLEAR(handle->context);
  if (Py_TYPE(self) == tensor_type && n_kept_tensors < kKeptTensors) {
    kept_tensors[n_kept_tensors++] = handle;
  } else {
    Py_TYPE(self)->tp_free(self);
  }
}

/* An empty object for a subclass written in Python, which then takes over what a call made. */
static PyObject *handle_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  HandleKind *kind = kind_of_type(type);
  Handle *handle;
  (void)args;
  (void)keywords;
  if (type == kind->type) {
    return PyErr_Format(PyExc_TypeError, "a %s is made by a call of the package, not by its type",
                        kind->noun);
  }
  handle = (Handle *)type->tp_alloc(type, 0);
  if (handle) set_up(handle, kind, NULL, NULL, kind->give_back ? kMade : kLent);
  return (PyObject *)handle;
}

/* _take(other): what `other` owns becomes this object's. */
static PyObject *handle_take(PyObject *self, PyObject *other) {
  Handle *to = (Handle *)self, *from = (Handle *)other;
  HandleKind *kind = kind_of_type(Py_TYPE(self));
  if (kind_of_type(Py_TYPE(other)) != kind || from->uses) {
    return PyErr_Format(PyExc_TypeError, "a %s cannot take over a %s", kind->noun,
                        Py_TYPE(other)->tp_name);
  }
  handle_release(to);
  to->swig.ptr = from->swig.ptr;
  to->swig.own = from->swig.own;
  to->identity = from->identity;
  from->swig.ptr = NULL;
  Py_XINCREF(from->context);
  Py_XSETREF(to->context, from->context);
  Py_RETURN_NONE;
}

static PyObject *handle_release_method(PyObject *self, PyObject *none) {
  (void)none;
  handle_release((Handle *)self);
  Py_RETURN_NONE;
}

static PyObject *handle_repr(PyObject *self) {
  const HandleKind *kind = kind_of_type(Py_TYPE(self));
  return PyUnicode_FromFormat(((Handle *)self)->swig.ptr ? "<%s>" : "<released %s>", kind->noun);
}

/* Objects for the same thing are equal while both have it; the hash stays what it is. */
static PyObject *handle_compare(PyObject *a, PyObject *b, int compared) {
  const HandleKind *kind = kind_of_type(Py_TYPE(a));
  const Handle *x = (Handle *)a, *y = (Handle *)b;
  int same = a == b;
  if ((compared != Py_EQ && compared != Py_NE) || kind_of_type(Py_TYPE(b)) != kind)
    Py_RETURN_NOTIMPLEMENTED;
  if (x->swig.ptr && x->swig.ptr == y->swig.ptr) same = 1;
  return PyBool_FromLong(same == (compared == Py_EQ));
}

static Py_hash_t handle_hash(PyObject *self) { return _Py_HashPointer(((Handle *)self)->identity); }

/* Without this pickle would make an empty object. */
static PyObject *handle_reduce(PyObject *self, PyObject *none) {
  (void)none;
  return PyErr_Format(PyExc_TypeError, "a %s cannot be pickled", kind_of_type(Py_TYPE(self))->noun);
}

static PyObject *handle_get_context(PyObject *self, void *none) {
  PyObject *context = ((Handle *)self)->context;
  (void)none;
  if (!context) context = Py_None;
  Py_INCREF(context);
  return context;
}

static PyObject *handle_get_released(PyObject *self, void *none) {
  (void)none;
  return PyBool_FromLong(!((Handle *)self)->swig.ptr);
}

/* _rebind(context): another object for the same thing, which works on that context. */
static PyObject *handle_rebind(PyObject *self, PyObject *context);

static PyMethodDef handle_methods[] = {{"__reduce__", handle_reduce, METH_NOARGS, NULL},
                                       {"_take", handle_take, METH_O, NULL},
                                       {"_rebind", handle_rebind, METH_O, NULL},
                                       {"release", handle_release_method, METH_NOARGS,
                                        "release($self, /)\n--\n\nGives it back now; it cannot be "
                                        "used any more. Releasing it again does nothing."},
                                       {NULL, NULL, 0, NULL}};

static PyGetSetDef handle_properties[] = {
    {"context", handle_get_context, NULL, "the context it works on", NULL},
    {"released", handle_get_released, NULL, "whether it has been given back", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

/* ---- Arguments ----------------------------------------------------------------------------- */

static void raise_code(int32_t code, const char *message); /* errors.h */

static void raise_released(const char *noun) {
  char message[96];
  snprintf(message, sizeof message, "%s: it has been released", noun);
  raise_code(DLCORE_FAILED_PRECONDITION, message);
}

/* The handle in an object; NULL with an exception. Counts a use, which leave() ends. */
static Handle *enter(PyObject *object, swig_type_info *info) {
  Handle *handle = (Handle *)object;
  if (!(info == tensor_info && Py_TYPE(object) == tensor_type)) {
    void *pointer = NULL;
    HandleKind *kind = kind_of_type(Py_TYPE(object)), *wanted = kind_of_info(info);
    if (kind != wanted && !SWIG_IsOK(SWIG_ConvertPtr(object, &pointer, info, 0))) kind = NULL;
    if (!kind) {
      PyErr_Format(PyExc_TypeError, "expected a %s, found %s", wanted->noun,
                   Py_TYPE(object)->tp_name);
      return NULL;
    }
  }
  if (!handle->swig.ptr) {
    raise_released(kind_of_info(info)->noun);
    return NULL;
  }
  ++handle->uses;
  return handle;
}

static void leave(Handle *handle) {
  if (handle && --handle->uses == 0 && handle->retired) {
    void *pointer = handle->retired;
    handle->retired = NULL;
    give_back(handle, pointer);
  }
}

/* Many of them: the objects are held in a tuple of our own while the call runs. */
typedef struct Handles {
  PyObject *objects;
  void **pointers;
  Py_ssize_t entered;
} Handles;

static void leave_many(Handles *handles) {
  Py_ssize_t i;
  for (i = 0; i < handles->entered; ++i) {
    PyObject *object = PyTuple_GET_ITEM(handles->objects, i);
    if (object != Py_None) leave((Handle *)object);
  }
  PyMem_Free(handles->pointers);
  Py_CLEAR(handles->objects);
  memset(handles, 0, sizeof *handles);
}

/* None stands for NULL, where a call allows it. */
static int enter_many(Handles *handles, PyObject *sequence, swig_type_info *info) {
  Py_ssize_t n;
  memset(handles, 0, sizeof *handles);
  handles->objects = PySequence_Tuple(sequence);
  if (!handles->objects) return 0;
  n = PyTuple_GET_SIZE(handles->objects);
  handles->pointers = PyMem_Calloc(n ? (size_t)n : 1, sizeof *handles->pointers);
  if (!handles->pointers) PyErr_NoMemory();
  for (; handles->pointers && handles->entered < n; ++handles->entered) {
    PyObject *object = PyTuple_GET_ITEM(handles->objects, handles->entered);
    Handle *handle = object == Py_None ? NULL : enter(object, info);
    if (object != Py_None && !handle) break;
    handles->pointers[handles->entered] = handle ? handle->swig.ptr : NULL;
  }
  if (handles->pointers && handles->entered == n) return 1;
  leave_many(handles);
  return 0;
}

/* Whether it is a Context, open or not; an exception when it is not. */
static int is_context(PyObject *object) {
  const HandleKind *kind = kind_of_type(Py_TYPE(object));
  if (kind && strcmp(kind->noun, "context") == 0) return 1;
  PyErr_Format(PyExc_TypeError, "expected a Context, found %s", Py_TYPE(object)->tp_name);
  return 0;
}

static PyObject *handle_rebind(PyObject *self, PyObject *context) {
  HandleKind *kind = kind_of_type(Py_TYPE(self));
  Handle *handle = (Handle *)self;
  if ((context != Py_None || kind == tensor_kind) && !is_context(context)) return NULL;
  if (!handle->swig.ptr) {
    raise_released(kind->noun);
    return NULL;
  }
  return wrap_borrowed(kind, handle->swig.ptr, context);
}

#endif
