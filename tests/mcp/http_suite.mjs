// The official clients over HTTP, all of them against one server.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { cases, doesNotGrow, expires, shortLived, tellsProgress } from "./cases.mjs";
import { overHttp, serve, session, speakers, structured } from "./harness.mjs";

const server = await serve();
test.after(() => server.stop());

// 30 seconds of code by each of them at once, beside the other tests, on a server of its own.
const patient = await serve();
test.after(() => patient.stop());
// A word of progress and the answer may come in one piece: the clients then take the answer first.
const tooLate = "Received a progress notification for an unknown token";
const long = Promise.all(speakers.map(async (speaker) => {
  const talk = await overHttp(speaker, patient);
  await tellsProgress(talk, 30);
  await talk.close();
  assert.deepEqual(talk.errors.map(String).filter((text) => !text.includes(tooLate)), []);
}));
long.catch(() => {});  // it is told where it is waited for

for (const speaker of speakers) {
  test(speaker.name, async (t) => {
    const talk = await overHttp(speaker, server);
    for (const [name, run] of Object.entries(cases)) await t.test(name, () => run(talk));
    await t.test("doesNotGrow", () =>
      doesNotGrow(talk, server.pid, Number(process.env.SANDGLASS_MCP_CALLS ?? 1000)));
    if (!speaker.stateless) await talk.transport.terminateSession();
    await talk.close();
    assert.deepEqual(talk.errors.map(String), []);
  });
}

test("all clients at once, and one's session lives on without it", async () => {
  const talks = await Promise.all(speakers.map((speaker) => overHttp(speaker, server)));
  const id = await session(talks[0]);
  await talks[0].execute("x = 7", id);
  await talks[0].close();
  const seen = await Promise.all(talks.slice(1).map((talk) => talk.execute("x", id)));
  assert.deepEqual(seen.map((result) => structured(result).results[0].text), ["7", "7"]);
  await talks[1].call("close_session", { session_id: id });
  for (const talk of talks.slice(1)) await talk.close();
});

test("a session that has expired", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandglass-mcp-"));
  writeFileSync(join(folder, "brief.toml"), shortLived);
  const brief = await serve(["--policy", join(folder, "brief.toml")]);
  try {
    await Promise.all(speakers.map(async (speaker) => {
      const talk = await overHttp(speaker, brief);
      await expires(talk);
      await talk.close();
    }));
  } finally {
    await brief.stop();
    rmSync(folder, { recursive: true });
  }
});

test("broken messages and batches", async () => {
  const post = async (body) => {
    const response = await fetch(server.url, { method: "POST", body, headers: {
      "Content-Type": "application/json", Accept: "application/json, text/event-stream" } });
    return [response.status, (await response.json()).error.code];
  };
  assert.deepEqual(await post("{oops"), [400, -32700]);
  assert.deepEqual(await post('[{"jsonrpc":"2.0","id":1,"method":"ping"}]'), [400, -32600]);
  assert.deepEqual(await post('{"jsonrpc":"1.0","id":1,"method":"ping"}'), [400, -32600]);
  assert.deepEqual(await post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'), [400, -32600]);
});

test("30 seconds of code, with progress", () => long);
