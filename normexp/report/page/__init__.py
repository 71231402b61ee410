"""One self-contained HTML file of what is recorded: ledger, tables, figures, curves, and where each number is from."""

PAGE = "report.html"
