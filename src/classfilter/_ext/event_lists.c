/* SPDX-License-Identifier: MIT */
/* Lists of events, and what Python gets of them. */
#include "events.h"

/* Room for so many more; it needs no GIL. */
int reserve(List *list, size_t more) {
    if (list->count + more > list->room) {
        const size_t room = 2 * list->room + more;
        cf_event *events = realloc(list->events, room * sizeof *events);
        if (events == NULL) return -1;
        list->events = events;
        list->room = room;
    }
    return 0;
}

/* Appends the pieces of events, those that are not longer than max_duration as they are. */
int add_events(const EventRule *self, List *list, const cf_event *events, size_t count) {
    size_t i, n;
    for (i = 0; i < count; i++) {
        for (n = 0;; n++) {
            if (reserve(list, 1) < 0) {
                PyErr_NoMemory();
                return -1;
            }
            if (!EVENTS(self, cf_events_piece, &events[i], n, &list->events[list->count])) break;
            list->count++;
        }
    }
    return 0;
}

/* The events as columns: class, start, end, probability, forced. */
PyObject *as_columns(const List *list) {
    static const int types[5] = {NPY_INTP, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_BOOL};
    npy_intp size = (npy_intp)list->count;
    PyObject *out = PyTuple_New(5), *column;
    void *at[5];
    size_t i;
    int c;
    for (c = 0; out != NULL && c < 5; c++) {
        column = PyArray_SimpleNew(1, &size, types[c]);
        if (column == NULL) {
            Py_CLEAR(out);
        } else {
            at[c] = PyArray_DATA((PyArrayObject *)column);
            PyTuple_SetItem(out, c, column);
        }
    }
    for (i = 0; out != NULL && i < list->count; i++) {
        const cf_event *event = &list->events[i];
        ((npy_intp *)at[0])[i] = event->label;
        ((double *)at[1])[i] = event->start;
        ((double *)at[2])[i] = event->end;
        ((double *)at[3])[i] = event->probability;
        ((npy_bool *)at[4])[i] = event->forced != 0;
    }
    return out;
}

PyObject *as_tuples(const List *list) {
    PyObject *out = PyTuple_New((Py_ssize_t)list->count);
    size_t i;
    for (i = 0; out != NULL && i < list->count; i++) {
        const cf_event *event = &list->events[i];
        PyObject *one = Py_BuildValue("idddN", (int)event->label, event->start, event->end, event->probability,
                                      PyBool_FromLong(event->forced));
        if (one == NULL)
            Py_CLEAR(out);
        else
            PyTuple_SetItem(out, (Py_ssize_t)i, one);
    }
    return out;
}

/* Appends the starts that are final after `events`, which a call has handed out; the state has them from now on. */
int note_starts(const EventRule *self, char *state, const List *events, List *starts) {
    if (reserve(starts, events->count + 1) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    starts->count +=
        EVENTS(self, cf_events_starts, state, events->events, events->count, starts->events + starts->count);
    return 0;
}

/* Appends (class, start) for each. */
int add_starts(PyObject *told, const List *starts) {
    size_t i;
    for (i = 0; i < starts->count; i++) {
        PyObject *const one = Py_BuildValue("id", (int)starts->events[i].label, starts->events[i].start);
        const int failed = one == NULL || PyList_Append(told, one) < 0;
        Py_XDECREF(one);
        if (failed) return -1;
    }
    return 0;
}

/* The list for starts, the last argument of a method that has so many before it; NULL where there is none. */
int take_told(PyObject *const *args, Py_ssize_t nargs, Py_ssize_t before, const char *usage, PyObject **told) {
    *told = nargs == before + 1 && args[before] != Py_None ? args[before] : NULL;
    if ((nargs == before || nargs == before + 1) && (*told == NULL || PyList_Check(*told))) return 0;
    PyErr_Format(PyExc_TypeError, "%s, and a list for starts", usage);
    return -1;
}
