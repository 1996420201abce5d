"""Draws the curves of curves.json: an SVG each beside it, and their table in docs/PERFORMANCE.md.

    charts.py [DIRECTORY]       draws DIRECTORY/curves.json, and leaves the page as it is
"""

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/PERFORMANCE.md"
#: What stands between them in the page is made here.
BEGIN, END = "<!-- From curves.json, by make bench -->\n", "<!-- End of what is made -->\n"

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 56, 84
#: Of "1,000,000", with a gap.
NUMBER_WIDTH = 76
#: How far points keep from the sides of the plot.
INSET = 28
#: A grid of so many lines is easily read.
MOST_STEPS = 6

STYLE = """
  svg { color-scheme: light dark; font: 13px system-ui, sans-serif; }
  .page { fill: #ffffff; } .text { fill: #1f2328; } .quiet { fill: #59636e; }
  .grid { stroke: #d1d9e0; } .axis { stroke: #59636e; }
  .line { stroke: #0969da; stroke-width: 2; fill: none; } .point { fill: #0969da; }
  .budget { stroke: #9a6700; stroke-dasharray: 5 4; } .budget-text { fill: #9a6700; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; } .text { fill: #f0f6fc; } .quiet { fill: #9198a1; }
    .grid { stroke: #3d444d; } .axis { stroke: #9198a1; }
    .line { stroke: #4493f8; } .point { fill: #4493f8; }
    .budget { stroke: #d29922; } .budget-text { fill: #d29922; }
  }
"""


@dataclass(frozen=True)
class Chart:
    title: str
    #: Of the horizontal axis, which is logarithmic.
    axis: str
    points: dict

    @property
    def origin(self):
        """Where and when the points were measured."""
        origins = {f"{point['machine']}, {point['date']}": None for point in self.points.values()}
        return "; ".join(origins)


def charts(curves):
    return {
        name: Chart(title, axis, {int(count): point for count, point in curves[name].items()})
        for name, title, axis in [
            ("bindings", "A login by the number of bindings", "bindings in the store (SQLite)"),
            ("connections", "A login by the number of connections", "connections, 80 logins in flight"),
            ("cores", "A login by the number of cores", "cores of the service; with two it shares them with its load"),
        ]
        if name in curves
    }


def step(highest):
    """The distance of the grid's lines: 1, 2 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(highest / MOST_STEPS))
    return next(power * factor for factor in (1, 2, 5, 10) if highest / (power * factor) <= MOST_STEPS)


def svg(chart, budget):
    counts = sorted(chart.points)
    lowest, widest = math.log(counts[0]), max(math.log(counts[-1]) - math.log(counts[0]), 1e-9)
    highest = 1.15 * max(budget, *(point["v"] for point in chart.points.values()))

    def across(count):
        plot = WIDTH - LEFT - RIGHT - 2 * INSET
        return LEFT + INSET + plot * (math.log(count) - lowest) / widest

    def up(value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / highest

    def text(x, y, content, kind="text", anchor="middle", more=""):
        return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(content)}</text>'

    def rule(y, kind):
        return f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{escape(chart.title)}">',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
        text(LEFT, 24, chart.title, anchor="start", more=' font-size="16" font-weight="600"'),
        text(LEFT, 43, "server's CPU in V, the cost of one P-256 verification by OpenSSL", "quiet", "start"),
    ]
    line = " ".join(f"{across(count):.1f},{up(chart.points[count]['v']):.1f}" for count in counts)
    distance = step(highest)
    for index in range(int(highest / distance) + 1):
        lines += [
            rule(up(index * distance), "axis" if index == 0 else "grid"),
            text(LEFT - 8, up(index * distance) + 4, f"{index * distance:g} V", "quiet", "end"),
        ]
    lines += [
        rule(up(budget), "budget"),
        text(WIDTH - RIGHT, up(budget) + 15, f"budget {budget:g} V", "budget-text", "end"),
        f'<polyline class="line" points="{line}"/>',
    ]
    written = -WIDTH
    for count in counts:
        value = chart.points[count]["v"]
        # A number too close to the one before stands below it.
        is_close = across(count) - written < NUMBER_WIDTH
        written = across(count)
        place = f'cx="{across(count):.1f}" cy="{up(value):.1f}"'
        lines += [
            f'<circle class="point" {place} r="4"><title>{count:,}: {value:.2f} V</title></circle>',
            text(across(count), up(value) - 11, f"{value:.2f}"),
            text(across(count), HEIGHT - BOTTOM + (33 if is_close else 19), f"{count:,}", "quiet"),
        ]
    lines += [
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 48, chart.axis),
        text(LEFT, HEIGHT - 10, chart.origin, "quiet", "start", ' font-size="11"'),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def table(chart):
    """Rows of the page's table."""
    for count, point in sorted(chart.points.items()):
        store = f"{point['store_megabytes']:,.1f}" if "store_megabytes" in point else ""
        yield (
            f"| {count:,} | {point['v']:.2f} V | {point['us']:.0f} µs | {point['v_us']:.1f} µs | {point['per_second']:,.0f} "
            f"| {point['p50_ms']:.1f}, {point['p99_ms']:.1f} ms | {point['megabytes']:.0f} MB | {store} |"
        )


def section(drawn):
    """The part of the page that is made."""
    for name, chart in drawn.items():
        point = next(iter(chart.points.values()))
        yield f"![{chart.title}](charts/{name}.svg)\n"
        yield f"{chart.origin}; each the median of {point['rounds']} runs of {point['duration']}.\n"
        yield f"| {name} | CPU per login | | V | logins/s | p50, p99 | service's memory | store, MB |"
        yield "|---|---|---|---|---|---|---|---|"
        yield from table(chart)
        yield ""


def main():
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/charts"
    budget = json.loads(Path(__file__).with_name("budgets.json").read_text())["budgets"]["login_cpu"]["budget"]
    drawn = charts(json.loads((directory / "curves.json").read_text()))
    for name, chart in drawn.items():
        (directory / f"{name}.svg").write_text(svg(chart, budget))
    if len(sys.argv) == 1:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(before + BEGIN + "\n".join(section(drawn)) + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
