"""``store`` (the contract), ``sqlite`` (one file), ``nodes`` (what nodes contain), ``image`` and ``loader`` (in memory)."""
