// What the suites share: the built program, the official clients, and small words for calls.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.MCP_CLIENTS, "x"));
const oldSdk = {
  ...require("@modelcontextprotocol/sdk/client/index.js"),
  ...require("@modelcontextprotocol/sdk/client/stdio.js"),
  ...require("@modelcontextprotocol/sdk/client/streamableHttp.js"),
};
const newSdk = {
  ...require("@modelcontextprotocol/client"),
  ...require("@modelcontextprotocol/client/stdio"),
};

export const program = process.env.SANDGLASS_BIN;
const info = { name: "sandglass-tests", version: "1" };

// The three ways in which the official clients speak.
export const speakers = [
  { name: "sdk, 2025-11-25", sdk: oldSdk, oldApi: true, options: {} },
  { name: "client, 2025-11-25", sdk: newSdk, options: {} },
  { name: "client, 2026-07-28", sdk: newSdk, stateless: true,
    options: { versionNegotiation: { mode: "auto" } } },
];

// A client and its transport, ready to connect. Progress puts the time limit off, as hosts do.
export class Speaker {
  constructor(speaker, transport) {
    this.speaker = speaker;
    this.transport = transport;
    this.client = new speaker.sdk.Client(info, speaker.options);
    this.errors = [];
    this.client.onerror = (error) => this.errors.push(error);
  }

  async connect() {
    await this.client.connect(this.transport);
    // Both clients check results against the output schemas once they have seen the list.
    this.tools = (await this.client.listTools()).tools;
    return this;
  }

  call(name, args, options = {}) {
    const patient = { timeout: 120000, resetTimeoutOnProgress: true, ...options };
    const asked = { name, arguments: args };
    return this.speaker.oldApi
      ? this.client.callTool(asked, undefined, patient)
      : this.client.callTool(asked, patient);
  }

  execute(code, session_id, options) {
    return this.call("execute_code", session_id ? { code, session_id } : { code }, options);
  }

  close() {
    return this.client.close();
  }
}

export function overStdio(speaker, args = []) {
  const transport = new speaker.sdk.StdioClientTransport(
    { command: program, args: ["mcp", ...args], stderr: "ignore" });
  return new Speaker(speaker, transport).connect();
}

export function overHttp(speaker, server) {
  return new Speaker(speaker, new speaker.sdk.StreamableHTTPClientTransport(
    new URL(server.url))).connect();
}

// `sandglass serve` on a free port.
export async function serve(args = []) {
  const child = spawn(program, ["serve", "--listen", "127.0.0.1:0", ...args],
    { stdio: ["ignore", "inherit", "pipe"] });
  let said = "";
  const url = await new Promise((resolve, reject) => {
    child.stderr.on("data", (text) => {
      said += text;
      const found = said.match(/http:\/\/127\.0\.0\.1:\d+/);
      if (found) resolve(found[0] + "/mcp");
    });
    child.on("exit", (code) => reject(new Error(`it does not serve (${code}): ${said}`)));
  });
  const stop = () => new Promise((resolve) => {
    child.removeAllListeners("exit");
    child.on("exit", resolve);
    child.kill("SIGTERM");
  });
  return { url, pid: child.pid, stop };
}

// What a process holds.
export function holds(pid) {
  const kib = readFileSync(`/proc/${pid}/status`, "utf8").match(/VmRSS:\s+(\d+)/)[1];
  return { fds: readdirSync(`/proc/${pid}/fd`).length, rss: Number(kib) * 1024 };
}

export const structured = (result) => result.structuredContent;
export const text = (result) => result.content.find((block) => block.type === "text").text;

// A new session. A machine that is busy may need a while for its first interpreter.
export async function session(speaker) {
  for (let left = 60; ; left--) {
    const result = await speaker.execute("None");
    if (structured(result)) return structured(result).session_id;
    assert.equal(result._meta["sandglass/refusal"].kind, "unavailable", text(result));
    assert.ok(left > 0, text(result));
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
