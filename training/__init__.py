"""Training of the reader that Wellread ships; needs PyTorch and is no part of the package."""
