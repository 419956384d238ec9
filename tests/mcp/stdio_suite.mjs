// The official clients over a pipe.  SANDGLASS_MCP_CALLS: how many calls must leave no trace in memory.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { cases, doesNotGrow, expires, shortLived, tellsProgress } from "./cases.mjs";
import { overStdio, program, speakers } from "./harness.mjs";

// 30 seconds of code by each of them at once, beside the other tests.
// A word of progress and the answer may come in one piece: the clients then take the answer first.
const tooLate = "Received a progress notification for an unknown token";
const long = Promise.all(speakers.map(async (speaker) => {
  const talk = await overStdio(speaker);
  await tellsProgress(talk, 30);
  await talk.close();
  assert.deepEqual(talk.errors.map(String).filter((text) => !text.includes(tooLate)), []);
}));
long.catch(() => {});  // it is told where it is waited for

for (const speaker of speakers) {
  test(speaker.name, async (t) => {
    const talk = await overStdio(speaker);
    for (const [name, run] of Object.entries(cases)) await t.test(name, () => run(talk));
    await t.test("doesNotGrow", () =>
      doesNotGrow(talk, talk.transport.pid, Number(process.env.SANDGLASS_MCP_CALLS ?? 1000)));
    await talk.close();
    assert.deepEqual(talk.errors.map(String), []);
  });
}

test("a session that has expired", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandglass-mcp-"));
  writeFileSync(join(folder, "brief.toml"), shortLived);
  try {
    await Promise.all(speakers.map(async (speaker) => {
      const talk = await overStdio(speaker, ["--policy", join(folder, "brief.toml")]);
      await expires(talk);
      await talk.close();
    }));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("broken messages, and the end of the input", async () => {
  const child = spawn(program, ["mcp"], { stdio: ["pipe", "pipe", "ignore"] });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  let out = "";
  child.stdout.on("data", (bytes) => { out += bytes; });
  const begin = { jsonrpc: "2.0", id: 1, method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: {} } };
  const hang = { jsonrpc: "2.0", id: 2, method: "tools/call",
    params: { name: "execute_code", arguments: { code: "while True: pass" } } };
  child.stdin.write("{oops\n" + `[${JSON.stringify(begin)}]\n` + JSON.stringify(begin) + "\n" +
    JSON.stringify(hang) + "\n");
  while (out.split("\n").length < 4) await new Promise((resolve) => setTimeout(resolve, 20));
  child.stdin.end();
  assert.equal(await ended, 0);
  const lines = out.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map((line) => line.error?.code ?? line.result.protocolVersion),
    [-32700, -32600, "2025-11-25"]);
});

test("30 seconds of code, with progress", () => long);
