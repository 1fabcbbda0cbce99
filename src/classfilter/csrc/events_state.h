/* SPDX-License-Identifier: MIT */
/* The state of an event rule: one block of bytes. Closed segments are the nodes of a tree, whose leaves are the open segments
   of the best path to each class; a node counts who refers to it. Numbers instead of pointers, so the block can move. */
#ifndef CF_EVENTS_STATE_H
#define CF_EVENTS_STATE_H

#include "validate.h"

#define CF_EVENTS_MAGIC (UINT32_C(0x43464530) + (uint32_t)sizeof(cf_real)) /* CFE, the layout's version and precision */
#define CF_EVENTS_MOST (1 << 24) /* slots, classes */
#define CF_EVENTS_MOST_NODES (1 << 12)
#define CF_EVENTS_REBASE 256 /* rows after which sums begin anew, so that they stay short */

/* The value of a class that no path ends in. It is finite: sums with it are far below every other value. */
#ifdef CF_FLOAT
#define CF_EVENTS_NEVER (-0.25f * FLT_MAX)
#define CF_RESTS 1
#else
#define CF_EVENTS_NEVER (-0.25 * DBL_MAX)
#define CF_RESTS 0
#endif

typedef struct {
    double start;
    double before; /* sum of w p over the segment before it */
    int32_t parent, refs, label, forced; /* refs 0: free, and parent is the next free one */
} events_node;

/* A row that classes with a minimum duration may have been entered at. */
typedef struct {
    double time;
    double before; /* sum of w p over the segment that would end here */
    int32_t node; /* that segment; the root at the start of a stretch; or -1, where the path was dropped */
    int32_t label; /* its class, or -1 */
} events_slot;

typedef struct {
    uint32_t magic, bytes;
    int32_t states; /* N: K, or K + 1 with "uncertain" */
    int32_t slow; /* M: classes that have a minimum duration */
    int32_t nodes, slots;
    int32_t rows; /* so far, at most 2 */
    int32_t seen; /* the last row was not NaN: a stretch goes on */
    int32_t lead; /* the class that changes come from: argmax v - leave; -1 where no class has lasted long enough */
    int32_t root; /* the last confirmed segment of the stretch: all that is open descends from it */
    int32_t free;
    int32_t oldest, count, since; /* slots in use, and rows since the sums began anew */
    int32_t held, held_forced; /* an event that may still change: its class, or -1 */
    double first, last, step; /* time of the first row, of the last one, and what the one before that stands for */
    double stretch, decided; /* start of the stretch, end of its last confirmed segment */
    double agreed; /* no open paths differ before this time */
    double held_begin; /* where its first segment starts, neither shifted nor padded */
    double held_start, held_end, held_sum, held_time;
    double reported; /* end of the last event that was handed out */
} events_head;

/* Where the parts of a block are. */
typedef struct {
    const cf_events *rule;
    events_head *head;
    double *start, *before; /* N: start of the open segment, sum of w p of the segment before it */
    events_node *node;
    events_slot *slot;
    cf_real *slot_gain, *slot_mass; /* slots x M: the sums at that row */
    cf_real *value; /* N: of the best path to each class, relative to the lead */
    cf_real *mass, *rest; /* N: sum of w p over the open segment; for float, what rounding left of it */
    cf_real *gain; /* N: w e of the row */
    cf_real *last; /* K: the last row */
    cf_real *gains, *masses; /* M: sums of w e less the lead's rise, and of w p */
    int32_t *parent; /* N: the segment before; -1 where no path ends in the class */
    int32_t *self; /* N: the node of the open segment itself, or -1 */
    int32_t *forced; /* N */
    int32_t *next; /* M: the first slot, from the oldest, that was not old enough */
    cf_event *events;
    size_t count;
    int reached; /* the last segment of the stretch became an event, or a part of one */
} events_view;

CF_INLINE size_t states_of(const cf_events *rule) { return rule->classes + (rule->min_probability > 0); }

static size_t slow_of(const cf_events *rule) {
    size_t k, slow = 0;
    for (k = 0; k < rule->classes; k++) slow += rule->min_duration[k] > 0;
    return slow;
}

/* Sets the view's pointers into a block and returns its size. */
static size_t lay_out(events_view *s, const cf_events *rule, char *block, size_t slow, size_t nodes, size_t slots) {
    const size_t states = states_of(rule);
    size_t at = 0;
    s->rule = rule;
    s->head = (events_head *)(void *)block;
    at += sizeof(events_head);
    s->start = (double *)(void *)(block + at);
    s->before = s->start + states;
    at += 2 * states * sizeof(double);
    s->node = (events_node *)(void *)(block + at);
    at += nodes * sizeof(events_node);
    s->slot = (events_slot *)(void *)(block + at);
    at += slots * sizeof(events_slot);
    s->slot_gain = (cf_real *)(void *)(block + at);
    s->slot_mass = s->slot_gain + slots * slow;
    s->value = s->slot_mass + slots * slow;
    s->mass = s->value + states;
    s->rest = s->mass + states;
    s->gain = s->rest + CF_RESTS * states;
    s->last = s->gain + states;
    s->gains = s->last + rule->classes;
    s->masses = s->gains + slow;
    at += (2 * slots * slow + (3 + CF_RESTS) * states + rule->classes + 2 * slow) * sizeof(cf_real);
    s->parent = (int32_t *)(void *)(block + at);
    s->self = s->parent + states;
    s->forced = s->self + states;
    s->next = s->forced + states;
    at += (3 * states + slow) * sizeof(int32_t);
    return (at + 7) / 8 * 8;
}

CF_INLINE void view_state(events_view *s, const cf_events *rule, const void *state) {
    const events_head *head = (const events_head *)state;
    lay_out(s, rule, (char *)state, (size_t)head->slow, (size_t)head->nodes, (size_t)head->slots);
    s->events = NULL;
    s->count = 0;
    s->reached = 0;
}

CF_INLINE double magnitude(double x) { return x < 0 ? -x : x; }

/* What a length of time at this time of the clock may be off by. */
CF_INLINE double time_tolerance(double limit, double clock) {
    return limit * CF_EVENTS_SHARE + magnitude(clock) * CF_EVENTS_ULPS;
}

CF_INLINE int is_longer(double length, double limit, double clock) {
    return length > limit + time_tolerance(limit, clock);
}

CF_INLINE int is_reported(const cf_events *rule, int32_t label) {
    return (size_t)label < rule->classes && !rule->ignore[label];
}

/* ---- the tree ---- */

static void free_all_nodes(events_view *s) {
    int32_t i;
    for (i = 0; i < s->head->nodes; i++) {
        s->node[i].refs = 0;
        s->node[i].parent = i + 1 < s->head->nodes ? i + 1 : -1;
    }
    s->head->free = 0;
}

/* A node with one reference; the caller has seen to it that there is one. */
static int32_t new_node(events_view *s, int32_t label, int32_t parent, double start, double before, int32_t forced) {
    const int32_t i = s->head->free;
    events_node *n = &s->node[i];
    s->head->free = n->parent;
    n->start = start;
    n->before = before;
    n->parent = parent;
    n->refs = 1;
    n->label = label;
    n->forced = forced;
    return i;
}

/* One reference less: frees what no open path needs. */
static void release_node(events_view *s, int32_t i) {
    while (i >= 0 && --s->node[i].refs == 0) {
        const int32_t parent = s->node[i].parent;
        s->node[i].parent = s->head->free;
        s->head->free = i;
        i = parent;
    }
}

/* The open segment of class k as a node, which then holds its parent in place of k. */
static int32_t node_of_open(events_view *s, int32_t k) {
    if (s->self[k] < 0) s->self[k] = new_node(s, k, s->parent[k], s->start[k], s->before[k], s->forced[k]);
    return s->self[k];
}

static void drop_open(events_view *s, int32_t k) {
    release_node(s, s->self[k] >= 0 ? s->self[k] : s->parent[k]);
    s->self[k] = s->parent[k] = -1;
    s->value[k] = CF_EVENTS_NEVER;
}

/* The best path to k now comes from this segment. */
static void enter_from(events_view *s, int32_t k, int32_t node) {
    const int32_t old = s->self[k] >= 0 ? s->self[k] : s->parent[k];
    s->node[node].refs++;
    s->self[k] = -1;
    s->parent[k] = node;
    s->forced[k] = 0;
    release_node(s, old);
}

CF_INLINE void set_mass(events_view *s, int32_t k, cf_real mass) {
    s->mass[k] = mass;
    if (CF_RESTS) s->rest[k] = 0;
}

/* Adds to the sum of w p. For float, the rounding error is kept: a segment may have more rows than a float can count. */
CF_INLINE void add_mass(events_view *s, int32_t k, cf_real y) {
    const cf_real old = s->mass[k], sum = old + y, part = sum - old;
    s->mass[k] = sum;
    if (CF_RESTS) s->rest[k] += (old - (sum - part)) + (y - part);
}

CF_INLINE double open_mass(const events_view *s, int32_t k) {
    return CF_RESTS ? (double)s->mass[k] + (double)s->rest[k] : (double)s->mass[k];
}

/* ---- slots ---- */

CF_INLINE int32_t slot_at(const events_view *s, int32_t i) {
    const int32_t at = s->head->oldest + i;
    return at < s->head->slots ? at : at - s->head->slots;
}

static void pop_slot(events_view *s) {
    int32_t m;
    release_node(s, s->slot[s->head->oldest].node);
    s->head->oldest = slot_at(s, 1);
    s->head->count--;
    for (m = 0; m < s->head->slow; m++) s->next[m] -= s->next[m] > 0;
}

#endif
