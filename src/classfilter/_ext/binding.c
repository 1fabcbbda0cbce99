/* SPDX-License-Identifier: MIT */
/* What the methods share: numbers in either precision, arguments, and messages. */
#include "binding.h"

double get_number(const Core *self, const void *numbers, size_t i) {
    return self->single ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i];
}

void set_number(const Core *self, void *numbers, size_t i, double value) {
    if (self->single)
        ((float *)numbers)[i] = (float)value;
    else
        ((double *)numbers)[i] = value;
}

size_t size_of(const Core *self) { return self->single ? sizeof(float) : sizeof(double); }

int type_of(const Core *self) { return self->single ? NPY_FLOAT : NPY_DOUBLE; }

void *element(const Core *self, void *numbers, size_t i) { return (char *)numbers + i * size_of(self); }

/* ---- messages ---- */

/* Raises an error of classfilter.errors, which is imported here: nothing is slower where nothing fails. It takes over
   `value`, NULL after a failure. ``fix` is the name of what to do, or words; `row` and `entry` are negative where there
   is none. */
PyObject *raise_error(const char *kind, const char *argument, PyObject *value, const char *problem, const char *rule,
                      const char *remedy, Py_ssize_t row, Py_ssize_t entry) {
    PyObject *errors = value == NULL ? NULL : PyImport_ImportModule("classfilter.errors");
    PyObject *type = errors == NULL ? NULL : PyObject_GetAttrString(errors, kind);
    PyObject *error = type == NULL ? NULL
                                   : PyObject_CallMethod(type, "_of_core", "sOsssnn", argument, value, problem, rule,
                                                         remedy, row, entry);
    if (error != NULL) PyErr_SetObject(type, error);
    Py_XDECREF(error);
    Py_XDECREF(type);
    Py_XDECREF(errors);
    Py_XDECREF(value);
    return NULL;
}

static PyObject *raise_entry(const Core *self, cf_status status, Py_ssize_t row, const void *probs) {
    double p = 0;
    size_t k;
    for (k = 0; k < self->classes; k++) {
        p = get_number(self, probs, k);
        if (status == CF_PROBS_NEGATIVE ? p < 0 : status == CF_PROBS_SOME_NAN ? p != p : p > 1e30) break;
    }
    if (status == CF_PROBS_SOME_NAN)
        return raise_error("RowError", "probs", PyFloat_FromDouble(p), "is {} while other entries of the row are not",
                           "a missing observation is a row of NaN only", "", row, (Py_ssize_t)k);
    if (status == CF_PROBS_NEGATIVE)
        return raise_error("RowError", "probs", PyFloat_FromDouble(p), "is {}", "a probability must not be negative",
                           "SOFTMAX", row, (Py_ssize_t)k);
    return raise_error("RowError", "probs", PyFloat_FromDouble(p), "is {}", "a probability must be finite", "", row,
                       (Py_ssize_t)k);
}

/* The error of a failed update; it names the argument, its value, its place and the remedy. `row` is negative for a
   single update. */
PyObject *raise_status(const Core *self, cf_status status, Py_ssize_t row, const void *probs, double beta, double dt) {
    double sum = 0;
    size_t k;
    switch (status) {
    case CF_BAD_BETA:
        return raise_error("RowError", "beta", PyFloat_FromDouble(beta), "is {}", "it must lie in [0, 1]",
                           "0 ignores the observation, 1 trusts it fully", row, -1);
    case CF_BAD_DT:
        return raise_error(
            "RowError", "dt", PyFloat_FromDouble(dt), "is {}",
            dt < 0 ? "it must not be negative" : "it must lie in [0, 1e30]",
            dt < 0 ? "put the observations in order of time" : "give the time since the last observation", row, -1);
    case CF_PROBS_SUM:
        for (k = 0; k < self->classes; k++) sum += get_number(self, probs, k);
        return raise_error("RowError", "probs", PyFloat_FromDouble(sum), "sums to {}", "it must be within 0.05 of 1",
                           "NORMALISE", row, -1);
    case CF_PROBS_NEGATIVE:
    case CF_PROBS_INFINITE:
    case CF_PROBS_SOME_NAN: return raise_entry(self, status, row, probs);
    default:
        if (row < 0)
            PyErr_SetString(status == CF_NOT_CONVERGED ? PyExc_ArithmeticError : PyExc_ValueError, cf_strerror(status));
        else
            PyErr_Format(status == CF_NOT_CONVERGED ? PyExc_ArithmeticError : PyExc_ValueError, "%s in row %zd",
                         cf_strerror(status), row);
        return NULL;
    }
}

/* What a filter calls each setting, and what it must be. */
static const struct {
    cf_status status;
    const char *argument, *rule, *remedy;
} SETTINGS[] = {
    {CF_BAD_GAMMA, "gamma", "it must lie in [0, 1]", ""},
    {CF_BAD_STAY, "stay", "it must lie in [0, 1]", ""},
    {CF_BAD_FLOOR, "floor", "it must lie in [1e-30, 1)", ""},
    {CF_BAD_ANCHOR, "anchor", "it must lie in [0, 1e9]", ""},
    {CF_BAD_PRIOR, "prior", "each entry must be at least 1e-6 and their sum at most max_concentration", ""},
    {CF_BAD_CLASS_PRIOR, "prior", "each entry must be at least 1e-6, and their sum within 0.05 of 1", ""},
    {CF_BAD_WEIGHT, "prior_weight", "it must lie in [0, 1e9]", ""},
    {CF_BAD_CONCENTRATION, "max_concentration", "it must lie between the number of classes and 1e12 (float: 1e6)", ""},
    {CF_BAD_TOLERANCE, "tolerance", "it must lie in [0, 0.1]", ""},
    {CF_BAD_TEMPERATURE, "temperature", "it must lie in [0.05, 20]",
     "1 leaves the probabilities as they are, and above 1 they are less certain"},
};

/* `options` are the keyword arguments of a filter, NULL for a state. */
void raise_settings_error(cf_status status, PyObject *options) {
    size_t i;
    for (i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++) {
        const char *name = SETTINGS[i].argument;
        PyObject *value = options == NULL ? NULL : PyDict_GetItemString(options, name);
        if (status != SETTINGS[i].status || value == NULL) continue;
        value = PyArray_Check(value) ? PyArray_ToList((PyArrayObject *)value) : PyNumber_Float(value);
        raise_error("ArgumentError", name, value, "is {}", SETTINGS[i].rule, SETTINGS[i].remedy, -1, -1);
        return;
    }
    PyErr_SetString(PyExc_ValueError, cf_strerror(status));
}

int ready(Core *self) {
    if (self->memory != NULL) return 1;
    PyErr_SetString(PyExc_RuntimeError, "the filter was not initialised: call __init__ first");
    return 0;
}

/* A filter keeps its memory for life: others may be using it, around this very call. */
int is_new(Core *self) {
    if (self->memory == NULL) return 1;
    PyErr_SetString(PyExc_RuntimeError, "the filter was initialised before: make a new one, or a copy()");
    return 0;
}

/* ---- arguments ---- */

static int refuse_boolean(PyObject *value, Py_ssize_t row, Py_ssize_t entry) {
    raise_error("RowError", "probs", PyBool_FromLong(PyObject_IsTrue(value) == 1), "is {}", "it must hold numbers",
                "BOOLEAN", row, entry);
    return -1;
}

/* Raises for a True or False: NumPy would take it as 1 or 0. `row` is that of a list inside a list; -1 outside. It runs no
   code of others, and a list that another thread changes meanwhile is read as it is then. */
int refuse_booleans(PyObject *probs, Py_ssize_t row) {
    Py_ssize_t i;
    if (PyArray_Check(probs)) {
        PyArrayObject *const array = (PyArrayObject *)probs;
        PyObject *cells;
        int refused;
        if (PyArray_TYPE(array) != NPY_BOOL && PyArray_TYPE(array) != NPY_OBJECT) return 0;
        if (PyArray_NDIM(array) == 0 || PyArray_NDIM(array) > 2) return 0;
        cells = PyArray_ToList(array);
        refused = cells == NULL ? -1 : refuse_booleans(cells, row);
        Py_XDECREF(cells);
        return refused;
    }
    if (!PyList_CheckExact(probs) && !PyTuple_CheckExact(probs)) return 0;
    for (i = 0; i < PySequence_Size(probs); i++) {
        PyObject *const item = PySequence_GetItem(probs, i);
        int refused = 0;
        if (item == NULL) { /* the list is shorter now */
            PyErr_Clear();
            break;
        }
        if (PyFloat_Check(item) || PyLong_CheckExact(item)) /* the common case */
            ;
        else if (PyBool_Check(item) || PyArray_IsScalar(item, Bool))
            refused = refuse_boolean(item, row, i);
        else if (row < 0)
            refused = refuse_booleans(item, i);
        Py_DECREF(item);
        if (refused < 0) return -1;
    }
    return 0;
}

/* Whether an array holds dates, durations or complex numbers, of which NumPy would take a part. */
static int are_no_numbers(PyObject *object) {
    const int type = PyArray_Check(object) ? PyArray_TYPE((PyArrayObject *)object) : NPY_DOUBLE;
    return PyTypeNum_ISDATETIME(type) || PyTypeNum_ISCOMPLEX(type);
}

/* An argument as a C array of the filter's precision, of at most `most` dimensions. */
PyArrayObject *as_array(const Core *self, PyObject *object, const char *name, int least, int most) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_Check(object) && PyArray_TYPE(array) == type_of(self) && PyArray_ISCARRAY_RO(array))
        Py_INCREF(object); /* as it is: the common case, and much quicker */
    else {
        const int listed = PyList_CheckExact(object) || PyTuple_CheckExact(object);
        const int of_probs = strcmp(name, "probs") == 0;
        PyObject *const given = of_probs && !listed ? PyArray_FROM_O(object) : Py_NewRef(object);
        if (given != NULL && of_probs && refuse_booleans(given, -1) < 0) {
            Py_DECREF(given);
            return NULL;
        }
        if (given != NULL && are_no_numbers(given)) {
            Py_DECREF(given);
            PyErr_Format(PyExc_TypeError, "%s must hold numbers, got %R", name, object);
            return NULL;
        }
        array = given == NULL ? NULL
                              : (PyArrayObject *)PyArray_FROMANY(given, type_of(self), 0, 0,
                                                                 NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST);
        Py_XDECREF(given);
    }
    if (array == NULL) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
            PyErr_ExceptionMatches(PyExc_OverflowError)) { /* a whole number beyond all floats */
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "%s must hold numbers, got %R", name, object);
        }
        return NULL;
    }
    if (PyArray_NDIM(array) < least || PyArray_NDIM(array) > most) {
        PyErr_Format(PyExc_ValueError, "%s has %d dimensions; it must have %d", name, PyArray_NDIM(array), most);
        Py_DECREF(array);
        return NULL;
    }
    return array;
}

int wrong_length(const Core *self, Py_ssize_t length) {
    char problem[96];
    PyOS_snprintf(problem, sizeof problem, "has {} entries, but the filter has %zu classes", self->classes);
    raise_error("RowError", "probs", PyLong_FromSsize_t(length), problem, "", "give one probability per class", -1, -1);
    return -1;
}

/* One number per class, as an array. */
PyArrayObject *take_vector(const Core *self, PyObject *object, const char *name) {
    PyArrayObject *array = as_array(self, object, name, 1, 1);
    if (array != NULL && PyArray_DIM(array, 0) != (npy_intp)self->classes) {
        PyErr_Format(PyExc_ValueError, "%s has %zd entries, but the filter has %zd classes", name,
                     (Py_ssize_t)PyArray_DIM(array, 0), (Py_ssize_t)self->classes);
        Py_DECREF(array);
        return NULL;
    }
    return array;
}

PyObject *new_row(const Core *self) {
    npy_intp size = (npy_intp)self->classes;
    return PyArray_SimpleNew(1, &size, type_of(self));
}

/* Copies one row of probabilities. */
int take_row(const Core *self, PyObject *object, void *row) {
    const Py_ssize_t classes = (Py_ssize_t)self->classes;
    PyArrayObject *array;
    if (PyList_CheckExact(object)) {
        Py_ssize_t length, k;
        LOCK(object)
        length = PyList_Size(object);
        for (k = 0; length == classes && k < classes; k++) {
            PyObject *const number = PyList_GetItem(object, k);
            /* others may run Python code, which may change the list; nested or odd contents need the general way's words */
            if (!PyFloat_Check(number) && !PyLong_CheckExact(number)) break;
            set_number(self, row, (size_t)k, PyFloat_AsDouble(number));
            if (PyErr_Occurred()) {
                PyErr_Clear();
                break;
            }
        }
        UNLOCK
        if (length != classes) return wrong_length(self, length);
        if (k == classes) return 0;
    }
    array = as_array(self, object, "probs", 1, 1);
    if (array == NULL) return -1;
    if (PyArray_DIM(array, 0) != classes) {
        wrong_length(self, PyArray_DIM(array, 0));
        Py_DECREF(array);
        return -1;
    }
    memcpy(row, PyArray_DATA(array), self->classes * size_of(self));
    Py_DECREF(array);
    return 0;
}

/* Sorts probs, beta and dt out of a vectorcall; beta and dt stay NULL where not given. */
int three_arguments(const char *method, PyObject *const *args, Py_ssize_t nargs, PyObject *names, PyObject *out[3]) {
    static const char *const expected[3] = {"probs", "beta", "dt"};
    Py_ssize_t named = names == NULL ? 0 : PyTuple_Size(names), i;
    int j;
    out[0] = out[1] = out[2] = NULL;
    if (nargs > 3) {
        PyErr_Format(PyExc_TypeError, "%s() takes probs, beta and dt, but got %zd positional arguments", method, nargs);
        return -1;
    }
    for (i = 0; i < nargs; i++) out[i] = args[i];
    for (i = 0; i < named; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        for (j = 0; j < 3; j++)
            if (PyUnicode_CompareWithASCIIString(name, expected[j]) == 0) break;
        if (j == 3) {
            PyErr_Format(PyExc_TypeError, "%s() has no argument %R; it takes probs, beta and dt", method, name);
            return -1;
        }
        if (out[j] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() got two values for %s", method, expected[j]);
            return -1;
        }
        out[j] = args[nargs + i];
    }
    if (out[0] == NULL) {
        PyErr_Format(PyExc_TypeError, "%s() needs the argument probs", method);
        return -1;
    }
    return 0;
}

int take_number(PyObject *object, const char *name, double *value) {
    /* a timedelta64 in nanoseconds would count as that many units */
    const int timedelta = object != NULL && !PyFloat_Check(object) && PyArray_IsScalar(object, Timedelta);
    if (object == NULL) return 0;
    *value = timedelta ? -1.0 : PyFloat_AsDouble(object);
    if (timedelta || (*value == -1.0 && PyErr_Occurred())) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s must be a number, got %R", name, object);
        return -1;
    }
    return 0;
}

/* The arguments of `update`: returns the row as an array of the call's own, which then takes the result; the numbers go to
   *beta and *dt. */
PyObject *take_update(Core *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names, double *beta, double *dt) {
    PyObject *inputs[3], *row, *read = NULL;
    if (!ready(self) || three_arguments("update", args, nargs, names, inputs) < 0) return NULL;
    if (take_number(inputs[1], "beta", beta) < 0 || take_number(inputs[2], "dt", dt) < 0) return NULL;
    if (!is_plain_row(inputs[0])) {
        inputs[0] = read = read_prediction(self, inputs[0]);
        if (read == NULL) return NULL;
    }
    row = new_row(self);
    if (row != NULL && take_row(self, inputs[0], PyArray_DATA((PyArrayObject *)row)) < 0) Py_CLEAR(row);
    Py_XDECREF(read);
    return row;
}

/* A number for all rows, or one per row, as an array. */
static PyArrayObject *take_numbers(const Core *self, PyObject *object, const char *name) {
    PyArrayObject *array;
    if (object != NULL && !PyFloat_CheckExact(object)) return as_array(self, object, name, 0, 1);
    /* one number: much quicker than NumPy's way */
    array = (PyArrayObject *)PyArray_SimpleNew(0, NULL, type_of(self));
    if (array != NULL) set_number(self, PyArray_DATA(array), 0, object == NULL ? 1 : PyFloat_AsDouble(object));
    return array;
}

/* The step from one number to the next: 0 for a number for all rows, 1 for one per row; -1 for another length. */
static int find_stride(PyArrayObject *array, const char *name, npy_intp rows, size_t *stride) {
    *stride = PyArray_NDIM(array) > 0;
    if (*stride == 0 || PyArray_DIM(array, 0) == rows) return 0;
    PyErr_Format(PyExc_ValueError, "%s has %zd entries, but probs has %zd rows; give one number, or one per row", name,
                 (Py_ssize_t)PyArray_DIM(array, 0), (Py_ssize_t)rows);
    return -1;
}

void release_rows(Rows *rows) {
    Py_XDECREF((PyObject *)rows->probs);
    Py_XDECREF((PyObject *)rows->beta);
    Py_XDECREF((PyObject *)rows->dt);
}

/* Shapes are read after all arguments are arrays: one that runs Python code may change another's. */
int take_rows(const Core *self, PyObject *probs, PyObject *beta, PyObject *dt, Rows *rows) {
    memset(rows, 0, sizeof *rows);
    rows->probs = as_array(self, probs, "probs", 2, 2);
    if (rows->probs != NULL) rows->beta = take_numbers(self, beta, "beta");
    if (rows->beta != NULL) rows->dt = take_numbers(self, dt, "dt");
    if (rows->dt != NULL) {
        const npy_intp count = PyArray_NDIM(rows->probs) == 2 ? PyArray_DIM(rows->probs, 0) : 0;
        rows->count = (size_t)count;
        if (PyArray_NDIM(rows->probs) != 2)
            PyErr_SetString(PyExc_ValueError, "probs changed its shape while beta and dt were read");
        else if (PyArray_DIM(rows->probs, 1) != (npy_intp)self->classes)
            wrong_length(self, PyArray_DIM(rows->probs, 1));
        else if (find_stride(rows->beta, "beta", count, &rows->beta_stride) == 0 &&
                 find_stride(rows->dt, "dt", count, &rows->dt_stride) == 0)
            return 0;
    }
    release_rows(rows);
    return -1;
}

/* Pointers to row i, and the error of a call that failed there. */
void *probs_at(const Core *self, const Rows *rows, size_t i) {
    return element(self, PyArray_DATA(rows->probs), i * self->classes);
}

void *beta_at(const Core *self, const Rows *rows, size_t i) {
    return element(self, PyArray_DATA(rows->beta), i * rows->beta_stride);
}

void *dt_at(const Core *self, const Rows *rows, size_t i) {
    return element(self, PyArray_DATA(rows->dt), i * rows->dt_stride);
}

PyObject *raise_row(const Core *self, cf_status status, const Rows *rows, size_t i) {
    return raise_status(self, status, (Py_ssize_t)i, probs_at(self, rows, i),
                        get_number(self, beta_at(self, rows, i), 0), get_number(self, dt_at(self, rows, i), 0));
}

/* ---- what the types share ---- */

/* Takes over a fresh object of `size` bytes, unless another call was first. */
int take_over(Core *self, const Core *fresh, size_t size) {
    const size_t head = offsetof(Core, single);
    int first;
    LOCK(self)
    first = self->memory == NULL;
    if (first) memcpy((char *)self + head, (const char *)fresh + head, size - head);
    UNLOCK
    if (first) return 0;
    PyMem_Free(fresh->memory);
    return is_new(self) - 1;
}

PyObject *reset(PyObject *object, PyObject *nothing) {
    Core *self = (Core *)object;
    (void)nothing;
    if (!ready(self)) return NULL;
    memcpy(self->state, self->start, self->state_size * size_of(self));
    Py_RETURN_NONE;
}

void dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyMem_Free(((Core *)object)->memory);
    release(object);
    Py_DECREF(type);
}
