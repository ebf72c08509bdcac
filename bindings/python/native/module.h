/* SPDX-License-Identifier: Apache-2.0
 *
 * What is set up when the module is imported: types, their methods and properties, functions of ops,
 * and the functions that the package hands in. */
#ifndef DLCORE_PYTHON_MODULE_H
#define DLCORE_PYTHON_MODULE_H

/* op(context or None, number, operands, words, n_outputs): any op by its number. */
static PyObject *op_by_number(PyObject *module, PyObject *args) {
  PyObject *given, *list = NULL, *words_given, *result = NULL, *context;
  Operands operands;
  Words words = {"op", {0}, 0};
  int number, n_outputs;
  Py_ssize_t i;
  (void)module;
  if (!PyArg_ParseTuple(args, "OiOOi:op", &context, &number, &given, &words_given, &n_outputs))
    return NULL;
  if (n_outputs < 1 || n_outputs > DLCORE_MAX_OP_OUTPUTS) {
    return PyErr_Format(PyExc_ValueError, "op: n_outputs is %d, expected 1 to %d", n_outputs,
                        (int)DLCORE_MAX_OP_OUTPUTS);
  }
  words_given = PySequence_Tuple(words_given);
  if (words_given) list = PySequence_Tuple(given);
  for (i = 0; list && i < PyTuple_GET_SIZE(words_given); ++i)
    if (!put_integer(&words, PyTuple_GET_ITEM(words_given, i))) Py_CLEAR(list);
  if (list && PyTuple_GET_SIZE(list) > DLCORE_MAX_OP_INPUTS) {
    PyErr_Format(PyExc_ValueError, "op: %zd operands, expected at most %d", PyTuple_GET_SIZE(list),
                 (int)DLCORE_MAX_OP_INPUTS);
    Py_CLEAR(list);
  }
  if (list && begin_operands(&operands, "op", ((PyTupleObject *)list)->ob_item,
                             (int)PyTuple_GET_SIZE(list), context == Py_None ? NULL : context))
    result = finish_op(&operands, number, words.data, words.n, n_outputs, 2);
  Py_XDECREF(list);
  Py_XDECREF(words_given);
  return result;
}

/* extend(type, name, object): adds to a builtin type what is written in Python. */
static PyObject *extend(PyObject *module, PyObject *args) {
  PyTypeObject *type;
  PyObject *name, *object;
  (void)module;
  if (!PyArg_ParseTuple(args, "O!UO:extend", &PyType_Type, &type, &name, &object)) return NULL;
  if (!kind_of_type(type)) return PyErr_Format(PyExc_TypeError, "extend() takes a type of handles");
  if (PyDict_SetItem(type->tp_dict, name, object)) return NULL;
  PyType_Modified(type);
  Py_RETURN_NONE;
}

/* make_as(type): what calls return of that type's base is made as it from now on. */
static PyObject *make_as(PyObject *module, PyObject *type) {
  HandleKind *kind = PyType_Check(type) ? kind_of_type((PyTypeObject *)type) : NULL;
  (void)module;
  if (!kind || kind == tensor_kind)
    return PyErr_Format(PyExc_TypeError, "make_as() takes a subclass of a type of handles");
  Py_INCREF(type);
  kind->made = (PyTypeObject *)type;
  Py_INCREF(type);
  return type;
}

static PyObject *set_hooks(PyObject *module, PyObject *args, PyObject *keywords) {
  static char *names[] = {"error", "current", "describe", "tensor", NULL};
  PyObject *error, *current, *describe_it, *tensor;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOO!:set_hooks", names, &error, &current,
                                   &describe_it, &PyDict_Type, &tensor)) {
    return NULL;
  }
  Py_INCREF(error);
  Py_XSETREF(make_error, error);
  Py_INCREF(current);
  Py_XSETREF(current_context, current);
  Py_INCREF(describe_it);
  Py_XSETREF(describe_exception, describe_it);
  Py_INCREF(tensor);
  Py_XSETREF(tensor_hooks, tensor);
  Py_RETURN_NONE;
}

/* address(handle), and adopt(type, address): handles of other bindings in the process. */
static PyObject *address_of(PyObject *module, PyObject *object) {
  HandleKind *kind = kind_of_type(Py_TYPE(object));
  (void)module;
  if (!kind) return PyErr_Format(PyExc_TypeError, "address() takes an object of the engine");
  if (!((Handle *)object)->swig.ptr) {
    raise_released(kind->noun);
    return NULL;
  }
  return PyLong_FromVoidPtr(((Handle *)object)->swig.ptr);
}

static PyObject *adopt(PyObject *module, PyObject *const *args, Py_ssize_t n) {
  HandleKind *kind = n == 2 && PyType_Check(args[0]) ? kind_of_type((PyTypeObject *)args[0]) : NULL;
  void *pointer;
  (void)module;
  if (!kind || kind == tensor_kind)
    return PyErr_Format(PyExc_TypeError, "adopt() takes a type and an address");
  pointer = PyLong_AsVoidPtr(args[1]);
  return PyErr_Occurred() ? NULL : wrap_borrowed(kind, pointer, NULL);
}

static PyMethodDef native_functions[] = {
    {"address", address_of, METH_O, NULL},
    {"adopt", (PyCFunction)(void (*)(void))adopt, METH_FASTCALL, NULL},
    {"op", op_by_number, METH_VARARGS, NULL},
    {"extend", extend, METH_VARARGS, NULL},
    {"make_as", make_as, METH_O, NULL},
    {"set_hooks", (PyCFunction)(void (*)(void))set_hooks, METH_VARARGS | METH_KEYWORDS, NULL},
    {"set_main_thread", set_main_thread, METH_O, NULL},
    {"from_buffer", (PyCFunction)(void (*)(void))from_buffer, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL}};

static int add_methods(PyTypeObject *type, PyMethodDef *method) {
  for (; method->ml_name; ++method) {
    PyObject *made = PyDescr_NewMethod(type, method);
    const int failed = !made || PyDict_SetItemString(type->tp_dict, method->ml_name, made);
    Py_XDECREF(made);
    if (failed) return 0;
  }
  return 1;
}

static int add_properties(PyTypeObject *type, PyGetSetDef *property) {
  for (; property->name; ++property) {
    PyObject *made = PyDescr_NewGetSet(type, property);
    const int failed = !made || PyDict_SetItemString(type->tp_dict, property->name, made);
    Py_XDECREF(made);
    if (failed) return 0;
  }
  return 1;
}

/* SWIG's own ways to a pointer would pass by the rules of ownership. */
static int drop_ways_round(PyTypeObject *type) {
  static const char *const names[] = {"this", "thisown", "disown", "acquire",
                                      "own",  "append",  "next",   NULL};
  const char *const *name;
  for (; type != &PyBaseObject_Type; type = type->tp_base) {
    for (name = names; *name; ++name)
      if (PyDict_GetItemString(type->tp_dict, *name) && PyDict_DelItemString(type->tp_dict, *name))
        return 0;
    PyType_Modified(type);
  }
  return 1;
}

/* The table's entries have the order of the generated list of types. */
static int set_up_types(PyTypeObject *const *types) {
  HandleKind *kind;
  for (kind = handle_kinds; kind->noun; ++kind) {
    PyTypeObject *type = *types++;
    kind->type = kind->made = type;
    Py_SET_TYPE(type,
                &PyType_Type); /* SWIG's own forbids classes below it to set their attributes */
    type->tp_new = handle_new;
    if (!add_methods(type, handle_methods) || !add_properties(type, handle_properties)) return 0;
    if (!drop_ways_round(type)) return 0;
    if (strcmp(kind->noun, "tensor") == 0) {
      tensor_type = type;
      tensor_info = *kind->info;
      tensor_kind = kind;
      type->tp_name = "dlcore.Tensor";
      if (!add_methods(type, tensor_methods) || !add_properties(type, tensor_properties)) return 0;
    }
    PyType_Modified(type);
  }
  return 1;
}

static int set_up_ops(PyObject *module, Op *const *ops, PyMethodDef *functions,
                      PyMethodDef *methods) {
  for (; *ops; ++ops)
    if (!intern_names(&(*ops)->signature)) return 0;
  return PyModule_AddFunctions(module, functions) == 0 &&
         PyModule_AddFunctions(module, native_functions) == 0 &&
         PyModule_AddFunctions(module, sharing_functions) == 0 && add_methods(tensor_type, methods);
}

#endif
