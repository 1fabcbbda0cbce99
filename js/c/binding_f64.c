/* SPDX-License-Identifier: MIT */
/* What JavaScript calls, in double precision. */
#define dirichlet_size dirichlet_size_f64
#define dirichlet_scratch dirichlet_scratch_f64
#define dirichlet_prepare dirichlet_prepare_f64
#define dirichlet_start dirichlet_start_f64
#define dirichlet_read dirichlet_read_f64
#define dirichlet_update dirichlet_update_f64
#define dirichlet_run dirichlet_run_f64
#define sticky_size sticky_size_f64
#define sticky_scratch sticky_scratch_f64
#define sticky_prepare sticky_prepare_f64
#define sticky_set_modes sticky_set_modes_f64
#define sticky_start sticky_start_f64
#define sticky_read sticky_read_f64
#define sticky_update sticky_update_f64
#define sticky_run sticky_run_f64
#define channel_apply channel_apply_f64
#define temper temper_f64
#define adaptive_size adaptive_size_f64
#define adaptive_prepare adaptive_prepare_f64
#define adaptive_start adaptive_start_f64
#define adaptive_choose adaptive_choose_f64
#define adaptive_called adaptive_called_f64
#define events_size events_size_f64
#define events_prepare events_prepare_f64
#define events_bytes events_bytes_f64
#define events_start events_start_f64
#define events_last events_last_f64
#define events_needed events_needed_f64
#define events_grow events_grow_f64
#define events_run events_run_f64
#define events_finish events_finish_f64
#define events_current events_current_f64
#define events_starts events_starts_f64
#define events_piece events_piece_f64
#define cf_dirichlet_prepare cf_dirichlet_prepare_f64
#define cf_dirichlet_start cf_dirichlet_start_f64
#define cf_dirichlet_read cf_dirichlet_read_f64
#define cf_dirichlet_run cf_dirichlet_run_f64
#define cf_sticky_prepare cf_sticky_prepare_f64
#define cf_sticky_transitions cf_sticky_transitions_f64
#define cf_sticky_start cf_sticky_start_f64
#define cf_sticky_run cf_sticky_run_f64
#define cf_channel_apply cf_channel_apply_f64
#define cf_temper cf_temper_f64
#define cf_adaptive_prepare cf_adaptive_prepare_f64
#define cf_adaptive_start cf_adaptive_start_f64
#define cf_adaptive_choose cf_adaptive_choose_f64
#define cf_adaptive_called cf_adaptive_called_f64
#define cf_events_prepare cf_events_prepare_f64
#define cf_events_size cf_events_size_f64
#define cf_events_start cf_events_start_f64
#define cf_events_update cf_events_update_f64
#define cf_events_run cf_events_run_f64
#define cf_events_finish cf_events_finish_f64
#define cf_events_current cf_events_current_f64
#define cf_events_starts cf_events_starts_f64
#define cf_events_piece cf_events_piece_f64
#define cf_events_needed cf_events_needed_f64
#define cf_events_last cf_events_last_f64
#define cf_events_grow cf_events_grow_f64
#include "binding_impl.h"

JS_EXPORT double log_f64(double x) { return cf_log_f64(x); }

JS_EXPORT const char *strerror(int status) { return cf_strerror((cf_status)status); }

/* Whether any filter would take a row. */
JS_EXPORT cf_status check_row(size_t classes, const double *observed) {
    const double beta = 1, dt = 0;
    size_t row;
    return cf_check_f64(classes, 1, observed, &beta, 0, &dt, 0, &row);
}
