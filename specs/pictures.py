"""A colour for the guest's page, and what is in a picture of it: read by a page's own canvas."""

from __future__ import annotations

COLOUR = (12, 200, 34)
_PAINT = "(document.documentElement.style.background = document.body.style.background = '%s', 0)"
PAINT = _PAINT % "rgb({},{},{})".format(*COLOUR)
UNPAINT = _PAINT % ""
_READ = """(async () => {
  const image = new Image();
  image.src = 'data:image/png;base64,%s';
  await image.decode();
  const { width, height } = image;
  const context = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d');
  context.drawImage(image, 0, 0);
  const colour = [%d, %d, %d];
  const at = (x, y, across, down) => context.getImageData(x, y, across, down).data;
  return %s;
})()"""
_SHARE = """(() => {
    const data = at(0, 0, width, height);
    let found = 0;
    for (let pixel = 0; pixel < data.length; pixel += 4) {
      if (colour.every((part, index) => data[pixel + index] === part)) found += 1;
    }
    return found / (width * height);
  })()"""


def size_and_colour(picture: str) -> str:
    """A script that gives a picture's width and height, and its colour at a place where the page has nothing.

    Args:
        picture: A PNG in Base64.
    """
    return _READ % (picture, *COLOUR, "[width, height, Array.from(at(4, 4, 1, 1).slice(0, 3))]")


def share_of_colour(picture: str) -> str:
    """A script that gives the share of a picture's pixels that have the colour.

    Args:
        picture: A PNG in Base64.
    """
    return _READ % (picture, *COLOUR, _SHARE)
