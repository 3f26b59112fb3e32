"""The MCP server: the ten core tools, three resources and two prompts over stdio or streamable HTTP.

``python -m memorycore.server`` starts it. Importing this package imports no SDK.
"""
