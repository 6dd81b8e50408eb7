"""``store`` (the contract), ``sqlite`` (one file), ``nodes`` (what nodes contain), ``stored_topics`` and ``image`` (in
memory)."""
