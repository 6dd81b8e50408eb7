"""``python -m kafkastore`` is the ``kafkastore`` command."""

import sys

from kafkastore.cli.main import main

sys.exit(main())
