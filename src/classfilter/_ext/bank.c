/* SPDX-License-Identifier: MIT */
/* The arguments of banks, as arrays of their own, and their checks. */
#include "binding.h"

/* Stream numbers as an array of the caller's own, which nobody else can change after the checks. */
static PyArrayObject *take_streams(PyObject *object) {
    PyArrayObject *array, *numbers = NULL;
    npy_intp size, i;
    if (PyList_CheckExact(object)) {
        size = PyList_Size(object);
        numbers = (PyArrayObject *)PyArray_SimpleNew(1, &size, NPY_INTP);
        if (numbers == NULL) return NULL;
        LOCK(object)
        for (i = 0; i < size && i < PyList_Size(object); i++) {
            PyObject *number = PyList_GetItem(object, i);
            if (!PyLong_CheckExact(number)) break;
            ((npy_intp *)PyArray_DATA(numbers))[i] = PyLong_AsSsize_t(number);
            if (PyErr_Occurred()) break;
        }
        UNLOCK
        if (i == size) return numbers;
        PyErr_Clear(); /* the general way has the words for it */
        Py_DECREF(numbers);
    }
    array = (PyArrayObject *)PyArray_FROM_O(object);
    if (array == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError)) return NULL;
        PyErr_Clear();
    } else if (PyArray_NDIM(array) == 1 && (PyArray_ISINTEGER(array) || PyArray_SIZE(array) == 0)) {
        numbers = (PyArrayObject *)PyArray_FROMANY((PyObject *)array, NPY_INTP, 1, 1,
                                                   NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY | NPY_ARRAY_FORCECAST);
        Py_DECREF(array);
        return numbers;
    }
    Py_XDECREF((PyObject *)array);
    PyErr_Format(PyExc_TypeError, "rows must be a list of stream numbers, got %R", object);
    return NULL;
}

/* as_batch(classes, single, probs, beta, dt, rows): all arguments as arrays. Only here can an argument run Python code. */
PyObject *as_batch(PyObject *m, PyObject *const *args, Py_ssize_t nargs) {
    Core of;
    Rows rows;
    PyObject *which;
    (void)m;
    memset(&of, 0, sizeof of);
    if (nargs != 6) {
        PyErr_SetString(PyExc_TypeError, "as_batch() takes classes, single, probs, beta, dt and rows");
        return NULL;
    }
    of.classes = PyLong_AsSize_t(args[0]);
    of.single = args[1] == Py_True;
    if (PyErr_Occurred() || take_rows(&of, args[2], args[3], args[4], &rows) < 0) return NULL;
    if (args[5] == Py_None) {
        which = Py_None;
        Py_INCREF(which);
    } else {
        which = (PyObject *)take_streams(args[5]);
    }
    if (which == NULL) {
        release_rows(&rows);
        return NULL;
    }
    return Py_BuildValue("NNNN", rows.probs, rows.beta, rows.dt, which);
}

PyObject *as_streams(PyObject *m, PyObject *rows) { return (void)m, (PyObject *)take_streams(rows); }

/* Every stream there is, none twice: increasing numbers tell by themselves, others need a mark per stream. */
static int require_streams(PyArrayObject *which, size_t streams) {
    const npy_intp *const numbers = PyArray_DATA(which);
    const npy_intp count = PyArray_SIZE(which);
    unsigned char *marks;
    npy_intp i;
    int increasing = 1;
    for (i = 0; i < count; i++) {
        if (numbers[i] < 0 || (size_t)numbers[i] >= streams) {
            if (streams == 0)
                PyErr_Format(PyExc_ValueError, "rows names stream %zd; the bank has no streams", numbers[i]);
            else
                PyErr_Format(PyExc_ValueError, "rows names stream %zd; the bank has streams 0 to %zu", numbers[i],
                             streams - 1);
            return -1;
        }
        increasing &= i == 0 || numbers[i] > numbers[i - 1];
    }
    if (increasing) return 0;
    marks = PyMem_Calloc(streams / 8 + 1, 1);
    if (marks == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (i = 0; i < count; i++) {
        const unsigned char mark = (unsigned char)(1u << (numbers[i] % 8));
        if (marks[numbers[i] / 8] & mark) break;
        marks[numbers[i] / 8] |= mark;
    }
    PyMem_Free(marks);
    if (i == count) return 0;
    PyErr_Format(PyExc_ValueError, "rows names stream %zd more than once; give its rows in several updates",
                 numbers[i]);
    return -1;
}

/* check_streams(which, streams): checks what as_streams returned. */
PyObject *check_streams(PyObject *m, PyObject *args) {
    PyObject *which;
    Py_ssize_t streams;
    (void)m;
    if (!PyArg_ParseTuple(args, "O!n:check_streams", &PyArray_Type, &which, &streams)) return NULL;
    if (require_streams((PyArrayObject *)which, (size_t)streams) < 0) return NULL;
    Py_RETURN_NONE;
}

/* check_batch(streams, single, probs, beta, dt, which): checks the shapes of what as_batch returned against a bank of so
   many streams; returns an array for the results. */
PyObject *check_batch(PyObject *m, PyObject *const *args, Py_ssize_t nargs) {
    Core of;
    Rows rows;
    size_t streams, expected;
    PyObject *out = NULL;
    (void)m;
    memset(&of, 0, sizeof of);
    if (nargs != 6) {
        PyErr_SetString(PyExc_TypeError, "check_batch() takes streams, single, probs, beta, dt and which");
        return NULL;
    }
    streams = PyLong_AsSize_t(args[0]);
    if (PyErr_Occurred()) return NULL;
    of.single = args[1] == Py_True;
    if (!PyArray_Check(args[2]) || PyArray_NDIM((PyArrayObject *)args[2]) != 2) {
        PyErr_SetString(PyExc_ValueError, "probs must have 2 dimensions");
        return NULL;
    }
    of.classes = (size_t)PyArray_DIM((PyArrayObject *)args[2], 1);
    if (take_rows(&of, args[2], args[3], args[4], &rows) < 0) return NULL;
    expected = args[5] == Py_None ? streams : (size_t)PyArray_SIZE((PyArrayObject *)args[5]);
    if (rows.count != expected) {
        PyErr_Format(PyExc_ValueError, "probs has shape (%zu, %zu); it must have one row per stream, shape (%zu, %zu)",
                     rows.count, of.classes, expected, of.classes);
    } else if (args[5] == Py_None || require_streams((PyArrayObject *)args[5], streams) == 0) {
        out = PyArray_SimpleNew(2, PyArray_DIMS(rows.probs), type_of(&of));
    }
    release_rows(&rows);
    return out;
}
