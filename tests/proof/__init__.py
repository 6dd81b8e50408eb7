"""`make proof`: the whole of what `make test` plays a part of, and the record of what it found."""
