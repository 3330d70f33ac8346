"""Contract tests and test doubles for plug-in interfaces, shipped for use by plug-in authors."""
