"""The catalogue's database: connections, tables, migrations, and the values of its rows."""
