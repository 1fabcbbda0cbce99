/* SPDX-License-Identifier: MIT */
/* The module classfilter._core. */
#define CF_MODULE
#include "binding.h"

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_core", "The compiled core of classfilter.", -1, functions, NULL, NULL, NULL, NULL};

PyTypeObject *dirichlet_type, *sticky_type, *events_type;

/* Adds a type to the module; NULL after a failure. */
static PyTypeObject *add_type(PyObject *to, PyType_Spec *of, const char *name) {
    PyObject *type = PyType_FromSpec(of);
    if (type != NULL && PyModule_AddObject(to, name, type) < 0) Py_CLEAR(type);
    return (PyTypeObject *)type;
}

PyMODINIT_FUNC PyInit__core(void) {
    PyObject *core, *times;
    import_array();
    core = PyModule_Create(&module);
    if (core == NULL) return NULL;
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(core, Py_MOD_GIL_NOT_USED);
#endif
    dirichlet_type = add_type(core, &dirichlet_spec, "Dirichlet");
    sticky_type = add_type(core, &sticky_spec, "Sticky");
    events_type = add_type(core, &events_spec, "EventRule");
    times = events_times();
    if (times == NULL || PyModule_AddObject(core, "EVENT_TIMES", times) < 0 || dirichlet_type == NULL ||
        sticky_type == NULL || events_type == NULL || add_type(core, &heads_spec, "Heads") == NULL ||
        add_type(core, &lag_spec, "Lag") == NULL || add_type(core, &adaptive_spec, "Adaptive") == NULL ||
        add_type(core, &head_rules_spec, "HeadRules") == NULL) {
        Py_DECREF(core);
        return NULL;
    }
    return core;
}
