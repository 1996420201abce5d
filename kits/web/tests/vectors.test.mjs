// Every case of Tests/Vectors/kit, decided by the kit as it is installed. TOUCHSTONE_VECTORS names the folder.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import * as kit from "touchstone-kit";
import { decision, expected, groups } from "./decide.mjs";

const folder = process.env.TOUCHSTONE_VECTORS;

test("every group is decided", () => {
  const files = readdirSync(folder).filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -5));
  assert.deepEqual(files.sort(), [...groups].sort());
});

for (const group of groups) {
  const { cases } = JSON.parse(readFileSync(join(folder, `${group}.json`), "utf8"));
  test(group, async (t) => {
    assert.ok(cases.length);
    for (const one of cases) {
      await t.test(one.name, async () => assert.deepEqual(await decision(kit, group, one), expected(one)));
    }
  });
}
