// @modelcontextprotocol/sdk 1.x: the client that most programs are built on. It knows only the era with `initialize`.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { main } from "./scenario.mjs";

// The client passes the negotiated version to transports that want it.
class Transport extends StdioClientTransport {
  setProtocolVersion(version) {
    this.version = version;
  }
}

await main({
  Client,
  Transport,
  HttpTransport: StreamableHTTPClientTransport,
  options: {},
  callTool: (client, params, options) => client.callTool(params, undefined, options),
  negotiated: (_, transport) => ({ version: transport.version ?? transport.protocolVersion, era: "legacy" }),
});
