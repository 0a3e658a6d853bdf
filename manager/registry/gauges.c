/* The state of a server as Prometheus text: its counters, and what it has now. */
#include "manager/registry/journal.h"
#include "manager/registry/registry.h"

static void write_sessions(const struct registry *r, struct buf *out)
{
	size_t busy = 0, idle = 0, starting = 0, dead = 0, warm = 0, queued, active;
	list_for_each(entry, (struct list *)&r->entries, struct session_entry, node) {
		enum session_state state = session_state(entry->session);
		if (*entry->warm)
			warm++;
		else if (state == SESSION_DEAD || state == SESSION_STOPPING)
			dead++;
		else if (state != SESSION_READY)
			starting++;
		else if (session_is_busy(entry->session))
			busy++;
		else
			idle++;
	}
	metrics_head(out, "husk_sessions", "gauge", "Sessions of this server, by state.");
	buf_printf(out,
		   "husk_sessions{state=\"busy\"} %zu\nhusk_sessions{state=\"idle\"} %zu\n"
		   "husk_sessions{state=\"starting\"} %zu\nhusk_sessions{state=\"ended\"} %zu\n",
		   busy, idle, starting, dead);
	metrics_head(out, "husk_warm_containers", "gauge", "Containers that wait for a session.");
	buf_printf(out, "husk_warm_containers %zu\n", warm);
	journals_count_runs(r->journals, &queued, &active);
	metrics_head(out, "husk_runs", "gauge", "Runs that have not ended, by state.");
	buf_printf(out, "husk_runs{state=\"queued\"} %zu\nhusk_runs{state=\"active\"} %zu\n", queued, active);
	metrics_head(out, "husk_operations", "gauge", "Requests that the manager works on.");
	buf_printf(out, "husk_operations %zu\n", list_length(&r->ops));
}

void manager_metrics(struct manager *m, struct buf *out)
{
	const struct registry *r = &m->registry;
	write_sessions(r, out);
	metrics_write(&r->metrics, store_failures(r->store), out);
}
