/* weft bench --profile: where the time of a prompt and of decoding goes, op by op, as a table; and
 * every op as a trace-event file, the JSON that Perfetto and Chrome's viewer open. */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_EVENTS ((size_t)1 << 17)
#define MOST_ROWS 256

static const bench_column columns[] = {
    {"phase", "phase", 0}, {"place", "place", 0}, {"op", "op", 0},
    {"calls", "calls", 0}, {"ms", "ms", 2},       {"share", "share", 3},
    {"bytes", NULL, 0},    {"mb", "MB", 1},       {"gbps", "GB/s", 2},
};
#define N_COLUMNS (sizeof columns / sizeof columns[0])

typedef struct profile_state {
    bench *b;
    weft_session *session;
    weft_profile *profile;
    int32_t *ids;
    size_t n_vocab;
    bench_cell cells[MOST_ROWS * N_COLUMNS];
    size_t n_rows;
    FILE *trace;
    double trace_at; /* seconds at which the next phase begins */
    bool any_event;
} profile_state;

/* ---- The table ---- */

static void add_row(profile_state *s, const char *phase, const weft_profile_row *r, double whole) {
    if (s->n_rows == MOST_ROWS)
        return;
    bench_cell *row = s->cells + s->n_rows++ * N_COLUMNS;
    row[0] = bench_text(phase);
    row[1] = bench_text(r->place);
    row[2] = bench_text(r->op);
    row[3] = bench_number((double)r->calls);
    row[4] = bench_number(r->seconds * 1e3);
    row[5] = bench_number(whole > 0 ? r->seconds / whole : (double)NAN);
    row[6] = bench_number((double)r->bytes);
    row[7] = bench_number((double)r->bytes / 1e6);
    row[8] = bench_number(r->seconds > 0 ? (double)r->bytes / r->seconds / 1e9 : (double)NAN);
}

/* Rows of one phase; last what passed between the ops, and the whole steps. */
static void add_rows(profile_state *s, const char *phase) {
    weft_profile_row r, step = {.place = "step", .op = "step"};
    weft_profile_row rest = {.place = "step", .op = "(between ops)"};
    for (size_t i = 0; weft_profile_get_row(s->profile, i, &r); i++)
        if (strcmp(r.place, "step") == 0)
            step = r;
    rest.seconds = step.seconds;
    rest.calls = step.calls;
    for (size_t i = 0; weft_profile_get_row(s->profile, i, &r); i++)
        if (strcmp(r.place, "step") != 0) {
            add_row(s, phase, &r, step.seconds);
            rest.seconds -= r.seconds;
            step.bytes += r.bytes;
        }
    rest.seconds = rest.seconds > 0 ? rest.seconds : 0;
    add_row(s, phase, &rest, step.seconds);
    add_row(s, phase, &step, step.seconds);
}

/* ---- The trace ---- */

static void write_event(profile_state *s, const char *name, const char *category, double begin,
                        double seconds, const weft_profile_event *e) {
    fprintf(s->trace,
            "%s{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":1,"
            "\"tid\":1",
            s->any_event ? ",\n" : "", name, category, (s->trace_at + begin) * 1e6, seconds * 1e6);
    if (e)
        fprintf(s->trace, ",\"args\":{\"layer\":%d,\"bytes\":%llu}", e->layer,
                (unsigned long long)e->bytes);
    fprintf(s->trace, "}");
    s->any_event = true;
}

/* The half of a layer that events [first, end) belong to, as one event around them. */
static void write_place(profile_state *s, const weft_profile_event *first,
                        const weft_profile_event *last) {
    char name[64];
    if (first->layer < 0)
        snprintf(name, sizeof name, "%s", first->place);
    else
        snprintf(name, sizeof name, "%s %d", first->place, first->layer);
    write_event(s, name, first->place, first->begin, last->begin + last->seconds - first->begin,
                NULL);
}

static void write_trace(profile_state *s, const char *phase) {
    weft_profile_event e, first = {0}, last = {0};
    bool open = false;
    double end = 0;
    for (size_t i = 0; weft_profile_get_event(s->profile, i, &e); i++) {
        bool same = open && strcmp(e.place, first.place) == 0 && e.layer == first.layer;
        if (open && !same)
            write_place(s, &first, &last);
        if (!same)
            first = e;
        open = strcmp(e.place, "step") != 0 && strcmp(e.place, "other") != 0;
        last = e;
        write_event(s, strcmp(e.op, "step") == 0 ? phase : e.op, e.place, e.begin, e.seconds, &e);
        end = e.begin + e.seconds > end ? e.begin + e.seconds : end;
    }
    if (open)
        write_place(s, &first, &last);
    s->trace_at += end + 1e-3;
}

/* ---- Running ---- */

static weft_status prompt_phase(profile_state *s) {
    weft_status status = weft_session_truncate(s->session, 0, NULL);
    return status ? status : weft_session_eval(s->session, s->ids, (size_t)s->b->prompts.values[0]);
}

static weft_status decode_phase(profile_state *s) {
    int32_t depth = s->b->depths.values[0];
    weft_status status = weft_session_truncate(s->session, depth, NULL);
    for (int32_t i = 0; i < s->b->n_decode && !status; i++)
        status = weft_session_eval(s->session, s->ids + i, 1);
    return status;
}

/* One run to warm up, then the runs asked for; the trace has the last of them. */
static int run_phase(profile_state *s, const char *name, weft_status (*phase)(profile_state *)) {
    weft_status status = phase(s);
    weft_profile_clear(s->profile);
    for (int32_t i = 0; i < s->b->n_runs && !status; i++)
        status = phase(s);
    if (status)
        return tool_fail_status("bench", status);
    add_rows(s, name);
    if (s->trace)
        write_trace(s, name);
    if (s->trace && weft_profile_n_lost(s->profile))
        fprintf(stderr, "weft: %s: the trace has the last %zu ops only\n", name, MOST_EVENTS);
    return -1;
}

static int run_phases(profile_state *s) {
    int code = run_phase(s, "prefill", prompt_phase);
    int32_t depth = s->b->depths.values[0];
    if (code < 0 && s->b->n_decode > 0) {
        weft_status status = weft_session_truncate(s->session, 0, NULL);
        if (!status && depth > 0)
            status = weft_session_eval(s->session, s->ids, (size_t)depth);
        code = status ? tool_fail_status("bench", status) : run_phase(s, "decode", decode_phase);
    }
    if (code >= 0)
        return code;
    bench_table(s->b->format, columns, N_COLUMNS, s->cells, s->n_rows);
    if (s->b->format == BENCH_JSON)
        tool_write("\n", 1);
    return TOOL_DONE;
}

/* The trace appears whole, by rename. */
static int with_trace(profile_state *s, const char *path) {
    char *partial;
    if (!path)
        return run_phases(s);
    if (asprintf(&partial, "%s.partial", path) < 0)
        return tool_fail(path, "out of memory");
    s->trace = fopen(partial, "w");
    int code = s->trace ? TOOL_DONE : tool_fail(path, "%s", strerror(errno));
    if (s->trace) {
        fprintf(s->trace, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
        code = run_phases(s);
        fprintf(s->trace, "\n]}\n");
        bool good = !ferror(s->trace);
        good = fclose(s->trace) == 0 && good;
        if (code == TOOL_DONE && (!good || rename(partial, path) != 0))
            code = tool_fail(path, "%s", strerror(errno));
        if (code != TOOL_DONE)
            remove(partial);
    }
    free(partial);
    return code;
}

int bench_run_profile(bench *b, weft_model *model, weft_engine *engine) {
    profile_state *s = calloc(1, sizeof *s);
    size_t n_ids = (size_t)b->prompts.values[0] + (size_t)b->depths.values[0];
    n_ids += (size_t)b->n_decode;
    if (!s || !(s->ids = malloc(n_ids * sizeof *s->ids))) {
        free(s);
        return tool_fail("bench", "out of memory");
    }
    s->b = b;
    bench_ids(s->ids, n_ids, (size_t)weft_model_get_info(model).n_vocab);
    int code = bench_session(b, model, &s->session);
    if (code < 0) {
        weft_status status = weft_profile_create(engine, b->trace ? MOST_EVENTS : 0, &s->profile);
        code = status ? tool_fail_status("--profile", status) : with_trace(s, b->trace);
    }
    weft_profile_release(&s->profile);
    weft_session_release(&s->session);
    free(s->ids);
    free(s);
    return code;
}
