#include "manager/registry/metrics.h"

#include "base/alloc.h"

static const unsigned bounds_ms[METRICS_BUCKETS] = { 5,	   10,	 25,   50,    100,   250,   500,
						     1000, 2500, 5000, 10000, 30000, 60000, 300000 };

void metrics_release(struct metrics *m)
{
	free(m->runs);
	*m = (struct metrics){ 0 };
}

static void observe(struct histogram *h, uint64_t ms)
{
	size_t i = 0;
	while (i < METRICS_BUCKETS && ms > bounds_ms[i])
		i++;
	h->counts[i]++;
	h->n++;
	h->sum_ms += ms;
}

/* There are few languages and endings, so the list is short. */
void metrics_add_run(struct metrics *m, const char *language, enum run_kind kind, const char *ending, uint64_t ms)
{
	observe(&m->run_time, ms);
	for (size_t i = 0; i < m->n_runs; i++) {
		struct run_count *c = &m->runs[i];
		if (c->kind == kind && streq(c->language, language) && streq(c->ending, ending)) {
			c->n++;
			return;
		}
	}
	m->runs = xrealloc(m->runs, (m->n_runs + 1) * sizeof(*m->runs));
	m->runs[m->n_runs++] = (struct run_count){ language, ending, kind, 1 };
}

void metrics_add_create(struct metrics *m, enum create_how how, uint64_t ms)
{
	observe(&m->create_time[how], ms);
}

/* --- Prometheus text ----------------------------------------------------------------------------------------------- */

void metrics_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* label: "how=\"warm\"," or "". */
static void write_histogram(struct buf *out, const char *name, const char *label, const struct histogram *h)
{
	uint64_t below = 0;
	int labels = (int)strlen(label);
	for (size_t i = 0; i < METRICS_BUCKETS; i++) {
		below += h->counts[i];
		buf_printf(out, "%s_bucket{%sle=\"%g\"} %llu\n", name, label, bounds_ms[i] / 1000.0,
			   (unsigned long long)below);
	}
	buf_printf(out, "%s_bucket{%sle=\"+Inf\"} %llu\n", name, label, (unsigned long long)h->n);
	/* Without the comma at the end of the label. */
	const char *open = labels ? "{" : "", *close = labels ? "}" : "";
	buf_printf(out, "%s_sum%s%.*s%s %.3f\n", name, open, labels ? labels - 1 : 0, label, close,
		   (double)h->sum_ms / 1000);
	buf_printf(out, "%s_count%s%.*s%s %llu\n", name, open, labels ? labels - 1 : 0, label, close,
		   (unsigned long long)h->n);
}

static void write_runs(const struct metrics *m, struct buf *out)
{
	metrics_head(out, "husk_runs_total", "counter", "Runs that have ended.");
	for (size_t i = 0; i < m->n_runs; i++)
		buf_printf(out, "husk_runs_total{language=\"%s\",kind=\"%s\",ending=\"%s\"} %llu\n",
			   m->runs[i].language, m->runs[i].kind == RUN_TERMINAL ? "command" : "cell", m->runs[i].ending,
			   (unsigned long long)m->runs[i].n);
	metrics_head(out, "husk_run_seconds", "histogram", "Time from the start of a run to its end.");
	write_histogram(out, "husk_run_seconds", "", &m->run_time);
}

static void write_creates(const struct metrics *m, struct buf *out)
{
	static const char *const labels[] = { [CREATE_WARM] = "how=\"warm\",",
					      [CREATE_COLD] = "how=\"cold\",",
					      [CREATE_PACKAGES] = "how=\"packages\"," };
	metrics_head(out, "husk_create_seconds", "histogram", "Time to create a session.");
	for (size_t i = 0; i < CREATE_HOWS; i++)
		write_histogram(out, "husk_create_seconds", labels[i], &m->create_time[i]);
}

static void write_ends(const struct metrics *m, struct buf *out)
{
	metrics_head(out, "husk_sessions_ended_total", "counter", "Sessions that have ended, by cause.");
	for (size_t i = 0; i < CAUSE_COUNT; i++)
		if (m->ended[i])
			buf_printf(out, "husk_sessions_ended_total{cause=\"%s\"} %llu\n",
				   i ? cause_name((enum cause)i) : "unknown", (unsigned long long)m->ended[i]);
}

static void write_gates(const struct metrics *m, struct buf *out)
{
	metrics_head(out, "husk_gate_connections_total", "counter",
		     "Connections of sessions with a list of hosts, by cause of their failure.");
	for (size_t i = 0; i < CAUSE_COUNT; i++)
		if (m->connections[i] || !i)
			buf_printf(out, "husk_gate_connections_total{cause=\"%s\"} %llu\n", cause_name((enum cause)i),
				   (unsigned long long)m->connections[i]);
	metrics_head(out, "husk_gate_bytes_total", "counter", "Bytes of these connections.");
	buf_printf(out, "husk_gate_bytes_total{of=\"sent\"} %llu\nhusk_gate_bytes_total{of=\"received\"} %llu\n",
		   (unsigned long long)m->sent, (unsigned long long)m->received);
}

void metrics_write(const struct metrics *m, uint64_t store_failures, struct buf *out)
{
	uint64_t engine = m->failed[FAIL_ENGINE] + m->failed[FAIL_IMAGE];
	write_runs(m, out);
	write_creates(m, out);
	write_ends(m, out);
	write_gates(m, out);
	metrics_head(out, "husk_errors_total", "counter", "Failures of the engine and of the store.");
	buf_printf(out, "husk_errors_total{of=\"engine\"} %llu\nhusk_errors_total{of=\"store\"} %llu\n",
		   (unsigned long long)engine, (unsigned long long)store_failures);
	metrics_head(out, "husk_bytes_total", "counter", "Bytes of imported files, exported files and printed text.");
	buf_printf(out,
		   "husk_bytes_total{of=\"imports\"} %llu\nhusk_bytes_total{of=\"exports\"} %llu\n"
		   "husk_bytes_total{of=\"output\"} %llu\n",
		   (unsigned long long)m->imported, (unsigned long long)m->exported, (unsigned long long)m->printed);
}
