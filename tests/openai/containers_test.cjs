// The official OpenAI client, with nothing changed but its base URL, against the built server:
// containers and their files, and the errors that it makes of ours.
'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { OpenAI, toFile, APIError, NotFoundError, BadRequestError } = require('openai');

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function serve(...options) {
  const server = spawn(process.env.SANDGLASS_BIN, ['serve', '--listen', '127.0.0.1:0', ...options],
      { stdio: ['ignore', 'inherit', 'pipe'] });
  process.on('exit', () => server.kill('SIGKILL'));
  const gone = new Promise((done) => server.on('exit', (code, signal) => done({ code, signal })));
  let log = '';
  const port = await new Promise((found, failed) => {
    server.stderr.on('data', (data) => {
      log += data;
      const match = /serving http:\/\/127\.0\.0\.1:(\d+)/.exec(log);
      if (match) found(Number(match[1]));
    });
    gone.then((how) => failed(new Error('the server ended: ' + JSON.stringify(how) + log)));
  });
  const baseURL = `http://127.0.0.1:${port}/v1`;
  return {
    client: new OpenAI({ baseURL, apiKey: 'none', maxRetries: 8 }),
    async execute(id, code) {
      const reply = await fetch(`${baseURL}/containers/${id}/execute`, {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code }),
      });
      return reply.json();
    },
    async stop() {
      server.kill('SIGTERM');
      assert.deepEqual(await gone, { code: 0, signal: null });
    },
  };
}

const all = async (list) => {
  const items = [];
  for await (const item of list) items.push(item);
  return items;
};

const text = async (response) => Buffer.from(await response.arrayBuffer());

async function containers({ client }) {
  const made = await client.containers.create({
    name: 'one', expires_after: { anchor: 'last_active_at', minutes: 7 },
  });
  assert.match(made.id, /^cntr_[0-9a-f]{32}$/);
  assert.equal(made.object, 'container');
  assert.equal(made.name, 'one');
  assert.equal(made.status, 'running');
  assert.deepEqual(made.expires_after, { anchor: 'last_active_at', minutes: 7 });
  assert.ok(Math.abs(made.created_at - Date.now() / 1000) < 100);
  assert.equal((await client.containers.retrieve(made.id)).name, 'one');
  const ids = [made.id];
  for (const name of ['two', 'three']) ids.push((await client.containers.create({ name })).id);
  // One a page: the client follows `has_more` and `after` by itself.
  const listed = await all(client.containers.list({ limit: 1, order: 'asc' }));
  assert.deepEqual(listed.map((one) => one.id), ids);
  assert.deepEqual((await all(client.containers.list())).map((one) => one.name), ['three', 'two', 'one']);
  await client.containers.delete(ids[1]);
  await assert.rejects(client.containers.retrieve(ids[1]), (error) => {
    assert.ok(error instanceof NotFoundError, String(error));
    assert.equal(error.status, 404);
    return true;
  });
  await client.containers.delete(ids[2]);
  assert.deepEqual((await all(client.containers.list())).map((one) => one.id), [made.id]);
  return made.id;
}

async function files({ client, execute }, id) {
  const bytes = Buffer.from(Array.from({ length: 70000 }, (_, i) => i * i % 256));
  const up = await client.containers.files.create(id, { file: await toFile(bytes, 'räw "1".bin') });
  assert.match(up.id, /^cfile_[0-9a-f]{32}$/);
  assert.equal(up.object, 'container.file');
  assert.equal(up.container_id, id);
  assert.equal(up.path, '/mnt/data/räw "1".bin');
  assert.equal(up.bytes, 70000);
  assert.equal(up.source, 'user');
  const download = await client.containers.files.content.retrieve(up.id, { container_id: id });
  assert.ok((await text(download)).equals(bytes));
  const done = await execute(id, 'data = open(\'räw "1".bin\', "rb").read()\nopen("sum.csv", "w").write("sum\\n%d\\n" % sum(data));');
  assert.equal(done.outcome, 'ok');
  const listed = await all(client.containers.files.list(id, { order: 'asc', limit: 1 }));
  assert.deepEqual(listed.map((one) => [one.path, one.source]),
      [['/mnt/data/räw "1".bin', 'user'], ['/mnt/data/sum.csv', 'assistant']]);
  const sum = listed[1];
  assert.deepEqual(await client.containers.files.retrieve(sum.id, { container_id: id }), sum);
  const content = await client.containers.files.content.retrieve(sum.id, { container_id: id });
  assert.equal(String(await text(content)), `sum\n${bytes.reduce((a, b) => a + b)}\n`);
  assert.equal(content.headers.get('content-type'), 'text/csv');
  const copy = await client.containers.create({ name: 'copy', file_ids: [sum.id] });
  assert.equal((await all(client.containers.files.list(copy.id)))[0].path, '/mnt/data/sum.csv');
  const again = await client.containers.files.create(copy.id, { file_id: up.id });
  assert.equal(again.bytes, 70000);
  await client.containers.delete(copy.id);
  await client.containers.files.delete(sum.id, { container_id: id });
  await assert.rejects(client.containers.files.retrieve(sum.id, { container_id: id }), NotFoundError);
  await assert.rejects(client.containers.files.content.retrieve(sum.id, { container_id: id }), NotFoundError);
  const large = await toFile(Buffer.alloc(31 << 20), 'large.bin');
  await assert.rejects(client.containers.files.create(id, { file: large }), (error) => {
    assert.ok(error instanceof APIError, String(error));
    assert.equal(error.status, 413);
    assert.match(error.message, /30M/);
    return true;
  });
}

async function expired({ client }) {
  const { id } = await client.containers.create({ name: 'short' });
  const file = await client.containers.files.create(id, { file: await toFile(Buffer.from('x'), 'x') });
  for (let turn = 0; (await client.containers.retrieve(id)).status !== 'expired'; ++turn) {
    assert.ok(turn < 600, 'it does not expire');
    await pause(100);
  }
  for (const call of [
    () => client.containers.files.list(id),
    () => client.containers.files.retrieve(file.id, { container_id: id }),
    async () => client.containers.files.create(id, { file: await toFile(Buffer.from('y'), 'y') }),
  ]) {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof BadRequestError, String(error));
      assert.equal(error.status, 400);
      assert.match(error.message, /Container is expired\./);
      return true;
    });
  }
  assert.equal((await all(client.containers.list()))[0].status, 'expired');
  await client.containers.delete(id);
}

async function main() {
  const server = await serve();
  const id = await containers(server);
  await files(server, id);
  await server.stop();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'sandglass-openai-'));
  try {
    const policy = path.join(folder, 'short.toml');
    fs.writeFileSync(policy, 'name = "short"\nextends = "standard"\nwhy = "a test"\n[session]\nidle = "2s"\nlifetime = "3s"\n');
    const short = await serve('--policy', policy);
    await expired(short);
    await short.stop();
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

main().then(() => console.log('ok'), (error) => {
  console.error(error);
  process.exit(1);
});
