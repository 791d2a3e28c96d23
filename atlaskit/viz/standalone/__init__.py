"""The explorer alone in a browser, without a notebook: `atlaskit explore`.

`server` serves one page on loopback, and connects it with an explorer over a WebSocket.
"""
