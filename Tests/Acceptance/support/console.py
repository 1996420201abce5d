"""The console as a browser without a screen sees it: cookies, pages, and the forms in them."""

import http.cookies
import urllib.parse
from dataclasses import dataclass, field
from html.parser import HTMLParser

from .http import address_of, request
from .server import run

#: One password for all tests, and the weakest hash of it that the service takes, so that sign-ins cost little.
PASSWORD = "correct horse battery staple"
WEAK_HASH = "$argon2id$v=19$m=7168,t=5,p=1$c2l4dGVlbiBieXRlcywgbw$71lYUPmy+G1RmovsqC+eAGnt8nxOjJop/7+bXXz1pvU"


def password_hash(password):
    """As the command makes it."""
    made = run("operators", "hash", stdin=password + "\n")
    assert made.returncode == 0, made.stderr
    # Without the quotes that it has for YAML.
    return made.stdout.strip().strip('"')


def operators(**roles):
    """The section of a configuration: a role for each name, or (role, applications)."""
    section = {}
    for name, role in roles.items():
        role, applications = role if isinstance(role, tuple) else (role, "*")
        section[name] = {"password": WEAK_HASH, "role": role, "applications": applications}
    return section


@dataclass
class Form:
    method: str
    action: str
    fields: dict = field(default_factory=dict)


class _Reader(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.forms, self.links, self.texts, self.tags, self.open = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        self.open.append(tag)
        if tag == "form":
            self.forms.append(Form(attributes["method"], attributes["action"]))
        elif tag == "input" and self.forms and attributes.get("type") != "checkbox":
            self.forms[-1].fields[attributes["name"]] = attributes.get("value") or ""
        elif tag == "select":
            self.select = attributes["name"]
        elif tag == "option" and "form" in self.open and "datalist" not in self.open:
            if "selected" in attributes or self.select not in self.forms[-1].fields:
                self.forms[-1].fields[self.select] = attributes.get("value") or ""
        elif tag == "a":
            self.links.append(attributes["href"])
        if tag in ("input", "meta", "link", "br", "img"):
            self.open.pop()

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if data.strip():
            self.texts.append(" ".join(data.split()))


class Page:
    def __init__(self, answer):
        self.status = answer.status
        self.headers = answer.headers
        self.html = answer.text
        # Where a line may end is no part of a text.
        read = _Reader(self.html.replace("<wbr>", ""))
        self.forms, self.links, self.tags = read.forms, read.links, read.tags
        self.text = " ".join(read.texts)

    def form(self, action):
        return next(form for form in self.forms if form.action == action)

    def link(self, part):
        return next(link for link in self.links if part in link)


class Visitor:
    """One browser: its cookies, and what it sends with forms."""

    def __init__(self, url, *, authority=None, language="en"):
        self.url = url
        self.authority = authority
        self.language = language
        self.cookies = {}
        host, port = address_of(url)
        self.origin = f"{url.split(':')[0]}://{host}:{port}"

    def send(self, path, method="GET", *, form=None, headers=None, body=None):
        """One request, without following its answer."""
        sent = {"Accept-Language": self.language}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if method == "POST":
            sent |= {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"}
        sent |= headers or {}
        sent = {name: value for name, value in sent.items() if value is not None}
        body = urllib.parse.urlencode(form) if form is not None else body
        answer = request(self.url, path, method, headers=sent, body=body, authority=self.authority)
        for line in answer.headers.get_all("set-cookie") or []:
            for name, morsel in http.cookies.SimpleCookie(line).items():
                if morsel.value:
                    self.cookies[name] = morsel.value
                else:
                    self.cookies.pop(name, None)
        return answer

    def open(self, path, method="GET", **options):
        """A page, with redirections followed."""
        answer = self.send(path, method, **options)
        for _ in range(5):
            if answer.status != 303:
                return Page(answer)
            answer = self.send(answer.headers["location"])
        raise AssertionError("too many redirections")

    def post(self, form, **fields):
        return self.open(form.action, form.method.upper(), form=form.fields | fields)

    def sign_in(self, name, password=PASSWORD):
        return self.post(self.open("/console/sign-in").form("/console/sign-in"), name=name, password=password)

    def profile(self, application, profile, **more):
        query = urllib.parse.urlencode({"application": application, "profile": profile} | more)
        return self.open(f"/console/profile?{query}")


def signed_in(url, name, **options):
    visitor = Visitor(url, **options)
    page = visitor.sign_in(name)
    assert page.status == 200, page.text
    return visitor
