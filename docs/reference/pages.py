"""The pages: one a namespace, an index of names, the table of TensorFlow.js names, and the sources."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonConsoleLexer, PythonLexer

from reference.docstrings import Example, Section, Text, first_sentence, parts
from reference.names import Entry, Member, Namespace, mirrored_names
from reference.signatures import argument_list, parameter_names, signature_text

_OWN_PAGES = {"index.html": "Start", "names.html": "Names from A to Z", "tensorflowjs.html": "TensorFlow.js names"}
_API = "https://js.tensorflow.org/api/4.22.0/#"
_OPERATORS = {
    "__getitem__": "x[...]", "__neg__": "-x", "__pos__": "+x", "__abs__": "abs(x)", "__invert__": "~x",
    "__add__": "x + y", "__sub__": "x - y", "__mul__": "x * y", "__truediv__": "x / y", "__floordiv__": "x // y",
    "__mod__": "x % y", "__pow__": "x ** y", "__matmul__": "x @ y", "__lt__": "x < y", "__le__": "x <= y",
    "__gt__": "x > y", "__ge__": "x >= y", "__and__": "x & y", "__or__": "x | y", "__xor__": "x ^ y",
    "__iadd__": "x += y", "__isub__": "x -= y",
}  # fmt: skip


class Reference:
    """Everything that the pages know: the names, where each is described, and the text around them."""

    def __init__(self, namespaces: list[Namespace], introduction: str, style: str) -> None:
        self.namespaces = namespaces
        self.introduction = introduction
        self.root = namespaces[0]
        self.source_root = Path(str(self.root.module.__file__)).parent
        self.sources: set[str] = set()
        self.links = dict(_links(namespaces))
        self.mirrored = {theirs for theirs, _ in mirror_table(namespaces)}
        self.of_value = {id(entry.value): entry for entry in self._entries() if entry.is_callable}
        self.classes = {name: e for e in self._entries() if e.is_class for name in e.names if name[0].isupper()}
        self._page: Namespace = self.root
        self._parameters: set[str] = set()
        self._code = HtmlFormatter[str](cssclass="code", wrapcode=True)
        dark = HtmlFormatter[str](style="github-dark").get_style_defs(".code")
        light = self._code.get_style_defs(".code")
        self.style = f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n{style}"
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["emphasis", "lheading"])
        self._markdown.add_render_rule("code_inline", lambda _renderer, *token: self._inline_code(*token))

    def pages(self) -> Iterator[tuple[str, str]]:
        """File names and contents."""
        yield "index.html", self._frame("Start", self._markdown.render(self.introduction) + self._contents())
        yield "names.html", self._frame("Names from A to Z", self._names())
        yield "tensorflowjs.html", self._frame("TensorFlow.js names", self._tensorflowjs())
        for namespace in self.namespaces:
            yield f"{namespace.name}.html", self._frame(namespace.name, self._namespace(namespace))
        for source in sorted(self.sources):
            yield f"source/{source}.html", self._source(source)
        yield "style.css", self.style

    def _entries(self) -> Iterator[Entry]:
        for namespace in self.namespaces:
            yield from namespace.entries

    # One page

    def _namespace(self, namespace: Namespace) -> str:
        self._page = namespace
        families: dict[str, list[Entry]] = {}
        for entry in namespace.entries:
            families.setdefault(entry.module if entry.is_callable else "", []).append(entry)
        several = len(families.keys() - {""}) > 1
        names = sorted(families, key=lambda module: (not module, _title(module).lower()))
        body = [f"<h1><code>{namespace.name}</code></h1>", self._doc(module_doc(namespace.module))]
        if several:
            links = " · ".join(f'<a href="#family-{_slug(name)}">{_title(name)}</a>' for name in names)
            body.append(f'<p class="families">{links}</p>')
        for name in names:
            if several or not name:
                module = inspect.getmodule(families[name][0].value) if name else None
                about = self._doc(module_doc(module)) if module and module is not namespace.module else ""
                body.append(f'<h2 id="family-{_slug(name)}">{_title(name)}</h2>{about}')
            body.append(self._summary(families[name]))
            body += [self._entry(entry) for entry in families[name]]
        if namespace.elsewhere:
            rows = [(self._link(e, f"{namespace.name}.{n}"), self._sentence(e)) for n, e in namespace.elsewhere.items()]
            body.append("<h2>Also here</h2><p>Described in a namespace of their own.</p>" + _table(sorted(rows)))
        return "\n".join(body)

    def _summary(self, entries: list[Entry]) -> str:
        if len(entries) < 2:
            return ""
        return _table((f'<a href="#{e.path}"><code>{e.name}</code></a>', self._sentence(e)) for e in entries)

    def _entry(self, entry: Entry) -> str:
        others = [f'<code id="{entry.namespace}.{name}">{entry.namespace}.{name}</code>' for name in entry.names[1:]]
        also = f'<p class="also">Also {", ".join(others)}</p>' if others else ""
        kind = "class" if entry.is_class else "" if entry.is_callable else "value"
        head = f'<h3 id="{entry.path}"><a href="#{entry.path}">{entry.name}</a> <small>{kind}</small></h3>'
        if not entry.is_callable:
            return f'<section class="entry">{head}{self._value(entry)}</section>'
        body = [self._signature(entry.path, entry.value), also, self._bases(entry), self._doc(entry.doc, entry.value)]
        body += [self._member(entry, member) for member in entry.members if member.op is None]
        body.append(self._operations(entry))
        return f'<section class="entry">{self._source_link(entry.value)}{head}{"".join(body)}</section>'

    def _member(self, entry: Entry, member: Member) -> str:
        path = f"{entry.path}.{member.name}"
        kind = "property" if member.is_property else ""
        signature = "" if member.is_property else self._signature(member.name, member.value, method=True)
        head = f'<h4 id="{path}"><a href="#{path}">{member.name}</a> <small>{kind}</small></h4>'
        return f'<div class="member">{head}{signature}{self._doc(member.doc, member.function)}</div>'

    def _operations(self, entry: Entry) -> str:
        """The table of methods and operators that are functions described elsewhere."""
        rows: list[tuple[str, str]] = []
        order = {name: number for number, name in enumerate(_OPERATORS)}
        for member in sorted(entry.members, key=lambda member: (order.get(member.name, len(order)), member.name)):
            if member.op is not None and (member.name in _OPERATORS or not member.name.startswith("__")):
                op = self.of_value.get(id(member.op))
                doc = inspect.cleandoc(member.op.__doc__ or "")
                called = _OPERATORS.get(member.name, f"x.{member.name}({argument_list(member.op)})")
                target = self._link(op) if op else self._inline(first_sentence(doc))
                rows.append((f'<code id="{entry.path}.{member.name}">{html.escape(called)}</code>', target))
        heading = f'<h4 id="{entry.path}-operations">Operators, and methods that are functions of their own</h4>'
        return f'<div class="operations">{heading}{_table(rows)}</div>' if rows else ""

    def _bases(self, entry: Entry) -> str:
        bases = [base for base in getattr(entry.value, "__bases__", ()) if id(base) in self.of_value]
        return f'<p class="also">Based on {", ".join(map(self._link_value, bases))}</p>' if bases else ""

    def _value(self, entry: Entry) -> str:
        """A constant, or the name of a type: what it is, and the comment above it."""
        comment, text = _assignment(self._page.module, entry.name)
        return self._highlight(text or f"{entry.name} = {entry.value!r:.300}") + self._markdown.render(comment)

    # Pieces

    def _signature(self, name: str, value: Any, method: bool = False) -> str:
        text = signature_text(name, value, method)
        if not text:
            return ""
        called, arguments = self._highlight(text).split('<span class="p">(', 1)
        return f'{called}<span class="p">({self._linked_types(arguments)}'

    def _doc(self, doc: str, value: Any = None) -> str:
        self._parameters = set(parameter_names(value)) if value is not None else set()
        return "".join(map(self._part, parts(doc)))

    def _part(self, part: Text | Section | Example) -> str:
        match part:
            case Text(markdown):
                return self._markdown.render(markdown)
            case Example(code):
                shown = re.sub(r" *# doctest: .*", "", code)
                return highlight(shown, PythonConsoleLexer(), self._code)
            case Section(title, items):
                title = {"Args": "Arguments"}.get(title, title)
                rows = "".join(
                    (f"<dt><code>{name}</code></dt>" if name else "") + f"<dd>{self._markdown.render(text)}</dd>"
                    for name, text in items
                )
                return f'<div class="section"><h5>{title}</h5><dl>{rows}</dl></div>'

    def _sentence(self, entry: Entry) -> str:
        return self._inline(first_sentence(entry.doc or _assignment(self._page.module, entry.name)[0]))

    def _inline(self, text: str) -> str:
        return self._markdown.renderInline(text)

    def _inline_code(self, tokens: Any, at: int, _options: Any, _env: Any) -> str:
        """Code in a text: a link if it names something public, or something of TensorFlow.js."""
        text: str = tokens[at].content
        code = f"<code>{html.escape(text)}</code>"
        if text in self.mirrored:
            return f'<a class="tf" href="{_API}{_anchor(text)}">{code}</a>'
        name = re.match(r"\w+(\.\w+)*", text)
        if not name:
            return code
        target = self.links.get(name[0])
        looks_like_a_name = name[0] == text and text not in self._parameters and ("_" in text or text[0].isupper())
        if target is None and looks_like_a_name:
            target = self.links.get(f"{self._page.name}.{text}")
        return f'<a href="{target}">{code}</a>' if target else code

    def _link(self, entry: Entry, text: str = "") -> str:
        return f'<a href="{self.links[entry.path]}"><code>{text or entry.path}</code></a>'

    def _link_value(self, value: Any) -> str:
        return self._link(self.of_value[id(value)])

    def _highlight(self, code: str) -> str:
        return highlight(code, PythonLexer(), self._code)

    def _linked_types(self, code: str) -> str:
        def link(match: re.Match[str]) -> str:
            entry = self.classes.get(match[2])
            return f'{match[1]}<a href="{self.links[entry.path]}">{match[2]}</a></span>' if entry else match[0]

        return re.sub(r'(<span class="n\w*">)(\w+)</span>', link, code)

    def _source_link(self, value: Any) -> str:
        try:
            file = Path(str(inspect.getsourcefile(inspect.unwrap(value)))).relative_to(self.source_root)
            line = inspect.getsourcelines(value)[1]
        except (TypeError, OSError, ValueError):
            return ""
        self.sources.add(file.as_posix())
        return f'<a class="source" href="source/{file.as_posix()}.html#line-{line}">{file.as_posix()}</a>'

    # Whole pages

    def _contents(self) -> str:
        rows = [
            (
                f'<a href="{space.name}.html"><code>{space.name}</code></a>',
                self._inline(_subject(space)),
            )
            for space in self.namespaces
        ]
        return "<h2>Namespaces</h2>" + _table(rows)

    def _names(self) -> str:
        letters: dict[str, list[tuple[str, Entry]]] = {}
        for entry in self._entries():
            for name in entry.names:
                letters.setdefault(name[0].upper(), []).append((name, entry))
        body = [f'<p class="families">{" · ".join(f"<a href=#{a}>{a}</a>" for a in sorted(letters))}</p>']
        for letter in sorted(letters):
            names = sorted(letters[letter], key=lambda pair: (pair[0].lower(), pair[1].namespace))
            rows = [(self._link(e, f"{e.namespace}.{n}"), self._sentence(e)) for n, e in names]
            body.append(f'<h2 id="{letter}">{letter}</h2>{_table(rows)}')
        return "<h1>Names from A to Z</h1>" + "".join(body)

    def _tensorflowjs(self) -> str:
        rows = sorted(mirror_table(self.namespaces), key=lambda row: (row[0].lower(), row[1]))
        cells = [
            (
                f'<a class="tf" href="{_API}{_anchor(theirs)}"><code>{theirs}</code></a>',
                f'<a href="{self.links[ours]}"><code>{ours}</code></a>',
            )
            for theirs, ours in rows
        ]
        about = f"What mirrors what, as the descriptions of {len(rows)} names say."
        return f"<h1>TensorFlow.js names</h1><p>{about}</p>" + _table(cells)

    def _source(self, source: str) -> str:
        text = (self.source_root / source).read_text(encoding="utf-8")
        formatter = HtmlFormatter[str](cssclass="code", linenos="inline", lineanchors="line", anchorlinenos=True)
        return self._frame(
            source, f"<h1>{source}</h1>{highlight(text, PythonLexer(), formatter)}", source.count("/") + 1
        )

    def _frame(self, title: str, body: str, depth: int = 0) -> str:
        up = "../" * depth
        current = next((page for page, text in _OWN_PAGES.items() if text == title), "")
        pages = [*_OWN_PAGES.items(), *((f"{space.name}.html", _menu_text(space.name)) for space in self.namespaces)]
        here = dict.fromkeys((current, f"{title}.html"), " aria-current=page")
        items = "".join(f'<li><a href="{up}{page}"{here.get(page, "")}>{text}</a></li>' for page, text in pages)
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<link rel="stylesheet" href="{up}style.css"></head>\n'
            f"<body><nav><ul>{items}</ul></nav>\n<main>{body}</main></body></html>\n"
        )


def mirror_table(namespaces: list[Namespace]) -> Iterator[tuple[str, str]]:
    """Every TensorFlow.js name that a description says it mirrors, with the name here."""
    for namespace in namespaces:
        for entry in namespace.entries:
            owners = mirrored_names(entry.doc)
            for name in owners:
                yield name, entry.path
            for member in entry.members:
                if member.op is None:
                    for name in mirrored_names(member.doc, owners[0] if owners else ""):
                        yield name, f"{entry.path}.{member.name}"


def _links(namespaces: list[Namespace]) -> Iterator[tuple[str, str]]:
    """Every public name as users write it, and where it is described."""
    for namespace in namespaces:
        yield namespace.name, f"{namespace.name}.html"
        for name, entry in namespace.elsewhere.items():
            yield f"{namespace.name}.{name}", f"{entry.namespace}.html#{entry.path}"
        for entry in namespace.entries:
            for name in entry.names:
                yield f"{namespace.name}.{name}", f"{namespace.name}.html#{namespace.name}.{name}"
                for member in entry.members:
                    place = f"{namespace.name}.html#{entry.path}.{member.name}"
                    yield f"{namespace.name}.{name}.{member.name}", place


def _assignment(module: ModuleType, name: str) -> tuple[str, str]:
    """The comment above the assignment of a name in a module or its folder, and the assignment if it is short."""
    pattern = re.compile(rf"((?:^#.*\n)*)^({name}(?::[^=\n]+)?) = (.*)$", re.MULTILINE)
    file = Path(str(module.__file__))
    for candidate in [file, *sorted(file.parent.rglob("*.py") if file.name == "__init__.py" else ())]:
        if found := pattern.search(candidate.read_text(encoding="utf-8")):
            comment = " ".join(line.lstrip("# ") for line in found[1].splitlines())
            value = found[3].strip('"') if "TypeAlias" in found[2] else found[3]
            return comment, "" if value.endswith(("(", "[", "{")) else f"{name} = {value}"
    return "", ""


def _anchor(name: str) -> str:
    """The place of a name in TensorFlow.js's documentation."""
    parts_of_name = name.split(".")[1:]
    first_class = next((i for i, part in enumerate(parts_of_name) if part[0].isupper()), None)
    if first_class is None:
        return ".".join(parts_of_name)
    if first_class == len(parts_of_name) - 1:
        return f"class:{'.'.join(parts_of_name)}"
    return f"tf.{'.'.join(parts_of_name)}"


def _table(rows: Iterable[tuple[str, str]]) -> str:
    return "<table>" + "".join(f"<tr><td>{left}</td><td>{right}</td></tr>" for left, right in rows) + "</table>"


def module_doc(module: ModuleType) -> str:
    """A module's docstring, without its indentation."""
    return inspect.cleandoc(module.__doc__ or "")


def _subject(namespace: Namespace) -> str:
    """What a namespace is about, without its own name."""
    sentence = first_sentence(module_doc(namespace.module))
    subject = re.sub(r": the namespace `[\w.]+`|^`[\w.]+`: ", "", sentence)
    return subject[:1].upper() + subject[1:]


def _menu_text(name: str) -> str:
    """A namespace in the list at the side; those inside others by their last name."""
    *outer, last = name.split(".")
    return f"<code>{name}</code>" if len(outer) < 2 else f'<code class="inner">.{last}</code>'


def _title(module: str) -> str:
    return module.split(".")[-1].replace("_", " ").capitalize() or "Constants and types"


def _slug(module: str) -> str:
    return module.replace(".", "-")
