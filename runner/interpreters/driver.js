// Runs JavaScript cells in one process that keeps its variables:  driver.js CONTROL_FD
//
// Cells go through V8's own REPL mode, by an inspector session within this process: const, let and
// class last, may be declared again by a later cell, and await works at the top level. The protocol
// is in README.md.
'use strict';

const fs = require('node:fs');
const inspector = require('node:inspector');
const { createRequire } = require('node:module');
const net = require('node:net');
const path = require('node:path');
const { Readable } = require('node:stream');
const { pathToFileURL } = require('node:url');
const vm = require('node:vm');
const { rewriteImports } = require('./_sandglass/imports.js');
const { cut, describe, plain, MOST_OUT } = require('./_sandglass/describe.js');

const MOST_IN = 64 << 20;
const control = Number(process.argv[2]);
process.argv = [process.execPath];

// User code shares the built-in objects and may replace what is in them. What is used often is taken
// now; where the driver fails all the same, it ends, and is not left waiting: see guarded().
const { stringify, parse } = JSON;
const { defineProperty } = Object;
const { allocUnsafe, concat, from } = Buffer;
const { writeSync, readFileSync } = fs;
const schedule = setImmediate;
const { now } = Date;
const listeners = process.listeners.bind(process);
const listen = process.on.bind(process);
const reallyExit = process.reallyExit.bind(process);
const uncurry = (method) => Function.prototype.call.bind(method);
const replace = uncurry(String.prototype.replace);
const slice = uncurry(Uint8Array.prototype.subarray);

function guarded(step) {
  return (...values) => {
    try {
      return step(...values);
    } catch {
      reallyExit(1);
    }
  };
}

// ---------------------------------------------------------------------------------- frames

const pause = new Int32Array(new SharedArrayBuffer(4));

function writeAll(bytes) {
  for (let done = 0; done < bytes.length;) {
    try {
      done += writeSync(control, bytes, done);
    } catch (error) {
      if (error.code !== 'EAGAIN') reallyExit(1); // nobody listens any more
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

function send(frame) {
  const json = replace(
      stringify(frame), /[\u007f-\uffff]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
  const bytes = allocUnsafe(4 + json.length);
  bytes.writeUInt32LE(json.length, 0);
  bytes.latin1Write(json, 4);
  writeAll(bytes);
}

// JSON parsers refuse an escape of half a surrogate pair.
const wellFormed = (text) => replace(
    text, /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    (c) => '\\u' + c.charCodeAt(0).toString(16));

// ---------------------------------------------------------------------------------- ends

class Exit {
  constructor(code) { this.code = code; }
}

let running = null; // the execution under way: {name, exit, begin(), done(outcome)}

process.exit = function exit(code) {
  const status = Number(code ?? process.exitCode ?? 0) & 0xff;
  process.exitCode = undefined;
  if (running) running.exit = new Exit(status);
  throw running ? running.exit : new Exit(status);
};

function later(error) {
  if (error instanceof Exit) {
    if (running) running.done({ thrown: error });
    else process.stderr.write('process.exit() after the end of the execution is ignored\n');
    return;
  }
  process.stderr.write('Uncaught ' + wellFormed(describe(error, running?.name).traceback));
}

function onInterrupt() {
  running?.done({ interrupted: true });
}

// User code may have removed them; without the last one, SIGINT would end the process.
function keepHandlers() {
  for (const [event, handler] of [['uncaughtException', later], ['unhandledRejection', later],
    ['SIGINT', onInterrupt]]) {
    if (listeners(event).indexOf(handler) < 0) listen(event, handler);
  }
}

// ---------------------------------------------------------------------------------- evaluation

const session = new inspector.Session();
session.connect();
const post = session.post.bind(session);
let bridge; // the inspector's handle of `box`, through which real values come out of it
const box = { value: undefined };

function openBridge() {
  const key = '__box' + Math.random();
  globalThis[key] = box;
  post('Runtime.evaluate', { expression: `globalThis[${stringify(key)}]` }, (error, reply) => {
    bridge = reply.result.objectId;
  });
  delete globalThis[key];
}

function valueOf(remote, use) {
  if (remote.objectId === undefined) {
    const special = remote.unserializableValue;
    if (special === undefined) return use(remote.type === 'undefined' ? undefined : remote.value);
    return use(special.endsWith('n') ? BigInt(special.slice(0, -1)) : Number(special));
  }
  post('Runtime.callFunctionOn', {
    objectId: bridge, functionDeclaration: 'function (v) { this.value = v; }',
    arguments: [{ objectId: remote.objectId }],
  }, () => {
    const { value } = box;
    box.value = undefined;
    use(value);
  });
}

// `{a: 1}` is a block to V8 and an object to whoever wrote it, as in the node REPL.
function asExpression(code) {
  if (!/^\s*\{/.test(code) || /;\s*$/.test(code)) return code;
  try {
    new vm.Script('(' + code + '\n)');
    return '(' + code + '\n)';
  } catch {
    return code;
  }
}

function evaluate() {
  const { expression, done } = running;
  // Not before: while vm exchanges the handlers of SIGINT, one that comes ends the process.
  running.begin();
  post('Runtime.evaluate', {
    expression, replMode: true, awaitPromise: true, objectGroup: 'cell', silent: true,
  }, guarded((error, reply) => {
    if (error) return done({ thrown: error });
    const { exceptionDetails: details } = reply;
    const remote = details ? details.exception ?? reply.result : reply.result;
    valueOf(remote, (value) => done(details ? { thrown: value, details } : { value }));
  }));
}

// An interrupt ends also a loop that never yields: what runs before the first await runs in here.
const runStep = new vm.Script('__sandglass_step()', { filename: 'breakable' });

// Returns what it threw, or null.
function runBreakable(step) {
  defineProperty(globalThis, '__sandglass_step', { value: step, configurable: true });
  try {
    runStep.runInThisContext({ breakOnSigint: true });
    return null;
  } catch (error) {
    return { error, interrupted: error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED' };
  } finally {
    delete globalThis.__sandglass_step;
  }
}

function runInterruptible() {
  const end = runBreakable(evaluate);
  if (end) running?.done(end.interrupted ? { interrupted: true } : { thrown: end.error });
}

// A SIGINT that comes in the instant in which node's watch for it ends stays in the semaphore between
// the two threads, and ends what is watched next (node 20). Here that is nothing but a pause.
function takeLateInterrupt() {
  const pause = () => {
    for (const end = now() + 30; now() < end;);
  };
  for (let i = 0; i < 5 && runBreakable(pause)?.interrupted; ++i);
}

function giveInput(text) {
  const input = from(text ?? '');
  let stream = null;
  defineProperty(process, 'stdin', {
    configurable: true, enumerable: true,
    get: () => (stream ??= Readable.from(input.length ? [input] : [], { objectMode: false })),
  });
  fs.readFileSync = function (file, options) {
    if (file !== 0 && file !== '/dev/stdin') return readFileSync.apply(this, arguments);
    const encoding = typeof options === 'string' ? options : options?.encoding;
    return encoding ? input.toString(encoding) : from(input);
  };
}

// ---------------------------------------------------------------------------------- executions

let count = 0;

function finish(id, name, code, outcome, exit) {
  let status = 'ok';
  let exitCode = null;
  if (outcome.interrupted) {
    status = 'interrupted';
    send({ ev: 'error', id, name: 'KeyboardInterrupt', value: '',
      traceback: 'KeyboardInterrupt: the execution was interrupted\n' });
  } else if (exit || outcome.thrown instanceof Exit) {
    status = 'exit';
    exitCode = (exit ?? outcome.thrown).code;
  } else if ('thrown' in outcome) {
    status = 'error';
    const error = describe(outcome.thrown, name, code, outcome.details);
    for (const key of Object.keys(error)) error[key] = wellFormed(error[key]);
    send({ ev: 'error', id, ...error });
  } else if (outcome.value !== undefined) {
    const text = wellFormed(cut(plain(outcome.value), MOST_OUT >> 4));
    send({ ev: 'result', id, main: true, data: { 'text/plain': text }, metadata: {} });
  }
  send({ ev: 'end', id, status, code: exitCode });
}

function execute(request, next) {
  const { id } = request;
  const number = ++count;
  const name = `<cell ${number}>`;
  const code = String(request.code ?? '');
  if (request.interrupted) takeLateInterrupt();
  keepHandlers();
  giveInput(request.stdin);
  const mine = {
    name, exit: null,
    begin() {
      send({ ev: 'begin', id, n: number });
      mine.begin = () => {};
    },
    // A source's name must not contain a blank; describe() puts it back into tracebacks.
    expression: asExpression(rewriteImports(code)) + `\n//# sourceURL=<cell_${number}>`,
    done(outcome) {
      if (running !== mine) return; // a second end, or what an interrupted cell still came to
      running = null;
      mine.begin();
      keepHandlers();
      // Rejections of this cell that nobody handles are reported before its end.
      schedule(guarded(() => {
        finish(id, name, code, outcome, mine.exit);
        post('Runtime.releaseObjectGroup', { objectGroup: 'cell' }, () => {});
        next();
      }));
    },
  };
  running = mine;
  runInterruptible();
}

// ---------------------------------------------------------------------------------- globals

function define(name, get) {
  defineProperty(globalThis, name, {
    configurable: true, get,
    set(value) {
      defineProperty(globalThis, name, { value, writable: true, configurable: true });
    },
  });
}

const requires = new Map();
function requireHere() {
  const here = path.join(process.cwd(), path.sep);
  if (!requires.has(here)) requires.set(here, createRequire(here));
  return requires.get(here);
}

function importHere(name, options) {
  const specifier = String(name);
  if (/^\.{0,2}\//.test(specifier)) {
    return import(pathToFileURL(path.resolve(specifier)).href, options);
  }
  if (!/^[a-z]+:/.test(specifier)) {
    try {
      const found = requireHere().resolve(specifier);
      return import(path.isAbsolute(found) ? pathToFileURL(found).href : found, options);
    } catch { /* let import() say what is wrong */ }
  }
  return import(specifier, options);
}

define('require', requireHere);
define('__dirname', () => process.cwd());
const cellModule = { exports: {} };
define('module', () => cellModule);
define('exports', () => cellModule.exports);
define('$import', () => importHere);

// ---------------------------------------------------------------------------------- the loop

function serve() {
  // Not a blocking read: timers and callbacks of earlier cells go on between executions.
  const socket = new net.Socket({ fd: control, readable: true, writable: false });
  let waiting = Buffer.alloc(0);
  let parts = [];
  let size = 0;
  let busy = false;
  const turn = guarded(() => {
    if (busy || size < 4) return;
    if (waiting.length < 4) join();
    const length = waiting.readUInt32LE(0);
    if (length > MOST_IN) reallyExit(0);
    if (size < 4 + length) return;
    join();
    const frame = slice(waiting, 4, 4 + length);
    waiting = slice(waiting, 4 + length);
    size = waiting.length;
    let request;
    try {
      request = parse(frame.toString());
    } catch { /* as below */ }
    if (request?.op !== 'execute') reallyExit(0);
    busy = true;
    // One turn of the event loop later: it still delivers an interrupt meant for the last cell.
    schedule(() => schedule(guarded(() => execute(request, () => { busy = false; turn(); }))));
  });
  const join = () => {
    if (parts.length) waiting = concat([waiting, ...parts]);
    parts = [];
  };
  socket.on('data', guarded((data) => { parts.push(data); size += data.length; turn(); }));
  socket.on('close', () => reallyExit(0));
  socket.on('error', () => reallyExit(0));
}

openBridge();
keepHandlers();
send({ ev: 'ready', language: 'node', version: process.versions.node, preloaded: [], missing: [] });
serve();
