//! Tasks that take their dispatcher with them.
