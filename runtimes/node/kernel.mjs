// The persistent Node.js of a session: PID 1 starts this file, husk/ does the work.
import { start } from "./husk/main.mjs";

start();
