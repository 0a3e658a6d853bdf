/** Prepares an image of other people for this runtime: run by husk-fit with the image's own Node. A line that
 * begins with "lacks " names something that the image lacks, one with "no-installer " says why packages cannot be
 * installed into it. */
import fs from "node:fs";
import path from "node:path";

const OLDEST = 22;

if (Number(process.versions.node.split(".")[0]) < OLDEST)
  console.log(`lacks Node.js ${OLDEST} or newer: ${process.execPath} is ${process.versions.node}`);
if (!process.features.inspector) console.log("lacks a Node.js that was built with its inspector");
const folders = [path.dirname(process.execPath), ...(process.env.PATH ?? "").split(":")];
if (!folders.some((folder) => fs.existsSync(path.join(folder, "npm"))))
  console.log(
    "no-installer This image has no npm: dependencies cannot be installed into it. Add npm to the image, or what is needed itself.",
  );
