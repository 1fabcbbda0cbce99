/* SPDX-License-Identifier: MIT */
/* The settings of an event rule: arrays in one block, checked by the core. */
#include "events.h"

/* `count` numbers at `to`, of an array that may have one more; real: of the rule's precision, else double. */
static int take_settings(const Core *self, PyObject *object, const char *name, size_t count, int exact, int real,
                         void *to) {
    Core doubles = *self;
    PyArrayObject *array;
    size_t k;
    doubles.single = 0;
    array = as_array(&doubles, object, name, 1, 1);
    if (array == NULL) return -1;
    if ((size_t)PyArray_DIM(array, 0) < count || (size_t)PyArray_DIM(array, 0) > self->classes + 1 ||
        (exact && (size_t)PyArray_DIM(array, 0) != count)) {
        PyErr_Format(PyExc_ValueError, "%s has %zd entries; it must have %zu", name, (Py_ssize_t)PyArray_DIM(array, 0),
                     count);
        Py_DECREF(array);
        return -1;
    }
    for (k = 0; k < count; k++) {
        const double value = ((const double *)PyArray_DATA(array))[k];
        if (real)
            set_number(self, to, k, value);
        else
            ((double *)to)[k] = value;
    }
    Py_DECREF(array);
    return 0;
}

#define AND_NAME(name) ", " #name

static const struct {
    cf_status status;
    const char *arguments, *rule;
} WRONG[] = {
    {CF_BAD_CLASSES, "classes", "there must be at least two"},
    {CF_BAD_FLOOR, "floor", "it must lie in [1e-30, 1)"},
    {CF_BAD_MIN_PROBABILITY, "min_probability", "it must lie in [1e-30, 1], or be 0 for none"},
    {CF_BAD_COST, "enter and leave", "each entry must lie in [0, 1e30]"},
    {CF_BAD_BIAS, "bias", "each entry must lie in [-1e6, 1e6]"},
    {CF_BAD_DURATION, "min_duration" CF_EVENTS_TIMES(AND_NAME),
     "times must not be negative or NaN, and max_duration must be above 0"},
    {CF_BAD_DELAY, "max_delay", "it must not be shorter than a minimum duration"},
};

static void raise_rule_error(cf_status status) {
    size_t i;
    for (i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
        if (WRONG[i].status == status) PyErr_Format(PyExc_ValueError, "%s: %s", WRONG[i].arguments, WRONG[i].rule);
}

#define NAME_OF(name) #name,
#define FORMAT_OF(name) "d"
#define NEXT_NAME(name) , #name
#define NEXT_ADDRESS(name) , &times.name
#define NUMBER_OF(name) double name;
#define FILL_F32(name) fresh.rule.f32.name = times.name;
#define FILL_F64(name) fresh.rule.f64.name = times.name;

/* The names of the times, a tuple: the rule of Python and JavaScript send so many numbers. */
PyObject *events_times(void) {
    static const char *const names[] = {CF_EVENTS_TIMES(NAME_OF)};
    const Py_ssize_t count = sizeof names / sizeof *names;
    PyObject *tuple = PyTuple_New(count);
    Py_ssize_t i;
    for (i = 0; tuple != NULL && i < count; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        if (name == NULL || PyTuple_SetItem(tuple, i, name) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

int events_init(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"classes", "single", "enter", "leave", "min_duration",
                            "bias",    "ignore", "log",   "floor", "min_probability" CF_EVENTS_TIMES(NEXT_NAME),
                            "nodes",   "slots",  NULL};
    struct {
        CF_EVENTS_TIMES(NUMBER_OF)
    } times;
    EventRule fresh;
    PyObject *enter, *leave, *min_duration, *bias, *ignore;
    double floor, least, *durations;
    char *reals;
    unsigned char *ignored;
    Py_ssize_t classes, nodes = 0, slots = 0;
    size_t K, N, k, size;
    int log;
    cf_status status = CF_BAD_CLASSES;
    if (!is_new((Core *)object)) return -1;
    memset(&fresh, 0, sizeof fresh);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "npOOOOOpdd" CF_EVENTS_TIMES(FORMAT_OF) "|nn:EventRule", names,
                                     &classes, &fresh.core.single, &enter, &leave, &min_duration, &bias, &ignore, &log,
                                     &floor, &least CF_EVENTS_TIMES(NEXT_ADDRESS), &nodes, &slots))
        return -1;
    if (nodes != 0 && (nodes < CF_EVENTS_NODES || nodes > 4096 || slots < 0 || slots > CF_EVENTS_SLOTS)) {
        PyErr_SetString(PyExc_ValueError, "nodes and slots: a state has 4 to 4096 nodes, and up to 64 slots");
        return -1;
    }
    fresh.nodes = (size_t)nodes;
    fresh.slots = (size_t)slots;
    if (classes < 2 || classes > 1 << 24) {
        raise_rule_error(CF_BAD_CLASSES);
        return -1;
    }
    if (least != 0 && !(least >= 1e-30)) {
        raise_rule_error(CF_BAD_MIN_PROBABILITY);
        return -1;
    }
    K = fresh.core.classes = (size_t)classes;
    N = K + (least > 0);
    size = size_of(&fresh.core);
    fresh.core.memory = PyMem_Calloc(1, 2 * K * sizeof(double) + (2 * N + K) * size + K);
    if (fresh.core.memory == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    durations = fresh.core.memory; /* K durations, K numbers for `ignore`, then those of the rule's precision */
    reals = (char *)(durations + 2 * K);
    ignored = (unsigned char *)(reals + (2 * N + K) * size);
    if (take_settings(&fresh.core, enter, "enter", N, 1, 1, reals) < 0 ||
        take_settings(&fresh.core, leave, "leave", N, 1, 1, reals + N * size) < 0 ||
        take_settings(&fresh.core, bias, "bias", K, 0, 1, reals + 2 * N * size) < 0 ||
        take_settings(&fresh.core, min_duration, "min_duration", K, 0, 0, durations) < 0 ||
        take_settings(&fresh.core, ignore, "ignore", K, 0, 0, durations + K) < 0)
        goto failed;
    for (k = 0; k < K; k++) {
        ignored[k] = durations[K + k] != 0;
        if (durations[k] > 0) fresh.core.state_size = 1; /* it needs slots */
    }
#define FILL(to, type)                                                                                                 \
    do {                                                                                                               \
        (to).classes = K;                                                                                              \
        (to).log = log;                                                                                                \
        (to).floor = (type)floor;                                                                                      \
        (to).min_probability = (type)least;                                                                            \
        (to).enter = (const type *)(const void *)reals;                                                                \
        (to).leave = (to).enter + N;                                                                                   \
        (to).bias = (to).leave + N;                                                                                    \
        (to).min_duration = durations;                                                                                 \
        (to).ignore = ignored;                                                                                         \
    } while (0)
    if (fresh.core.single) {
        FILL(fresh.rule.f32, float);
        CF_EVENTS_TIMES(FILL_F32)
        status = cf_events_prepare_f32(&fresh.rule.f32);
    } else {
        FILL(fresh.rule.f64, double);
        CF_EVENTS_TIMES(FILL_F64)
        status = cf_events_prepare_f64(&fresh.rule.f64);
    }
#undef FILL
    if (fresh.nodes > 0 && fresh.core.state_size > 0 && fresh.slots < 2) {
        PyErr_SetString(PyExc_ValueError, "slots: a minimum duration needs at least 2");
        goto failed;
    }
    fresh.core.cache_size = EVENTS(&fresh, cf_events_size, 0, 0);
    if (status == CF_OK) return take_over((Core *)object, &fresh.core, sizeof fresh);
    raise_rule_error(status);
failed:
    PyMem_Free(fresh.core.memory);
    return -1;
}
