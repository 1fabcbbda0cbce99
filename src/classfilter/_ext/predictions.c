/* SPDX-License-Identifier: MIT */
/* Predictions that are not plain numbers: those with names of classes, and classes, go through Python once. */
#include "binding.h"

/* module.function(probs, the filter's classes, and what else there is) */
static PyObject *call_python(Core *self, const char *module, const char *function, PyObject *probs, PyObject *more) {
    PyObject *const classes = PyObject_GetAttrString((PyObject *)self, "classes");
    PyObject *const from = classes == NULL ? NULL : PyImport_ImportModule(module);
    PyObject *result = NULL;
    if (from != NULL) result = PyObject_CallMethod(from, function, more == NULL ? "OO" : "OOO", probs, classes, more);
    Py_XDECREF(from);
    Py_XDECREF(classes);
    return result;
}

/* Whether it is an array of NumPy without a mask, which NumPy itself would leave out. */
static int is_plain_array(PyObject *probs) {
    return PyArray_CheckExact(probs) || (PyArray_Check(probs) && !PyObject_HasAttrString(probs, "_mask"));
}

/* Whether an argument of `update` cannot have names: the common case, and much quicker. */
int is_plain_row(PyObject *probs) {
    return PyList_CheckExact(probs) || is_plain_array(probs) || PyTuple_CheckExact(probs);
}

PyObject *read_prediction(Core *self, PyObject *probs) {
    return call_python(self, "classfilter.inputs", "prediction", probs, NULL);
}

/* Whether an argument of `run` is an array of rows, or begins with a row that has no names. */
static int are_plain_rows(PyObject *probs) {
    PyObject *first;
    int plain;
    if (PyArray_Check(probs)) return PyArray_NDIM((PyArrayObject *)probs) == 2 && is_plain_array(probs);
    if (!PyList_CheckExact(probs) && !PyTuple_CheckExact(probs)) return 0;
    first = PySequence_GetItem(probs, 0);
    if (first == NULL) { /* there is none */
        PyErr_Clear();
        return 1;
    }
    plain = is_plain_row(first);
    Py_DECREF(first);
    return plain;
}

PyObject *run_filter(Core *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names, run_inputs *run) {
    PyObject *inputs[3], *given, *results, *like = NULL;
    if (!ready(self) || three_arguments("run", args, nargs, names, inputs) < 0) return NULL;
    if (are_plain_rows(inputs[0])) return run(self, inputs);
    given = inputs[0];
    inputs[0] = call_python(self, "classfilter.inputs", "for_filter", given, NULL);
    if (inputs[0] == NULL) return NULL;
    results = run(self, inputs);
    if (results != NULL) like = call_python(self, "classfilter.inputs", "results_like", given, results);
    Py_XDECREF(results);
    Py_DECREF(inputs[0]);
    return like;
}

const char update_doc[] =
    "update($self, probs, beta=1.0, dt=1.0)\n--\n\n"
    "Let `dt` time units pass, then take one observation.\n\n"
    "Parameters\n----------\n"
    "probs : array_like, shape (K,), mapping, Series, str or int\n    Class probabilities reported "
    "by a classifier: in the order of the classes, or by their names. All NaN: nothing seen, "
    "only time passes.\n    Or a class, by name or index, which counts with a reliability of "
    "0.7: see docs/inputs.md.\n"
    "beta : float\n    Weight of the classifier, 0 (ignore) to 1 (trust fully).\n"
    "dt : float\n    Time since the last update.\n\n"
    "Returns\n-------\nndarray, shape (K,)\n    The filtered class probabilities.\n";

const char run_doc[] =
    "run($self, probs, beta=1.0, dt=1.0)\n--\n\n"
    "Update with every row in turn: exactly a loop of `update`, to the bit.\n\n"
    "Parameters\n----------\n"
    "probs : array_like, shape (T, K), dataframe, list of mappings, or classes, shape (T,)\n    One observation per "
    "row, as in `update`. The columns of a dataframe are matched by name.\n"
    "beta, dt : float or array_like, shape (T,)\n    For all rows, or one per row; as in `update`.\n\n"
    "Returns\n-------\nndarray, shape (T, K), or dataframe\n    The filtered class probabilities after each row; of a "
    "dataframe, one of the same kind, with its index and\n    the classes as columns.\n";
