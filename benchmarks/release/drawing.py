"""Draws the history of releases: one small panel for each figure, its limit dashed.

    python -m benchmarks.release.drawing    # from releases.md to results/releases.svg

A dot is a release, red where it missed the limit of its day; one without data for a figure has no
dot, and no line leads over it. The dashed line is the limit of the latest release.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from benchmarks.paths import RESULTS
from benchmarks.release.history import Figure, Release, names, releases

PICTURE = RESULTS / "releases.svg"
ACROSS, WIDTH, HEIGHT = 4, 250, 92  # panels side by side, and the size of one with its room
LEFT, RIGHT, TOP, BOTTOM = 14, 78, 34, 12
HEAD, FOOT = 30, 30
INK, GREY, GOOD, BAD = "#33475b", "#9aa5b1", "#1b6ca8", "#c0392b"

Point = tuple[int, Release, Figure]


def main() -> None:
    """Draw the picture anew."""
    PICTURE.write_text(picture(releases()), encoding="utf-8")
    print(PICTURE)


def picture(history: Sequence[Release]) -> str:
    """All figures of ``history``, oldest release first, as SVG."""
    shown = names(history)
    rows = -(-len(shown) // ACROSS)
    width, height = ACROSS * WIDTH, HEAD + rows * HEIGHT + FOOT
    title = "Figures of the releases and their limits"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="11" role="img" '
        f'aria-label="{title}">',
        f"<title>{title}</title>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="{LEFT}" y="20" font-size="13" font-weight="bold" fill="{INK}">{title}</text>',
    ]
    for place, (part, name) in enumerate(shown):
        left, top = WIDTH * (place % ACROSS), HEAD + HEIGHT * (place // ACROSS)
        parts += _panel(part, name, _points(history, part, name), len(history), (left, top))
    parts.append(_foot(history, height))
    return "\n".join([*parts, "</svg>\n"])


def _points(history: Sequence[Release], part: str, name: str) -> list[Point]:
    return [
        (place, release, figure)
        for place, release in enumerate(history)
        for figure in release.parts.get(part, ())
        if figure.name == name
    ]


def _panel(
    part: str, name: str, points: Sequence[Point], across: int, corner: tuple[int, int]
) -> Iterator[str]:
    left, top = corner
    limit = points[-1][2].limit
    values = [figure.value for _, _, figure in points if figure.value is not None]
    ends = [end for _, _, figure in points for end in figure.ends]
    low, high = min([*values, *ends]), max([*values, *ends])
    room = WIDTH - LEFT - RIGHT

    def x(place: int) -> float:
        return left + LEFT + room * (place + 0.5) / across

    def y(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return top + TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)

    yield (
        f'<text x="{left + LEFT}" y="{top + 12}" fill="{INK}">{escape(part)}</text>'
        f'<text x="{left + LEFT}" y="{top + 25}" font-size="10" fill="{INK}">'
        f'{escape(name)} <tspan fill="{GREY}">{escape(limit)}</tspan></text>'
    )
    for end in points[-1][2].ends:
        yield (
            f'<path d="M{left + LEFT} {y(end):.1f}h{room}" stroke="{GREY}" stroke-dasharray="4 3"/>'
        )
    for (one, _, here), (other, _, there) in pairwise(points):
        if here.value is not None and there.value is not None:
            yield (
                f'<path d="M{x(one):.1f} {y(here.value):.1f}L{x(other):.1f} {y(there.value):.1f}" '
                f'stroke="{GOOD}" stroke-width="1.5"/>'
            )
    for place, release, figure in points:
        if figure.value is not None:
            yield (
                f'<circle cx="{x(place):.1f}" cy="{y(figure.value):.1f}" r="3.5" '
                f'fill="{BAD if figure.missed else GOOD}"><title>{escape(release.version)}, '
                f"{escape(release.date)}, {escape(release.commit)}: {figure.value:g}"
                "</title></circle>"
            )
    last = points[-1][2]
    if last.value is None:
        said, colour, at = "not measured", GREY, top + (TOP + HEIGHT - BOTTOM) / 2
    else:
        said, colour, at = f"{last.value:g}", BAD if last.missed else INK, y(last.value)
    yield (
        f'<text x="{left + WIDTH - RIGHT + 4}" y="{at + 4:.1f}" font-size="10" '
        f'fill="{colour}">{said}</text>'
    )


def _foot(history: Sequence[Release], height: int) -> str:
    if not history:
        said = "No release is recorded yet."
    else:
        shown = dict.fromkeys(f"{one.version} ({one.date})" for one in (history[0], history[-1]))
        said = (
            f"{len(history)} recorded: {' to '.join(shown)}. "
            "Blue: reached; red: missed; dashed: the latest limit."
        )
    return f'<text x="{LEFT}" y="{height - 12}" fill="{INK}">{escape(said)}</text>'


if __name__ == "__main__":
    main()
