/* SPDX-License-Identifier: MIT */
/* A row of one of many streams, and what a rule for events makes of the estimate: both are taken, or neither. */
#include "binding.h"

/* What an argument of update_stream is, before those of the filter's own _update_stream and among them. */
enum { UPDATE, COLUMN, WAITING, STREAM, STATES, TIMES, SLOT, PROBS, BETA, AT, LEAST };

const char update_events_doc[] =
    "update_stream($self, update, column, waiting, stream, states, times, slot, probs, beta, at, /, *more)\n--\n\n"
    "Call `update` with the arguments after `stream`; then column[slot], (state, events) or None, takes the estimate. "
    "With events, waiting[stream] is None.";

static int wrong_arguments(PyObject *const *args, Py_ssize_t nargs, size_t *slot) {
    PyArrayObject *const column = (PyArrayObject *)(nargs < LEAST ? NULL : args[COLUMN]);
    if (column != NULL && PyDict_Check(args[WAITING]) && PyArray_Check(args[COLUMN]) && PyArray_Check(args[STATES]) &&
        PyArray_Check(args[TIMES])) {
        PyArrayObject *const states = (PyArrayObject *)args[STATES], *const times = (PyArrayObject *)args[TIMES];
        *slot = PyLong_AsSize_t(args[SLOT]);
        if (*slot == (size_t)-1 && PyErr_Occurred()) return -1;
        if (PyArray_NDIM(column) == 1 && PyArray_TYPE(column) == NPY_OBJECT && PyArray_ISCARRAY(column) &&
            *slot < (size_t)PyArray_DIM(column, 0) && PyArray_NDIM(states) == 2 && PyArray_ISCARRAY(states) &&
            *slot < (size_t)PyArray_DIM(states, 0) && PyArray_NDIM(times) == 1 && PyArray_TYPE(times) == NPY_DOUBLE &&
            PyArray_ISCARRAY(times) && *slot < (size_t)PyArray_DIM(times, 0))
            return 0;
    }
    PyErr_SetString(PyExc_ValueError,
                    "update_stream() takes a function, a column of objects, a dict, a name, states, times, a slot of "
                    "all of them, and what else the function takes");
    return -1;
}

/* What is known of the stream after the row: (state, events), those of before among them. */
static PyObject *next_entry(PyObject *rule, PyObject *entry, PyObject *at, PyObject *estimate) {
    PyObject *row[3], *state, *events, *taken, *all, *next = NULL;
    if (entry != NULL && entry != Py_None && !(PyTuple_Check(entry) && PyTuple_Size(entry) == 2)) {
        PyErr_SetString(PyExc_ValueError, "column must have (state, events) or None");
        return NULL;
    }
    if (entry == NULL || entry == Py_None) {
        state = events_start(rule, NULL);
        events = PyTuple_New(0);
    } else {
        state = PyTuple_GetItem(entry, 0);
        events = PyTuple_GetItem(entry, 1);
        Py_INCREF(state);
        Py_INCREF(events);
    }
    if (state != NULL && events != NULL) {
        row[0] = state;
        row[1] = at;
        row[2] = estimate;
        taken = events_update(rule, row, 3);
        if (taken != NULL && PyTuple_Size(events) == 0) {
            next = taken; /* nothing waits to be fetched, which is the usual case */
        } else if (taken != NULL) {
            PyObject *const new_events = PyTuple_GetItem(taken, 1);
            all = PyTuple_Size(new_events) > 0 ? PySequence_Concat(events, new_events) : events;
            if (all == events) Py_INCREF(all);
            if (all != NULL) next = PyTuple_Pack(2, PyTuple_GetItem(taken, 0), all);
            Py_XDECREF(all);
            Py_DECREF(taken);
        }
    }
    Py_XDECREF(state);
    Py_XDECREF(events);
    return next;
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

/* update_stream(update, column, waiting, stream, states, times, slot, probs, beta, at, ...): no Python code runs between the change of the
   filter's state and that of the column, so a signal's handler finds both or neither. */
PyObject *update_events(PyObject *rule, PyObject *const *args, Py_ssize_t nargs) {
    PyObject *estimate, *next = NULL;
    size_t slot = 0, size;
    char *state, *before, few[512];
    double *time, time_before;
    if (!ready((Core *)rule) || wrong_arguments(args, nargs, &slot) < 0) return NULL;
    size = (size_t)PyArray_STRIDE((PyArrayObject *)args[STATES], 0);
    state = (char *)PyArray_DATA((PyArrayObject *)args[STATES]) + slot * size;
    time = (double *)PyArray_DATA((PyArrayObject *)args[TIMES]) + slot;
    before = size <= sizeof few ? few : PyMem_Malloc(size);
    if (before == NULL) return PyErr_NoMemory();
    memcpy(before, state, size);
    time_before = *time;
    estimate = call(args[UPDATE], args + STATES, nargs - STATES);
    if (estimate != NULL && estimate != Py_None) {
        PyObject **const entry = (PyObject **)PyArray_DATA((PyArrayObject *)args[COLUMN]) + slot;
        next = next_entry(rule, *entry, args[AT], estimate);
        if (next != NULL) {
            PyObject *const old = *entry;
            *entry = next;
            Py_XDECREF(old);
            if (PyTuple_Size(PyTuple_GetItem(next, 1)) > 0 && PyDict_SetItem(args[WAITING], args[STREAM], Py_None) < 0)
                PyErr_Clear(); /* the row is taken; its events are fetched with the next ones of the stream */
        } else {
            Py_CLEAR(estimate);
        }
    }
    if (next == NULL) {
        memcpy(state, before, size);
        *time = time_before;
    }
    if (before != few) PyMem_Free(before);
    return estimate;
}
