// @modelcontextprotocol/sdk 1.x: the client that most programs are built on. `initialize` only.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

import { main } from "./scenario.mjs";

// It tells the version that was agreed on to transports that want to know.
class Transport extends StdioClientTransport {
  setProtocolVersion(version) {
    this.version = version;
  }
}

await main({
  Client,
  Transport,
  options: {},
  callTool: (client, params, options) => client.callTool(params, undefined, options),
  negotiated: (_, transport) => ({ version: transport.version, era: "legacy" }),
});
