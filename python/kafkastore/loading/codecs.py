"""The codecs of a bulk load, as ``compression.type`` names them."""

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
