/* Records of runs and events of journals. They are only written: their readers are other programs. */
#include "base/json.h"
#include "manager/json/codec.h"
#include "manager/json/fields.h"

static const char *const run_kinds[] = { [RUN_CODE] = "cell", [RUN_TERMINAL] = "command" };
static const char *const part_kinds[] = {
	[PART_STDOUT] = "stdout", [PART_STDERR] = "stderr", [PART_DISPLAY] = "display",
	[PART_RESULT] = "result", [PART_ERROR] = "error",   [PART_GAP] = "gap",
};

static const char *kind_of(enum run_kind kind)
{
	return run_kinds[kind == RUN_TERMINAL];
}

static json_t *part_encode(const struct record_part *p)
{
	json_t *out = json_object();
	fields_put_text(out, "kind", part_kinds[p->kind]);
	fields_put_text_n(out, "text", p->text, p->len);
	if (p->bundle)
		json_object_set_new(out, "data", mime_bundle_encode(p->bundle));
	fields_put_text(out, "display_id", p->display_id);
	fields_put_bool(out, "update", p->update);
	fields_put_number(out, "time_ms", p->time_ms);
	fields_put_number(out, "event", p->event);
	return out;
}

/* Answers that models were shown. */
static void add_answers(json_t *out, const struct run_record *r)
{
	if (!r->n_answers)
		return;
	json_t *list = json_array();
	for (size_t i = 0; i < r->n_answers; i++)
		json_array_append_new(list, json_pack("{s:I, s:o}", "time_ms", (json_int_t)r->answers[i].time_ms,
						      "content", json_loads(r->answers[i].content, 0, NULL)));
	json_object_set_new(out, "answers", list);
}

static json_t *prompt_encode(const struct record_prompt *p)
{
	json_t *out = json_object();
	json_object_set_new(out, "at", json_integer((json_int_t)p->at));
	json_object_set_new(out, "text", json_text(p->text));
	json_object_set_new(out, "password", json_boolean(p->password));
	json_object_set_new(out, "answered", json_boolean(p->answered));
	fields_put_number(out, "time_ms", p->time_ms);
	return out;
}

/* All text of one stream. */
static json_t *stream_text(const struct run_record *r, enum part_kind kind)
{
	AUTO(buf_release) struct buf text = { 0 };
	for (size_t i = 0; i < r->n_parts; i++)
		if (r->parts[i].kind == kind)
			buf_add(&text, r->parts[i].text, r->parts[i].len);
	return json_text(buf_str(&text));
}

static void add_parts(json_t *out, const struct run_record *r)
{
	json_t *parts = json_array(), *prompts = json_array();
	json_object_set_new(out, "stdout", stream_text(r, PART_STDOUT));
	json_object_set_new(out, "stderr", stream_text(r, PART_STDERR));
	for (size_t i = 0; i < r->n_parts; i++) {
		json_array_append_new(parts, part_encode(&r->parts[i]));
		if (r->parts[i].kind == PART_RESULT && r->parts[i].bundle)
			json_object_set_new(out, "result", mime_bundle_encode(r->parts[i].bundle));
	}
	for (size_t i = 0; i < r->n_prompts; i++)
		json_array_append_new(prompts, prompt_encode(&r->prompts[i]));
	json_object_set_new(out, "parts", parts);
	json_object_set_new(out, "prompts", prompts);
	if (!r->n_outputs)
		return;
	json_t *outputs = json_array();
	for (size_t i = 0; i < r->n_outputs; i++) {
		json_auto_t *more = json_loads(r->outputs[i], 0, NULL);
		json_array_extend(outputs, more);
	}
	json_object_set_new(out, "notebook_outputs", outputs);
}

json_t *run_record_encode(const struct run_record *r, bool parts)
{
	json_t *out = json_object();
	fields_put_number(out, "run", r->number);
	fields_put_text(out, "kind", kind_of(r->kind));
	fields_put_text(out, "state", record_state_name(r->state));
	fields_put_text_n(out, "text", r->text, r->len);
	fields_put_text(out, "by", r->by);
	fields_put_text(out, "branch", r->branch);
	fields_put_number(out, "queued_ms", r->queued_ms);
	fields_put_number(out, "started_ms", r->started_ms);
	fields_put_number(out, "ended_ms", r->ended_ms);
	fields_put_text(out, "ending", r->ending);
	if (r->cause)
		fields_put_text(out, "cause", cause_name(r->cause));
	fields_put_text(out, "detail", r->detail);
	fields_put_number(out, "dropped_bytes", r->dropped);
	if (parts) {
		add_parts(out, r);
		add_answers(out, r);
		fields_put_number(out, "journal", r->journal);
	}
	if (r->result)
		run_outcome_encode(out, r->result);
	return out;
}

static void add_network(json_t *out, const struct journal_network *n)
{
	fields_put_number(out, "count", n->count);
	fields_put_number(out, "up", n->up);
	fields_put_number(out, "down", n->down);
	fields_put_number(out, "duration_ms", n->duration_ms);
	fields_put_text(out, "secret", *n->secret ? n->secret : NULL);
}

json_t *journal_event_encode(const struct journal_event *e)
{
	json_t *out = json_object();
	fields_put_text(out, "event", journal_kind_name(e->kind));
	fields_put_number(out, "number", e->number);
	fields_put_number(out, "position", e->position);
	fields_put_number(out, "time_ms", e->time_ms);
	fields_put_text(out, "session", e->session_id);
	fields_put_text(out, "conversation", e->conversation ? tenant_inner_id(e->conversation) : NULL);
	if (e->run) {
		fields_put_number(out, "run", e->run);
		fields_put_text(out, "kind", kind_of(e->run_kind));
		fields_put_text(out, "by", e->by);
		fields_put_text(out, "branch", e->branch);
	}
	fields_put_text_n(out, "text", e->text, e->len);
	if (e->kind == JOURNAL_RUN_OUTPUT)
		fields_put_text(out, "stream", e->stream == 2 ? "stderr" : "stdout");
	if (e->display)
		json_object_set_new(out, "display", display_encode(e->display));
	fields_put_bool(out, "password", e->password);
	fields_put_number(out, "bytes", e->bytes);
	fields_put_number(out, "after_run", e->after_run);
	if (e->cause)
		fields_put_text(out, "cause", cause_name(e->cause));
	if (e->network.count)
		add_network(out, &e->network);
	fields_put_text(out, "ending", e->ending);
	fields_put_text(out, "detail", e->detail);
	if (e->result)
		run_outcome_encode(out, e->result);
	if (e->result && e->result->result.n)
		json_object_set_new(out, "result", mime_bundle_encode(&e->result->result));
	return out;
}

json_t *journal_gap_encode(const struct journal_gap *gap)
{
	json_t *sessions = json_array();
	for (size_t i = 0; i < gap->n_sessions; i++) {
		const struct journal_session *s = &gap->sessions[i];
		json_t *one = json_object(), *runs = json_array();
		fields_put_text(one, "session", s->session_id);
		fields_put_text(one, "conversation", s->conversation ? tenant_inner_id(s->conversation) : NULL);
		fields_put_text(one, "status", s->status);
		fields_put_number(one, "number", s->number);
		for (size_t k = 0; k < s->n_runs; k++)
			json_array_append_new(runs, run_record_encode(&s->runs[k], /* parts= */ false));
		json_object_set_new(one, "runs", runs);
		json_array_append_new(sessions, one);
	}
	json_t *out = json_pack("{s:s, s:o}", "event", journal_kind_name(JOURNAL_GAP), "sessions", sessions);
	fields_put_number(out, "number", gap->number);
	fields_put_number(out, "position", gap->position);
	fields_put_number(out, "time_ms", gap->time_ms);
	return out;
}
