"""The calibration curve as a small SVG: the share of right answers over the confidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wellread.evaluation.calibration import Bin

SIZE, LEFT, TOP, EDGE = 280, 56, 16, 48  # pixels: the square, and the room around it
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def curve(bins: Sequence[Bin]) -> str:
    """Each bin as a point with its interval; on the diagonal confidence means what it says."""
    width, height = LEFT + SIZE + TOP, TOP + SIZE + EDGE
    title = "Share of right answers by confidence"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="11" '
            f'role="img" aria-label="{title}">',
            f"<title>{title}</title>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            *_axes(),
            f'<path d="M{_x(0):.1f} {_y(0):.1f}L{_x(1):.1f} {_y(1):.1f}" '
            'stroke="#999" stroke-dasharray="4 4"/>',
            *_points(bins),
            "</svg>\n",
        ]
    )


def _axes() -> Iterator[str]:
    for tick in TICKS:
        yield (
            f'<path d="M{_x(tick):.1f} {_y(0):.1f}V{_y(1):.1f}M{_x(0):.1f} {_y(tick):.1f}'
            f'H{_x(1):.1f}" stroke="#ddd"/>'
        )
        yield f'<text x="{_x(tick):.1f}" y="{_y(0) + 16:.1f}" text-anchor="middle">{tick:g}</text>'
        yield f'<text x="{_x(0) - 8:.1f}" y="{_y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
    yield (f'<text x="{_x(0.5):.1f}" y="{_y(0) + 38:.1f}" text-anchor="middle">confidence</text>')
    middle = f"{_x(0) - 40:.1f} {_y(0.5):.1f}"
    yield (
        f'<text transform="translate({middle}) rotate(-90)" text-anchor="middle">'
        "share of right answers</text>"
    )


def _points(bins: Sequence[Bin]) -> Iterator[str]:
    if len(bins) > 1:
        line = "L".join(f"{_x(each.confidence):.1f} {_y(each.right.mean):.1f}" for each in bins)
        yield f'<path d="M{line}" fill="none" stroke="#1b6ca8" stroke-width="1.5"/>'
    for each in bins:
        x = f"{_x(each.confidence):.1f}"
        yield (
            f'<path d="M{x} {_y(each.right.low):.1f}V{_y(each.right.high):.1f}" '
            'stroke="#1b6ca8" opacity="0.5"/>'
        )
        yield (
            f'<circle cx="{x}" cy="{_y(each.right.mean):.1f}" r="4" fill="#1b6ca8">'
            f"<title>confidence {each.confidence:.2f}, right {each.right}, "
            f"n = {each.right.n}</title></circle>"
        )


def _x(share: float) -> float:
    return LEFT + SIZE * share


def _y(share: float) -> float:
    return TOP + SIZE * (1 - share)
