/* SPDX-License-Identifier: MIT */
/* The state of an event rule: one block of bytes. Closed segments are the nodes of a tree, whose leaves are the open segments
   of the best path to each class; a node counts who refers to it. Numbers instead of pointers, so the block can move. */
#ifndef CF_EVENTS_STATE_H
#define CF_EVENTS_STATE_H

#include "events_time.h"

#define CF_EVENTS_MAGIC (UINT32_C(0x43464530) + (uint32_t)sizeof(cf_real)) /* CFE, the layout's version and precision */
#define CF_EVENTS_MOST_NODES (1 << 12)
#define CF_EVENTS_REBASE 256 /* rows after which sums begin anew, so that they stay short */

/* Words may hold anything, and a state is a whole number of them, as each part of it. */
#if defined(__GNUC__)
typedef uint32_t __attribute__((may_alias)) events_word;
#else
typedef unsigned char events_word;
#endif

CF_INLINE void copy_words(size_t bytes, const void *from, void *to) {
    size_t i;
    for (i = 0; i < bytes / sizeof(events_word); i++) ((events_word *)to)[i] = ((const events_word *)from)[i];
}

CF_INLINE void clear_words(size_t bytes, void *at) {
    size_t i;
    for (i = 0; i < bytes / sizeof(events_word); i++) ((events_word *)at)[i] = 0;
}

/* The value of a class that no path ends in. It is finite: sums with it are far below every other value. */
#ifdef CF_FLOAT
#define CF_EVENTS_NEVER (-0.25f * FLT_MAX)
#define CF_RESTS 1
#else
#define CF_EVENTS_NEVER (-0.25 * DBL_MAX)
#define CF_RESTS 0
#endif

#ifdef CF_TICKS
typedef cf_real events_sum;
typedef int16_t events_index;
#define CF_EVENTS_MOST (1 << 13) /* classes, and entries of all classes */
#else
typedef double events_sum;
typedef int32_t events_index;
#define CF_EVENTS_MOST (1 << 24)
#endif

typedef struct {
    cf_time start;
    events_sum before; /* sum of w p over the segment before it */
    events_index parent, refs, label, forced; /* refs 0: free, and parent is the next free one */
} events_node;

/* A row that a class with a minimum duration may have been entered at. */
typedef struct {
    cf_time time;
    events_sum before; /* sum of w p over the segment that would end here */
    cf_real gain, mass; /* the class's sums at that row */
    events_index node; /* the segment that would end here, the root at the start of a stretch; -1: unused */
    events_index label; /* its class, or -1 */
} events_entry;

/* The entries of a class, in order of time. */
typedef struct {
    events_index oldest, count;
} events_ring;

typedef struct {
    uint32_t magic, bytes;
    events_index states; /* N: K, or K + 1 with "uncertain" */
    events_index slow; /* M: classes that have a minimum duration */
    events_index nodes, slots;
    events_index rows; /* so far, at most 2 */
    events_index seen; /* the last row was not NaN: a stretch goes on */
    events_index lead; /* the class that changes come from: argmax v - leave; -1: no class has lasted long enough */
    events_index root; /* the last confirmed segment of the stretch: all that is open descends from it */
    events_index free;
    events_index since; /* rows since the sums began anew */
    events_index held, held_forced; /* an event that may still change: its class, or -1 */
#ifdef CF_TICKS
    events_index usual; /* the next row may be one at which open segments only go on */
#endif
    cf_time started; /* start of the last event whose start was handed out */
    cf_time last, step; /* time of the last row, and what the one before that stands for */
    cf_time stretch, decided; /* start of the stretch, end of its last confirmed segment */
    cf_time agreed; /* no open paths differ before this time */
    cf_time held_begin; /* where its first segment starts, neither shifted nor padded */
    cf_time held_start, held_end;
    events_sum held_sum;
    cf_time held_time;
    cf_time reported; /* end of the last event that was handed out */
} events_head;

/* As it was before the first row; begin_stretch sets the rest. */
CF_INLINE void clear_head(events_head *h) {
    h->rows = h->seen = 0;
#ifdef CF_TICKS
    h->usual = 0;
#endif
    h->held = -1;
    h->held_forced = 0;
    h->last = h->step = h->reported = 0;
    h->held_begin = h->held_start = h->held_end = h->held_time = 0;
    h->held_sum = 0;
}

/* Where the parts of a block are. What is known of an open segment is one array for each kind of number, or, with CF_TICKS, all
   of a class together: then the next class's number is some further on. */
#ifdef CF_TICKS
typedef union {
    events_index of[2]; /* parent and self, below */
    uint32_t both;
} events_link;

typedef struct {
    cf_time start;
    cf_real value, mass, rest;
    events_sum before;
    events_link link;
    events_index forced, unused; /* a whole number of times, wherever these may begin */
} events_open;
#define CF_STRIDE(type) (sizeof(events_open) / sizeof(type))
typedef char events_strides[sizeof(events_open) % sizeof(cf_time) == 0 ? 1 : -1];
#ifdef CF_FLOAT /* CF_EVENTS_BYTES has these numbers, or more where nothing needs to be aligned */
typedef char events_sizes[sizeof(events_head) <= 136 && sizeof(events_open) == 32 ? 1 : -1];
typedef char events_parts[sizeof(events_node) <= 24 && sizeof(events_entry) <= 24 ? 1 : -1];
#endif
#else
#define CF_STRIDE(type) 1
#endif

typedef cf_time events_times[CF_STRIDE(cf_time)];
typedef cf_real events_reals[CF_STRIDE(cf_real)];
typedef events_sum events_sums[CF_STRIDE(events_sum)];
typedef events_index events_indices[CF_STRIDE(events_index)];

typedef struct {
    const cf_events *rule;
    events_head *head;
#ifdef CF_TICKS
    events_open *open; /* N */
#endif
    events_times *start; /* N: start of the open segment */
    events_sums *before; /* N: sum of w p of the segment before it */
    events_node *node;
    events_entry *entry; /* M x slots */
    events_ring *ring; /* M */
    events_reals *value; /* N: of the best path to each class, relative to the lead */
    events_reals *mass; /* N: sum of w p over the open segment */
    events_reals *rest; /* N: for float, what rounding left of it */
    cf_real *gain; /* N: w e of the row; not with CF_TICKS */
    cf_real *last; /* K: the last row */
    cf_real *gains, *masses; /* M: sums of w e less the lead's rise, and of w p */
    events_indices *parent; /* N: the segment before; -1 where no path ends in the class */
    events_indices *self; /* N: the node of the open segment itself, or -1 */
    events_indices *forced; /* N */
    cf_event *events;
    size_t count;
    int reached; /* the last segment of the stretch became an event, or a part of one */
} events_view;

/* The rule and the sizes of a view, which are constants where a program has only one rule. */
#ifdef CF_RULE
#define CF_THE_RULE(rule) ((void)(rule), &CF_RULE)
CF_INLINE const cf_events *rule_of(const events_view *s) { return CF_THE_RULE(s); }
CF_INLINE int32_t states_in(const events_view *s) { return (void)s, CF_RULE_STATES; }
CF_INLINE int32_t slow_in(const events_view *s) { return (void)s, CF_RULE_SLOW; }
CF_INLINE int32_t nodes_in(const events_view *s) { return (void)s, CF_RULE_NODES; }
CF_INLINE int32_t slots_in(const events_view *s) { return (void)s, CF_RULE_SLOTS; }
#else
#define CF_THE_RULE(rule) (rule)
CF_INLINE const cf_events *rule_of(const events_view *s) { return s->rule; }
CF_INLINE int32_t states_in(const events_view *s) { return s->head->states; }
CF_INLINE int32_t slow_in(const events_view *s) { return s->head->slow; }
CF_INLINE int32_t nodes_in(const events_view *s) { return s->head->nodes; }
CF_INLINE int32_t slots_in(const events_view *s) { return s->head->slots; }
#endif

/* A cost or a bias of a class, or that of all, where a program's rule has only one. */
#ifdef CF_RULE_ENTER
CF_INLINE cf_real enter_of(const cf_events *rule, int32_t k) { return (void)rule, (void)k, CF_RULE_ENTER; }
#else
CF_INLINE cf_real enter_of(const cf_events *rule, int32_t k) { return rule->enter[k]; }
#endif
#ifdef CF_RULE_LEAVE
CF_INLINE cf_real leave_of(const cf_events *rule, int32_t k) { return (void)rule, (void)k, CF_RULE_LEAVE; }
#else
CF_INLINE cf_real leave_of(const cf_events *rule, int32_t k) { return rule->leave[k]; }
#endif
#ifdef CF_RULE_BIAS
CF_INLINE cf_real bias_of(const cf_events *rule, size_t k) { return (void)rule, (void)k, CF_RULE_BIAS; }
#else
CF_INLINE cf_real bias_of(const cf_events *rule, size_t k) { return rule->bias[k]; }
#endif

CF_INLINE size_t states_of(const cf_events *rule) { return rule->classes + (rule->min_probability > 0); }

static size_t slow_of(const cf_events *rule) {
    size_t k, slow = 0;
    for (k = 0; k < rule->classes; k++) slow += rule->min_duration[k] > 0;
    return slow;
}

/* The parts of a block whose size the rule alone decides come first, then the nodes and the entries. */
#ifdef CF_TICKS
CF_INLINE size_t size_of_fixed(const cf_events *rule, size_t slow) {
    const size_t numbers = (rule->classes + 2 * slow) * sizeof(cf_real) + slow * sizeof(events_ring);
    return (sizeof(events_head) + states_of(rule) * sizeof(events_open) + numbers + 7) / 8 * 8;
}
#else
static size_t size_of_fixed(const cf_events *rule, size_t slow) {
    const size_t states = states_of(rule);
    const size_t reals = (3 + CF_RESTS) * states + rule->classes + 2 * slow;
    const size_t numbers = reals * sizeof(cf_real) + 3 * states * sizeof(events_index) + slow * sizeof(events_ring);
    return (sizeof(events_head) + 2 * states * sizeof(double) + numbers + 7) / 8 * 8;
}
#endif

CF_INLINE size_t size_of_block(const cf_events *rule, size_t slow, size_t nodes, size_t slots) {
    return size_of_fixed(rule, slow) + nodes * sizeof(events_node) + slow * slots * sizeof(events_entry);
}

CF_INLINE void lay_out(events_view *s, const cf_events *rule, char *block, size_t slow, size_t nodes) {
    const size_t states = states_of(rule);
    char *const fixed = block + sizeof(events_head);
    s->rule = rule;
    s->head = (events_head *)(void *)block;
#ifdef CF_TICKS
    s->open = (events_open *)(void *)fixed;
    s->start = (events_times *)(void *)&s->open->start;
    s->value = (events_reals *)(void *)&s->open->value;
    s->mass = (events_reals *)(void *)&s->open->mass;
    s->rest = (events_reals *)(void *)&s->open->rest;
    s->before = (events_sums *)(void *)&s->open->before;
    s->parent = (events_indices *)(void *)&s->open->link.of[0];
    s->self = (events_indices *)(void *)&s->open->link.of[1];
    s->forced = (events_indices *)(void *)&s->open->forced;
    s->last = (cf_real *)(void *)(s->open + states);
#else
    s->start = (events_times *)(void *)fixed;
    s->before = (events_sums *)(void *)(s->start + states);
    s->value = (events_reals *)(void *)(s->before + states);
    s->mass = s->value + states;
    s->rest = s->mass + states;
    s->gain = *(s->rest + CF_RESTS * states);
    s->last = s->gain + states;
#endif
    s->gains = s->last + rule->classes;
    s->masses = s->gains + slow;
#ifdef CF_TICKS
    s->ring = (events_ring *)(void *)(s->masses + slow);
#else
    s->parent = (events_indices *)(void *)(s->masses + slow);
    s->self = s->parent + states;
    s->forced = s->self + states;
    s->ring = (events_ring *)(void *)(s->forced + states);
#endif
    s->node = (events_node *)(void *)(block + size_of_fixed(rule, slow));
    s->entry = (events_entry *)(void *)(s->node + nodes);
}

CF_INLINE void view_state(events_view *s, const cf_events *rule, const void *state) {
#ifdef CF_RULE
    lay_out(s, CF_THE_RULE(rule), (char *)state, CF_RULE_SLOW, CF_RULE_NODES);
#else
    const events_head *head = (const events_head *)state;
    lay_out(s, rule, (char *)state, (size_t)head->slow, (size_t)head->nodes);
#endif
    s->events = NULL;
    s->count = 0;
    s->reached = 0;
}

CF_INLINE int is_reported(const cf_events *rule, int32_t label) {
    return (size_t)label < rule->classes && !rule->ignore[label];
}

/* w e of class k, or of "uncertain", which follows the classes. */
CF_INLINE cf_real weighed(const cf_events *rule, const cf_real *p, cf_real w, size_t k) {
    if (rule->min_probability > 0 && k == CF_COUNT(rule->classes))
        return w * (rule->log ? cf_log_ratio(rule->min_probability, 1) : rule->min_probability);
    if (rule->log) return w * (cf_log_ratio(p[k] > rule->floor ? p[k] : rule->floor, 1) - bias_of(rule, k));
    return w * (p[k] - bias_of(rule, k));
}

/* ---- the tree ---- */

static void free_all_nodes(events_view *s) {
    int32_t i;
    for (i = 0; i < nodes_in(s); i++) {
        s->node[i].refs = 0;
        s->node[i].parent = (events_index)(i + 1 < nodes_in(s) ? i + 1 : -1);
    }
    s->head->free = 0;
}

/* A node with one reference; the caller has seen to it that there is one. */
static int32_t new_node(events_view *s, int32_t label, int32_t parent, cf_time start, events_sum before,
                        int32_t forced) {
    const int32_t i = s->head->free;
    events_node *n = &s->node[i];
    s->head->free = n->parent;
    n->start = start;
    n->before = before;
    n->parent = (events_index)parent;
    n->refs = 1;
    n->label = (events_index)label;
    n->forced = (events_index)forced;
    return i;
}

/* One reference less: frees what no open path needs. */
static void release_in(events_head *h, events_node *node, int32_t i) {
    while (i >= 0 && --node[i].refs == 0) {
        const events_index parent = node[i].parent;
        node[i].parent = h->free;
        h->free = (events_index)i;
        i = parent;
    }
}

CF_INLINE void release_node(events_view *s, int32_t i) { release_in(s->head, s->node, i); }

/* The open segment of class k as a node, which then holds its parent in place of k. */
static int32_t node_of_open(events_view *s, int32_t k) {
    if (*s->self[k] < 0)
        *s->self[k] = (events_index)new_node(s, k, *s->parent[k], *s->start[k], *s->before[k], *s->forced[k]);
    return *s->self[k];
}

static void drop_open(events_view *s, int32_t k) {
    release_node(s, *s->self[k] >= 0 ? *s->self[k] : *s->parent[k]);
    *s->self[k] = *s->parent[k] = -1;
    *s->value[k] = CF_EVENTS_NEVER;
}

/* The best path to k now comes from this segment. */
static void enter_from(events_view *s, int32_t k, int32_t node) {
    const int32_t old = *s->self[k] >= 0 ? *s->self[k] : *s->parent[k];
    s->node[node].refs++;
    *s->self[k] = -1;
    *s->parent[k] = (events_index)node;
    *s->forced[k] = 0;
    release_node(s, old);
}

CF_INLINE void set_mass(events_view *s, int32_t k, cf_real mass) {
    *s->mass[k] = mass;
    if (CF_RESTS) *s->rest[k] = 0;
}

/* Adds to the sum of w p. For float, the rounding error is kept: a segment may have more rows than a float can count. */
CF_INLINE void add_mass(events_view *s, int32_t k, cf_real y) {
    const cf_real old = *s->mass[k], sum = old + y, part = sum - old;
    *s->mass[k] = sum;
    if (CF_RESTS) *s->rest[k] += (old - (sum - part)) + (y - part);
}

/* The sum with what rounding left of it, rounded once. */
CF_INLINE events_sum open_mass(const events_view *s, int32_t k) {
    return (events_sum)(CF_RESTS ? *s->mass[k] + *s->rest[k] : *s->mass[k]);
}

/* ---- entries ---- */

CF_INLINE events_entry *entry_at(const events_view *s, int32_t m, int32_t i) {
    const int32_t at = s->ring[m].oldest + i;
    return &s->entry[m * slots_in(s) + (at < slots_in(s) ? at : at - slots_in(s))];
}

static void drop_entry(events_view *s, int32_t m, int32_t i) {
    release_node(s, entry_at(s, m, i)->node);
    for (s->ring[m].count--; i < s->ring[m].count; i++) *entry_at(s, m, i) = *entry_at(s, m, i + 1);
    entry_at(s, m, i)->node = -1;
}

#endif
