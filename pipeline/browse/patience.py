"""Uvicorn's HTTP without its patience: a connection on which no whole request comes is ended. Uvicorn itself waits for ever.

uvicorn --http shopwright.pipeline.browse.patience:PatientProtocol ...
"""
# mypy: disable-error-code="import-not-found"

from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol  # type: ignore[import-not-found, unused-ignore]

# For the lines and headers of a request; its body has `guard.SECONDS`.
SECONDS = 20.0


class PatientProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type, unused-ignore]
    """A connection."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.loop.call_later(SECONDS, self.end_silent, None)

    def end_silent(self, last: Any) -> None:
        """Unless a request is at work, or one came since `last`. Looks again later; a WebSocket has another protocol, which may not understand its opening."""
        now = self.transport.get_protocol()
        if self.transport.is_closing() or (now is not self and getattr(now, "handshake_initiated", True)):
            return
        if now is not self or (self.cycle is last and (last is None or last.response_complete)):
            self.transport.close()
        else:
            self.loop.call_later(SECONDS, self.end_silent, self.cycle)
