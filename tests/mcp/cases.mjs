// What every client must get, over every transport. Each takes a connected Speaker.
import assert from "node:assert/strict";

import { holds, session, structured, text } from "./harness.mjs";

async function describesItself(speaker) {
  assert.deepEqual(speaker.tools.map((tool) => tool.name).sort(),
    ["close_session", "evaluate_expression", "execute_code", "list_files", "read_file",
      "write_file"]);
  assert.ok(speaker.client.getServerCapabilities().tools);
  assert.match(speaker.client.getInstructions(), /session_id/);
  const { resourceTemplates } = await speaker.client.listResourceTemplates();
  assert.equal(resourceTemplates[0].uriTemplate, "sandglass://{session_id}/mnt/data/{+path}");
}

async function keepsState(speaker) {
  const first = await speaker.execute("x = 20");
  const id = structured(first).session_id;
  assert.equal(structured(first).session_is_new, true);
  const second = await speaker.execute("print('hi')\nx + 1.5", id);
  assert.equal(structured(second).stdout, "hi\n");
  assert.equal(structured(second).results[0].text, "21.5");
  assert.equal(structured(second).session_is_new, false);
  assert.equal(second.isError, false);
  const closed = await speaker.call("close_session", { session_id: id });
  assert.equal(structured(closed).closed, true);
}

async function answersEachCall(speaker) {
  const one = await session(speaker);
  const two = await session(speaker);
  const results = await Promise.all([...Array(12).keys()].map((i) =>
    speaker.execute(`print(${i})`, i % 2 ? one : two)));
  assert.deepEqual(results.map((result) => structured(result).stdout),
    [...Array(12).keys()].map((i) => `${i}\n`));
  await speaker.call("close_session", { session_id: one });
  await speaker.call("close_session", { session_id: two });
}

async function cancelsInALoop(speaker) {
  const id = await session(speaker);
  const stop = new AbortController();
  const running = speaker.execute("n = 0\nprint('counting', flush=True)\nwhile True:\n    n += 1",
    id, { signal: stop.signal, onprogress: ({ message }) => {
      if (message.includes("counting")) stop.abort("enough");
    } });
  await assert.rejects(running);
  const after = await speaker.execute("print(n > 1000)", id);
  assert.equal(structured(after).stdout, "True\n");
  assert.match(structured(after).notes[0], /cancelled by the client: .* interrupted, variables are kept/);
  await speaker.call("close_session", { session_id: id });
}

// `seconds` of code, with a word to its client each second.
async function tellsProgress(speaker, seconds = 3) {
  const heard = [];
  const result = await speaker.execute(
    `import time\nfor i in range(${seconds * 2}):\n    print("step", i, flush=True)\n    time.sleep(0.5)`,
    undefined, { onprogress: (progress) => heard.push(progress) });
  assert.equal(structured(result).outcome, "ok", text(result));
  assert.ok(structured(result).usage.wall_ms >= seconds * 1000);
  assert.ok(heard.length >= seconds * 0.7 - 0.1, `${heard.length} words of progress`);
  for (let i = 1; i < heard.length; i++) assert.ok(heard[i].progress > heard[i - 1].progress);
  assert.match(heard.at(-1).message, /running, .*; step \d/);
  await speaker.call("close_session", { session_id: structured(result).session_id });
}

async function showsAFigure(speaker) {
  const result = await speaker.execute(
    "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.savefig('p.png')\nplt.show()");
  assert.equal(structured(result).outcome, "ok", text(result));
  const image = result.content.find((block) => block.type === "image");
  assert.equal(image.mimeType, "image/png");
  const bytes = Buffer.from(image.data, "base64");
  assert.equal(bytes.subarray(1, 4).toString(), "PNG");
  assert.ok(bytes.length > 1000);
  const link = result.content.find((block) => block.type === "resource_link");
  assert.equal(link.name, "p.png");
  const { contents } = await speaker.client.readResource({ uri: link.uri });
  assert.equal(Buffer.from(contents[0].blob, "base64").length, link.size);
  const id = structured(result).session_id;
  const read = await speaker.call("read_file", { session_id: id, path: "p.png" });
  assert.equal(read.content.find((block) => block.type === "image").data, contents[0].blob);
  await speaker.call("close_session", { session_id: id });
}

async function cutsOutput(speaker) {
  const result = await speaker.execute("print('x' * 5_000_000)");
  assert.equal(structured(result).stdout.length, 65536);
  assert.equal(structured(result).truncated.stdout, true);
  assert.ok(structured(result).produced.stdout >= 5_000_000);
  assert.match(text(result), /stdout is cut: the first 64K of /);
  await speaker.call("close_session", { session_id: structured(result).session_id });
}

async function handlesFiles(speaker) {
  const wrote = await speaker.call("write_file", { path: "in.csv", content: "wh\n500\n750\n" });
  const id = structured(wrote).session_id;
  const made = await speaker.execute(
    "import csv\nt = sum(int(r['wh']) for r in csv.DictReader(open('in.csv')))\n" +
    "open('out.txt', 'w').write(str(t))\nprint(t)", id);
  assert.equal(structured(made).stdout, "1250\n");
  assert.deepEqual(structured(made).files.map((file) => file.path), ["/mnt/data/out.txt"]);
  const listed = await speaker.call("list_files", { session_id: id });
  assert.deepEqual(structured(listed).files.map((file) => [file.path, file.source]),
    [["/mnt/data/in.csv", "user"], ["/mnt/data/out.txt", "code"]]);
  const read = await speaker.call("read_file", { session_id: id, path: "/mnt/data/out.txt" });
  assert.equal(structured(read).content, "1250");
  await speaker.call("close_session", { session_id: id });
}

async function tellsFailures(speaker) {
  const raised = await speaker.execute("1/0");
  assert.equal(raised.isError, true);
  assert.equal(structured(raised).outcome, "raised");
  assert.equal(structured(raised).error.name, "ZeroDivisionError");
  const id = structured(raised).session_id;
  const denied = await speaker.execute("import socket; socket.socket()", id);
  assert.equal(structured(denied).denied[0]?.syscall, "socket", text(denied));
  assert.match(text(denied), /denied socket\(AF_INET.*allowed by \[syscalls\] allow/);
  const late = await speaker.call("execute_code",
    { code: "y = 1\nwhile True: pass", session_id: id, timeout_s: 0.5 });
  assert.equal(structured(late).outcome, "timed_out");
  assert.equal(structured(late).state_preserved, true);
  const kept = await speaker.execute("y", id);
  assert.equal(structured(kept).results[0].text, "1");
  await speaker.call("close_session", { session_id: id });

  const unknown = await speaker.execute("1", "cntr_none");
  assert.equal(unknown.isError, true);
  assert.match(text(unknown), /There is no session 'cntr_none'.*without session_id/);
  await assert.rejects(speaker.call("no_such_tool", {}), (error) => error.code === -32602);
  const sum = await speaker.call("evaluate_expression", { expression: "38.50 + 41.00" });
  assert.equal(structured(sum).value, "79.5");
}

// What it holds once its pool is full again: when that has not changed for three seconds.
async function holdsInPeace(pid) {
  let last = holds(pid);
  for (let still = 0; still < 30;) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const now = holds(pid);
    still = now.fds === last.fds ? still + 1 : 0;
    last = now;
  }
  return last;
}

// `calls` in a row on one session: the server holds what it held before.
export async function doesNotGrow(speaker, pid, calls) {
  const id = await session(speaker);
  for (let i = 0; i < 50; i++) await speaker.execute("1", id);
  const before = await holdsInPeace(pid);
  for (let i = 0; i < calls; i++) {
    assert.equal(structured(await speaker.execute(`${i}`, id)).results[0].text, `${i}`);
  }
  const after = holds(pid);
  await speaker.call("close_session", { session_id: id });
  const told = `${calls} calls: ${JSON.stringify(before)} became ${JSON.stringify(after)}`;
  console.log(`# ${told}`);
  assert.ok(after.fds <= before.fds + 4, told);
  // AddressSanitizer keeps what was freed.
  if (!process.env.SANDGLASS_SANITIZED) assert.ok(after.rss <= before.rss + (4 << 20), told);
}

export const cases = { describesItself, keepsState, answersEachCall, cancelsInALoop,
  tellsProgress, showsAFigure, cutsOutput, handlesFiles, tellsFailures };
export { tellsProgress };

// A policy whose sessions live for a moment; `folder` is where its file may lie.
export const shortLived = `name = "brief"
extends = "standard"
why = "a test's sessions end by themselves"
[session]
idle = "2s"
lifetime = "2s"
`;

export async function expires(speaker) {
  const id = await session(speaker);
  const end = Date.now() + 30000;
  for (;;) {
    const result = await speaker.execute("1", id);
    if (!structured(result)) {
      assert.equal(result._meta["sandglass/refusal"].kind, "expired", text(result));
      assert.match(text(result), /has expired.*variables and files are gone/);
      return;
    }
    assert.ok(Date.now() < end, "it does not expire");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
