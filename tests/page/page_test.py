"""The page of `sandglass compare --html`: sound HTML that needs nothing from elsewhere, and readable
in headless Chromium: light and dark, wide and at 360 pixels, without an error on the console.

usage: page_test.py PROGRAM [COMPARE OPTIONS]     exit 77: no Chromium here
"""

import html.parser
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

VOID = {"meta", "link", "br", "hr", "img", "input", "rect", "circle", "path"}
SUBJECTS = ("tight", "loose")

# Runs beside the page, which is in a frame: measures it as a reader would see it.
MEASURE = r"""
const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m };
const over = (top, under) => top.slice(0, 3).map((v, i) => v * top[3] + under[i] * (1 - top[3]));
const light = c => { const [r, g, b] = c.map(v => { v /= 255;
  return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4 });
  return .2126 * r + .7152 * g + .0722 * b };
const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + .05) / (y + .05) };
addEventListener('load', () => {
  const frame = document.querySelector('iframe'), doc = frame.contentDocument;
  const style = e => frame.contentWindow.getComputedStyle(e);
  const ground = e => { const layers = [];
    for (; e; e = e.parentElement) layers.unshift(parse(style(e).backgroundColor));
    return layers.reduce((under, top) => over(top, under), [255, 255, 255]) };
  let text = [99, ''], shape = [99, ''], texts = 0;
  for (const e of doc.body.querySelectorAll('*')) {
    if (e.matches('rect, circle')) {
      const c = contrast(over(parse(style(e).fill), [0, 0, 0]), ground(e.closest('figure, li')));
      if (c < shape[0]) shape = [c, e.outerHTML];
      continue;
    }
    if (![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()) || e.matches('title')) continue;
    texts++;
    const under = ground(e), c = contrast(over(parse(style(e).color), under), under);
    if (c < text[0] && !e.matches('.zero')) text = [c, e.outerHTML.slice(0, 120)];
  }
  const wide = [...doc.querySelectorAll('body *')].filter(e => !e.closest('.frame') &&
    e.getBoundingClientRect().right > doc.documentElement.clientWidth + 1);
  document.querySelector('pre').textContent = 'MEASURED' + JSON.stringify({
    paper: parse(style(doc.body).backgroundColor), text, shape, texts,
    scroll: doc.documentElement.scrollWidth, width: doc.documentElement.clientWidth,
    wide: wide.slice(0, 3).map(e => e.outerHTML.slice(0, 100)),
    cells: doc.querySelectorAll('svg.map > g').length }) + 'END';
});
"""


class Sound(html.parser.HTMLParser):
    """Every element is closed where it must be; notes what the page asks of the world."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.outside, self.ids = [], [], [], []
        self.headers = self.captions = self.images = 0

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.captions += tag == "caption"
        self.headers += tag == "th" and "scope" in attrs
        if tag == "th" and "scope" not in attrs:
            self.wrong.append("a header without a scope")
        if tag == "svg" and attrs.get("aria-hidden") != "true":
            self.images += 1
            if attrs.get("role") != "img" or not attrs.get("aria-label"):
                self.wrong.append("a picture without words")
        for name, value in attrs.items():
            if name in ("src", "href", "data", "poster", "action") and value != "data:,":
                self.outside.append(f"{tag} {name}={value}")
            if name.startswith("on"):
                self.outside.append(f"{tag} {name}")
            if name == "id":
                self.ids.append(value)
        if tag in ("script", "iframe", "object", "embed", "base", "form"):
            self.outside.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing of its own")


def check(condition, text):
    if not condition:
        sys.exit(f"page_test: {text}")


def skip(what):
    """As tests/support/require.cc does."""
    must = "SANDGLASS_MUST_WORK" in os.environ
    line = f"{'FAILED' if must else 'SKIPPED'}: this host has no {what}\n"
    sys.stderr.write(line)
    if "SANDGLASS_SKIPS" in os.environ:
        with open(os.environ["SANDGLASS_SKIPS"], "a", encoding="utf-8") as file:
            file.write(line)
    sys.exit(1 if must else 77)


def compare(program, options, *more):
    done = subprocess.run([program, "compare", *SUBJECTS, *options, *more], capture_output=True,
                          text=True, timeout=240)
    check(done.returncode == 0, f"compare ended with {done.returncode}: {done.stderr}")
    return done.stdout


def look_sound(page, document):
    sound = Sound()
    sound.feed(page)
    sound.close()
    check(not sound.wrong and not sound.open, f"not sound: {sound.wrong} {sound.open}")
    check(not sound.outside, f"asks for something from elsewhere: {sound.outside}")
    check(not re.search(r"https?:|@import|url\(", page), "names a resource elsewhere")
    check(len(sound.ids) == len(set(sound.ids)), "an id stands there twice")
    check(sound.captions >= 3 and sound.headers > 40, "tables without captions and headers")
    rows = [row["id"] for row in document["probes"]["rows"]]
    missing = [row for row in rows if f"probe-{row}" not in sound.ids]
    check(not missing, f"no row for {missing}")
    for name in document["syscalls"]["only_b"]:
        check(f">{name}:" in page or f" {name} " in page or f">{name}" in page, f"no {name}")
    return len(rows)


def measure(chromium, page, folder, scheme, width):
    frame = html.escape(page, quote=True)
    with open(f"{folder}/frame.html", "w", encoding="utf-8") as file:
        file.write(f'<!DOCTYPE html><meta charset="utf-8"><pre></pre><iframe width="{width}" '
                   f'height="900" style="border:0" srcdoc="{frame}"></iframe>'
                   f"<script>{MEASURE}</script>")
    done = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
         f"--user-data-dir={folder}/profile", "--enable-logging=stderr",
         f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}", "--dump-dom",
         f"file://{folder}/frame.html"],
        capture_output=True, text=True, timeout=180, env={**os.environ, "HOME": folder})
    found = re.search(r"MEASURED(.*?)END", done.stdout, re.S)
    check(found, f"Chromium measured nothing: {done.stderr[-2000:]}")
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    check(not said, f"on the console: {said}")
    return json.loads(html.unescape(found.group(1)))


def look_readable(chromium, page, cells):
    with tempfile.TemporaryDirectory(prefix="sandglass-page-") as folder:
        for scheme in ("light", "dark"):
            for width in (360, 1180):
                seen = measure(chromium, page, folder, scheme, width)
                where = f"{scheme}, {width} pixels"
                print(f"{where}: {seen['texts']} texts, contrast {seen['text'][0]:.1f}, shapes "
                      f"{seen['shape'][0]:.1f}, paper {seen['paper'][:3]}")
                check(seen["width"] == width, f"{where}: the frame is {seen['width']} wide")
                check(seen["scroll"] <= seen["width"] and not seen["wide"],
                      f"{where}: scrolls sideways: {seen['scroll']} {seen['wide']}")
                check((sum(seen["paper"][:3]) < 300) == (scheme == "dark"), f"{where}: no {scheme}")
                check(seen["texts"] > 100, f"{where}: little text")
                check(seen["text"][0] >= 4.5, f"{where}: faint text: {seen['text']}")
                check(seen["shape"][0] >= 3, f"{where}: faint shape: {seen['shape']}")
                check(seen["cells"] == cells, f"{where}: {seen['cells']} cells of {cells}")


def main():
    program, *options = sys.argv[1:]
    document = json.loads(compare(program, options, "--json"))
    with tempfile.TemporaryDirectory(prefix="sandglass-page-") as folder:
        compare(program, options, "--html", f"{folder}/page.html")
        with open(f"{folder}/page.html", encoding="utf-8") as file:
            page = file.read()
    rows = look_sound(page, document)
    calls = sum(len(names) for names in document["syscalls"].values())
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        skip("chromium; apt-get install chromium")
    look_readable(chromium, page, calls + rows)


main()
