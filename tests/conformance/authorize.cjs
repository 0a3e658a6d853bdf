// Adds a key to every request of the conformance suite, which cannot send one: node --require authorize.cjs …
// The suite sends requests with fetch, with undici and with node:http. The first two share a dispatcher.

const { createRequire } = require("node:module");
const http = require("node:http");

const undici = createRequire(process.argv[1])("undici");
const authorization = `Bearer ${process.env.HUSK_KEY}`;

function authorized(headers) {
  if (Array.isArray(headers)) return [...headers, "authorization", authorization];
  return { ...(headers?.entries ? Object.fromEntries(headers.entries()) : headers), authorization };
}

undici.setGlobalDispatcher(
  new undici.Agent().compose(
    (dispatch) => (options, handler) => dispatch({ ...options, headers: authorized(options.headers) }, handler),
  ),
);

const { request } = http;
http.request = (...args) => {
  const sent = request(...args);
  sent.setHeader("authorization", authorization);
  return sent;
};
