// Values and exceptions as text of bounded length.
'use strict';

const path = require('node:path');
const util = require('node:util');

const { inspect } = util;
const includes = Function.prototype.call.bind(String.prototype.includes);
const MOST_OUT = 16 << 20;
const MOST_TRACEBACK = 16 << 10;
const MOST_VALUE = 8 << 10;

function cut(text, most) {
  if (text.length <= most) return text;
  return text.slice(0, most) +
      `\n... [the text is ${text.length} characters long; the first ${most} are shown]`;
}

// How a cell is called: by whom is no matter of the user's.
const DRIVER = path.join(__dirname, '..', 'driver.js') + ':';
const CALLERS = /^\s+at .*(node:inspector|breakable:1:1|sigintHandlersWrap|node:vm:|node:internal\/vm)/;
const isOurs = (line) => CALLERS.test(line) || (line.includes(DRIVER) && /^\s+at /.test(line));

function plain(value) {
  try {
    const text = inspect(value);
    if (!includes(text, '\n    at ') && !includes(text, '<cell_')) return text;
    return text.split('\n').filter((line) => !isOurs(line)).join('\n')
        .replace(/(\(|at )<cell_(\d+)>(?=:\d)/g, '$1<cell $2>');
  } catch (error) {
    return `<${typeof value}: inspecting it threw ${safely(() => String(error))}>`;
  }
}

function safely(make) {
  try {
    return make();
  } catch {
    return '<no text: making it threw>';
  }
}

// The user's frames: all that stands below the first of ours is how the cell was called.
function cleanStack(stack) {
  const lines = stack.split('\n');
  const end = lines.findIndex(isOurs);
  return (end < 0 ? lines : lines.slice(0, end)).join('\n').replace(/<cell_(\d+)>/g, '<cell $1>');
}

function pointAt(name, code, details) {
  const line = code.split(/\r\n|[\n\r\u2028\u2029]/)[details.lineNumber];
  if (line === undefined) return `${name}:${details.lineNumber + 1}\n`;
  const shown = line.length <= 500;
  const text = shown ? `${line}\n${' '.repeat(details.columnNumber)}^\n` : '';
  return `${name}:${details.lineNumber + 1}\n${text}`;
}

const STATIC_EXPORT = '; what a cell declares is there for the next ones: leave `export` out';
const STATIC_IMPORT =
    '; in a cell write  const { name } = require("module")  or  const module = await import("module")';

function describe(error, name, code, details) {
  if (!util.types.isNativeError(error)) {
    const text = cut(plain(error), MOST_VALUE);
    const kind = safely(() => String(error?.constructor?.name ?? typeof error));
    return { name: cut(kind, 200), value: text, traceback: `Thrown: ${text}\n` };
  }
  const kind = safely(() => String(error.name));
  let value = safely(() => String(error.message));
  let stack = safely(() => cleanStack(String(error.stack ?? `${kind}: ${value}`)));
  if (kind === 'SyntaxError' && details && !stack.includes('\n    at ')) {
    if (/import statement|import call|import declaration/i.test(value)) {
      value += STATIC_IMPORT;
      stack += STATIC_IMPORT;
    }
    if (value === "Unexpected token 'export'") {
      value += STATIC_EXPORT;
      stack += STATIC_EXPORT;
    }
    stack = pointAt(name, code, details) + stack;
  }
  const { cause } = error;
  if (cause !== undefined) stack += '\n[cause]: ' + safely(() => cleanStack(inspect(cause)));
  if (Array.isArray(error.errors)) {
    stack += '\n[errors]: ' + safely(() => cleanStack(inspect(error.errors)));
  }
  return {
    name: cut(kind, 200), value: cut(value, MOST_VALUE), traceback: cut(stack, MOST_TRACEBACK) + '\n',
  };
}

module.exports = { cut, describe, plain, MOST_OUT };
