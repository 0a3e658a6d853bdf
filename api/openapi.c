#include "api/openapi.h"

#include "api/route.h"
#include "api/schemas.h"
#include "base/alloc.h"

static const char *const methods[] = {
	[HTTP_METHOD_GET] = "get", [HTTP_METHOD_HEAD] = "head",	  [HTTP_METHOD_POST] = "post",
	[HTTP_METHOD_PUT] = "put", [HTTP_METHOD_PATCH] = "patch", [HTTP_METHOD_DELETE] = "delete",
};

static json_t *reference(const char *schema)
{
	return json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%s", schema));
}

/* The schemas of the values in the path. */
static json_t *capture_schema(const char *name, size_t n)
{
	if (n == 3 && memcmp(name, "run", n) == 0)
		return json_pack("{s:s, s:i}", "type", "integer", "minimum", 1);
	if (n == 6 && memcmp(name, "output", n) == 0)
		return json_pack("{s:s, s:i}", "type", "integer", "minimum", 0);
	return json_pack("{s:s, s:i}", "type", "string", "minLength", 1);
}

static void add_captures(json_t *parameters, const char *path)
{
	for (const char *p = path; (p = strchr(p, '{'));) {
		size_t n = strcspn(++p, ".}");
		json_array_append_new(parameters, json_pack("{s:s%, s:s, s:b, s:o}", "name", p, n, "in", "path",
							    "required", 1, "schema", capture_schema(p, n)));
	}
}

/* Adds rules that models need not know, but programs that generate requests do. */
static void add_rules(json_t *schema, const struct arg *table)
{
	for (const struct arg *a = table; a->name; a++) {
		json_t *property = json_object_get(json_object_get(schema, "properties"), a->name);
		if (!property)
			continue;
		if (a->type == ARG_SIZE || (a->type == ARG_STRING && a->flags & (ARG_NONEMPTY | ARG_BLANK)))
			json_object_set_new(property, "minLength", json_integer(1));
		if (a->type == ARG_NUMBER)
			json_object_set_new(property, "exclusiveMinimum", json_integer(0));
		if (a->type == ARG_LIST)
			add_rules(json_object_get(property, "items"), a->item);
	}
}

static void add_query(json_t *parameters, const struct route *route)
{
	const char *name;
	json_t *property;
	AUTO(freep) void *defaults = xcalloc(1, MAX(route->query_size, 1));
	if (!route->query)
		return;
	json_auto_t *schema = args_schema(route->query, defaults);
	add_rules(schema, route->query);
	json_object_foreach(json_object_get(schema, "properties"), name, property) {
		json_t *description = json_incref(json_object_get(property, "description"));
		json_object_del(property, "description");
		json_t *parameter = json_pack("{s:s, s:s, s:O}", "name", name, "in", "query", "schema", property);
		if (description)
			json_object_set_new(parameter, "description", description);
		json_array_append_new(parameters, parameter);
	}
}

/* "{path...}" is a notation of ours; OpenAPI has no parameter that contains slashes. */
static char *path_text(const char *path)
{
	char *text = xstrdup(path);
	char *dots = strstr(text, "...}");
	if (dots)
		memmove(dots, dots + 3, strlen(dots + 3) + 1);
	return text;
}

static void add_answer(json_t *responses, const struct route_answer *answer)
{
	AUTO(freep) char *status = xasprintf("%d", answer->status);
	json_t *out = json_object_get(responses, status);
	if (!out) {
		out = json_pack("{s:s}", "description", answer->description);
		json_object_set_new(responses, status, out);
	}
	if (!answer->schema && !answer->type)
		return;
	json_t *content = json_object_get(out, "content");
	if (!content) {
		content = json_object();
		json_object_set_new(out, "content", content);
	}
	json_t *schema = answer->schema ? reference(answer->schema) : json_object();
	json_object_set_new(content, answer->type ? answer->type : "application/json",
			    json_pack("{s:o}", "schema", schema));
}

static json_t *describe(const struct route *route)
{
	static const struct route_answer problem = { 0, "Problem", "application/problem+json", "The request failed." };
	json_t *parameters = json_array(), *responses = json_object();
	json_t *out = json_pack("{s:s, s:[s], s:s, s:o, s:o}", "operationId", route->name, "tags", route->tag,
				"summary", route->summary, "parameters", parameters, "responses", responses);
	if (route->text)
		json_object_set_new(out, "description", json_string(route->text));
	add_captures(parameters, route->path);
	add_query(parameters, route);
	if (route->body) {
		AUTO(freep) void *defaults = xcalloc(1, MAX(route->body_size, 1));
		json_t *schema = args_schema(route->body, defaults);
		add_rules(schema, route->body);
		json_object_set_new(out, "requestBody",
				    json_pack("{s:b, s:{s:{s:o}}}", "required", 1, "content", "application/json",
					      "schema", schema));
	}
	for (const struct route_answer *a = route->answers; a && a->status; a++)
		add_answer(responses, a);
	json_object_set_new(responses, "default",
			    json_pack("{s:s, s:{s:{s:o}}}", "description", problem.description, "content", problem.type,
				      "schema", reference(problem.schema)));
	if (route->flags & ROUTE_OPEN)
		json_object_set_new(out, "security", json_array());
	else if (route->flags & ROUTE_LINK)
		json_object_set_new(out, "security", json_pack("[{s:[]}, {}]", "key"));
	if (route->scope && !(route->flags & ROUTE_OPEN))
		json_object_set_new(out, "x-scope", json_string(scope_name(route->scope)));
	return out;
}

json_t *openapi_describe(void)
{
	json_t *paths = json_object();
	const struct route *route;
	for (size_t i = 0; (route = route_nth(i)); i++) {
		if (route->flags & (ROUTE_HIDDEN | ROUTE_WEBSOCKET))
			continue;
		AUTO(freep) char *path = path_text(route->path);
		json_t *item = json_object_get(paths, path);
		if (!item) {
			item = json_object();
			json_object_set_new(paths, path, item);
		}
		json_object_set_new(item, methods[route->method], describe(route));
	}
	return json_pack("{s:s, s:{s:s, s:s, s:s}, s:[{s:[]}], s:o, s:{s:{s:{s:s, s:s}}, s:o}}", "openapi", "3.1.0",
			 "info", "title", "Husk", "version", HUSK_VERSION, "summary",
			 "Sessions with live interpreters in hardened containers", "security", "key", "paths", paths,
			 "components", "securitySchemes", "key", "type", "http", "scheme", "bearer", "schemas",
			 schemas_all());
}
