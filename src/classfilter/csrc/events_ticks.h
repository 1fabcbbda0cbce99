/* SPDX-License-Identifier: MIT */
/* A row of a rule without minimum durations, for microcontrollers: in one loop, and without what only a change needs. The
   formulas are those of pass_row and follow_lead, in their order; a test holds both to the same bits. */
#ifndef CF_EVENTS_TICKS_H
#define CF_EVENTS_TICKS_H

#include "events_confirm.h"

/* Whether a row that is neither late nor NaN lets open segments go on, and asks for nothing else. */
CF_INLINE void note_usual(events_view *s) {
    const events_head *const h = s->head;
    s->head->usual = slow_in(s) == 0 && h->rows == 2 && h->seen && h->held < 0 && !lacks_node(s);
}

CF_INLINE uint32_t link_from(int32_t parent) {
    events_link link;
    link.of[0] = (events_index)parent;
    link.of[1] = -1;
    return link.both;
}

/* The best path to k comes from the lead, and not from that segment before. Returns the link of one that does. */
CF_RARE uint32_t enter_from_lead(const cf_events *rule, void *state, int32_t k) {
    events_view s;
    view_state(&s, rule, state);
    enter_from(&s, k, node_of_open(&s, s.head->lead));
    return link_from(*s.self[s.head->lead]);
}

CF_RARE void find_other_lead(const cf_events *rule, void *state) {
    events_view s;
    view_state(&s, rule, state);
    find_lead(&s);
    note_usual(&s);
}

/* w p of class k. */
CF_INLINE cf_real weighed_mass(const cf_events *rule, const cf_real *p, cf_real w, int32_t k) {
    return (size_t)k < CF_COUNT(rule->classes) ? w * p[k] : 0;
}

/* Whether w p is w e. */
CF_INLINE int is_mass(const cf_events *rule) {
#ifdef CF_RULE_BIAS
    return CF_RULE_BIAS == 0 && !rule->log && !(rule->min_probability > 0);
#else
    (void)rule;
    return 0;
#endif
}

/* Whether no class costs anything to leave. */
CF_INLINE int is_free(void) {
#ifdef CF_RULE_LEAVE
    return CF_RULE_LEAVE == 0;
#else
    return 0;
#endif
}

/* 1 where a difference is below 0, else 0. Of equal numbers it is 0, or -0 where there is a -0 among them. */
CF_INLINE uint32_t is_below_zero(const cf_events *rule, cf_real difference) {
    const cf_real zero_or_more =
        is_mass(rule) ? difference : difference + 0; /* then no value is -0; else it becomes 0 */
    return (uint32_t)(cf_to_bits(zero_or_more) >> (8 * sizeof(cf_bits) - 1));
}

/* The last row, which lasted until now: v_k <- max(v_k, -enter_k) + w e_k, as the lead is at 0, then less what the lead has
   risen by; not less where a decision is `due`, which comes before that. Returns whether a best path comes from another
   segment than before. */
static int pass_plain_row(const cf_events *rule, void *state, int due) {
    events_view s;
    cf_real w, rise = 0, ahead;
    int32_t k, lead;
    uint32_t own, behind = 0;
    int others = 0;
    events_sum before;
    cf_time time;
    view_state(&s, rule, state);
    rule = rule_of(&s);
    time = s.head->last;
    w = as_weight(s.head->step);
    lead = s.head->lead;
    before = open_mass(&s, lead);
    own = link_from(*s.self[lead] < 0 ? -2 : *s.self[lead]); /* -2 is nobody's parent */
    ahead = s.open[lead].value + weighed(rule, s.last, w, (size_t)lead);
    if (!due) rise = ahead - leave_of(rule, lead);
    ahead = is_free() ? 0 : ahead - rise - leave_of(rule, lead); /* not used where a decision is due */
    for (k = 0; k < states_in(&s); k++) {
        events_open *const open = &s.open[k];
        const cf_real entered = -enter_of(rule, k), y = weighed_mass(rule, s.last, w, k);
        const cf_real gain = is_mass(rule) ? y : weighed(rule, s.last, w, (size_t)k);
        cf_real value = open->value + gain;
        if (open->value < entered) {
            /* mostly, it has come from this segment before: then only its start is new */
            if (open->link.both != own) {
                own = enter_from_lead(rule, state, k);
                others = 1;
            }
            value = entered + gain;
            open->start = time;
            open->before = before;
            set_mass(&s, k, y);
        } else {
            add_mass(&s, k, y);
        }
        open->value = value - rise;
        behind += is_below_zero(rule, open->value - leave_of(rule, k) - ahead);
    }
    if (!due && behind + 1 < (uint32_t)states_in(&s)) find_other_lead(rule, state);
    return others;
}

#endif
