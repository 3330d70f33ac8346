"""Whether the stores agree, what was removed is gone, and how damage is mended."""
