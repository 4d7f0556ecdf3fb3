"""Rules for the whole code base: access, job specs, the direction of imports, sizes."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from webapp.accounts.access import access_of
from webapp.background.job_specs import JOBS, JobSpec, Queue
from webapp.shell.factory import RECEIVERS
from webapp.shell.routes import SERVED

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 300
LEVELS = {"public", "user", "admin", "service"}

# A domain may import those before it, as the document says. What is in none of them (webapp/*.py, markdown) is for all.
_ORDER = re.search(r"Imports point one way: `([^`]+)`", (ROOT / "docs" / "architecture.md").read_text())[1]
DOMAINS = re.split(r"\s*<\s*", _ORDER)

# The rooms that are not domains: anybody may use them, and they use no domain.
SHARED_ROOMS = {
    "background",
    "db",
    "http",
    "network",
    "redis",
    "telemetry",
    "cli",  # set-up and launcher: the standard library only; the command for a terminal: that and click
    "i18n",
    "llm",
    "markdown",
    "text",
    "tour",
}

TOP = "shell"
"""Wires all domains; nothing imports it."""

# The only reasons to skip a test: the set-up installs every program that a test needs.
SKIPS = {
    "about MySQL",
    "no terminals without /dev/pts",
    "about SQLite's plans and its one writer",
    "about SQLite's file",
    "the database is not ours to stop",
}

# Modules that decide can be tested without a server: no web framework, no database. A module not listed here may be
# pure, too, but nobody relies on it.
PURE = {
    "webapp.i18n": "dates",
    "webapp": "errors",
    "webapp.background": "job_specs",
    "webapp.http": "validation",
    "webapp.telemetry": "otlp tracing",
    "webapp.admin": "doctor.findings",
    "webapp.accounts": "agents emails mail_texts passwords scopes",
    "webapp.chat.context": "builder excerpts memory_sections sections segments values",
    "webapp.journeys": "guidance assessment_merge report_content report_fonts report_pages report_pdf",
    "webapp.files": "citations kinds picture",
    "webapp.files.readers": "mail page result text",
    "webapp.gateway": "functions responses_input responses_output wire",
    "webapp.mcp_server": "protocol",
    "webapp.oauth": "clients",
    "webapp.usage": "charts",
    "webapp.webhooks": "signatures",
    "webapp.memories.learning": "exam journey_points prompt",
    "webapp.legacies": "fact_list extraction_prompt",
    "webapp.saved_prompts": "formats",
    "webapp.schedules": "recurrence",
    "webapp.openapi": "document",
    "webapp.prompts": "transcript",
    "webapp.tour": "answers",
    "webapp.tools": "urls calculator calls date_arithmetic toolset",
    "webapp.spaces": "chunks personas",
    "webapp.retrieval": "bm25f columns fusion index passages vectors",
}
PURE_PACKAGES = ("webapp.markdown.", "webapp.llm.", "webapp.text.", "webapp.memories.rules.")

PUBLIC = {
    "accounts_pages": "login sign_in logout register make_account",
    "account_deletion_pages": "report way_back keep",  # with its secret; after the password
    "language_pages": "choose",
    "installing": "manifest offline share worker",
    "mcp": "metadata",
    "oauth": "metadata register revoke token",
    "oidc_pages": "begin callback",
    "mail_pages": "ask_to_join ask_for_reset forgot_password join make_account reset reset_form verify verify_form",
    "passkey_pages": "options sign_in",
    "password_check_pages": "code check_code",
    "openapi": "document page",
    "service": "healthz readyz stream metrics",
    "sharing_pages": "shared",
    "schedules_pages": "calendar",  # for programs that have its secret
    "frames": "diagrams image",  # of a shared conversation's diagrams and images: they contain no one's data
}
"""The views that anybody may call."""

# Folders of a domain, the lower ones first: none imports a later one, or the modules beside them.
LAYERS = {"webapp.chat": ("context", "turns"), "webapp.memories": ("rules", "store")}
SHARED = {"webapp.chat": "models suggestions redaction", "webapp.memories": "models"}
"""Which modules beside the folders the folders may import."""

# Modules with imports of ours inside functions, and why.
LAZY = {
    "webapp",  # says so itself: the launcher and the screen tour live in this package without needing Flask
    "webapp.cli.gunicorn.conf",  # the master of a single web process loads nothing of the application
    "webapp.accounts.oidc_pages",  # Authlib, megabytes, where a provider is set
    "webapp.files.storage",  # boto3, 35 MB, where a bucket is set
    "webapp.llm.embedding_server",  # numpy and the embedding model's code, for a process that may never embed
    "webapp.shell.command_line",  # the application, seconds of loading, for help that needs none of it
    "webapp.oauth.api",  # Authlib, for a program that signs somebody in
    "webapp.journeys.report_job",  # 25 MB of libraries for setting pages, in every process, for a PDF that is rare
    "webapp.transfer.export_jobs",  # the same
}


@cache
def tree_of(path: Path) -> ast.Module:
    """A source file, parsed once for all rules."""
    return ast.parse(path.read_text(), str(path))


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Everything in a source file."""
    return list(ast.walk(tree_of(path)))


def module_name(path: Path) -> str:
    """The dotted name of a source file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


FILES = sorted(path for folder in ("webapp", "jobs") for path in (ROOT / folder).rglob("*.py"))
TREES = {module_name(path): tree_of(path) for path in FILES}
PACKAGES = {module_name(path) for path in FILES if path.name == "__init__.py"}


def imports(name: str, nodes: Iterator[ast.AST]) -> set[str]:
    """The modules of ours, and the top names of others, that some nodes of a module import."""
    found: set[str] = set()
    package = name if name in PACKAGES else name.rpartition(".")[0]
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parent, base] if base else parent)
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                found.add(whole if whole in TREES else base)
    return found


def at_load(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is loaded: no bodies of functions, and nothing that is only there for types."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from at_load(node)


IMPORTS = {module_name(path): imports(module_name(path), iter(nodes_of(path))) for path in FILES}
LOADED = {name: imports(name, at_load(tree)) & set(TREES) for name, tree in TREES.items()}


def imports_that_are(wrong: Callable[[str, str], bool]) -> list[str]:
    """The imports of one module by another that are so."""
    return [f"{name} imports {other}" for name, imported in IMPORTS.items() for other in imported if wrong(name, other)]


def domain_of(name: str) -> str:
    """The domain a module belongs to; empty if it is for all domains."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "webapp" and parts[1] in DOMAINS else ""


APART = {
    "webapp": "fakemodel testkit tests bench",
    "jobs": "fakemodel testkit tests bench",
    "bench": "tests",
    "tests": "bench",
    "testkit": "tests bench",
}
"""What each folder never imports. Tests and benchmarks share `testkit`."""


@pytest.mark.parametrize("folder", APART)
def test_folders_stay_apart(folder):
    others = re.compile(rf"^\s*(?:from|import) (?:{APART[folder].replace(' ', '|')})\b", re.MULTILINE)
    for path in (ROOT / folder).rglob("*.py"):
        assert not others.search(path.read_text()), path


def test_the_image_holds_the_product_alone():
    assert {"fakemodel", "testkit", "tests", "bench"} <= set((ROOT / ".dockerignore").read_text().split())


def test_every_view_or_its_blueprint_says_who_may_call_it(app):
    silent = []
    for endpoint, view in app.view_functions.items():
        if access_of(app, endpoint) == "static":
            continue
        blueprint = app.blueprints.get(endpoint.rpartition(".")[0])
        mark, rule = getattr(view, "access", None), getattr(blueprint, "access", None)
        if (mark or rule) not in LEVELS or rule == "public":  # what anybody may call is marked one by one
            silent.append(endpoint)
    assert not silent


def test_every_blueprint_is_served():
    made = re.compile(r"^\w+ = (?:PageBlueprint|api_blueprint)\(", re.MULTILINE)
    found = {module_name(path) for path in FILES if made.search(path.read_text())}
    served = {f"webapp.{room}.{name}" for room, names in SERVED.items() for name in names.split()}
    assert found <= served


def test_every_receiver_of_an_event_and_source_of_a_placeholder_is_loaded():
    made = re.compile(r"^(?:@[\w.]+\.connect$|@source_of\(|@event\.listens_for\(db\.session|add_kind\()", re.MULTILINE)
    receivers = {module_name(path) for path in FILES if made.search(path.read_text())}
    loaded = {f"webapp.{room}.{name}" for room, names in RECEIVERS.items() for name in names.split()}
    assert receivers == loaded


def test_views_open_to_anybody_are_known(app):
    """A new public view is a decision, and has to be recorded here."""
    public = {endpoint for endpoint, view in app.view_functions.items() if getattr(view, "access", None) == "public"}
    known = {f"{module}.{view}" for module, views in PUBLIC.items() for view in views.split()}
    assert public <= known


@pytest.mark.parametrize("name", JOBS)
def test_every_job_has_a_function_and_limits(name):
    spec = JOBS[name]
    module, _, function = spec.function.rpartition(".")
    assert module.split(".")[0] == "jobs"
    found = getattr(importlib.import_module(module), function)
    assert found.job_name == name
    assert isinstance(spec, JobSpec)
    assert isinstance(spec.queue, Queue)
    assert 0 < spec.timeout <= 3_600
    assert spec.retries
    assert all(0 < wait <= 3_600 for wait in spec.retries)
    assert not (spec.every and spec.is_nightly)


def test_addresses_of_the_site_are_made_in_one_place():
    """By `webapp.http.views.absolute_url`, from SITE_URL: the host of a request is whatever its sender wrote there."""
    made = re.compile(r"request\.(host_url|url_root|root_url|base_url|url)\b|_external")
    files = [*(ROOT / "webapp").rglob("*.py"), *(ROOT / "templates").rglob("*.html")]
    assert [str(file.relative_to(ROOT)) for file in files if made.search(file.read_text())] == ["webapp/http/views.py"]


def test_every_job_function_has_a_spec():
    functions = set()
    for name in TREES:
        if not name.startswith("jobs."):
            continue
        module = importlib.import_module(name)
        for attribute, function in inspect.getmembers(module, inspect.isfunction):
            if hasattr(function, "job_name"):
                functions.add(f"{name}.{attribute}")
                assert JOBS[function.job_name].function == f"{name}.{attribute}"
    assert functions == {spec.function for spec in JOBS.values()}


def test_domains_import_only_those_before_them():
    rank = {"": -1, **{domain: number for number, domain in enumerate(DOMAINS)}}

    def climbs(name: str, other: str) -> bool:
        return bool(domain_of(name)) and rank[domain_of(other)] > rank[domain_of(name)]

    assert imports_that_are(climbs) == []


def test_every_folder_is_a_domain_or_a_shared_room():
    folders = {path.name for path in (ROOT / "webapp").iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert folders == {*DOMAINS, *SHARED_ROOMS, TOP}


def test_shared_rooms_use_no_domain():
    rooms = tuple(f"webapp.{room}" for room in SHARED_ROOMS)
    assert imports_that_are(lambda name, other: name.startswith(rooms) and bool(domain_of(other))) == []


def test_no_test_is_skipped_for_a_missing_program():
    unknown = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in nodes_of(path) if re.search(r"\b(skip|skipif|importorskip)\b", path.read_text()) else ():
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name.rpartition(".")[2] not in ("skip", "skipif", "importorskip"):
                continue
            words = {leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)}
            if not words & SKIPS:
                unknown.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not unknown


def test_migrations_stand_alone():
    """A migration states what a table was at the time: the models move on."""
    wrong = []
    for path in sorted((ROOT / "migrations" / "versions").glob("*.py")):
        tree = ast.parse(path.read_text(), str(path))
        wrong += [f"{path.name} imports {name}" for name in imports(path.stem, ast.walk(tree)) if "webapp" in name]
    assert not wrong


def test_the_web_names_jobs_by_string():
    assert imports_that_are(lambda name, other: name.startswith("webapp") and other.startswith(("jobs", "tests"))) == []


def test_models_know_no_domain():
    """The language models' package knows nothing of the application but what any program has."""

    def strays(name: str, other: str) -> bool:
        return name.startswith("webapp.llm") and other.startswith("webapp.") and not other.startswith("webapp.llm")

    assert imports_that_are(strays) == []


def test_pure_modules_import_neither_web_nor_database():
    pure = {f"{package}.{name}" for package, names in PURE.items() for name in names.split()}
    assert pure <= set(TREES)
    pure |= {name for name in TREES if name.startswith(PURE_PACKAGES)}
    impure = {"flask", "sqlalchemy", "flask_login", "flask_wtf", "flask_sqlalchemy"}
    ours = {"webapp.db.base", "webapp.extensions", "webapp.http.views"}
    assert imports_that_are(lambda name, other: name in pure and (other.split(".")[0] in impure or other in ours)) == []


_ALTERNATIVES = re.compile(r"(?:[^\W\d_]{3,}[^|()\[\]{}\\]*\|){3,}[^\W\d_]{3,}")
_BARE_WORDS = re.compile(r"\s*[^\W\d_]+(?:\s+[^\W\d_]+){11,}\s*")


@pytest.mark.parametrize("room", ["memories", "retrieval", "journeys", "text", "legacies"])
def test_no_words_of_a_language_decide(room):
    """The model says what is meant, code where it stands: see docs/adr/0021. Labels of secrets, and the commonest words
    that search leaves out, are data in two files."""
    common = set[str]().union(*json.loads((ROOT / "webapp/text/stop_words.json").read_text()).values())
    found = []
    for path in sorted((ROOT / "webapp" / room).rglob("*.py")):
        texts = {id(node.value) for node in nodes_of(path) if isinstance(node, ast.Expr)}
        for node in nodes_of(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
                listed = node.value.split()
                is_list = len(listed) > 4 and not node.value.strip().endswith((".", ":", ")")) and len(node.value) > 200
                is_list = is_list and len(common.intersection(listed)) * 2 > len(listed)
                if is_list or _ALTERNATIVES.search(node.value) or _BARE_WORDS.fullmatch(node.value):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.value[:60]}")
            elif isinstance(node, ast.List | ast.Tuple | ast.Set):
                words = {item.value for item in node.elts if isinstance(item, ast.Constant)}
                if len(common.intersection(words)) > 2:
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno} {sorted(map(str, words))[:6]}")
    assert found == []


@pytest.mark.parametrize(("package", "layer"), [(package, each) for package, of in LAYERS.items() for each in of])
def test_folders_of_a_domain_are_layers(package, layer):
    shared = {f"{package}.{name}" for name in SHARED[package].split()}
    layers = LAYERS[package]
    below = tuple(f"{package}.{other}" for other in layers[: layers.index(layer) + 1])

    def climbs(name: str, other: str) -> bool:
        within = name.startswith(f"{package}.{layer}.") and other.startswith(f"{package}.")
        return within and not (other.startswith(below) or other in shared)

    assert imports_that_are(climbs) == []


@pytest.mark.parametrize("folder", ["webapp", "jobs", "bench", "testkit", "fakemodel"])
def test_docstrings_begin_with_what_the_thing_is_or_does(folder):
    """A stranger reads "Return true if …" and "The source of …", not a question that has lost its mark."""
    questions = ("What", "Whether", "How", "Which", "Where", "When", "Who", "Whose", "Why")
    found = [
        f"{path.relative_to(ROOT)}: {text.splitlines()[0]}"
        for path in (ROOT / folder).rglob("*.py")
        for node in nodes_of(path)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and (text := ast.get_docstring(node))
        and text.split()[0].strip(".,:;") in questions
    ]
    assert found == []


def test_errors_that_docstrings_name_exist():
    """As in "Raises NotFound, Conflict": after a renaming, too."""
    nodes = [(path, node) for path in FILES for node in nodes_of(path)]
    imported = {
        alias.asname or alias.name for _, node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    names = imported | {node.name for _, node in nodes if isinstance(node, ast.ClassDef)} | set(dir(builtins))
    unknown = []
    for path, node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (text := ast.get_docstring(node)):
            errors = re.findall(r"\b[Rr]aises? `?([A-Z]\w+)", text) + re.findall(r"Raises [A-Z]\w+, ([A-Z]\w+)", text)
            unknown += [f"{path.relative_to(ROOT)}: {node.name}: {name}" for name in errors if name not in names]
    assert unknown == []


def test_no_module_is_too_long():
    long = {module_name(path): length for path in FILES if (length := len(path.read_text().splitlines())) > LONGEST}
    assert not long


def test_lines_of_templates_can_be_read():
    lines = ((path, line) for path in (ROOT / "templates").rglob("*.html") for line in path.read_text().splitlines())
    assert not [(path.name, line) for path, line in lines if len(line) > 200]


def test_modules_import_each_other_in_one_direction():
    TopologicalSorter({name: others - {name} for name, others in LOADED.items()}).prepare()  # a CycleError names them


def test_rooms_import_each_other_in_one_direction():
    """A folder of webapp, or a module beside the folders, is a room: rooms must not import each other in a circle."""

    def room_of(name: str) -> str:
        room = ".".join(name.split(".")[:2])
        return room if room.startswith("webapp.") else ""

    rooms: dict[str, set[str]] = {}
    for name, imported in IMPORTS.items():
        rooms.setdefault(room_of(name), set()).update(room_of(other) for other in imported)
    rooms.pop("", None)  # the package itself creates the application from all of them
    TopologicalSorter({room: others & rooms.keys() - {room} for room, others in rooms.items()}).prepare()


def test_imports_stand_at_the_top():
    inside = []
    for path in FILES:
        name, is_indented = module_name(path), re.search(r"^ +(from|import) ", path.read_text(), re.MULTILINE)
        for node in nodes_of(path) if is_indented and name not in LAZY else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                ours = {other for other in imports(name, ast.walk(node)) if other.split(".")[0] in ("webapp", "jobs")}
                inside += [f"{name}.{node.name} imports {other}" for other in sorted(ours)]
    assert not inside


MASTER = "import runpy, sys; runpy.run_path('webapp/cli/gunicorn.conf.py')"
LAUNCHER = "import sys, webapp.cli.launch.__main__"
APPLICATION = """
import sys, jobs.worker, jobs.model_work, jobs.data_work, jobs.upkeep, webapp
from webapp.accounts.passwords import password_problem
webapp.create_app()
password_problem("kettles!")
"""
RARE = "boto3 botocore s3transfer webauthn fpdf fontTools PIL lxml opentelemetry.exporter zxcvbn"
"""For buckets, passkeys, setting pages and traces; and of leaked passwords only the list."""


@pytest.mark.parametrize(
    ("code", "rare"),
    [(APPLICATION, RARE), (MASTER, "sqlalchemy redis openai"), (LAUNCHER, "dataclasses hashlib tempfile")],
)
def test_what_is_rare_is_not_loaded_at_the_start(code, rare):
    """Checked in another process, as this one has loaded most of it by now."""
    code += f"\nprint([name for name in '{rare}'.split() if name in sys.modules])"
    environment = {"VAR_DIR": "/nonexistent", "ENV_FILE": "", "REDIS_URL": "unix:///nowhere", "SECRET_KEY": "x" * 16}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=environment
    )
    assert done.stdout.strip() == "[]"
