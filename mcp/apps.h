/* MCP Apps, the extension io.modelcontextprotocol/ui (2026-01-26): a client that declares it shows a document of this
 * server beside the answers of a tool. The document shows what a run does while it runs, and its HTML interactively.
 * Answers keep their text and pictures, and other clients notice nothing.
 *
 * The document gets large contents from show_run (tool-show.c), a tool that only the document may call, so that they
 * never reach the model. */
#ifndef HUSK_MCP_APPS_H
#define HUSK_MCP_APPS_H

#include <jansson.h>

#include "manager/manager.h"

struct call;

#define APPS_EXTENSION "io.modelcontextprotocol/ui"
#define APPS_TYPE "text/html;profile=mcp-app"
#define APPS_URI "ui://husk/output"
/* The run in the result of show_run. */
#define APPS_META "dev.husk/run"

/* True if this server has a document (app is not NULL), and the client of the request shows documents. */
bool apps_known(const char *app, const struct call *call);
/* The same for capabilities. */
bool apps_declared(const json_t *capabilities);
/* The part of the capabilities that apps_declared() needs. New reference. */
json_t *apps_capability(void);

/* Makes a tool or a result refer to the document: sets its _meta. app_only: models do not see the tool. */
void apps_refer(json_t *o, bool app_only);
/* True if the document shows more of the run than its text and pictures. */
bool apps_show_more(const struct run_result *run);

/* The entry of the document in resources/list. New reference. */
json_t *apps_describe(void);
/* Answers resources/read for APPS_URI, if apps_known(). */
void apps_read(struct call *call, const char *app);

#endif
