/** Installs packages into /opt/husk/deps with npm: run by PID 1 in the container that prepares a set of
 * dependencies. fd 198 holds {"name": "version", …}. With --later it is run in a session, and installs into the current
 * directory. The output is npm's. installed.mjs then lists the installed versions. */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const DEPS = "/opt/husk/deps";

const later = process.argv.includes("--later");
const wanted = JSON.parse(fs.readFileSync("/proc/self/fd/198", "utf8"));
const env = { ...process.env };
if (!later)
  Object.assign(env, {
    NPM_CONFIG_AUDIT: "false",
    NPM_CONFIG_LOGLEVEL: "http",
    NPM_CONFIG_PACKAGE_LOCK: "false",
    NPM_CONFIG_CACHE: "/tmp/npm",
  });
delete env.NODE_PATH;
// Husk adds the login of these registries outside of the container, for their own host alone. So tarballs come from
// there, whatever host their links name. npm 10 would repeat a path in the registry's address in these links.
const registry = (env.NPM_CONFIG_REGISTRY ?? "").replace(/\/$/, "");
if (registry && (env.HUSK_LOGIN_INDEXES ?? "").split(" ").includes(registry))
  env.NPM_CONFIG_REPLACE_REGISTRY_HOST = "always";
delete env.HUSK_LOGIN_INDEXES;
if (!later) {
  process.chdir(DEPS);
  fs.writeFileSync("package.json", '{ "private": true }\n');
}
const packages = Object.entries(wanted).map(([name, version]) => `${name}@${version || "latest"}`);
// npm is next to Node, or elsewhere on the PATH of this image.
const beside = path.join(path.dirname(process.execPath), "npm");
const done = spawnSync(
  fs.existsSync(beside) ? beside : "npm",
  ["install", ...(later ? [] : ["--no-save", "--prefix", DEPS]), "--", ...packages],
  {
    env,
    stdio: ["ignore", "inherit", "inherit"],
  },
);
if (done.status !== 0) process.exit(done.status ?? 1);
if (!later && fs.existsSync("node_modules/.bin")) fs.symlinkSync("node_modules/.bin", "bin");
