"""Commands around the application: `prepare`, `launch` on one machine, and the terminal's `client`."""
