/* SPDX-License-Identifier: MIT */
/* Turns: what changes the state of a filter waits for the runs of other threads, in the order in which it came. */
#include "binding.h"

/* A thread that waits, in the order in which they came; it is on that thread's stack. */
struct waiter {
    PyThread_type_lock wake;
    struct waiter *next;
};

/* Waits for the runs of other threads, and for those that wait already; then nobody else has the turn. */
static void wait_for_turn(Core *self) {
    struct waiter one = {PyThread_allocate_lock(), NULL};
    if (one.wake != NULL) {
        *(self->first == NULL ? &self->first : &self->last->next) = &one;
        self->last = &one;
        PyThread_acquire_lock(one.wake, WAIT_LOCK);
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(one.wake, WAIT_LOCK); /* pass_turn releases it */
        Py_END_ALLOW_THREADS
        PyThread_release_lock(one.wake);
        PyThread_free_lock(one.wake);
        return;
    }
    while (self->taken) { /* no memory to wait in */
        Py_BEGIN_ALLOW_THREADS
        Py_END_ALLOW_THREADS
    }
    self->taken = 1;
}

static void pass_turn(Core *self) {
    struct waiter *const next = self->first;
    self->taken = next != NULL;
    if (next == NULL) return;
    self->first = next->next;
    PyThread_release_lock(next->wake);
}

/* The state may change after it, until the lock is free: whoever gets the turn needs the lock first. */
void take_turn(Core *self) {
    if (!self->taken) return;
    wait_for_turn(self);
    pass_turn(self);
}

/* Copies the state to where the run works on it. */
void begin_run(Core *self, void *state) {
    LOCK(self)
    if (self->taken) wait_for_turn(self);
    self->taken = 1;
    memcpy(state, self->state, self->state_size * size_of(self));
    UNLOCK
}

/* Writes the state back; NULL leaves it as it was. */
void end_run(Core *self, const void *state) {
    LOCK(self)
    if (state != NULL) memcpy(self->state, state, self->state_size * size_of(self));
    pass_turn(self);
    UNLOCK
}
