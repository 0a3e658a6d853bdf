/** Prepares an image that was not built by Husk for this runtime. husk-fit runs this file with the image's own Node. An
 * output line that begins with "lacks " names something that the image lacks. A line that begins with "no-installer "
 * says why packages cannot be installed into the image. */
import fs from "node:fs";
import path from "node:path";

const OLDEST = 22;

if (Number(process.versions.node.split(".")[0]) < OLDEST)
  console.log(`lacks Node.js ${OLDEST} or newer: ${process.execPath} is ${process.versions.node}`);
if (!process.features.inspector) console.log("lacks a Node.js that was built with its inspector");
const folders = [path.dirname(process.execPath), ...(process.env.PATH ?? "").split(":")];
if (!folders.some((folder) => fs.existsSync(path.join(folder, "npm"))))
  console.log(
    "no-installer This image has no npm: dependencies cannot be installed into it. Add npm to the image, or the packages themselves.",
  );
