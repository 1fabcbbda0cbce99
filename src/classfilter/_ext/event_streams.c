/* SPDX-License-Identifier: MIT */
/* A row of one of many streams, and what a rule for events makes of the estimate: both are taken, or neither. */
#include "events.h"

/* What an argument of update_stream is, before those of the filter's own _update_stream and among them. */
enum { UPDATE, COLUMN, CONFIRMED, STARTED, STREAM, STATES, TIMES, SLOT, PROBS, BETA, AT, LEAST };

const char update_events_doc[] =
    "update_stream($self, update, column, confirmed, started, stream, states, times, slot, probs, beta, at, /, *more)"
    "\n--\n\nCall `update` with the arguments after `stream`; then column[slot], a state, takes the estimate, the list "
    "`confirmed` takes (stream, event) for each event that is final, and the dict `started` (stream, class, start) for "
    "each start. Where column[slot] is no state, nothing is done, and the result is NotImplemented.";

static int wrong_arguments(PyObject *const *args, Py_ssize_t nargs, size_t *slot) {
    PyArrayObject *const column = (PyArrayObject *)(nargs < LEAST ? NULL : args[COLUMN]);
    if (column != NULL && PyList_Check(args[CONFIRMED]) && PyDict_Check(args[STARTED]) && PyArray_Check(args[COLUMN]) &&
        PyArray_Check(args[STATES]) && PyArray_Check(args[TIMES])) {
        PyArrayObject *const states = (PyArrayObject *)args[STATES], *const times = (PyArrayObject *)args[TIMES];
        *slot = PyLong_AsSize_t(args[SLOT]);
        if (*slot == (size_t)-1 && PyErr_Occurred()) return -1;
        if (PyArray_NDIM(column) == 1 && PyArray_TYPE(column) == NPY_OBJECT && PyArray_ISCARRAY(column) &&
            *slot < (size_t)PyArray_DIM(column, 0) && PyArray_NDIM(states) == 2 && PyArray_ISCARRAY(states) &&
            *slot < (size_t)PyArray_DIM(states, 0) && PyArray_NDIM(times) == 1 && PyArray_TYPE(times) == NPY_DOUBLE &&
            PyArray_ISCARRAY(times) && *slot < (size_t)PyArray_DIM(times, 0))
            return 0;
    }
    PyErr_SetString(
        PyExc_ValueError,
        "update_stream() takes a function, a column of objects, a list, a dict, a name, states, times, a slot of "
        "all of them, and what else the function takes");
    return -1;
}

/* Puts in (stream, class, start) for each start, or takes those out again that are there, and keeps the error. */
static int note(PyObject *started, PyObject *stream, const List *starts, int out) {
    PyObject *type, *value, *traceback;
    size_t i;
    int status = 0;
    if (out) PyErr_Fetch(&type, &value, &traceback);
    for (i = 0; i < starts->count && status == 0; i++) {
        PyObject *const key = Py_BuildValue("Oid", stream, (int)starts->events[i].label, starts->events[i].start);
        if (out) {
            if (key == NULL || PyDict_DelItem(started, key) < 0) PyErr_Clear();
        } else {
            status = key == NULL ? -1 : PyDict_SetItem(started, key, Py_None);
        }
        Py_XDECREF(key);
    }
    if (out) PyErr_Restore(type, value, traceback);
    return status;
}

/* Appends (stream, event) for each event; after a failure the list is as before. */
static int confirm(PyObject *confirmed, PyObject *stream, PyObject *events) {
    const Py_ssize_t before = PyList_Size(confirmed), count = PyTuple_Size(events);
    Py_ssize_t i;
    for (i = 0; i < count; i++) {
        PyObject *const pair = PyTuple_Pack(2, stream, PyTuple_GetItem(events, i));
        const int failed = pair == NULL || PyList_Append(confirmed, pair) < 0;
        Py_XDECREF(pair);
        if (failed) {
            PyList_SetSlice(confirmed, before, PY_SSIZE_T_MAX, NULL);
            return -1;
        }
    }
    return 0;
}

/* The result of a function: a method in C, as that of most filters, is called without a tuple of its arguments. */
static PyObject *call(PyObject *function, PyObject *const *args, Py_ssize_t nargs) {
    PyObject *arguments, *result;
    Py_ssize_t i;
    if (PyCFunction_Check(function) && PyCFunction_GetFlags(function) == METH_FASTCALL) {
        typedef PyObject *fast_function(PyObject *, PyObject *const *, Py_ssize_t);
        fast_function *const fast = (fast_function *)(void (*)(void))PyCFunction_GetFunction(function);
        return fast(PyCFunction_GetSelf(function), args, nargs);
    }
    arguments = PyTuple_New(nargs);
    if (arguments == NULL) return NULL;
    for (i = 0; i < nargs; i++) {
        Py_INCREF(args[i]);
        PyTuple_SetItem(arguments, i, args[i]);
    }
    result = PyObject_CallObject(function, arguments);
    Py_DECREF(arguments);
    return result;
}

/* update_stream(update, column, confirmed, started, stream, states, times, slot, probs, beta, at, ...): no Python code runs between the change of the
   filter's state and that of the column, so a signal's handler finds both or neither. */
PyObject *update_events(PyObject *rule, PyObject *const *args, Py_ssize_t nargs, decide_row *decide) {
    PyObject *estimate, *decided = NULL, **entry;
    List starts = {NULL, 0, 0};
    size_t slot = 0, size;
    char *state, *before, few[512];
    double *time, time_before;
    if (wrong_arguments(args, nargs, &slot) < 0) return NULL;
    entry = (PyObject **)PyArray_DATA((PyArrayObject *)args[COLUMN]) + slot;
    if (*entry == NULL || !(PyBytes_CheckExact(*entry) || PyTuple_CheckExact(*entry))) Py_RETURN_NOTIMPLEMENTED;
    size = (size_t)PyArray_STRIDE((PyArrayObject *)args[STATES], 0);
    state = (char *)PyArray_DATA((PyArrayObject *)args[STATES]) + slot * size;
    time = (double *)PyArray_DATA((PyArrayObject *)args[TIMES]) + slot;
    before = size <= sizeof few ? few : PyMem_Malloc(size);
    if (before == NULL) return PyErr_NoMemory();
    memcpy(before, state, size);
    time_before = *time;
    estimate = call(args[UPDATE], args + STATES, nargs - STATES);
    if (estimate != NULL && estimate != Py_None) {
        PyObject *row[3];
        row[0] = *entry;
        row[1] = args[AT];
        row[2] = estimate;
        decided = decide(rule, row, &starts);
        if (decided != NULL && (note(args[STARTED], args[STREAM], &starts, 0) < 0 ||
                                confirm(args[CONFIRMED], args[STREAM], PyTuple_GetItem(decided, 1)) < 0)) {
            note(args[STARTED], args[STREAM], &starts, 1);
            Py_CLEAR(decided);
        }
        free(starts.events);
        if (decided != NULL) {
            PyObject *const old = *entry;
            *entry = PyTuple_GetItem(decided, 0);
            Py_INCREF(*entry);
            Py_DECREF(decided);
            Py_XDECREF(old);
        } else {
            Py_CLEAR(estimate);
        }
    }
    if (decided == NULL) {
        memcpy(state, before, size);
        *time = time_before;
    }
    if (before != few) PyMem_Free(before);
    return estimate;
}
