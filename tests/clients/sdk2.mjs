// @modelcontextprotocol/client 2.x in the mode that the second argument names: legacy (its default), auto or a revision to insist on.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { main } from "./scenario.mjs";

const mode = process.argv[3];
const negotiation = { legacy: undefined, auto: { mode: "auto" } };

await main({
  Client,
  Transport: StdioClientTransport,
  HttpTransport: StreamableHTTPClientTransport,
  options: { versionNegotiation: mode in negotiation ? negotiation[mode] : { mode: { pin: mode } } },
  callTool: (client, params, options) => client.callTool(params, options),
  negotiated: (client) => ({ version: client.getNegotiatedProtocolVersion(), era: client.getProtocolEra() }),
});
