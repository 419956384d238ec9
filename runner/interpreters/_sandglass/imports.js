// Turns `import(` into a call of `$import(`: V8's REPL mode has no loader behind import(), so the
// driver brings its own. Strings, comments, templates and regular expressions are left alone.
'use strict';

const BEFORE_REGEXP = new Set([
  'return', 'typeof', 'case', 'in', 'of', 'do', 'else', 'void', 'delete', 'throw', 'new', 'await',
  'yield', 'instanceof',
]);
const TOKEN = new RegExp([
  String.raw`(?<blank>\s+|//[^\n\r\u2028\u2029]*|/\*[^]*?\*/)`,
  String.raw`(?<string>"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*')`,
  String.raw`(?<word>[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*)`,
  String.raw`(?<number>\d[\w.]*)`,
  '(?<other>[^])',
].join('|'), 'uy');
const REGEXP = /\/(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/uy;
const TEMPLATE = /(?:[^\\`$]|\\[^]|\$(?!\{))*(?:`|\$\{|$)/uy;

function rewriteImports(source) {
  if (!/\bimport\s*\(/.test(source)) return source;
  const out = [];
  const braces = []; // for each open brace: whether it is a template's
  let last = ''; // the last token that is no blank
  let at = 0;
  const take = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found) {
      at = pattern.lastIndex;
      out.push(found[0]);
    }
    return found;
  };
  const template = () => {
    if (take(TEMPLATE)?.[0].endsWith('${')) {
      braces.push(true);
      last = '{';
    } else {
      last = '`';
    }
  };
  while (at < source.length) {
    const operand = /^[\p{ID_Start}$_\d"'`)\]}]/u.test(last) && !BEFORE_REGEXP.has(last);
    if (source[at] === '/' && !operand && !/[/*]/.test(source[at + 1] ?? '') && take(REGEXP)) {
      last = ')'; // an operand
      continue;
    }
    const { groups, 0: text } = take(TOKEN);
    if (groups.blank !== undefined) continue;
    if (text === 'import' && last !== '.' && /^\s*\(/.test(source.slice(at, at + 100))) {
      out[out.length - 1] = '$import';
    }
    last = text;
    if (text === '{') braces.push(false);
    if (text === '`') template();
    if (text === '}' && braces.pop()) template();
  }
  return out.join('');
}

module.exports = { rewriteImports };
