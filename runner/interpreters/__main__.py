"""prototype.py, when the folder is one file."""

import prototype

prototype.main()
