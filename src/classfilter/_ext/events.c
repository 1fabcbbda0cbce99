/* SPDX-License-Identifier: MIT */
/* The compiled part of the event rule. The rule never changes, and a state is an object of bytes that never changes either:
   whoever gets a new one may go back to the old one. */
#include "events.h"

/* A state is begun with so many nodes and slots, and gets twice as many where they are full. */
enum { FIRST_NODES = 16, FIRST_SLOTS = 8, ROWS_AT_A_TIME = 8192 };

/* ---- states ---- */

static void memory_of(const EventRule *self, const char *state, size_t *nodes, size_t *slots) {
    if (self->core.single)
        cf_events_memory_f32(state, nodes, slots);
    else
        cf_events_memory_f64(state, nodes, slots);
}

/* The bytes of a state, after the least that tells one of this rule from other bytes; `check` looks at all of it. */
static const char *take_state(const EventRule *self, PyObject *object, size_t *bytes) {
    size_t nodes, slots;
    char *state;
    Py_ssize_t length;
    if (!PyBytes_CheckExact(object)) {
        PyErr_Format(PyExc_TypeError, "state must be bytes, as start() returns them, got %R", Py_TYPE(object));
        return NULL;
    }
    if (PyBytes_AsStringAndSize(object, &state, &length) < 0) return NULL;
    *bytes = (size_t)length;
    if (*bytes >= self->core.cache_size) { /* at least a head */
        memory_of(self, state, &nodes, &slots);
        if (nodes <= 4096 && slots <= CF_EVENTS_SLOTS && EVENTS(self, cf_events_size, nodes, slots) == *bytes)
            return state;
    }
    PyErr_SetString(PyExc_ValueError, "state is not a state of this event rule; use what start(), "
                                      "update() or run() of the same rule returned");
    return NULL;
}

/* The bytes of a state that has room for the next row. */
static size_t next_size(const EventRule *self, const char *state, size_t bytes) {
    return self->nodes > 0 ? bytes : EVENTS(self, cf_events_needed, state);
}

/* Copies a state of `bytes` into one of that size. */
static void copy_state(const EventRule *self, const char *state, size_t bytes, char *to, size_t size) {
    if (size == bytes)
        memcpy(to, state, bytes);
    else
        EVENTS(self, cf_events_grow, state, to);
}

/* A copy of a state with room for the next row; its size goes to *bytes. free it. */
static char *copy_of(const EventRule *self, const char *state, size_t *bytes) {
    const size_t size = next_size(self, state, *bytes);
    char *const copy = malloc(size);
    if (copy != NULL) copy_state(self, state, *bytes, copy, size);
    *bytes = size;
    return copy;
}

static size_t room_of(const EventRule *self, const char *state) {
    size_t nodes, slots;
    memory_of(self, state, &nodes, &slots);
    return CF_EVENTS_ROOM(nodes);
}

static double last_time(const EventRule *self, const char *state) {
    return self->core.single ? cf_events_last_f32(state) : cf_events_last_f64(state);
}

/* ---- methods ---- */

static PyObject *raise_events(const EventRule *self, cf_status status, Py_ssize_t row, double time, double last,
                              const void *probs) {
    char rule[96];
    if (status != CF_BAD_TIME) return raise_status(&self->core, status, row, probs, 1, 1);
    if (time < last) {
        char *number = PyOS_double_to_string(last, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
        if (number == NULL) return NULL;
        PyOS_snprintf(rule, sizeof rule, "it must not be before the last one, %s", number);
        PyMem_Free(number);
        return raise_error("RowError", "time", PyFloat_FromDouble(time), "is {}", rule, "put the rows in order of time",
                           row, -1);
    }
    return raise_error("RowError", "time", PyFloat_FromDouble(time), "is {}",
                       "it must be finite, and at most 1e30 after the last one", "", row, -1);
}

PyObject *events_start(PyObject *object, PyObject *nothing) {
    EventRule *self = (EventRule *)object;
    size_t bytes, nodes, slots;
    PyObject *state;
    (void)nothing;
    if (!ready(&self->core)) return NULL;
    nodes = self->nodes > 0 ? self->nodes : FIRST_NODES;
    slots = self->nodes > 0 ? self->slots : FIRST_SLOTS;
    bytes = EVENTS(self, cf_events_size, nodes, self->core.state_size * slots);
    state = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    if (state != NULL) EVENTS(self, cf_events_start, PyBytes_AsString(state), nodes, slots);
    return state;
}

/* The state after a row of numbers, NULL after a failure; `list` gets the events that are final by then, and `starts`, which
   may be NULL, the starts. */
PyObject *after_row(const EventRule *self, PyObject *object, double time, const void *probs, List *list, List *starts) {
    cf_event few[CF_EVENTS_ROOM(2 * FIRST_NODES)], *events = few, open;
    PyObject *after = NULL;
    char *to;
    size_t bytes, size, room, count;
    cf_status status;
    const char *const state = take_state(self, object, &bytes);
    if (state == NULL) return NULL;
    size = next_size(self, state, bytes);
    after = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (after == NULL) return NULL;
    to = PyBytes_AsString(after);
    copy_state(self, state, bytes, to, size);
    room = room_of(self, to);
    if (room > sizeof few / sizeof *few) events = malloc(room * sizeof *events);
    if (events == NULL) {
        Py_DECREF(after);
        return PyErr_NoMemory();
    }
    status = EVENTS(self, cf_events_update, to, time, probs, events, &count);
    if (status != CF_OK) raise_events(self, status, -1, time, last_time(self, state), probs);
    if (status != CF_OK || add_events(self, list, events, count) < 0) {
        Py_CLEAR(after);
    } else if (starts != NULL && count > 0) {
        const List whole = {events, count, room};
        if (note_starts(self, to, &whole, starts) < 0) Py_CLEAR(after);
    } else if (starts != NULL && EVENTS(self, cf_events_starts, to, NULL, 0, &open) > 0) { /* mostly there is none */
        if (reserve(starts, 1) < 0) {
            PyErr_NoMemory();
            Py_CLEAR(after);
        } else {
            starts->events[starts->count++] = open;
        }
    }
    if (events != few) free(events);
    return after;
}

static PyObject *decide_events(PyObject *object, PyObject *const *args, List *starts) {
    EventRule *self = (EventRule *)object;
    double time, row[32];
    void *probs = row;
    List list = {NULL, 0, 0};
    PyObject *after = NULL, *events = NULL, *result = NULL;
    if (take_number(args[1], "time", &time) < 0) return NULL;
    if (self->core.classes > sizeof row / sizeof *row) {
        probs = PyMem_Malloc(self->core.classes * size_of(&self->core));
        if (probs == NULL) return PyErr_NoMemory();
    }
    if (take_row(&self->core, args[2], probs) == 0) after = after_row(self, args[0], time, probs, &list, starts);
    if (after != NULL) events = as_tuples(&list);
    if (events != NULL) result = PyTuple_Pack(2, after, events);
    Py_XDECREF(events);
    Py_XDECREF(after);
    if (probs != row) PyMem_Free(probs);
    free(list.events);
    return result;
}

/* The method `update`, of state, time, probs and perhaps a list for starts. */
PyObject *update_state(PyObject *rule, PyObject *const *args, Py_ssize_t nargs, decide_row *decide) {
    List starts = {NULL, 0, 0};
    PyObject *told, *result;
    if (!ready((Core *)rule)) return NULL;
    if (take_told(args, nargs, 3, "update() takes state, time and probs", &told) < 0) return NULL;
    result = decide(rule, args, told != NULL ? &starts : NULL);
    if (result != NULL && told != NULL && add_starts(told, &starts) < 0) Py_CLEAR(result);
    free(starts.events);
    return result;
}

static PyObject *events_update(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
    return update_state(object, args, nargs, decide_events);
}

static PyObject *events_stream(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
    return ready((Core *)object) ? update_events(object, args, nargs, decide_events) : NULL;
}

/* Takes all rows, in a state that grows, if it may; it needs no GIL. Returns -1 where memory is short. */
static int run_rows(const EventRule *self, char **state, size_t *bytes, const double *times, const char *probs,
                    size_t rows, List *list, cf_status *status, size_t *row) {
    const size_t width = self->core.classes * size_of(&self->core);
    *status = CF_OK;
    for (*row = 0; *row < rows && *status == CF_OK;) {
        const size_t left = rows - *row, now = left < ROWS_AT_A_TIME ? left : ROWS_AT_A_TIME;
        const void *const p = probs + *row * width;
        size_t count, taken = 1;
        cf_event *events;
        if (next_size(self, *state, *bytes) != *bytes) {
            char *const larger = copy_of(self, *state, bytes);
            if (larger == NULL) return -1;
            free(*state);
            *state = larger;
        }
        if (reserve(list, room_of(self, *state)) < 0) return -1;
        events = list->events + list->count;
        if (self->nodes > 0)
            *status = EVENTS(self, cf_events_update, *state, times[*row], p, events, &count);
        else
            *status = EVENTS(self, cf_events_run, *state, now, times + *row, p, events, list->room - list->count,
                             &count, &taken);
        list->count += count;
        *row += self->nodes > 0 ? *status == CF_OK : taken;
    }
    return 0;
}

static PyObject *events_run(PyObject *object, PyObject *args) {
    EventRule *self = (EventRule *)object;
    Core doubles;
    PyObject *state_object, *times_object, *probs_object, *told = Py_None, *after, *result = NULL;
    PyArrayObject *times = NULL, *probs = NULL;
    List list = {NULL, 0, 0}, pieces = {NULL, 0, 0}, starts = {NULL, 0, 0};
    const char *from;
    char *state = NULL;
    size_t bytes, rows, row = 0;
    cf_status status = CF_OK;
    int failed = 0;
    if (!ready(&self->core) ||
        !PyArg_ParseTuple(args, "OOO|O:run", &state_object, &times_object, &probs_object, &told) ||
        take_told(&told, 1, 0, "run() takes state, times and probs", &told) < 0)
        return NULL;
    doubles = self->core;
    doubles.single = 0;
    times = as_array(&doubles, times_object, "times", 1, 1);
    if (times != NULL) probs = as_array(&self->core, probs_object, "probs", 2, 2);
    if (probs == NULL) goto done;
    rows = (size_t)PyArray_SIZE(times); /* now that no argument runs Python code any more */
    if (PyArray_DIM(probs, 1) != (npy_intp)self->core.classes) {
        wrong_length(&self->core, PyArray_DIM(probs, 1));
        goto done;
    }
    if (PyArray_DIM(probs, 0) != (npy_intp)rows) {
        PyErr_Format(PyExc_ValueError, "times has %zd entries, but probs has %zd rows; give one time per row",
                     (Py_ssize_t)rows, (Py_ssize_t)PyArray_DIM(probs, 0));
        goto done;
    }
    from = take_state(self, state_object, &bytes);
    if (from == NULL) goto done;
    state = copy_of(self, from, &bytes);
    if (state == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    failed = run_rows(self, &state, &bytes, PyArray_DATA(times), PyArray_DATA(probs), rows, &list, &status, &row);
    Py_END_ALLOW_THREADS
    if (failed) {
        PyErr_NoMemory();
    } else if (status != CF_OK) {
        const double *t = PyArray_DATA(times);
        raise_events(self, status, (Py_ssize_t)row, t[row], row > 0 ? t[row - 1] : last_time(self, from),
                     element(&self->core, PyArray_DATA(probs), row * self->core.classes));
    } else if (add_events(self, &pieces, list.events, list.count) == 0 &&
               (told == NULL || note_starts(self, state, &list, &starts) == 0)) {
        PyObject *columns = told == NULL || add_starts(told, &starts) == 0 ? as_columns(&pieces) : NULL;
        after = columns == NULL ? NULL : PyBytes_FromStringAndSize(state, (Py_ssize_t)bytes);
        if (after != NULL)
            result =
                Py_BuildValue("OOOOOO", after, PyTuple_GetItem(columns, 0), PyTuple_GetItem(columns, 1),
                              PyTuple_GetItem(columns, 2), PyTuple_GetItem(columns, 3), PyTuple_GetItem(columns, 4));
        Py_XDECREF(after);
        Py_XDECREF(columns);
    }
done:
    Py_XDECREF((PyObject *)times);
    Py_XDECREF((PyObject *)probs);
    free(starts.events);
    free(pieces.events);
    free(list.events);
    free(state);
    return result;
}

static PyObject *events_finish(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
    EventRule *self = (EventRule *)object;
    List list = {NULL, 0, 0}, pieces = {NULL, 0, 0}, starts = {NULL, 0, 0};
    PyObject *told, *result = NULL;
    const char *from;
    char *state;
    size_t bytes;
    if (!ready(&self->core) || take_told(args, nargs, 1, "finish() takes a state", &told) < 0) return NULL;
    from = take_state(self, args[0], &bytes);
    if (from == NULL) return NULL;
    state = copy_of(self, from, &bytes);
    if (state == NULL || reserve(&list, room_of(self, state)) < 0) {
        PyErr_NoMemory();
    } else {
        EVENTS(self, cf_events_finish, state, list.events, &list.count);
        if (add_events(self, &pieces, list.events, list.count) == 0 &&
            (told == NULL || (note_starts(self, state, &list, &starts) == 0 && add_starts(told, &starts) == 0)))
            result = as_columns(&pieces);
    }
    free(starts.events);
    free(pieces.events);
    free(list.events);
    free(state);
    return result;
}

static PyObject *events_current(PyObject *object, PyObject *argument) {
    EventRule *self = (EventRule *)object;
    const char *from;
    char *state, *copy = NULL;
    size_t bytes;
    cf_event event;
    int open = 0, confirmed = 0;
    if (!ready(&self->core)) return NULL;
    from = take_state(self, argument, &bytes);
    if (from == NULL) return NULL;
    state = copy_of(self, from, &bytes);
    if (state != NULL) copy = malloc(bytes);
    if (copy == NULL) {
        free(state);
        return PyErr_NoMemory();
    }
    EVENTS(self, cf_events_current, state, copy, &event, &open, &confirmed);
    free(state);
    free(copy);
    if (!open) Py_RETURN_NONE;
    return Py_BuildValue("iddN", (int)event.label, event.start, event.probability, PyBool_FromLong(confirmed));
}

static PyObject *events_check(PyObject *object, PyObject *argument) {
    EventRule *self = (EventRule *)object;
    const char *state;
    size_t bytes;
    if (!ready(&self->core)) return NULL;
    state = take_state(self, argument, &bytes);
    if (state == NULL) return NULL;
    if (EVENTS(self, cf_events_check, state, bytes) != CF_OK) {
        PyErr_SetString(PyExc_ValueError, "state is damaged, or of another event rule; start a new one");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef events_methods[] = {
    {"start", events_start, METH_NOARGS, "start($self, /)\n--\n\nThe state of a new stream."},
    {"update", (PyCFunction)(void (*)(void))events_update, METH_FASTCALL,
     "update($self, state, time, probs, starts=None, /)\n--\n\nTake one row: the new state, and the events that are "
     "final by now, as (class, start, end, probability, forced). To a list `starts` those that are final are appended, "
     "(class, start), each once."},
    {"update_stream", (PyCFunction)(void (*)(void))events_stream, METH_FASTCALL, update_events_doc},
    {"run", events_run, METH_VARARGS,
     "run($self, state, times, probs, starts=None, /)\n--\n\nTake many rows, exactly as a loop of `update`: the new "
     "state, "
     "and the events as columns."},
    {"finish", (PyCFunction)(void (*)(void))events_finish, METH_FASTCALL,
     "finish($self, state, starts=None, /)\n--\n\nEnd the stream: its last events as columns. The last row stands for "
     "as "
     "long as the one before it."},
    {"current", events_current, METH_O,
     "current($self, state, /)\n--\n\nThe event that would be the last one if the stream ended now, where it lasts to "
     "that end: (class, start, probability, whether the start is confirmed)."},
    {"check", events_check, METH_O, "check($self, state, /)\n--\n\nRefuse bytes that are no state of this rule."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot events_slots[] = {
    {Py_tp_doc, "The compiled part of the event rule."},
    {Py_tp_init, events_init},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, events_methods},
    {0, NULL},
};

PyType_Spec events_spec = {"classfilter._core.EventRule", sizeof(EventRule), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, events_slots};
